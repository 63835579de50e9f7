"""Where things are: boxes in degrees, distances on the sphere, projection to the metric CRS a data set declares.

Arrays are named ``lonlat`` (degrees, longitude first) or ``xy`` (metres, easting first); positional pairs of
latitude and longitude do not occur.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from pyproj import CRS, Transformer

from trajkit.errors import ParameterError

EARTH_RADIUS_M = 6_371_008.8


@dataclass(frozen=True)
class Box:
    """A public bounding box in degrees. It must not cross the antimeridian."""

    lon_min: float
    lat_min: float
    lon_max: float
    lat_max: float

    def __post_init__(self) -> None:
        if not (-180 <= self.lon_min < self.lon_max <= 180 and -90 <= self.lat_min < self.lat_max <= 90):
            raise ParameterError(
                f"box {tuple(asdict(self).values())} is not lon_min < lon_max within ±180 and lat_min < lat_max within ±90: "
                "give lon_min, lat_min, lon_max, lat_max in degrees; a box across the antimeridian must be cut in two"
            )

    def contains(self, lonlat: np.ndarray) -> np.ndarray:
        """Return a bool array [N]: which points [N, 2] (degrees) lie in the box, its border included."""
        lon, lat = lonlat[:, 0], lonlat[:, 1]
        return (lon >= self.lon_min) & (lon <= self.lon_max) & (lat >= self.lat_min) & (lat <= self.lat_max)

    def clip(self, lonlat: np.ndarray) -> np.ndarray:
        """Return the points [N, 2] moved onto the box where they lie outside."""
        return np.clip(lonlat, [self.lon_min, self.lat_min], [self.lon_max, self.lat_max])

    def to_unit(self, lonlat: np.ndarray) -> np.ndarray:
        """Scale degrees [N, 2] to [-1, 1] by the box (a public quantity, so nothing is learned from data)."""
        low, span = self._low_span()
        return (lonlat - low) / span * 2.0 - 1.0

    def from_unit(self, unit: np.ndarray) -> np.ndarray:
        """Inverse of `to_unit`."""
        low, span = self._low_span()
        return (np.asarray(unit, dtype=np.float64) + 1.0) / 2.0 * span + low

    def _low_span(self) -> tuple[np.ndarray, np.ndarray]:
        low = np.array([self.lon_min, self.lat_min])
        return low, np.array([self.lon_max, self.lat_max]) - low


def haversine_m(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Great-circle distance in metres between degrees ``a`` and ``b`` ([..., 2], lon first), R = 6371.0088 km."""
    lon1, lat1 = np.radians(a[..., 0]), np.radians(a[..., 1])
    lon2, lat2 = np.radians(b[..., 0]), np.radians(b[..., 1])
    h = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.clip(h, 0.0, 1.0)))


@lru_cache(maxsize=16)
def _transformers(crs: str) -> tuple[Transformer, Transformer]:
    target = CRS.from_user_input(crs)
    axes = {axis.unit_name for axis in target.axis_info}
    if not target.is_projected or axes != {"metre"} or target.to_epsg() in (3857, 3395, 900913):
        raise ParameterError(
            f"CRS {crs!r} is not a metric projection for distances (EPSG:3857 stretches them by 1/cos(latitude)): "
            "declare the UTM zone or national grid of the data set"
        )
    return (
        Transformer.from_crs("EPSG:4326", target, always_xy=True),
        Transformer.from_crs(target, "EPSG:4326", always_xy=True),
    )


def project(lonlat: np.ndarray, crs: str) -> np.ndarray:
    """Project degrees [N, 2] to metres [N, 2] in the metric ``crs``. Raises ParameterError for a CRS unfit for distances."""
    x, y = _transformers(crs)[0].transform(lonlat[:, 0], lonlat[:, 1])
    return np.column_stack([x, y])


def unproject(xy: np.ndarray, crs: str) -> np.ndarray:
    """Inverse of `project`: metres [N, 2] to degrees [N, 2]."""
    lon, lat = _transformers(crs)[1].transform(xy[:, 0], xy[:, 1])
    return np.column_stack([lon, lat])


def box_xy(box: Box, crs: str) -> tuple[float, float, float, float]:
    """Return (x_min, y_min, x_max, y_max) in metres of the smallest axis-parallel rectangle around ``box`` (edges densified)."""
    s = np.linspace(0.0, 1.0, 65)
    lon, lat = box.lon_min + s * (box.lon_max - box.lon_min), box.lat_min + s * (box.lat_max - box.lat_min)
    edge = np.concatenate(
        [
            np.column_stack([lon, np.full_like(s, box.lat_min)]),
            np.column_stack([lon, np.full_like(s, box.lat_max)]),
            np.column_stack([np.full_like(s, box.lon_min), lat]),
            np.column_stack([np.full_like(s, box.lon_max), lat]),
        ]
    )
    xy = project(edge, crs)
    (x0, y0), (x1, y1) = xy.min(axis=0), xy.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)
