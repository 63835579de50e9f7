"""Local times without a zone are read in the zone the map declares, not in UTC: a Beijing night stays a night."""

from __future__ import annotations

import pandas as pd

from trajkit.datasets import load


def test_nights_stay_nights(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "1.txt"
    rows = [(day, hour, 116.3 if hour == "02" else 116.5) for day in ("02", "03", "04") for hour in ("02", "14")]
    path.write_text("".join(f"1,2008-02-{d} {h}:00:00,{lon},39.9\n" for d, h, lon in rows))
    trajs = load("tables", data=path, settings={"preset": "tdrive", "cut": {"gap_s": None}})
    local = pd.to_datetime(trajs.t, unit="ms", utc=True).tz_convert(trajs.meta.tz)
    assert trajs.meta.tz == "Asia/Shanghai"
    assert sorted(set(local.hour[trajs.lonlat[:, 0] == 116.3])) == [2]
    assert sorted(set(local.hour[trajs.lonlat[:, 0] == 116.5])) == [14]
    utc = load("tables", data=path, settings={"preset": "tdrive", "cut": {"gap_s": None}, "time": {"tz": "UTC"}})
    assert (utc.t - trajs.t).tolist() == [8 * 3_600_000] * 6
