"""The von Mises-Fisher mechanism against independent values, its density ratio, and the sampler against the law."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import row_mechanism
from trajkit.privacy.vmf import VonMisesFisher

CORNERS = [(d, kappa) for d in (2, 3, 8, 64, 512) for kappa in (1e-3, 1.0, 100.0, 1e4)]


@pytest.mark.shared
def test_moments_normaliser_and_acceptance_agree_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "vmf_mean_cosine.json").read_text())["cases"]:
        found, expected = VonMisesFisher(case["inputs"]["kappa"], case["inputs"]["d"]), case["expected"]
        assert found.mean_cosine() == pytest.approx(
            float(expected["mean_cosine"]), rel=case["tolerance"]["mean_cosine_rel"]
        )
        assert found.variance_cosine() == pytest.approx(float(expected["var_cosine"]), rel=1e-8)
        normaliser = pytest.approx(float(expected["log_normaliser"]), abs=case["tolerance"]["log_normaliser_abs"])
        assert found.log_normaliser() == normaliser
        assert found.acceptance() == pytest.approx(float(case["wood"]["acceptance_probability"]), abs=1e-7)


@pytest.mark.shared
def test_privacy_ratio_agrees_with_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    for case in json.loads((shared / "reference" / "vmf_privacy_ratio.json").read_text())["cases"]:
        inputs = case["inputs"]
        found = VonMisesFisher.calibrate(inputs["epsilon"], dimension=inputs["d"])
        assert found.kappa == inputs["kappa"]
        expected = float(case["expected"]["max_log_density_ratio"])
        assert found.privacy_ratio(inputs["angle_between_inputs_rad"]) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.0, 100.0])
def test_the_promise_is_the_largest_log_ratio_and_met_by_opposite_inputs(epsilon: float) -> None:
    """The log ratio of the densities at x is kappa <u - u', x>, straight from the density; the normaliser must cancel."""
    found = VonMisesFisher.calibrate(epsilon, dimension=5)
    rng = np.random.default_rng(0)
    u, v, x = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in rng.normal(size=(3, 500, 5)))
    ratios = found.kappa * ((u - v) * x).sum(axis=1)
    angles = np.arccos(np.clip((u * v).sum(axis=1), -1, 1))
    assert all(abs(r) <= found.privacy_ratio(a) + 1e-9 for r, a in zip(ratios, angles, strict=True))
    assert found.epsilon() == epsilon == pytest.approx(found.privacy_ratio(math.pi))


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 100), st.floats(1e-12, 0.4), st.floats(1.01, 10))
def test_profile_and_its_inverse_on_the_safe_side(epsilon: float, delta: float, more: float) -> None:
    found = VonMisesFisher.calibrate(epsilon, dimension=4)
    spent = found.epsilon(delta)
    assert found.delta(spent) <= delta and spent <= epsilon
    assert VonMisesFisher(found.kappa / more, 4).epsilon(delta) <= spent
    assert VonMisesFisher(found.kappa / more, 4).epsilon() < found.epsilon()
    plain = max(0.0, (1 - math.exp(0.5 * epsilon - epsilon)) / (1 + math.exp(-epsilon)))
    assert found.delta(0.5 * epsilon) == pytest.approx(plain, rel=1e-9)


def test_delta_bounds_the_true_profile_of_opposite_inputs_on_the_circle() -> None:
    found = VonMisesFisher(0.8, 2)
    angle = np.linspace(0, 2 * np.pi, 4001)[:-1]
    density = np.exp(found.log_normaliser() + found.kappa * np.cos(angle))
    opposite = np.exp(found.log_normaliser() - found.kappa * np.cos(angle))
    assert density.mean() * 2 * np.pi == pytest.approx(1.0, rel=1e-10)
    for epsilon in (0.0, 0.5, 1.0, 1.5):
        true = np.maximum(0, density - math.exp(epsilon) * opposite).mean() * 2 * np.pi
        assert 0 < true <= found.delta(epsilon)


