"""Settings, declaration and result of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trajkit.errors import DataContractError

if TYPE_CHECKING:
    from trajkit.metrics.comparison import Comparison

METRICS_VERSION = 1
Level = Literal["point", "trajectory", "pattern", "road"]


class MetricSettings(BaseModel):
    """Sizes and thresholds of the suite; the defaults are the study's. Frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    n_points_swd: int = Field(10_000, gt=0, description="points drawn from each side for SWD")
    n_projections: int = Field(50, gt=0, description="directions of SWD, equally spaced, turned by a seeded angle")
    jsd_cells: int = Field(64, gt=0, description="cells along each side of the box for JSD, HS and HSD")
    hotspots: int = Field(50, gt=0, description="densest cells compared by HS and HSD")
    rq_queries: int = Field(200, gt=0, description="range queries")
    rq_side: float = Field(1 / 3, gt=0, le=1, description="side of a query as a share of the box's side")
    rq_sanity: float = Field(0.01, gt=0, le=1, description="share of all points below which RQ's error is not relative")
    te_cells: int = Field(16, gt=0, description="cells along each side of the box for TE")
    n_pairs: int = Field(3_000, gt=0, description="trajectories of each side that are matched for HD, NHD and DTW")
    pattern_cells: int = Field(8, gt=0, description="cells along each side of the box for the sequences of CQ and FP")
    cq_queries: int = Field(2_000, gt=0, description="count queries")
    cq_length: int = Field(4, gt=0, description="most cells that a count query asks for")
    cq_sanity: float = Field(
        0.01, gt=0, le=1, description="share of trajectories below which CQ's error is not relative"
    )
    fp_top: int = Field(50, gt=0, description="most frequent patterns compared by FP")
    road_distance_m: float = Field(25.0, gt=0, description="distance within which a place counts as on the road")
    road_step_m: float = Field(10.0, gt=0, description="spacing of the places at which a line is looked at")
    road_places: int = Field(200_000, gt=0, description="about how many places at most; longer sets are spaced wider")


@dataclass(frozen=True)
class Metric:
    """What a metric is. ``ceiling`` names the method whose release scores 1 after rescaling (the floor is always "real").

    ``uses`` names the settings it depends on; ``symmetric`` says whether exchanging the two sets keeps the value.
    """

    name: str
    title: str
    level: Level
    unit: str
    definition: str
    ceiling: Literal["uniform", "straight"]
    compute: Callable[[Comparison], float]
    uses: tuple[str, ...] = ()
    symmetric: bool = True
    direction: Literal["lower is better", "higher is better"] = "lower is better"


@dataclass(frozen=True)
class MetricResult:
    """One value with everything needed to compute it again. Raises DataContractError for a value that is not finite."""

    metric: str
    level: str
    value: float
    unit: str
    direction: str
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise DataContractError(
                f"metric {self.metric} came out as {self.value}: check the two sets ({self.settings})"
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON."""
        return asdict(self)


def rescale(value: float, floor: float, ceiling: float) -> float | None:
    """Return ``value`` on the scale where ``floor`` is 0 and ``ceiling`` is 1; None where the two (nearly) coincide.

    Works for either direction; values below 0 or above 1 are possible and kept.
    """
    span = ceiling - floor
    if not all(map(math.isfinite, (value, floor, ceiling))) or abs(span) <= 1e-9 * max(
        abs(floor), abs(ceiling), 1e-300
    ):
        return None
    return (value - floor) / span
