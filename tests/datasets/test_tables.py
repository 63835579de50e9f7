"""Column maps, file forms, and one clear sentence for everything that does not read."""

from __future__ import annotations

import gzip
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest

from trajkit.datasets import load
from trajkit.datasets.presets import PRESETS
from trajkit.errors import DataContractError, MissingDataError, ParameterError, TrajkitError

BOX = [-9.0, 41.0, -8.0, 42.0]
CSV = """who,trip,when,latitude,longitude
007,a,2024-01-01 10:00:00,41.10,-8.60
007,a,2024-01-01 10:00:30,41.11,-8.61
008,b,2024-01-01 11:00:00,41.20,-8.50
008,b,2024-01-01 11:01:00,41.21,-8.51
"""
COLUMNS = {"lat": "latitude", "lon": "longitude", "t": "when", "user": "who", "traj": "trip"}
MAP = {"columns": COLUMNS, "box": BOX}


def _write(path, text):
    path.write_text(text)
    return path


def _load(path, **settings):
    return load("tables", data=path, settings={**MAP, **settings})


def test_a_csv_with_a_map(tmp_path):
    trajs = _load(_write(tmp_path / "t.csv", CSV))
    assert trajs.traj_ids.tolist() == ["a", "b"]
    assert trajs.user_ids.tolist() == ["007", "008"]  # text, zeros kept
    assert trajs.lonlat[0].tolist() == [-8.60, 41.10]
    assert np.diff(trajs.t)[0] == 30_000
    assert (trajs.meta.crs, trajs.meta.visibility) == ("EPSG:32629", "private")


def test_a_yaml_map_names_the_table(tmp_path):
    _write(tmp_path / "t.csv", CSV)
    yaml = _write(
        tmp_path / "my.yaml",
        "file: t.csv\ncolumns: {lat: latitude, lon: longitude, t: when, user: who, traj: trip}\nbox: [-9, 41, -8, 42]\n",
    )
    assert load("tables", data=yaml).fingerprint() == _load(tmp_path / "t.csv").fingerprint()
    over = load("tables", data=yaml, settings={"visibility": "public", "columns": {"traj": None}})
    assert over.meta.visibility == "public"
    assert over.traj_ids.tolist() == ["007", "008"]


