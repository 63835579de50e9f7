"""Theorem 2 in sentences: what each reading of its formula would have given."""

from __future__ import annotations

import pandas as pd

from trajkit.study.rule_calibration import DELTA, LITERAL, PUBLISHED, REVIEW, TOLERANCE, of_reading

USED = 20.0  # epsilon_c of the published study


def theorem_2_in_words(table: pd.DataFrame, *, epsilon: float = USED) -> str:
    """Which reading is exact, and the epsilon that the others really give at ``epsilon``; ``table`` as `readings_table`."""
    published = of_reading(table, PUBLISHED)
    worst = float((published["sigma"] / published["exact sigma"] - 1).abs().max())
    grid = (
        f"at {len(published)} values of epsilon from {published['epsilon'].min():g} to {published['epsilon'].max():g}"
    )
    verdict = (
        f"it is the exact value (largest relative difference {worst:.1e})"
        if worst <= TOLERANCE
        else f"it is **not** the exact value (largest relative difference {worst:.2g})"
    )
    said = [
        "Theorem 2 sets the Gaussian noise of a condition by a formula from Balle and Wang (2018), sensitivity D = 2C. Its radical "
        "can be read in two ways, and the public review asks for a third. The exact value comes from the privacy profile itself, by "
        f"bisection, at delta {DELTA:g}.",
        f"**As published, sigma = {PUBLISHED}**: {grid} {verdict}.",
        _other(f"**Read literally, sigma = {LITERAL}**", table, LITERAL, epsilon),
        _other(f"**The public review's correction, sigma = {REVIEW}**", table, REVIEW, epsilon),
    ]
    real = {r: float(_at(table, r, epsilon)["real epsilon"]) for r in (LITERAL, REVIEW)}
    if worst <= TOLERANCE and real[REVIEW] > epsilon:
        said.append(
            f"So the formula needs no correction, and the public review's correction is the one that breaks privacy: a release that "
            f"claims epsilon {epsilon:g} would have a real epsilon of {real[REVIEW]:.1f}. Code that takes the radical over the 2 alone "
            f"would be worse still ({real[LITERAL]:.1f}); which of the two the published code has is not known."
            if real[LITERAL] > real[REVIEW]
            else f"So the formula needs no correction, and the public review's correction is the one that breaks privacy: a release "
            f"that claims epsilon {epsilon:g} would have a real epsilon of {real[REVIEW]:.1f}."
        )
    return "\n\n".join(said)


def _at(table: pd.DataFrame, reading: str, epsilon: float) -> pd.Series:
    rows = of_reading(table, reading)
    return rows.loc[(rows["epsilon"] - epsilon).abs().idxmin()]


def _other(who: str, table: pd.DataFrame, reading: str, epsilon: float) -> str:
    row, rows = _at(table, reading, epsilon), of_reading(table, reading)
    share = row["sigma"] / row["exact sigma"]
    amount = "far too little noise" if share < 0.5 else "too little noise" if share < 1 - TOLERANCE else "enough noise"
    more = rows.loc[rows["sigma"] > rows["exact sigma"] * (1 + TOLERANCE), "epsilon"]
    under = f" It is more noise than is needed at epsilon {more.max():g} and below." if len(more) else ""
    return (
        f"{who} is {amount} at epsilon {row['epsilon']:g}: sigma {row['sigma']:.4f} instead of {row['exact sigma']:.4f} "
        f"({100 * share:.0f} % of it), a real epsilon of {row['real epsilon']:.1f}.{under}"
    )


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The table as a report shows it: one row an epsilon and reading, ratio in per cent."""
    return table.assign(ratio=[f"{100 * r:.4g} %" for r in table["ratio"]]).rename(
        columns={"ratio": "of the exact sigma"}
    )
