"""GeoLife: every layout, and agreement with the published processed set."""

from __future__ import annotations

import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest

from trajkit.datasets import load
from trajkit.datasets.geolife import GeolifeSettings, read
from trajkit.datasets.samples import PLT_HEADER, write_geolife_sample
from trajkit.errors import DataContractError


def _zip(folder, path, prefix="Geolife Trajectories 1.3/"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*.plt")):
            archive.write(file, prefix + file.relative_to(folder).as_posix())
    return path


def test_root_data_folder_and_zip_hold_the_same_files(tmp_path):
    root = write_geolife_sample(tmp_path / "root", n_users=3)
    packed = _zip(root, tmp_path / "Geolife Trajectories 1.3.zip")
    prints = {load("geolife", data=p).fingerprint() for p in (root, root / "Data", packed)}
    assert len(prints) == 1


def test_folders_and_zips_in_one_place_are_united(tmp_path):
    whole = write_geolife_sample(tmp_path / "whole", n_users=4)
    both = tmp_path / "both"
    shutil.copytree(whole / "Data" / "000", both / "Data" / "000")
    shutil.copytree(whole / "Data" / "003", both / "Data" / "003")
    shutil.rmtree(whole / "Data" / "003")
    _zip(whole, both / "users.zip")
    trajs = read(both, GeolifeSettings())
    assert trajs.user_ids.tolist() == ["000", "001", "002", "003"]
    assert trajs.meta.steps[0]["found"] == {
        "files in users.zip": 36,
        "files in folders": 25,
        "files in folders that were read before": 12,
        "users": 4,
    }
    assert trajs.meta.steps[0]["trajectories_in"] == 49


def test_one_name_with_two_contents_is_refused(tmp_path):
    root = write_geolife_sample(tmp_path / "root", n_users=2)
    _zip(root, root / "users.zip")
    victim = sorted((root / "Data" / "001" / "Trajectory").glob("*.plt"))[0]
    victim.write_bytes(victim.read_bytes()[:-60] + b"\r\n")
    with pytest.raises(DataContractError, match=r"have one name but differ|no PLT record"):
        read(root, GeolifeSettings())


def test_odd_records_are_accounted_for(tmp_path):
    trajs = load("geolife", data=write_geolife_sample(tmp_path / "g", n_users=3))
    steps = {s["step"]: s for s in trajs.meta.steps}
    assert steps["read"]["dropped"] == {"file without points": [1, 0]}
    assert steps["duplicate_trajectories"]["found"]["of them under another user"] == 1
    assert steps["filter_box"]["dropped"] == {"point outside the box": [0, 6]}
    assert steps["split_at_gaps"]["created"] > 0
    assert trajs.lengths.min() >= 10 and trajs.lengths.max() <= 200
    assert len(load("geolife", data=tmp_path / "g", settings={"drop_duplicates": True})) < len(trajs)


def test_lf_line_ends_and_a_missing_last_newline_make_no_difference(tmp_path):
    a = write_geolife_sample(tmp_path / "a", n_users=2)
    b = write_geolife_sample(tmp_path / "b", n_users=2)
    for file in b.rglob("*.plt"):
        file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").rstrip() + b"\n" * (file.stat().st_size % 2))
    # a file of the header alone needs its six line ends
    for file in b.rglob("*.plt"):
        if file.read_bytes().count(b"\n") < 6:
            file.write_bytes(PLT_HEADER.encode())
    assert read(a, GeolifeSettings()).fingerprint() == read(b, GeolifeSettings()).fingerprint()


def test_bins_take_the_first_place_and_the_mean_time(tmp_path):
    folder = tmp_path / "Data" / "007" / "Trajectory"
    folder.mkdir(parents=True)
    rows = [(39.9, 116.4, 0), (39.91, 116.41, 2), (39.92, 116.42, 5)]
    lines = [f"{a},{b},0,0,0,2008-10-23,02:53:0{s}\r\n" for a, b, s in rows]
    (folder / "x.plt").write_text(PLT_HEADER + "".join(lines), newline="")
    trajs = load("geolife", data=tmp_path, settings={"min_points": 1})
    assert trajs.lonlat.tolist() == [[116.4, 39.9], [116.42, 39.92]]
    assert pd.to_datetime(trajs.t, unit="ms").strftime("%S").tolist() == ["01", "05"]
    assert trajs.traj_ids.tolist() == ["007_x_0"]


@pytest.mark.parametrize(("line", "number"), [("39.9,abc,0,0,0,2008-10-23,02:53:00", 8), ("39.9,116.4", 8), ("", None)])
def test_a_bad_line_is_named(tmp_path, line, number):
    folder = tmp_path / "Data" / "007" / "Trajectory"
    folder.mkdir(parents=True)
    good = "39.9,116.4,0,0,0,2008-10-23,02:53:00\r\n"
    (folder / "x.plt").write_text(PLT_HEADER + good + line + "\r\n" + good, newline="")
    with pytest.raises(DataContractError) as error:
        read(tmp_path, GeolifeSettings())
    assert "x.plt" in str(error.value)
    assert f"line {number or 8}" in str(error.value)


def test_wrong_sources_get_one_sentence(tmp_path):
    with pytest.raises(DataContractError, match=r"no NNN/Trajectory"):
        read(tmp_path, GeolifeSettings())
    (tmp_path / "broken.zip").write_bytes(b"PK nonsense")
    with pytest.raises(DataContractError, match="damaged or no zip"):
        read(tmp_path / "broken.zip", GeolifeSettings())
    folder = tmp_path / "b" / "Data" / "007" / "Trajectory"
    folder.mkdir(parents=True)
    (folder / "x.plt").write_text("hello\n")
    with pytest.raises(DataContractError, match="fewer than 6 header lines"):
        read(tmp_path / "b", GeolifeSettings())
    (tmp_path / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataContractError, match="no Parquet file"):
        load("geolife", data=tmp_path / "x.parquet")


def test_excerpt_agrees_with_the_published_processed_set(shared):
    folder = shared / "data/geolife"
    ours, published = load("geolife", data=folder), load("geolife", data=folder / "geolife_fifth_ring.parquet")
    found = ours.meta.steps[0]["found"]
    assert (found["files in geolife_users.zip"], found["files in folders"], found["users"]) == (1544, 155, 31)
    both = np.intersect1d(ours.user_ids, published.user_ids)
    assert len(both) == 30
    a = ours.take(np.isin(ours.user_ids[ours.user], both)).sorted_by_id()
    b = published.take(np.isin(published.user_ids[published.user], both)).sorted_by_id()
    assert a.traj_ids.tolist() == b.traj_ids.tolist()
    assert a.offsets.tolist() == b.offsets.tolist()
    assert np.abs(a.lonlat - b.lonlat).max() <= 0.51e-6
    assert set(np.unique(a.t - b.t)) <= {0, 1}  # the published mean times carry float rounding, then truncation: 1 ms
    assert (a.t != b.t).mean() < 0.002


def test_duplicates_of_the_excerpt_are_those_of_its_files(shared):
    steps = {s["step"]: s for s in load("geolife", data=shared / "data/geolife").meta.steps}
    assert steps["duplicate_trajectories"]["found"] == {
        "copies of an earlier trajectory": 59 + 12 + 5 + 22,
        "of them under another user": 59 + 12 + 5 + 22,
    }