def test_tsv_parquet_gzip_zip_tar_and_folder_give_the_same_points(tmp_path):
    plain = _load(_write(tmp_path / "t.csv", CSV)).lonlat.tolist()
    tab = _write(tmp_path / "t.tsv", CSV.replace(",", "\t"))
    assert _load(tab, separator="\t").lonlat.tolist() == plain
    frame = pd.read_csv(tmp_path / "t.csv", dtype={"who": str}, parse_dates=["when"])
    frame.to_parquet(tmp_path / "t.parquet")
    assert _load(tmp_path / "t.parquet").lonlat.tolist() == plain
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(CSV)
    assert _load(tmp_path / "t.csv.gz").lonlat.tolist() == plain
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.write(tmp_path / "t.csv", "inner/t.csv")
    assert _load(tmp_path / "t.zip", pattern="*.csv").lonlat.tolist() == plain
    with tarfile.open(tmp_path / "t.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "t.csv", "inner/t.csv")
    assert _load(tmp_path / "t.tar.gz").lonlat.tolist() == plain
    folder = tmp_path / "many"
    folder.mkdir()
    lines = CSV.splitlines(keepends=True)
    _write(folder / "1.csv", lines[0] + "".join(lines[1:3]))
    _write(folder / "2.csv", lines[0] + "".join(lines[3:]))
    assert _load(folder).lonlat.tolist() == plain


@pytest.mark.parametrize(
    ("text", "time", "first"),
    [
        ("2024-07-01 12:00:00", {"tz": "Europe/Lisbon"}, "2024-07-01T11:00:00"),
        ("2024-07-01T12:00:00Z", {"tz": "Europe/Lisbon"}, "2024-07-01T12:00:00"),
        ("2024-07-01 12:00:00.25+02", {}, "2024-07-01T10:00:00.250"),
        ("1719835200", {"format": "unix"}, "2024-07-01T12:00:00"),
        ("1719835200000", {"format": "unix", "unit": "ms"}, "2024-07-01T12:00:00"),
        ("01/07/2024 12.00", {"format": "%d/%m/%Y %H.%M"}, "2024-07-01T12:00:00"),
    ],
)
def test_times_become_utc(tmp_path, text, time, first):
    path = _write(tmp_path / "t.csv", f"lat,lon,t,id\n41.5,-8.5,{text},x\n")
    trajs = load("tables", data=path, settings={"columns": {"t": "t", "traj": "id"}, "box": BOX, "time": time})
    assert trajs.t.tolist() == [pd.Timestamp(first).value // 10**6]


def test_without_time_the_order_of_the_file_stays(tmp_path):
    path = _write(tmp_path / "t.csv", "lat,lon,id\n41.5,-8.5,x\n41.4,-8.4,y\n41.3,-8.3,x\n")
    trajs = load("tables", data=path, settings={"columns": {"traj": "id"}, "box": BOX})
    assert trajs.t is None
    assert trajs.lonlat.tolist() == [[-8.5, 41.5], [-8.3, 41.3], [-8.4, 41.4]]
    back = load("tables", data=path, settings={"columns": {"traj": "id"}, "box": BOX, "order": "newest_first"})
    assert back.lonlat.tolist() == [[-8.3, 41.3], [-8.5, 41.5], [-8.4, 41.4]]


def test_rows_out_of_order_are_sorted_and_counted(tmp_path):
    lines = CSV.splitlines(keepends=True)
    path = _write(tmp_path / "t.csv", lines[0] + lines[2] + lines[1] + "".join(lines[3:]))
    trajs = _load(path)
    assert trajs.lonlat[:2].tolist() == [[-8.60, 41.10], [-8.61, 41.11]]
    assert trajs.meta.steps[0]["found"] == {"steps back in time (sorted)": 1}


def test_cut_by_a_column_keeps_the_wanted_values(tmp_path):
    text = "".join(f"41.5 -8.5 {state} {1000 - i}\n" for i, state in enumerate([1, 1, 0, 0, 1]))
    (tmp_path / "cabs").mkdir()
    _write(tmp_path / "cabs" / "new_abc.txt", text)
    settings = {"preset": "cabspotting", "box": BOX, "min_points": 1}
    trajs = load("tables", data=tmp_path / "cabs", settings=settings)
    assert trajs.user_ids.tolist() == ["abc"]
    assert trajs.traj_ids.tolist() == ["abc_0", "abc_2"]
    assert trajs.t.tolist() == [996_000, 999_000, 1_000_000]
    step = trajs.meta.steps[0]
    assert step["created"] == 2
    assert step["dropped"] == {"cut column is not 1": [1, 2]}


def test_cut_at_gaps(tmp_path):
    trajs = _load(_write(tmp_path / "t.csv", CSV), cut={"gap_s": 45.0})
    assert trajs.traj_ids.tolist() == ["a_0", "b_0", "b_1"]


def test_ids_that_two_users_share_are_told_apart(tmp_path):
    trajs = _load(_write(tmp_path / "t.csv", CSV.replace(",b,", ",a,")))
    assert trajs.traj_ids.tolist() == ["007_a", "008_a"]


def test_rows_without_a_place_are_counted(tmp_path):
    trajs = _load(_write(tmp_path / "t.csv", CSV.replace("41.10", "").replace("41.20", "NA").replace("41.21", "NaN")))
    assert trajs.traj_ids.tolist() == ["a"]
    assert trajs.meta.steps[0]["dropped"] == {"coordinate missing": [1, 3]}


def test_points_without_time_need_a_decision(tmp_path):
    path = _write(tmp_path / "t.csv", CSV.replace("2024-01-01 10:00:30", ""))
    with pytest.raises(DataContractError, match=r"1 of 4 points have no time \(first in row 2\)"):
        _load(path)
    assert _load(path, time={"missing": "drop"}).n_points == 3
    assert _load(path, columns={**COLUMNS, "t": None}).t is None


def test_geoparquet_points_and_lines(tmp_path):
    import geopandas

    trajs = _load(_write(tmp_path / "t.csv", CSV))
    lines = trajs.to_geodataframe().to_crs("EPSG:3763")
    lines.to_parquet(tmp_path / "lines.parquet")
    settings = {"columns": {"traj": "traj_id", "user": "user_id"}, "box": BOX}
    read = load("tables", data=tmp_path / "lines.parquet", settings=settings)
    assert read.t is None
    assert np.allclose(read.lonlat, trajs.lonlat, atol=1e-8)
    frame = trajs.to_frame().astype({"traj_id": str, "user_id": str})
    points = geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(frame.lon, frame.lat), crs="EPSG:4326")
    points.to_parquet(tmp_path / "points.parquet")
    read = load(
        "tables",
        data=tmp_path / "points.parquet",
        settings={"columns": {"traj": "traj_id", "user": "user_id", "t": "t"}, "box": BOX},
    )
    assert read.fingerprint() == trajs.fingerprint()


def test_a_far_southern_box_gets_its_utm_zone(tmp_path):
    path = _write(tmp_path / "t.csv", "lat,lon,id\n-33.9,18.4,x\n")
    trajs = load("tables", data=path, settings={"columns": {"traj": "id"}, "box": [18.0, -34.5, 19.0, -33.5]})
    assert trajs.meta.crs == "EPSG:32734"
    with pytest.raises(ParameterError, match="too large for one UTM zone"):
        load("tables", data=path, settings={"columns": {"traj": "id"}, "box": [-180, -90, 180, 90]})


# ---- what does not read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        (CSV, {"columns": {**COLUMNS, "lat": "breite"}}, "no column 'breite'; it has 'who', 'trip'"),
        (CSV, {"columns": {**COLUMNS, "lat": 9}}, "no column 9"),
        (CSV, {"separator": ";"}, "no column 'latitude'"),
        (CSV.replace("41.11", "forty"), {}, r"row 2: lat \(column 'latitude'\) is 'forty'"),
        (CSV.replace("2024-01-01 11:01:00", "yesterday"), {}, "row 4: time 'yesterday'"),
        ("", {}, "is empty"),
        (CSV.splitlines()[0] + "\n", {}, "no rows"),
        (CSV, {"box": None}, "declares no box"),
        (CSV, {"box": [1.0, 2.0]}, "four numbers"),
        (CSV, {"box": [10.0, 50.0, 11.0, 51.0]}, "every point lies outside the box"),
        (CSV, {"min_points": 5}, "none of the 2 trajectories has between 5"),
        (CSV, {"preset": "cabspoting"}, "preset 'cabspoting' is unknown"),
        (CSV, {"colums": {}}, "colums is unknown"),
        (CSV, {"columns": {**COLUMNS, "time": "x"}}, r"columns\.time is unknown"),
        (CSV, {"visibility": "secret"}, "visibility = 'secret'"),
        (CSV, {"columns": {**COLUMNS, "lat": "longitude", "lon": "latitude"}}, "look swapped"),
        ("\x00\x01\x02 not a table", {}, "no column"),
        (CSV + "1,2\n", {}, "is not a table separated by ','"),
    ],
)
def test_one_sentence_each(tmp_path, text, changes, words):
    with pytest.raises(TrajkitError, match=words) as error:
        _load(_write(tmp_path / "t.csv", text), **changes)
    assert "\n" not in str(error.value)