@pytest.mark.parametrize(("d", "kappa"), CORNERS)
def test_cosines_have_the_moments(d: int, kappa: float) -> None:
    """Mean and second moment within 4 standard errors: each would fail one correct sampler in 16,000."""
    found = VonMisesFisher(kappa, d)
    n = 20_000
    drawn = found.cosines(n, np.random.default_rng(9))
    assert drawn.shape == (n,) and drawn.dtype == np.float64 and np.abs(drawn).max() <= 1
    centred = drawn - found.mean_cosine()
    assert abs(centred.mean()) < 4 * math.sqrt(found.variance_cosine() / n)
    assert abs((centred**2).mean() - found.variance_cosine()) < 4 * (centred**2).std() / math.sqrt(n)
    assert 0.65 < found.acceptance() <= 1


@pytest.mark.parametrize("kappa", [1e-3, 0.5, 5.0, 200.0, 1e4])
def test_cosines_in_three_dimensions_have_the_closed_law(kappa: float) -> None:
    """Kolmogorov-Smirnov: each would fail one correct sampler in 1000."""
    drawn = VonMisesFisher(kappa, 3).cosines(20_000, np.random.default_rng(10))
    assert (
        stats.kstest(
            drawn, lambda w: np.exp(kappa * (w - 1)) * -np.expm1(-kappa * (w + 1)) / -np.expm1(-2 * kappa)
        ).pvalue
        > 1e-3
    )


@pytest.mark.parametrize(("d", "kappa"), [(2, 0.5), (2, 50.0), (8, 10.0), (64, 100.0), (512, 30.0)])
def test_cosines_have_the_density(d: int, kappa: float) -> None:
    """Kolmogorov-Smirnov against the density integrated over the angle: each would fail one correct sampler in 1000."""
    angle = np.linspace(0, np.pi, 20_001)
    log_density = kappa * np.cos(angle[1:-1]) + (d - 2) * np.log(np.sin(angle[1:-1]))
    density = np.concatenate(
        [[0.0 if d > 2 else math.exp(kappa - log_density.max())], np.exp(log_density - log_density.max())]
    )
    density = np.append(density, 0.0 if d > 2 else math.exp(-kappa - log_density.max()))
    below = integrate.cumulative_simpson(density, x=angle, initial=0)
    drawn = np.arccos(VonMisesFisher(kappa, d).cosines(20_000, np.random.default_rng(11)))
    assert stats.kstest(drawn, lambda t: np.interp(t, angle, below / below[-1])).pvalue > 1e-3


def test_outputs_are_unit_vectors_around_the_inputs_and_uniform_across() -> None:
    """d = 2: the side is a fair coin (4 standard errors, 1 in 16,000); d = 3: the turn around the input is uniform (KS, 1 in 1000)."""
    n = 20_000
    for start in ((1.0, 0.0), (-0.6, 0.8)):
        out = VonMisesFisher(2.0, 2).randomise(np.tile(start, (n, 1)), np.random.default_rng(12))
        side = out[:, 1] * start[0] - out[:, 0] * start[1]
        assert abs((side > 0).mean() - 0.5) < 4 * 0.5 / math.sqrt(n)
    for start in ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.36, 0.48, -0.8)):
        out = VonMisesFisher(3.0, 3).randomise(np.tile(start, (n, 1)), np.random.default_rng(13))
        assert np.abs(np.linalg.norm(out, axis=1) - 1).max() < 1e-14
        first = np.linalg.svd(np.array([start]))[2][1:]
        turn = np.arctan2(*(out @ first.T).T)
        assert stats.kstest(turn, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("d", "kappa"), [(2, 1.0), (8, 10.0), (64, 1e-3), (512, 50.0), (512, 1e4)])
def test_outputs_lie_at_the_right_angle_in_every_dimension(d: int, kappa: float) -> None:
    """Mean cosine and the squares of two components across within 4 standard errors: 1 in 16,000 each."""
    rng, n, found = np.random.default_rng(14), 4000, VonMisesFisher(kappa, d)
    units = rng.normal(size=(n, d))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    before = units.copy()
    out = found.randomise(units, rng)
    cosine = (out * units).sum(axis=1)
    assert np.array_equal(units, before) and np.abs(np.linalg.norm(out, axis=1) - 1).max() < 1e-14
    assert abs(cosine.mean() - found.mean_cosine()) < 4 * math.sqrt(found.variance_cosine() / n)
    across = rng.normal(size=(n, d))
    across -= (across * units).sum(axis=1, keepdims=True) * units
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    part = (out * across).sum(axis=1)
    expected = (1 - found.mean_cosine() ** 2 - found.variance_cosine()) / (d - 1)
    assert abs(part.mean()) < 4 * part.std() / math.sqrt(n)
    assert abs((part**2).mean() - expected) < 4 * (part**2).std() / math.sqrt(n)


