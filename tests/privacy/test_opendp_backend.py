"""Noise by OpenDP where it is installed, and a clear word where it is not."""

from __future__ import annotations

import builtins
import math
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from trajkit.errors import ParameterError
from trajkit.privacy.mechanisms import Gaussian, Geometric, Laplace
from trajkit.privacy.opendp_backend import OpenDpGaussian, OpenDpGeometric, OpenDpLaplace


@pytest.fixture
def opendp() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("opendp.prelude")


def test_without_opendp_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("opendp"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return original(name, *rest, **more)

    original = builtins.__import__
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ParameterError, match=r"pip install 'trajkit\[opendp\]'"):
        OpenDpLaplace(1.0, 1.0)
    with pytest.raises(ParameterError, match=r"trajkit\.privacy\.mechanisms"):
        OpenDpGaussian.calibrate(1.0, 1e-6, l2_sensitivity=1.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 7.0, 20.0, 100.0])
def test_the_map_gives_what_was_asked_for_and_hardly_less(opendp: Any, epsilon: float) -> None:
    laplace = OpenDpLaplace.for_rows(epsilon, norm=1.0)
    assert laplace.epsilon() <= epsilon <= laplace.epsilon() * (1 + 1e-12)
    assert laplace.scale == pytest.approx(Laplace.for_rows(epsilon, norm=1.0).scale, rel=1e-12)
    geometric = OpenDpGeometric.calibrate(epsilon, sensitivity=3)
    assert geometric.epsilon() <= epsilon <= geometric.epsilon() * (1 + 1e-12)
    gaussian = OpenDpGaussian.for_rows(epsilon, 1e-6, norm=1.0)
    assert gaussian.epsilon(1e-6) <= epsilon <= gaussian.epsilon(1e-6) * (1 + 1e-9)
    assert gaussian.delta(epsilon) <= 1e-6 * (1 + 1e-6)
    assert laplace.adjacency == gaussian.adjacency == "replace-one" and laplace.numerics == gaussian.numerics == "exact"


def test_opendps_account_of_gaussian_noise_is_looser_than_the_exact_one(opendp: Any) -> None:
    for sigma in (0.3, 1.0, 5.0):
        assert OpenDpGaussian(sigma, 2.0).epsilon(1e-6) > Gaussian(sigma, 2.0).epsilon(1e-6)
    assert OpenDpGaussian.for_rows(10.0, 1e-6, norm=1.0).sigma > Gaussian.for_rows(10.0, 1e-6, norm=1.0).sigma
    assert OpenDpGaussian(1.0, 1.0).epsilon() == math.inf
    assert (
        OpenDpLaplace(1.0, 2.0).delta(1.0) >= Laplace(1.0, 2.0).delta(1.0) and OpenDpLaplace(1.0, 2.0).delta(2.0) == 0
    )


def test_noise_has_the_law_it_claims(opendp: Any) -> None:
    """OpenDP cannot be seeded, so each test fails a correct sampler once in a million runs, not once in a thousand."""
    zeros = np.zeros((2000, 2))
    noise = OpenDpLaplace(0.4, 2.0, 1.0).randomise(zeros)
    assert noise.shape == (2000, 2) and noise.dtype == np.float64
    assert stats.kstest(noise.ravel(), stats.laplace(scale=0.4).cdf).pvalue > 1e-6
    noise = OpenDpGaussian(0.7, 2.0, 1.0).randomise(zeros)
    assert stats.kstest(noise.ravel(), stats.norm(scale=0.7).cdf).pvalue > 1e-6
    counts = OpenDpGeometric(1.0, 1).randomise(np.full(4000, 5.0))
    assert counts.dtype == np.int64
    law = math.tanh(0.5) * np.exp(-np.abs(np.arange(-5, 6)))
    seen = [(counts == 5 + k).sum() for k in range(-5, 6)] + [(np.abs(counts - 5) > 5).sum()]
    assert stats.chisquare(seen, 4000 * np.append(law, 1 - law.sum())).pvalue > 1e-6


def test_refusals_and_words(opendp: Any) -> None:
    laplace = OpenDpLaplace.for_rows(1.0, norm=1.0)
    with pytest.raises(ParameterError, match="clip"):
        laplace.randomise([[2.0, 0.0]])
    with pytest.raises(ParameterError, match="cannot be seeded"):
        laplace.randomise([[1.0, 0.0]], np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="not whole"):
        OpenDpGeometric(1.0, 1).randomise([0.5])
    for bad in (
        lambda: OpenDpLaplace(1.0, 1.0, 1.0),
        lambda: OpenDpGaussian(0.0, 1.0),
        lambda: OpenDpGeometric(1.0, 0),
    ):
        with pytest.raises(ParameterError):
            bad()
    for noise in (laplace, OpenDpGaussian(1.0, 1.0), OpenDpGeometric(1.0, 1)):
        assert "exact" in noise.in_words() and "OpenDP" in noise.in_words()
    assert laplace.randomise(np.empty((0, 2))).shape == (0, 2)
    assert OpenDpGeometric(1.0, 1).epsilon() == pytest.approx(Geometric(1.0, 1).epsilon())
