"""The noise bench: scales and laws against independent values and against draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trajkit.errors import ParameterError
from trajkit.explore.noise import MECHANISMS, QUANTILES, TAKES, calibrated, law, noise_panel
from trajkit.privacy.mechanisms import Geometric, Laplace
from trajkit.privacy.vmf import VonMisesFisher
from trajkit.viz.pictures import Picture

CITY = {"people": 60, "days": 2, "seed": 0}
CHOICE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 2, "dimension": 8, "radius_m": 200}


def test_scales_against_reference_values(shared: Path) -> None:
    laplace = json.loads((shared / "reference" / "laplace_scale.json").read_text())["cases"][0]
    asked, expected = laplace["inputs"], laplace["expected"]
    noise = calibrated("Laplace", **{**CHOICE, "epsilon": asked["epsilon"], "sensitivity": 2})
    assert noise.scale == pytest.approx(float(expected["scale_b"]))  # type: ignore[union-attr]
    gaussian = json.loads((shared / "reference" / "analytic_gaussian_sigma.json").read_text())["cases"]
    row = next(c for c in gaussian if c["inputs"]["l2_sensitivity"] == 2.0 and c["inputs"]["epsilon"] == 1.0)
    noise = calibrated("Gaussian", **{**CHOICE, "delta": row["inputs"]["delta"]})
    assert noise.sigma == pytest.approx(float(row["expected"]["sigma"]), rel=1e-6)  # type: ignore[union-attr]


def test_the_law_of_whole_numbers_against_reference_values(shared: Path) -> None:
    cases = json.loads((shared / "reference" / "discrete_noise.json").read_text())["cases"]
    row = next(c for c in cases if c["inputs"] == {"kind": "discrete_laplace", "scale": 1.0})
    x, y, _, _ = law(Geometric(1.0, 1))
    assert y[x == 0][0] == pytest.approx(float(row["expected"]["p0"]))
    assert y[x == 1][0] == pytest.approx(float(row["expected"]["p1"]))


def test_the_law_of_cosines_against_reference_values(shared: Path) -> None:
    for case in json.loads((shared / "reference" / "vmf_mean_cosine.json").read_text())["cases"]:
        d, kappa = case["inputs"]["d"], case["inputs"]["kappa"]
        if d <= 64 and kappa <= 20:
            x, y, _, _ = law(VonMisesFisher(kappa, d))
            assert (x * y).sum() * (x[1] - x[0]) == pytest.approx(float(case["expected"]["mean_cosine"]), abs=2e-3)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_quantiles_are_those_of_draws(mechanism: str) -> None:
    noise, rng = calibrated(mechanism, **CHOICE), np.random.default_rng(0)
    _, _, quantiles, _ = law(noise)
    n = 20_000
    if isinstance(noise, VonMisesFisher):
        draws = noise.cosines(n, rng)
    elif mechanism == "planar Laplace":
        draws = np.linalg.norm(noise.noise(n, rng), axis=1)  # type: ignore[union-attr]
    else:
        n = 2_000 if mechanism == "exact geometric" else n
        draws = noise.noise(n, rng)  # type: ignore[union-attr]
    for q, at in zip(QUANTILES, quantiles, strict=True):
        slack = 5 * np.sqrt(q * (1 - q) / n) + 1e-3
        assert (draws < at).mean() - slack <= q <= (draws <= at).mean() + slack


@pytest.fixture
def panel() -> Any:
    return noise_panel("city", settings=CITY, interactive=True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism_is_seen_and_only_its_controls_count(panel: Any, mechanism: str) -> None:
    panel.controls["mechanism"].value = mechanism
    panel.box()
    assert panel.message.value == "" and panel.views.value.count("<img alt=") == 1
    taken = [n for n in ("delta", "sensitivity", "dimension", "radius_m") if not panel.controls[n].disabled]
    assert set(taken) == set(TAKES[mechanism])
    for name in ("epsilon", *taken):
        control, before = panel.controls[name], panel.views.value
        control.value = next(v for _, v in reversed(control.options) if v != control.value)
        assert panel.message.value == "" and panel.views.value != before, name


def test_numerics_are_said() -> None:
    def words(mechanism: str) -> str:
        return noise_panel("city", settings=CITY, mechanism=mechanism).shown()[0].html()

    assert "holds to the letter" in words("exact geometric") and "idealised" in words("geometric")
    assert "That is per point" in words("planar Laplace")
    assert "at delta 1e-05" in words("Gaussian")


def test_more_sensitivity_is_more_noise() -> None:
    one, four = (calibrated("Laplace", **{**CHOICE, "sensitivity": s}) for s in (1, 4))
    assert isinstance(one, Laplace) and isinstance(four, Laplace) and four.scale == 4 * one.scale


def test_choices_that_are_not_offered_are_named() -> None:
    with pytest.raises(ParameterError, match=r"mechanism = 'x': one of Laplace.*epsilon = 3: one of"):
        noise_panel("city", settings=CITY, mechanism="x", epsilon=3)


def test_a_set_without_times_is_counted_by_length(panel: Any) -> None:
    from dataclasses import replace

    from trajkit.explore.data import Records
    from trajkit.explore.noise import Views

    found = panel.draw.found
    views = Views(Records(replace(found.trajs, t=None), None))(mechanism="Laplace", **CHOICE)
    assert isinstance(views[1], Picture) and "on 8 counts" in views[1].alt
