"""The declared metrics and `evaluate`, which computes them in one go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trajkit.errors import ParameterError
from trajkit.metrics import pattern, point, road, trajectory
from trajkit.metrics.comparison import Comparison
from trajkit.metrics.settings import METRICS_VERSION, Metric, MetricResult, MetricSettings
from trajkit.trajectories import Trajectories

if TYPE_CHECKING:
    from trajkit.roads import RoadNetwork

_MATCHED = "over n_pairs trajectories of each side (all of the smaller where fewer), matched one to one so that the total NHD is smallest (Hungarian method)"

_CELLS = "on pattern_cells x pattern_cells cells over the public box (points outside belong to the nearest cell, consecutive repeats merged), all trajectories"

_ALL = (
    Metric(
        name="SWD",
        title="sliced Wasserstein distance",
        level="point",
        unit="box sides",
        definition="Sliced 2-Wasserstein distance between n_points_swd points of each side (drawn without replacement; all where fewer), "
        "coordinates scaled so that the public box is the unit square, over n_projections fixed directions.",
        ceiling="uniform",
        compute=point.swd,
        uses=("n_points_swd", "n_projections"),
    ),
    Metric(
        name="JSD",
        title="Jensen-Shannon divergence",
        level="point",
        unit="bits",
        definition="Jensen-Shannon divergence (base 2, not its root) between the shares of points per cell of jsd_cells x "
        "jsd_cells cells over the public box; the outside is one more cell.",
        ceiling="uniform",
        compute=point.jsd,
        uses=("jsd_cells",),
    ),
    Metric(
        name="RQ",
        title="range query error",
        level="point",
        unit="relative error",
        definition="Mean over rq_queries range queries of |real - released| / max(real, rq_sanity), where real and released "
        "are shares of points; a query is rq_side of the box wide and high and placed uniformly, wholly inside the box.",
        ceiling="uniform",
        compute=point.rq,
        uses=("rq_queries", "rq_side", "rq_sanity"),
        symmetric=False,
    ),
    Metric(
        name="HS",
        title="hotspot mismatch",
        level="point",
        unit="1 - Dice",
        definition="1 - Dice overlap of the hotspots densest cells of jsd_cells x jsd_cells; empty cells are never hotspots, "
        "ties go to the smaller cell id.",
        ceiling="uniform",
        compute=point.hs,
        uses=("hotspots", "jsd_cells"),
    ),
    Metric(
        name="HSD",
        title="hotspot distance",
        level="point",
        unit="m",
        definition="Symmetric Hausdorff distance between the centres of the two sets of densest cells (those of HS); "
        "a maximum, so a single stray hotspot decides it.",
        ceiling="uniform",
        compute=point.hsd,
        uses=("hotspots", "jsd_cells"),
    ),
    Metric(
        name="TTD",
        title="travelled distance error",
        level="trajectory",
        unit="m",
        definition="1-Wasserstein distance between the distributions of travelled length (sum of haversine steps), all trajectories.",
        ceiling="straight",
        compute=trajectory.ttd,
    ),
    Metric(
        name="TD",
        title="diameter error",
        level="trajectory",
        unit="m",
        definition="1-Wasserstein distance between the distributions of diameter (largest distance between two points of a "
        "trajectory, projected metres), all trajectories.",
        ceiling="straight",
        compute=trajectory.td,
    ),
    Metric(
        name="TE",
        title="trip error",
        level="trajectory",
        unit="bits",
        definition="Jensen-Shannon divergence (base 2) between the shares of trips per (start cell, end cell) on te_cells x "
        "te_cells cells over the public box, all trajectories; the outside is one more cell.",
        ceiling="straight",
        compute=trajectory.te,
        uses=("te_cells",),
    ),
    Metric(
        name="HD",
        title="Hausdorff distance",
        level="trajectory",
        unit="m",
        definition=f"Mean symmetric Hausdorff distance between the points of matched trajectories (projected metres), {_MATCHED}.",
        ceiling="straight",
        compute=trajectory.hd,
        uses=("n_pairs",),
    ),
    Metric(
        name="NHD",
        title="normalised haversine distance",
        level="trajectory",
        unit="m",
        definition=f"Mean haversine distance between points of equal index of matched trajectories, {_MATCHED}.",
        ceiling="straight",
        compute=trajectory.nhd,
        uses=("n_pairs",),
    ),
    Metric(
        name="DTW",
        title="dynamic time warping",
        level="trajectory",
        unit="m per point",
        definition="Mean over matched trajectories of the smallest sum of ground distances (projected metres; not squared, no "
        f"window) along a warping path, divided by the number of points, {_MATCHED}.",
        ceiling="straight",
        compute=trajectory.dtw,
        uses=("n_pairs",),
    ),
    Metric(
        name="CQ",
        title="count query error",
        level="pattern",
        unit="relative error",
        definition="Mean over cq_queries count queries of |real - released| / max(real, cq_sanity), where real and released are "
        f"the shares of trajectories that pass every cell of the query in any order, {_CELLS}; a query is a set of 1 to cq_length "
        "different cells that one real trajectory passes, trajectory, size and cells drawn uniformly.",
        ceiling="straight",
        compute=pattern.cq,
        uses=("pattern_cells", "cq_queries", "cq_length", "cq_sanity"),
        symmetric=False,
    ),
    Metric(
        name="FP",
        title="frequent pattern mismatch",
        level="pattern",
        unit="share",
        definition="1 - share of the fp_top most frequent sequential patterns (two cells or more in this order, gaps allowed; "
        f"counted once a trajectory) that both sides have among theirs, {_CELLS}; ties go to the smaller cell ids, and where a "
        "side has fewer patterns the longer list counts.",
        ceiling="straight",
        compute=pattern.fp,
        uses=("pattern_cells", "fp_top"),
    ),
    Metric(
        name="ORP",
        title="off-road share of points",
        level="road",
        unit="share",
        definition="Share of released points further than road_distance_m from every road; the real set's own share is the floor.",
        ceiling="uniform",
        compute=road.off_road_points,
        uses=("road_distance_m",),
        symmetric=False,
    ),
    Metric(
        name="ORL",
        title="off-road share of length",
        level="road",
        unit="share",
        definition="Share of released length further than road_distance_m from every road, looked at every road_step_m along the "
        "straight lines between points (wider where the set is so long that about road_places would be passed).",
        ceiling="straight",
        compute=road.off_road_length,
        uses=("road_distance_m", "road_step_m", "road_places"),
        symmetric=False,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}


def evaluate(
    real: Trajectories,
    released: Trajectories,
    *,
    settings: MetricSettings,
    seed: int,
    roads: RoadNetwork | None = None,
    names: Sequence[str] | None = None,
) -> list[MetricResult]:
    """Compare ``released`` with ``real`` by the named metrics (None: all, the road ones only where ``roads`` is given).

    Both sets must share box and CRS; HD, NHD and DTW need one fixed length (`to_fixed_length`). Equal input and seed give
    equal values whatever the order of the trajectories, and the input is left as it is. Raises ParameterError or
    DataContractError (see `Comparison`).
    """
    chosen = [METRICS[name] for name in _known(names, has_roads=roads is not None)]
    comparison = Comparison.of(real, released, settings=settings, seed=seed, roads=roads)
    return [_result(metric, comparison) for metric in chosen]


def _result(metric: Metric, comparison: Comparison) -> MetricResult:
    recorded = {name: getattr(comparison.settings, name) for name in metric.uses}
    if "n_pairs" in recorded:
        recorded["n_pairs"] = comparison.n_pairs
    recorded |= {**comparison.sizes(), "metrics_version": METRICS_VERSION}
    value = metric.compute(comparison)
    return MetricResult(metric.name, metric.level, value, metric.unit, metric.direction, recorded)


def _known(names: Sequence[str] | None, *, has_roads: bool) -> list[str]:
    if names is None:
        return [name for name, metric in METRICS.items() if has_roads or metric.level != "road"]
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ParameterError(f"metric {', '.join(map(repr, unknown))} is unknown: use some of {', '.join(METRICS)}")
    homeless = [name for name in names if METRICS[name].level == "road" and not has_roads]
    if homeless:
        raise ParameterError(
            f"metric {', '.join(homeless)} needs a road network, and none is known here: pass roads= or leave it out"
        )
    return list(names)