def test_uniform_inputs_stay_uniform() -> None:
    """Every rotation treats the inputs alike, so uniform inputs give uniform outputs: KS on each axis, 1 in 1000 each."""
    rng = np.random.default_rng(15)
    units = rng.normal(size=(20_000, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    for column in VonMisesFisher(4.0, 3).randomise(units, rng).T:
        assert stats.kstest(column, stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("d", "kappa"), CORNERS)
def test_moments_are_stable_and_meet_simple_bounds(d: int, kappa: float) -> None:
    """Amos 1974: k / (v + 1/2 + hypot(k, v + 3/2)) <= I_{v+1}/I_v <= k / (v + 1/2 + hypot(k, v + 1/2)); and dA/dk is the variance."""
    found, v = VonMisesFisher(kappa, d), d / 2 - 1
    assert kappa / (v + 0.5 + math.hypot(kappa, v + 1.5)) <= found.mean_cosine() * (1 + 1e-12)
    assert found.mean_cosine() <= kappa / (v + 0.5 + math.hypot(kappa, v + 0.5)) * (1 + 1e-12)
    step = 1e-4 * kappa
    slope = (VonMisesFisher(kappa + step, d).mean_cosine() - VonMisesFisher(kappa - step, d).mean_cosine()) / (2 * step)
    assert found.variance_cosine() == pytest.approx(slope, rel=1e-4)
    assert math.isfinite(found.log_normaliser())
    assert found.expected_cosine(np.eye(d)) == pytest.approx(np.full(d, found.mean_cosine()))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: VonMisesFisher(0.0, 3), "kappa"),
        (lambda: VonMisesFisher(2e6, 3), "kappa"),
        (lambda: VonMisesFisher(1.0, 1), "dimension"),
        (lambda: VonMisesFisher.calibrate(-1.0, dimension=3), "epsilon"),
        (lambda: VonMisesFisher(1.0, 3).privacy_ratio(4.0), "angle"),
        (lambda: VonMisesFisher(1.0, 3).cosines(-1, np.random.default_rng(0)), "draws"),
        (lambda: VonMisesFisher(1.0, 3).cosines(1, None), "default_rng"),  # type: ignore[arg-type]
        (lambda: row_mechanism("vmf", epsilon=1.0, delta=1e-6, norm=1.0, dimension=3), "delta"),
        (lambda: row_mechanism("vmf", epsilon=1.0, delta=None, norm=1.0, dimension=1), "dimension"),
    ],
)
def test_refuses_what_is_out_of_range(call: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def test_refuses_rows_that_are_no_directions() -> None:
    found, rng = VonMisesFisher(1.0, 2), np.random.default_rng(0)
    with pytest.raises(ParameterError, match=r"row 1 has L2 norm 0, .* public"):
        found.randomise([[1.0, 0.0], [0.0, 0.0]], rng)
    with pytest.raises(ParameterError, match=r"row 0 has L2 norm 1\.00001, .* normalise"):
        found.randomise([[1.00001, 0.0]], rng)
    with pytest.raises(ParameterError, match="not finite"):
        found.randomise([[math.nan, 0.0]], rng)
    with pytest.raises(ParameterError, match="shape"):
        found.randomise([[1.0, 0.0, 0.0]], rng)
    assert found.randomise([[1.0 + 1e-7, 0.0]], rng).shape == (1, 2)
    assert found.randomise(np.empty((0, 2)), rng).shape == (0, 2)


def test_by_name_and_in_words() -> None:
    found = row_mechanism("vmf", epsilon=20.0, delta=None, norm=1.0, dimension=16)
    assert found == VonMisesFisher(10.0, 16) and found.adjacency == "replace-one"
    assert found.mean_cosine() == pytest.approx(0.487621667979391389, rel=1e-12)
    assert "epsilon 20" in found.in_words() and "idealised floating point" in found.in_words()