def test_no_exact_bounds_of_private_data_in_the_message(tmp_path):
    with pytest.raises(ParameterError) as error:
        _load(_write(tmp_path / "t.csv", CSV), box=None)
    assert not any(number in str(error.value) for number in ("41.1", "41.2", "8.6", "8.5"))


def test_damaged_files_are_named(tmp_path):
    whole = gzip.compress(CSV.encode() * 500)
    for name, data in {"a.csv.gz": whole[:80], "b.zip": whole, "c.tar.gz": whole[:80], "d.parquet": whole}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataContractError, match="damaged") as error:
            _load(tmp_path / name)
        assert name in str(error.value)
    (tmp_path / "e.gpx").write_text("<html></html>")
    with pytest.raises(DataContractError, match=r"e\.gpx"):
        load("tables", data=tmp_path / "e.gpx", settings={"preset": "gpx", "box": BOX})


def test_yaml_mistakes_are_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"t\.csv, which does not exist"):
        load("tables", data=_write(tmp_path / "a.yaml", "file: t.csv\n"))
    with pytest.raises(ParameterError, match="an entry `file`"):
        load("tables", data=_write(tmp_path / "b.yaml", "columns: {}\n"))
    with pytest.raises(ParameterError, match="is not valid YAML"):
        load("tables", data=_write(tmp_path / "c.yaml", "file: [\n"))


