"""Rule "sequences": does the noisy prefix tree do on simulated transit data what was published for it?

Four parts, on means over the repetitions. (i) Count queries, full variant: the mean relative error of uniform queries is under 10 % at
epsilon 1 for every longest length, and under 12 % at epsilon 0.5 for lengths up to 3. (ii) Inference lowers that error by at least
30 % at every epsilon and length. (iii) At least 78.8 % of the top 250 patterns are found at epsilon 1. (iv) Run time grows at most in
proportion to the sequences and to the locations, within a half of it. The claim agrees when all four do.
"""

from __future__ import annotations

import pandas as pd

from trajkit.study.claim import NOT_TESTABLE, Found, words

ERROR, PATTERNS = "error, uniform queries", "top patterns found"
MOST, MOST_AT_HALF, LEAST_GAIN, LEAST_FOUND = 0.10, 0.12, 0.30, 0.788
HALF, SHORT, HEIGHT, TOP = 0.5, 3, 12, 250
SLACK = 1.5
PUBLISHED_GAIN = "30-74 %"


def of(table: pd.DataFrame, what: str, *, experiment: str = "utility", **wanted: object) -> pd.DataFrame:
    """Rows of one figure; ``wanted`` names further columns and their values."""
    rows = table[(table["experiment"] == experiment) & (table["what"] == what)]
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def gains(table: pd.DataFrame, *, height: int, variant: str = "full", what: str = ERROR) -> pd.DataFrame:
    """One row an epsilon and longest query: error without inference, with it, and by which share it falls."""
    rows = of(table, what, height=height)
    both = rows.pivot_table(index=["epsilon", "x"], columns="variant", values="value")
    return pd.DataFrame({"basic": both["basic"], variant: both[variant], "gain": 1 - both[variant] / both["basic"]})


def setting(table: pd.DataFrame, what: str) -> float:
    """A setting of the experiments."""
    return float(of(table, what, experiment="settings")["value"].iloc[0])


def main_height(table: pd.DataFrame) -> int:
    """The height at which epsilon was varied."""
    return int(setting(table, "height"))


def growth(table: pd.DataFrame, experiment: str, column: str) -> tuple[float, float]:
    """By how much the largest setting of ``column`` exceeds the smallest, and its run time (full variant)."""
    rows = of(table, "CPU s", experiment=experiment, variant="full").sort_values(column)
    ends = rows.iloc[[0, -1]]
    return float(ends[column].iloc[1] / ends[column].iloc[0]), float(ends["value"].iloc[1] / ends["value"].iloc[0])


def _lacks(table: pd.DataFrame) -> list[str]:
    """What the claim is about and the experiments do not hold."""
    height = main_height(table)
    lacks = [] if height == HEIGHT else [f"height {HEIGHT}"]
    errors = of(table, ERROR, height=height)
    wide = errors.pivot_table(index=["epsilon", "x"], columns="variant", values="value", aggfunc=_mean).reindex(
        columns=["basic", "full"]
    )
    lacks += [f"epsilon {e:g}" for e in (HALF, 1.0) if e not in wide.index.get_level_values(0)]
    if wide.isna().to_numpy().any() or not (wide["basic"] > 0).all():
        lacks.append("an error without and with inference at every epsilon and length")
    if not (errors.loc[errors["epsilon"] == HALF, "x"] <= SHORT).any():
        lacks.append(f"queries of up to {SHORT} locations at epsilon {HALF:g}")
    if not len(of(table, PATTERNS, height=height, epsilon=1.0, variant="full", x=TOP)):
        lacks.append(f"the top {TOP} patterns at epsilon 1")
    for experiment, column in (("time by n", "n"), ("time by locations", "locations")):
        if of(table, "CPU s", experiment=experiment, variant="full")[column].nunique() < 2:
            lacks.append(f"run times at two numbers of {'sequences' if column == 'n' else column}")
    return lacks


def _mean(values: pd.Series) -> float:
    """Mean that is missing where one of the values is."""
    return float(values.mean(skipna=False))


def sequences(table: pd.DataFrame) -> Found:
    """Apply the rule to a table of `trajkit.classical.prefix_experiments`."""
    if not len(table):
        return NOT_TESTABLE, {}, "this profile has no experiments on sequences, or they were not run yet"
    if lacks := _lacks(table):
        return NOT_TESTABLE, {}, f"the claim is about what these experiments do not hold: {'; '.join(lacks)}"
    height = main_height(table)
    found = gains(table, height=height)
    at_one, at_half = found.loc[1.0, "full"], found.loc[HALF, "full"]
    short = at_half[at_half.index <= SHORT]
    share = float(of(table, PATTERNS, height=height, epsilon=1.0, variant="full", x=TOP)["value"].mean())
    by_n, by_locations = growth(table, "time by n", "n"), growth(table, "time by locations", "locations")
    figures = {
        "error at epsilon 1": f"{100 * at_one.min():.2g} to {100 * at_one.max():.2g} % (published: under 10 %)",
        f"error at epsilon {HALF:g}, up to {SHORT} locations": f"{100 * short.max():.2g} % (published: under 12 %)",
        "lowered by inference": f"by {100 * found['gain'].min():.0f} to {100 * found['gain'].max():.0f} % (minus: raised; published: {PUBLISHED_GAIN})",
        f"top {TOP} patterns found": f"{100 * share:.1f} % (published: 78.8 %)",
        "run time": f"x {by_n[1]:.2g} for x {by_n[0]:.2g} sequences, x {by_locations[1]:.2g} for x {by_locations[0]:.2g} locations",
        **_literal(table),
    }
    parts = {
        "errors of count queries": at_one.max() < MOST and short.max() < MOST_AT_HALF,
        "gain of inference": found["gain"].min() >= LEAST_GAIN,
        "patterns": share >= LEAST_FOUND,
        "run time": by_n[1] <= SLACK * by_n[0] and by_locations[1] <= SLACK * by_locations[0],
    }
    agrees, disagrees = words(False)
    missed = [name for name, held in parts.items() if not held]
    if missed:
        return disagrees, figures, f"not as published: {', '.join(missed)}"
    return agrees, figures, "all four parts are as published"


def _literal(table: pd.DataFrame) -> dict[str, str]:
    """What inference does where the published threshold can run, which decides nothing."""
    rows = of(table, ERROR, experiment="threshold", threshold="published", mechanism="laplace")
    if not len(rows):
        return {}
    both = rows.pivot_table(index=["data", "locations", "height", "epsilon"], columns="variant", values="value")
    gain = 1 - both["full"] / both["basic"]
    words = f"by {100 * gain.min():.0f} to {100 * gain.max():.0f} % (minus: raised)"
    return {"lowered by inference, published threshold where it can run (decides nothing)": words}
