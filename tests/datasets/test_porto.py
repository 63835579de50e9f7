"""Porto's file as published and with its oddities."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from trajkit.datasets import load
from trajkit.datasets.porto import PortoSettings, read
from trajkit.datasets.samples import PORTO_HEADER, write_porto_sample
from trajkit.errors import DataContractError, ParameterError


def _table(path: Path, rows: list[dict[str, str]]) -> Path:
    usual = {"CALL_TYPE": "C", "TAXI_ID": "20000001", "TIMESTAMP": "1372636858", "MISSING_DATA": "False"}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, PORTO_HEADER, quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows({**dict.fromkeys(PORTO_HEADER, ""), **usual, **row} for row in rows)
    return path


def _accounted(steps) -> None:
    for step in steps:
        gone = np.array([[0, 0], *step["dropped"].values()]).sum(axis=0)
        assert step["trajectories_in"] + step["created"] == step["trajectories_out"] + gone[0]
        assert step["points_in"] == step["points_out"] + gone[1]
    for before, after in itertools.pairwise(steps):
        assert before["trajectories_out"] == after["trajectories_in"]
        assert before["points_out"] == after["points_in"]


def test_plain_gzip_and_zip_hold_the_same_trips(tmp_path):
    plain = write_porto_sample(tmp_path / "train.csv", n=60)
    with gzip.open(tmp_path / "train.csv.gz", "wb") as file:
        file.write(plain.read_bytes())
    with zipfile.ZipFile(tmp_path / "train.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(plain, "train.csv")
    with zipfile.ZipFile(tmp_path / "nested.zip", "w") as archive:
        archive.writestr("metaData.csv", "x")
        archive.write(tmp_path / "train.csv.zip", "set/train.csv.zip")
    prints = {load("porto", data=tmp_path / f).fingerprint() for f in ("train.csv", "train.csv.gz", "train.csv.zip")}
    assert prints == {load("porto", data=tmp_path / "nested.zip").fingerprint()}


def test_processing_keeps_what_the_published_rules_keep(tmp_path):
    trajs = load("porto", data=write_porto_sample(tmp_path / "train.csv", n=60))
    _accounted(trajs.meta.steps)
    assert len(trajs) == 61  # the good ones and the one with a repeated id
    assert [s["step"] for s in trajs.meta.steps] == ["read", "filter_box", "filter_length", "duplicate_trajectories"]
    assert (trajs.lengths >= 10).all() and (trajs.lengths <= 200).all()
    assert trajs.meta.box.contains(trajs.lonlat).all()
    assert (trajs.meta.crs, trajs.meta.tz, trajs.meta.visibility) == ("EPSG:32629", "Europe/Lisbon", "public")


def test_times_are_fifteen_seconds_apart_from_the_start(tmp_path):
    path = _table(tmp_path / "a.csv", [{"TRIP_ID": "1", "POLYLINE": "[[-8.6,41.1],[-8.61,41.11],[-8.62,41.12]]"}])
    trajs = read(path, PortoSettings())
    assert trajs.t.tolist() == [1372636858000, 1372636873000, 1372636888000]
    assert trajs.lonlat.tolist() == [[-8.6, 41.1], [-8.61, 41.11], [-8.62, 41.12]]
    assert trajs.user_ids.tolist() == ["20000001"]


def test_settings_change_the_chain(tmp_path):
    path = write_porto_sample(tmp_path / "train.csv", n=60)
    flagged = load("porto", data=path, settings={"drop_missing_data": False})
    assert len(flagged) == 62
    short = load("porto", data=path, settings={"min_points": 50, "max_points": None})
    assert short.lengths.min() >= 50
    with pytest.raises(ParameterError, match="min_pts is unknown"):
        load("porto", data=path, settings={"min_pts": 5})
    with pytest.raises(ParameterError, match="min_points = 'ten'"):
        load("porto", data=path, settings={"min_points": "ten"})


def test_bare_na_words_are_no_obstacle(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text(
        ",".join(f'"{c}"' for c in PORTO_HEADER)
        + '\n"T1","B",NA,"15","20000542","1408039037","A","False","[[-8.585676,41.148522],[-8.585712,41.148639]]"\n'
    )
    assert read(path, PortoSettings()).traj_ids.tolist() == ["T1"]


def test_rows_with_missing_fields_are_counted(tmp_path):
    path = _table(tmp_path / "a.csv", [{"TRIP_ID": str(i), "POLYLINE": "[[-8.6,41.1]]"} for i in range(3)])
    path.write_text(path.read_text() + '"4","C"\n')
    step = read(path, PortoSettings()).meta.steps[0]
    assert step["trajectories_in"] == 4
    assert [n for reason, n in step["dropped"].items() if reason.startswith("wrong number of fields")] == [[1, 0]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b,c\n1,2,3\n", "lacks the column"),
        (",".join(PORTO_HEADER).encode() + b"\n", "no trips"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "lacks the column"),
    ],
)
def test_wrong_files_get_one_sentence(tmp_path, content, words):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataContractError, match=words) as error:
        load("porto", data=tmp_path / "x.csv")
    assert "x.csv" in str(error.value)


def test_cut_off_archives_are_named(tmp_path):
    plain = write_porto_sample(tmp_path / "train.csv", n=300)
    whole = gzip.compress(plain.read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04" + whole[:500])
    for name in ("cut.csv.gz", "cut.zip"):
        with pytest.raises(DataContractError, match="damaged or cut off") as error:
            load("porto", data=tmp_path / name)
        assert name in str(error.value)


def test_an_unreadable_time_names_its_row(tmp_path):
    rows = [{"TRIP_ID": "1", "POLYLINE": "[]"}, {"TRIP_ID": "2", "TIMESTAMP": "noon", "POLYLINE": "[]"}]
    with pytest.raises(DataContractError, match="row 2: TIMESTAMP 'noon'"):
        read(_table(tmp_path / "a.csv", rows), PortoSettings())


def test_a_column_of_nonsense_is_no_porto_file(tmp_path):
    rows = [{"TRIP_ID": str(i), "POLYLINE": "LINESTRING (1 2)"} for i in range(4)]
    with pytest.raises(DataContractError, match=r"100% of the POLYLINE values .* row 1"):
        read(_table(tmp_path / "a.csv", rows), PortoSettings())


def test_ids_cut_by_a_spreadsheet_are_rebuilt(shared):
    trajs = read(shared / "data/porto/quirk_excel_mangled_first60.csv", PortoSettings())
    good = read(shared / "data/porto/train.1k.csv", PortoSettings())
    same = np.isin(trajs.traj_ids, good.traj_ids)
    assert same.sum() >= 50
    assert trajs.meta.steps[0]["found"]["TRIP_ID mangled by a spreadsheet (rebuilt from TIMESTAMP and TAXI_ID)"] == 60


def test_the_first_thousand_rows_equal_a_plain_parse(shared):
    path = shared / "data/porto/train.1k.csv"
    trajs = read(path, PortoSettings())
    with path.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if json.loads(r["POLYLINE"])]
    assert trajs.traj_ids.tolist() == [r["TRIP_ID"] for r in rows]
    assert trajs.lonlat.tolist() == [p for r in rows for p in json.loads(r["POLYLINE"])]
    assert trajs.user_ids[trajs.user].tolist() == [r["TAXI_ID"] for r in rows]
    step = trajs.meta.steps[0]
    assert (step["trajectories_in"], step["dropped"]) == (999, {"POLYLINE empty": [1, 0]})
    assert step["found"] == {"one-point trips": 9}


def test_the_excerpt_by_taxi_is_accounted_for(shared):
    trajs = load("porto", data=shared / "data/porto/train_by_taxi.csv.gz")
    _accounted(trajs.meta.steps)
    assert trajs.meta.steps[0]["trajectories_in"] == 64_456
    assert trajs.meta.steps[0]["points_in"] == 3_227_903
    assert len(trajs.user_ids) == 80
    assert 0.85 < len(trajs) / 64_456 < 0.97


def test_test_csv_is_read(shared):
    trajs = read(shared / "data/porto/test_first160.csv", PortoSettings())
    assert (len(trajs), trajs.n_points, trajs.traj_ids[0]) == (160, 7_021, "T1")
