"""Empty, one-point, flagged, malformed and repeated Porto rows are told apart and all accounted for."""

from __future__ import annotations

from trajkit.datasets.porto import PortoSettings, read

HEADER = (
    '"TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP","DAY_TYPE","MISSING_DATA","POLYLINE"\n'
)
GOOD = "[[-8.618643,41.141412],[-8.618499,41.141376]]"


def _row(trip: str, line: str, flag: str = "False") -> str:
    return f'"{trip}","C","","","20000589","1372636858","A","{flag}","{line}"\n'


def test_each_oddity_has_its_own_count(tmp_path):
    path = tmp_path / "train.csv"
    rows = [
        _row("0001", GOOD),
        _row("0002", "[]"),
        _row("0003", "[[-8.6,41.1]]"),
        _row("0004", GOOD, "True"),
        _row("0005", "[[-8.6,41.1],[-8.6"),
        _row("0001", GOOD),
    ]
    path.write_text(HEADER + "".join(rows))
    trajs = read(path, PortoSettings())
    step = trajs.meta.steps[0]
    assert (step["trajectories_in"], step["trajectories_out"]) == (6, 3)
    assert step["dropped"] == {
        "POLYLINE malformed (row 5)": [1, 0],
        "POLYLINE empty": [1, 0],
        "MISSING_DATA is True": [1, 2],
    }
    assert step["found"] == {
        "TRIP_ID used again (kept, renamed id#2)": 1,
        "one-point trips": 1,
        "trips flagged MISSING_DATA": 1,
    }
    assert trajs.traj_ids.tolist() == ["0001", "0003", "0001#2"]  # text: leading zeros stay
    assert trajs.check(inside_box=False) is trajs


def test_polylines_are_never_evaluated(tmp_path):
    path, proof = tmp_path / "train.csv", tmp_path / "proof"
    path.write_text(HEADER + _row("1", GOOD) + _row("2", f"[[open('{proof}','w').close(),1]]") + _row("3", GOOD))
    assert len(read(path, PortoSettings())) == 2
    assert not proof.exists()
