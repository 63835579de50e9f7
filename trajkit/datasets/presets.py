"""Column maps of well-known tables, by name: what `tables` assumes under ``preset: <name>``; every entry can be overridden.

Boxes are written from public knowledge of the places. Presets of a form (not of one published set) declare no box.
"""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "scikit-mobility": {"columns": {"lat": "lat", "lon": "lng", "t": "datetime", "user": "uid"}},
    "movingpandas": {
        "separator": ";",
        "columns": {"lat": "Y", "lon": "X", "t": "t", "user": "tracker", "traj": "trajectory_id"},
    },
    "gpx": {"pattern": "*.gpx", "columns": {"t": "time"}},
    "cabspotting": {
        "name": "cabspotting",
        "pattern": "new_*.txt",
        "file_prefix": "new_",
        "header": False,
        "separator": " ",
        "columns": {"lat": 0, "lon": 1, "t": 3, "user": "@file"},
        "time": {"format": "unix"},
        "order": "newest_first",
        "cut": {"column": 2, "keep": ["1"]},
        "box": [-122.52, 37.58, -122.22, 37.84],
        "tz": "America/Los_Angeles",
        "visibility": "public",
        "min_points": 2,
    },
    "tdrive": {
        "name": "tdrive",
        "pattern": "*.txt",
        "header": False,
        "columns": {"lat": 3, "lon": 2, "t": 1, "user": 0},
        "time": {"tz": "Asia/Shanghai"},
        "cut": {"gap_s": 1800.0},
        "duplicate_fixes": "first",
        "box": [116.0, 39.6, 116.8, 40.2],
        "tz": "Asia/Shanghai",
        "visibility": "public",
        "min_points": 2,
    },
    "rome": {
        "name": "rome",
        "columns": {"lat": "Latitude", "lon": "Longitude", "t": "TimeStamp", "user": "TaxiID"},
        "time": {"tz": "Europe/Rome"},
        "cut": {"gap_s": 600.0},
        "duplicate_fixes": "first",
        "box": [12.2, 41.65, 12.8, 42.1],
        "tz": "Europe/Rome",
        "visibility": "public",
        "min_points": 2,
    },
    "foursquare_checkins": {
        "name": "foursquare_checkins",
        "columns": {
            "lat": "latitude",
            "lon": "longitude",
            "t": "UTC_time",
            "user": "user_id",
            "traj": "trajectory_id",
        },
        "duplicate_fixes": "first",
        "box": [-74.3, 40.5, -73.65, 41.0],
        "tz": "America/New_York",
        "visibility": "public",
    },
    "foursquare_weeks": {
        "name": "foursquare_weeks",
        "columns": {"lat": "lat", "lon": "lon", "user": "label", "traj": "tid"},
        "order": "as_is",
        "box": [-74.3, 40.5, -73.65, 41.0],
        "tz": "America/New_York",
        "visibility": "public",
    },
    "liverpool_bus": {
        "name": "liverpool_bus",
        "columns": {"lat": "latitude", "lon": "longitude", "t": "timestamp", "user": "vehicle_id", "traj": "trip_id"},
        "time": {"tz": "Europe/London"},
        "duplicate_fixes": "first",
        "box": [-3.05, 53.3, -2.8, 53.5],
        "tz": "Europe/London",
        "visibility": "public",
    },
}
