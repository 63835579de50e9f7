"""The noise bench of `explore-privacy`: each mechanism of the kit, its scale, its law, and one draw on something that can be seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np
from matplotlib.axes import Axes
from scipy import stats

from trajkit import datasets
from trajkit.errors import ParameterError
from trajkit.explore.data import HIDDEN, Records
from trajkit.explore.panel import Panel
from trajkit.local_time import DAY_MS, local_ms
from trajkit.privacy.mechanisms import Gaussian, Geometric, Laplace
from trajkit.privacy.planar_laplace import PlanarLaplace
from trajkit.privacy.release_checks import EXACT, IDEALISED
from trajkit.privacy.vmf import VonMisesFisher
from trajkit.seeds import rng
from trajkit.viz import noise as figures
from trajkit.viz.anonymity import street_picture
from trajkit.viz.pictures import Picture, Text, View, sentence

MECHANISMS = ("Laplace", "geometric", "exact geometric", "Gaussian", "von Mises-Fisher", "planar Laplace")
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
DELTAS = (1e-3, 1e-5, 1e-6, 1e-8)
SENSITIVITIES = (1, 2, 4, 8, 16, 32)
DIMENSIONS = (2, 4, 8, 12, 24, 48, 96)  # divisors of a day in quarters of an hour
RADII_M = (50, 100, 200, 500, 1000, 2000)
# which of the sliders each mechanism has, beside epsilon
TAKES = {
    "Laplace": ("sensitivity", "dimension"), "geometric": ("sensitivity", "dimension"), "exact geometric": ("sensitivity", "dimension"),
    "Gaussian": ("sensitivity", "dimension", "delta"), "von Mises-Fisher": ("dimension",), "planar Laplace": ("radius_m",),
}  # fmt: skip
QUANTILES = (0.025, 0.25, 0.75, 0.975)


def calibrated(
    mechanism: str, *, epsilon: float, delta: float, sensitivity: int, dimension: int, radius_m: float
) -> Laplace | Geometric | Gaussian | VonMisesFisher | PlanarLaplace:
    """The least noise of ``mechanism`` for what was asked; what it has no use for is ignored. Raises ParameterError for an unknown one."""
    made: dict[str, Callable[[], Any]] = {
        "Laplace": lambda: Laplace.calibrate(epsilon, l1_sensitivity=float(sensitivity)),
        "geometric": lambda: Geometric.calibrate(epsilon, sensitivity=sensitivity),
        "exact geometric": lambda: Geometric.calibrate(epsilon, sensitivity=sensitivity, exact=True),
        "Gaussian": lambda: Gaussian.calibrate(epsilon, delta, l2_sensitivity=float(sensitivity)),
        "von Mises-Fisher": lambda: VonMisesFisher.calibrate(epsilon, dimension=dimension),
        "planar Laplace": lambda: PlanarLaplace.within(epsilon, radius_m),
    }
    if mechanism not in made:
        raise ParameterError(f"mechanism = {mechanism!r}: use one of {', '.join(made)}")
    found: Laplace | Geometric | Gaussian | VonMisesFisher | PlanarLaplace = made[mechanism]()
    return found


def law(noise: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Places, density there, `QUANTILES` and what is on the axis: of one number's noise, of a distance, or of a cosine."""
    if isinstance(noise, VonMisesFisher):
        return _cosine_law(noise)
    if isinstance(noise, PlanarLaplace):
        radius = stats.gamma(2, scale=1 / noise.epsilon_per_m)
        x = np.linspace(0, radius.ppf(0.999), 400)
        return x, radius.pdf(x), radius.ppf(QUANTILES), "distance from the true point (m)"
    if isinstance(noise, Geometric):
        whole = stats.dlaplace(1 / noise.scale)
        most = max(3, int(whole.ppf(0.998)))
        x = np.arange(-most, most + 1, max(1, most // 200)).astype(float)
        return x, whole.pmf(x), whole.ppf(QUANTILES), "noise on one count"
    one = stats.laplace(scale=noise.scale) if isinstance(noise, Laplace) else stats.norm(scale=noise.sigma)
    x = np.linspace(one.ppf(0.001), one.ppf(0.999), 401)
    return x, one.pdf(x), one.ppf(QUANTILES), "noise on one count"


def _cosine_law(noise: VonMisesFisher) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Density of the cosine: proportional to exp(kappa c) (1 - c^2)^((d - 3) / 2), by angles, where it is bounded for every d."""
    angle = (np.arange(20_000) + 0.5) * np.pi / 20_000
    weight = noise.kappa * (np.cos(angle) - 1) + (noise.dimension - 2) * np.log(np.sin(angle))
    mass = np.exp(weight - weight.max())
    below = np.cumsum(mass[::-1]) / mass.sum()
    cosine = np.cos(angle)[::-1]
    edges = np.linspace(-1, 1, 161)
    binned = np.histogram(cosine, edges, weights=mass[::-1] / mass.sum())[0] / np.diff(edges)
    quantiles = cosine[np.searchsorted(below, QUANTILES)]
    return (edges[1:] + edges[:-1]) / 2, binned, quantiles, "cosine between input and output"


class Views:
    """Words, law and one draw. The draw is always the same for the same choice."""

    def __init__(self, found: Records) -> None:
        self.found = found
        self.streets = street_picture(found.streets, found.bounds)
        t, starts = found.trajs.t, found.trajs.starts
        # ms of the local day; where there are no times, trips are counted by length instead
        self.minute = None if t is None else local_ms(t[starts], found.trajs.meta.tz) % DAY_MS // 60_000
        self.trip = found.trajs.take(np.array([int(np.argsort(found.km)[len(found.km) * 9 // 10])]))

    def __call__(self, *, mechanism: str, **chosen: Any) -> list[View]:
        noise = calibrated(mechanism, **chosen)
        x, y, quantiles, axis = law(noise)
        draw = partial(_density, x=x, y=y, quantiles=quantiles, xlabel=axis)
        title = f"{mechanism}, epsilon {chosen['epsilon']:g}"
        random = rng(0, "noise", "explore", mechanism)
        if isinstance(noise, PlanarLaplace):
            picture, seen = self._on_trip(noise, draw, title)
        elif isinstance(noise, VonMisesFisher):
            true = np.zeros(noise.dimension)
            true[: max(1, noise.dimension // 2)] = 1.0
            true /= np.linalg.norm(true)
            noisy = noise.randomise(true[None], random)[0]
            picture = figures.on_direction(draw, true, noisy, title=title)
            seen = f"one unit vector keeps a cosine of {true @ noisy:.2f}, {noise.mean_cosine():.2f} on average"
        else:
            picture, seen = self._on_counts(noise, draw, chosen["dimension"], title, random)
        low, q1, q3, high = quantiles
        alt = f"{title}: {axis}, half of the draws from {q1:.3g} to {q3:.3g}, 95 % from {low:.3g} to {high:.3g}; {seen}"
        return [_words(noise, chosen, seen), Picture(picture, alt)]

    def _on_counts(
        self, noise: Any, draw: Callable[[Axes], None], parts: int, title: str, random: np.random.Generator
    ) -> tuple[Any, str]:
        if self.minute is None:
            edges, axis = np.linspace(0, float(self.found.km.max()) + 1e-9, parts + 1), f"length, {parts} equal classes"
            true = np.histogram(self.found.km, edges)[0]
        else:
            true, axis = (
                np.bincount(self.minute * parts // 1440, minlength=parts),
                f"part of the local day, {parts} equal ones",
            )
        noisy = noise.randomise(true, random)
        error = np.abs(noisy - true).mean()
        seen = f"on {parts} counts of {true.mean():,.0f} trips on average one draw is wrong by {error:,.3g} each"
        return figures.on_counts(draw, true, noisy, title=title, xlabel=axis), seen

    def _on_trip(self, noise: PlanarLaplace, draw: Callable[[Axes], None], title: str) -> tuple[Any, str]:
        xy = self.trip.xy
        noisy = noise.perturbed(self.trip, seed=0).xy
        away = np.linalg.norm(noisy - xy, axis=1).mean()
        seen = f"the {len(xy)} points of one trip lie {away:,.0f} m from the true ones on average"
        return figures.on_map(draw, xy, noisy, bounds=self.found.bounds, streets=self.streets, title=title), seen


def _density(ax: Axes, *, x: np.ndarray, y: np.ndarray, quantiles: np.ndarray, xlabel: str) -> None:
    low, q1, q3, high = map(float, quantiles)
    figures.density(ax, x, y, halves=(q1, q3), tails=(low, high), xlabel=xlabel)


def _words(noise: Any, chosen: dict[str, Any], seen: str) -> Text:
    if isinstance(noise, PlanarLaplace):
        m, r = 10, chosen["radius_m"]
        said = (
            f"planar Laplace noise of epsilon {noise.epsilon_per_m:.3g} per metre, {noise.mean_m:,.0f} m on average: two places {r:g} m apart differ "
            f"by a factor e^{noise.log_ratio(r):.3g} at most. That is per point: a trip of {m} points has e^{noise.log_ratio(r, m):.3g}; {IDEALISED}"
        )
    else:
        said = noise.in_words()
    if isinstance(noise, Gaussian):
        said = f"epsilon {chosen['epsilon']:g} at delta {chosen['delta']:g}: {said}"
    exact = getattr(noise, "numerics", IDEALISED) == EXACT
    numerics = (
        "Drawn without floating point: the promise holds to the letter."
        if exact
        else "The promise is that of noise in real numbers; draws in floating point have another law (Mironov 2012), so it is idealised."
    )
    return Text(
        f'<p style="font-size: 1.15em">{escape(said[0].upper() + said[1:])}.</p><p>{escape(numerics)} Here {escape(seen)}. Drawn from a seed, to '
        "be looked at: nothing that may be released.</p>",
        wide=True,
    )


class NoisePanel(Panel):
    """See `noise_panel`. Controls that the mechanism has no use for are disabled."""

    def shown(self) -> list[View]:
        """The views; only now is it known which controls count."""
        taken = TAKES[self.values["mechanism"]]
        for name in ("delta", "sensitivity", "dimension", "radius_m"):
            self.controls[name].disabled = name not in taken
        return list(super().shown())


def noise_panel(
    dataset: str, *, data: str | None = None, settings: dict[str, Any] | None = None, allow_raw: bool = False, mechanism: str = "Laplace",
    epsilon: float = 1.0, delta: float = 1e-5, sensitivity: int = 1, dimension: int = 24, radius_m: int = 200, interactive: bool | None = None,
) -> Panel:  # fmt: skip
    """Look at noise on counts and trips of ``dataset``, beginning with the given choices.

    Raises ParameterError for choices that are not offered, and what `trajkit.datasets.load` raises.
    """
    given = {
        "mechanism": (mechanism, MECHANISMS, "mechanism"), "epsilon": (epsilon, EPSILONS, "epsilon"), "delta": (delta, DELTAS, "delta"),
        "sensitivity": (sensitivity, SENSITIVITIES, "sensitivity (trips of one person)"),
        "dimension": (dimension, DIMENSIONS, "dimension (numbers released)"), "radius_m": (radius_m, RADII_M, "radius (m)"),
    }  # fmt: skip
    problems = [
        f"{name} = {value!r}: one of {', '.join(map(str, all_))}"
        for name, (value, all_, _) in given.items()
        if value not in all_
    ]
    if problems:
        raise ParameterError("; ".join(problems))
    trajs = datasets.load(dataset, data=data, settings=settings)
    if trajs.meta.visibility == "private" and not allow_raw:
        return Panel({}, lambda: [sentence(HIDDEN)], interactive=interactive)
    controls = {
        name: (widgets.Dropdown if name == "mechanism" else widgets.SelectionSlider)(
            options=[(f"{v}", v) for v in all_], value=value, description=label
        )
        for name, (value, all_, label) in given.items()
    }
    found = Records(trajs, datasets.roads_of(dataset, data=data, settings=settings))
    return NoisePanel(controls, Views(found), interactive=interactive)