def test_an_empty_folder_says_what_was_looked_for(tmp_path):
    (tmp_path / "f").mkdir()
    with pytest.raises(DataContractError, match=r"no file named 'new_\*\.txt'"):
        load("tables", data=tmp_path / "f", settings={"preset": "cabspotting"})


def test_every_preset_is_a_valid_map():
    from trajkit.datasets.registry import dataset

    for name, values in PRESETS.items():
        settings = dataset("tables").settings_of({**values, "box": values.get("box", BOX)})
        assert settings.steps()[-1][0] == "duplicate_trajectories", name


@pytest.mark.parametrize(
    ("path", "settings", "trajectories", "points", "users"),
    [
        ("geolife/skmob_geolife_sample.txt.gz", {"preset": "scikit-mobility", "box": [73, 3, 135, 54], "crs": "EPSG:32650"}, 2, 217_653, 2),
        ("geolife/movingpandas_geolife_small.csv", {"preset": "movingpandas", "box": [114.0, 38.0, 119.0, 42.0]}, 5, 5_908, 3),
        ("cabspotting/plain", {"preset": "cabspotting"}, 48, 590, 4),
        ("cabspotting/cabspottingdata_60cabs.tar.gz", {"preset": "cabspotting"}, 48_433, 537_915, 60),
        ("tdrive/taxi_log_2008_by_id", {"preset": "tdrive"}, 210, 22_342, 46),
        ("tdrive/original", {"preset": "tdrive"}, 33, 2_136, 2),
        ("rome/rome_34taxis.csv", {"preset": "rome"}, 34, 6_483, 34),
        ("foursquare_nyc/NYC_checkins.csv.gz", {"preset": "foursquare_checkins"}, 4_596, 13_930, 702),
        ("foursquare_nyc/train_latlon.csv", {"preset": "foursquare_weeks"}, 2_052, 44_809, 193),
        ("liverpool_bus/route14_outbound.csv", {"preset": "liverpool_bus"}, 16, 1_533, 8),
        ("gpx/korita-zbevnica.gpx", {"preset": "gpx", "box": [13.0, 45.0, 16.0, 47.0], "time": {"missing": "drop"}}, 2, 513, 1),
        ("gpx", {"preset": "gpx", "box": [13.0, 45.0, 16.0, 47.0], "columns": {"t": None}}, 18, 1_647, 4),
    ],
)  # fmt: skip
def test_real_forms(shared, path, settings, trajectories, points, users):
    trajs = load("tables", data=shared / "data" / path, settings=settings)
    assert (len(trajs), trajs.n_points, len(trajs.user_ids)) == (trajectories, points, users)
    lost = sum(n[1] for step in trajs.meta.steps for n in step["dropped"].values())
    assert trajs.meta.steps[0]["points_in"] == points + lost
