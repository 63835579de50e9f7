"""Which model is best: ranks, paired tests between models, and the pick, as functions of a study's results table.

A *setting* is one regime under one protocol, with the cell that stands for each contestant: a model without a condition, or a model
with one, which is a contestant of its own. Under the matched protocol the regimes of a model share their updates; under the
published one the GAN is trained as published, the other contestants are the same runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from trajkit.study.cells import CONTESTANTS
from trajkit.study.stats import corrected_interval, holm, paired_difference

ALPHA = 0.05
USABLE = 0.5  # rescaled error from which a release is closer to no information than to real data
REGIMES = (
    ("plain, own budget", "plain-long"),
    ("plain", "plain"),
    ("clipped", "clipped"),
    ("private, epsilon 10", "private"),
    ("private, epsilon 3", "private-epsilon-3.0"),
    ("private, epsilon 1", "private-epsilon-1.0"),
    ("private, epsilon 0.3", "private-epsilon-0.3"),
    ("plain, a tenth of the data", "plain-small"),
    ("private, epsilon 10, a tenth of the data", "private-small"),
)
PUBLISHED = ("plain", "private")


@dataclass(frozen=True)
class Setting:
    """One comparison: ``cells`` maps each contestant ("gan", "diffusion-sample" …) to the cell that stands for it."""

    regime: str
    protocol: Literal["matched", "published"]
    cells: dict[str, str]

    @property
    def name(self) -> str:
        """Regime, and the protocol where it is not the matched one (then without an epsilon: the GAN's does not hold)."""
        if self.protocol == "matched":
            return self.regime
        return f"{self.regime.split(',')[0]}, published protocol{' (GAN: no guarantee)' if self.private else ''}"

    def only(self, models: Iterable[str]) -> Setting:
        """The same comparison between ``models`` alone."""
        return replace(self, cells={m: self.cells[m] for m in models})

    @property
    def private(self) -> bool:
        """Whether the models of this setting are to come with a guarantee."""
        return self.regime.startswith("private")


@dataclass(frozen=True)
class Pick:
    """The model to take in a setting. ``sure``: "clear", "partly", "mixed", "not clear", "one repetition" or "alone"; ``against`` says how each
    other model compares; ``excluded`` names models that cannot be taken because their guarantee does not hold; ``private``: whether
    the setting asks for one."""

    setting: str
    model: str | None
    sure: str
    rescaled: dict[str, float]
    firsts: dict[str, str]
    against: dict[str, str]
    excluded: tuple[str, ...]
    private: bool = False

    @property
    def usable(self) -> bool:
        """Whether the pick is closer to real data than to no information on every primary metric."""
        return self.model is not None and all(v < USABLE for v in self.rescaled.values())


def settings(cells: Iterable[str]) -> list[Setting]:
    """The comparisons for which ``cells`` holds at least two contestants, in the order in which a report shows them."""
    there, found = set(cells), []
    for regime, suffix in REGIMES:
        matched = {m: f"{m}-{suffix}" for m in CONTESTANTS if f"{m}-{suffix}" in there}
        found.append(Setting(regime, "matched", matched))
        variant = f"gan-published-{suffix}"
        if suffix in PUBLISHED and variant in there:
            found.append(Setting(regime, "published", {**matched, "gan": variant}))
    return [s for s in found if len(s.cells) > 1]


def values_of(results: pd.DataFrame, setting: Setting, metric: str, *, column: str = "rescaled") -> pd.DataFrame:
    """One row a repetition that every model of the setting has completed, one column a model (those without a run left out)."""
    rows = results[results["metric"] == metric]
    columns = {m: rows.loc[rows["cell"] == c].set_index("replicate")[column] for m, c in setting.cells.items()}
    return pd.DataFrame({m: c for m, c in columns.items() if c.notna().any()}).dropna()


def rank_table(results: pd.DataFrame, chosen: Sequence[Setting]) -> pd.DataFrame:
    """Rank of each contestant, 1 for the lowest mean error, per setting and metric, over the repetitions that all completed."""
    rows = []
    levels = results.drop_duplicates("metric").set_index("metric")["level"] if len(results) else pd.Series(dtype=str)
    for setting in chosen:
        for metric, level in levels.items():
            values = values_of(results, setting, str(metric), column="value")
            if not len(values) or values.shape[1] < 2:
                continue
            means = values.mean()
            ranks = means.rank(method="average")
            rows += [
                {
                    "setting": setting.name,
                    "protocol": setting.protocol,
                    "metric": metric,
                    "level": level,
                    "model": model,
                    "cell": setting.cells[str(model)],
                    "mean": means[model],
                    "rank": ranks[model],
                    "folds": len(values),
                }
                for model in values
            ]
    return pd.DataFrame(
        rows, columns=["setting", "protocol", "metric", "level", "model", "cell", "mean", "rank", "folds"]
    )


def pairwise(
    results: pd.DataFrame, chosen: Sequence[Setting], *, metrics: Sequence[str], test_ratio: float
) -> pd.DataFrame:
    """Paired differences of rescaled error between models (a - b), with Holm's adjustment over metrics x pairs of a setting.

    ``better`` names the model that is clearly better (adjusted p below 0.05), or is empty.
    """
    parts = []
    for setting in chosen:
        rows = []
        for metric, (a, b) in itertools.product(metrics, itertools.combinations(setting.cells, 2)):
            values = values_of(results, setting.only((a, b)), metric)
            if {a, b} <= set(values) and len(values):
                d = paired_difference(values[a], values[b], test_ratio=test_ratio)
                rows.append((setting.name, metric, a, b, d.mean, d.low, d.high, d.k, d.p))
        part = pd.DataFrame(rows, columns=["setting", "metric", "a", "b", "mean", "low", "high", "folds", "p"])
        parts.append(adjusted(part))
    return pd.concat([p for p in parts if len(p)], ignore_index=True) if any(map(len, parts)) else pd.DataFrame()


def adjusted(tests: pd.DataFrame) -> pd.DataFrame:
    """``tests`` (columns a, b, mean, p) with ``p (Holm)``, adjusted over all of them, and ``better``, the one that is clearly better or ""."""
    known = tests["p"].notna()
    tests = tests.assign(**{"p (Holm)": float("nan")})
    tests.loc[known, "p (Holm)"] = holm(tests.loc[known, "p"].tolist()) if known.any() else []
    winner = tests["a"].where(tests["mean"] < 0, tests["b"])
    return tests.assign(better=winner.where(tests["p (Holm)"] < ALPHA, ""))


def pick(results: pd.DataFrame, setting: Setting, tests: pd.DataFrame, *, metrics: Sequence[str]) -> Pick:
    """The model with the lowest rescaled error, averaged over the primary ``metrics``, among those that may be taken.

    Where the setting is private, a model whose guarantee does not hold in every run may not be taken. ``tests`` as `pairwise`.
    """
    run = set(results["cell"])
    excluded = tuple(m for m, c in setting.cells.items() if c in run and setting.private and not _holds(results, c))
    rest = setting.only(m for m in setting.cells if m not in excluded)
    values = {m: values_of(results, rest, m) for m in metrics}
    allowed = [m for m in rest.cells if all(m in v for v in values.values()) and all(map(len, values.values()))]
    if not allowed:
        return Pick(setting.name, None, "not clear", {}, {}, {}, excluded, setting.private)
    means = pd.DataFrame({metric: v[allowed].mean() for metric, v in values.items()})
    best = str(means.mean(axis=1).idxmin())
    firsts = {str(metric): str(means[metric].idxmin()) for metric in means}
    own = tests[tests["setting"] == setting.name] if len(tests) else tests
    against = {other: _compared(own, best, other) for other in allowed if other != best}
    reached = means.loc[best].to_dict()
    return Pick(setting.name, best, _sure(own, against), reached, firsts, against, excluded, setting.private)


def _holds(results: pd.DataFrame, cell: str) -> bool:
    return bool(results.loc[results["cell"] == cell, "holds"].astype(bool).all())


def _compared(tests: pd.DataFrame, best: str, other: str) -> str:
    """How ``best`` compares with ``other``: clearly better, clearly worse, better and worse, no clear difference, or no test."""
    between = tests[tests["a"].isin([best, other]) & tests["b"].isin([best, other])]
    if between["p"].isna().all():
        return "no test"
    won, lost = (between["better"] == best).any(), (between["better"] == other).any()
    if won:
        return "better and worse" if lost else "clearly better"
    return "clearly worse" if lost else "no clear difference"


def _sure(tests: pd.DataFrame, against: dict[str, str]) -> str:
    if not len(tests) or tests["p"].isna().all():
        return "one repetition"
    if not against:
        return "alone"
    if {"clearly worse", "better and worse"} & set(against.values()):
        return "mixed"
    clear = [words == "clearly better" for words in against.values()]
    if clear and all(clear):
        return "clear"
    return "partly" if any(clear) else "not clear"


def mean_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of each model per setting and level of metric, from a `rank_table`: one row a setting and level."""
    if not len(table):
        return pd.DataFrame()
    return table.pivot_table(index=["setting", "level"], columns="model", values="rank", aggfunc="mean", sort=False)


def errors(
    results: pd.DataFrame, chosen: Sequence[Setting], *, metrics: Sequence[str], test_ratio: float
) -> pd.DataFrame:
    """Rescaled error with its 95 % interval, as text: one row a setting and metric, one column a model."""
    rows = {}
    for setting, metric in itertools.product(chosen, metrics):
        own = {m: values_of(results, setting.only([m]), metric) for m in setting.cells}
        rows[setting.name, metric] = {
            m: str(corrected_interval(v[m], test_ratio=test_ratio)) for m, v in own.items() if len(v)
        }
    return pd.DataFrame(rows).T
