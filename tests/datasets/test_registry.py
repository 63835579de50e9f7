"""Finding files, caching what was parsed, and the entries of the registry."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from trajkit import datasets
from trajkit.datasets import DATASETS, load, porto
from trajkit.datasets.cache import content_hash, read_entry, write_entry
from trajkit.datasets.registry import resolve, used_users
from trajkit.datasets.samples import write_geolife_sample, write_porto_sample
from trajkit.errors import MissingDataError, ParameterError
from trajkit.geo import Box
from trajkit.trajectories import Meta, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42))


def test_every_entry_is_complete():
    for name, spec in DATASETS.items():
        assert spec.name == name
        assert spec.licence and spec.citation and spec.title
        assert spec.visibility in ("public", "private")
        assert callable(resolve(spec.read))
        assert spec.settings_of({}).model_config["extra"] == "forbid"
    assert DATASETS["tables"].visibility == "private"


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ParameterError, match="'proto' is unknown: use one of city, porto"):
        load("proto")


def test_the_cache_returns_the_same_thing_without_reading_again(tmp_path, monkeypatch):
    path = write_porto_sample(tmp_path / "train.csv", n=40)
    first = load("porto", data=path)
    monkeypatch.setattr(porto, "read", lambda *a: pytest.fail("parsed again"))
    again = load("porto", data=path)
    assert again.fingerprint() == first.fingerprint()
    assert json.loads(again.meta.to_json()) == json.loads(first.meta.to_json())
    assert again.t.dtype == again.offsets.dtype == again.user.dtype == np.int64


def test_content_settings_and_version_are_the_key(tmp_path, monkeypatch, own_cache):
    path = write_porto_sample(tmp_path / "train.csv", n=40)
    entries = lambda: len(list(own_cache.glob("datasets/*.parquet")))  # noqa: E731
    first = load("porto", data=path)
    load("porto", data=path.rename(tmp_path / "other_name.csv"))
    assert entries() == 1  # a new name is not a new content
    path = tmp_path / "other_name.csv"
    load("porto", data=path, settings={"min_points": 20})
    assert entries() == 2
    monkeypatch.setattr(porto, "LOADER_VERSION", 99)
    load("porto", data=path)
    assert entries() == 3
    path.write_text(path.read_text().replace("41.1", "41.2", 1))
    assert load("porto", data=path).fingerprint() != first.fingerprint()
    assert not list(own_cache.rglob("*.part"))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_entry_is_noticed_and_built_again(tmp_path, own_cache, caplog, damage):
    path = write_porto_sample(tmp_path / "train.csv", n=40)
    first = load("porto", data=path)
    (entry,) = own_cache.glob("datasets/*.parquet")
    data = entry.read_bytes()
    half = len(data) // 3
    entry.write_bytes(
        {
            "cut": data[:half],
            "flip": data[:half] + bytes([data[half] ^ 255]) + data[half + 1 :],
            "empty": b"",
            "other": b"hello",
        }[damage]
    )
    with caplog.at_level(logging.WARNING):
        assert load("porto", data=path).fingerprint() == first.fingerprint()
    assert "is damaged" in caplog.text and str(entry) in caplog.text
    assert read_entry(entry).fingerprint() == first.fingerprint()


def test_a_cache_that_cannot_be_written_is_said_and_no_error(tmp_path, monkeypatch, caplog):
    path = write_porto_sample(tmp_path / "train.csv", n=40)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "file"))
    assert len(load("porto", data=path)) == 41
    assert "could not be cached" in caplog.text


@pytest.mark.parametrize(
    "trajs",
    [
        make([(-8.5, 41.5, 0)], [(-8.4, 41.4, 5), (-8.3, 41.3, 9)], meta=META, users=["b", "a"]),
        make([(-8.5, 41.5)], meta=META),
        make(meta=META),
    ],
    ids=["timed", "no time", "empty"],
)
def test_entries_keep_everything(tmp_path, trajs):
    write_entry(trajs, tmp_path / "x.parquet")
    back = read_entry(tmp_path / "x.parquet")
    assert back.meta == trajs.meta
    assert back.lonlat.tolist() == trajs.lonlat.tolist()
    assert back.traj_ids.tolist() == trajs.traj_ids.tolist()
    assert back.user_ids.tolist() == trajs.user_ids.tolist()
    assert back.fingerprint() == trajs.fingerprint()


def test_folder_hash_follows_names_and_bytes(tmp_path):
    root = write_geolife_sample(tmp_path / "a", n_users=1)
    before = content_hash(root)
    file = sorted(root.rglob("*.plt"))[0]
    file.touch()
    assert content_hash(root) == before
    file.rename(file.with_name("x.plt"))
    renamed = content_hash(root)
    assert renamed != before
    file.with_name("x.plt").write_bytes(b"")
    assert content_hash(root) not in (before, renamed)


def test_places_are_tried_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_porto_sample(tmp_path / "data" / "porto" / "train.csv", n=30)
    assert len(load("porto")) == 31
    write_porto_sample(tmp_path / "elsewhere" / "porto" / "train.csv", n=50)
    monkeypatch.setenv("TRAJKIT_DATA", str(tmp_path / "elsewhere"))
    assert len(load("porto")) == 51
    assert len(load("porto", data="data/porto")) == 31  # relative to the working directory


def test_a_path_that_does_not_exist_names_every_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingDataError) as error:
        load("porto", data="nowhere/train.csv")
    text = str(error.value)
    assert str(tmp_path / "nowhere/train.csv") in text
    assert str(Path(datasets.__file__).parents[2] / "nowhere/train.csv") in text
    assert "train.csv (or train.csv.gz" in text


def test_without_file_and_network_the_error_says_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAJKIT_DATA", str(tmp_path / "mine"))
    for name, words in {"porto": "train.csv", "geolife": "Geolife Trajectories 1.3"}.items():
        with pytest.raises(MissingDataError) as error:
            load(name)
        assert words in str(error.value) and str(tmp_path / "mine" / name) in str(error.value)
        assert "no network?" in str(error.value)
    with pytest.raises(MissingDataError, match="a YAML file that names your table"):
        load("tables")


def test_generated_sets_take_no_file():
    with pytest.raises(ParameterError, match="is generated and reads no file"):
        load("city", data="x.csv")


def test_full_files_are_compared_with_the_published_counts(tmp_path, monkeypatch):
    path = write_porto_sample(tmp_path / "train.csv", n=40)
    from dataclasses import replace

    spec = replace(DATASETS["porto"], expected={"raw": 46, "trajectories": 40})
    monkeypatch.setitem(DATASETS, "porto", spec)
    last = load("porto", data=path).meta.steps[-1]
    assert (last["step"], last["found"]) == ("compare_with_published", {"trajectories more than published": 1})


def test_users_without_trajectories_disappear():
    trajs = make([(-8.5, 41.5)], [(-8.4, 41.4)], [(-8.3, 41.3)], meta=META, users=["c", "b", "a"]).take([0, 2])
    kept = used_users(trajs)
    assert kept.user_ids.tolist() == ["a", "c"]
    assert kept.user_ids[kept.user].tolist() == ["c", "a"]


def test_sets_without_roads_say_so(tmp_path):
    path = write_porto_sample(tmp_path / "porto" / "train.csv", n=30)
    assert datasets.roads_of("porto", data=path) is None
    assert datasets.roads_of("geolife", data=write_geolife_sample(tmp_path / "g", n_users=1)) is None


def test_porto_finds_the_road_network_beside_it(shared):
    roads = datasets.roads_of("porto", data=shared / "data/porto/train.1k.csv")
    assert roads.crs == "EPSG:32629"
    assert len(roads.segments()) >= 11_000
    named = datasets.roads_of(
        "porto", data=shared / "data/geolife", settings={"roads": str(shared / "data/porto_roads")}
    )
    assert len(named.segments()) == len(roads.segments())


def test_a_table_names_its_road_network(tmp_path, shared):
    (tmp_path / "t.csv").write_text("lat,lon,id\n41.15,-8.6,x\n")
    (tmp_path / "my.yaml").write_text(
        f"file: t.csv\ncolumns: {{traj: id}}\nbox: [-8.7, 41.1, -8.5, 41.2]\nroads: {shared}/data/porto_roads\n"
    )
    assert datasets.roads_of("tables", data=tmp_path / "my.yaml").crs == "EPSG:32629"
    assert len(load("tables", data=tmp_path / "my.yaml")) == 1
