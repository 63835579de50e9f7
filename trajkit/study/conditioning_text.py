"""Sentences of the report on conditional generation, made from its figures."""

from __future__ import annotations

import pandas as pd

from trajkit.privacy.guarantee import CONDITIONING, TRAINING
from trajkit.study.cells import conditional, is_tiny, label, parsed
from trajkit.study.conditioning import comparisons, leak_table, overhead_table, signal_table
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.stability import stability_table
from trajkit.study.text import claims_in_words
from trajkit.study.threat import by_threat_model

FOUND = 3.0  # times chance: from here a sentence says that a release gives its condition away


def answer(study: StudyResults) -> str:
    """The answer in a few sentences: what a condition adds, costs and gives away; then the verdicts."""
    if not len(study.results) or study.test_ratio is None:
        nothing = "**No run is complete, so there is no answer yet.** The reasons are listed under *Runs that failed*."
        return "\n\n".join([nothing, *claims_in_words(study)])
    scale = "Errors are on the scale where real data scores 0 and no information scores 1."
    parts = [
        in_short(study),
        scale,
        best_in_words(study),
        *changes(study),
        leak_in_words(study),
        signal_in_words(study),
    ]
    parts += [overhead_in_words(study), stability_in_words(study), *claims_in_words(study)]
    return "\n\n".join(filter(None, parts))


def in_short(study: StudyResults) -> str:
    """One sentence: whether a protected condition lowers the error, and whether an unprotected one gives itself away."""
    told = []
    wanted = [p for p in comparisons(study) if _mechanism(p[1])]
    table = study.differences(wanted, metrics=PRIMARY)
    if len(table):
        seen = table[table["seen"].astype(bool)]
        better, worse = int((seen["mean"] < 0).sum()), int((seen["mean"] > 0).sum())
        told.append(
            f"of {len(table)} comparisons of a private condition with none (cells x {' and '.join(PRIMARY)}), {better} are clearly better, "
            f"{worse} clearly worse, and {len(table) - better - worse} leave it open (intervals not adjusted for their number)"
        )
    leaks = leak_table(study)
    if len(leaks):
        worst = leaks.loc[leaks["found"].idxmax()]
        told.append(
            f"the condition that gives most away is *{worst['condition']}* ({worst['cell']}): {100 * worst['found']:.0f} % of the releases "
            f"point to their own conditioning trajectory among 100, against {100 * worst['chance']:.0f} % by chance"
        )
    return f"**In short**: {'; '.join(told)}." if told else ""


def best_in_words(study: StudyResults) -> str:
    """The cell with the lowest SWD under each threat model."""
    table = by_threat_model(study)
    if not len(table):
        return ""
    said = []
    for name, rows in table.groupby("threat model", sort=False):
        first = rows.iloc[0]
        interval = "" if pd.isna(first["low"]) else f" [{first['low']:.2f}, {first['high']:.2f}]"
        said.append(f"*{str(name).capitalize()}*: {first['cell']} {first['mean']:.2f}{interval}")
    return f"Lowest SWD under each threat model (whose data is protected; no test implied). {'; '.join(said)}."


def changes(study: StudyResults) -> list[str]:
    """One paragraph a model: paired change of the primary errors that each condition brings."""
    lines = []
    for model in study.models:
        said = []
        for what, cell, without in comparisons(study):
            name = parsed(cell)
            rows = study.differences([(what, cell, without)], metrics=PRIMARY)
            if name and name.model == model and len(rows):
                said.append(f"{what.rpartition(' (')[0]}: {', '.join(_change(r) for r in rows.to_dict('records'))}")
        if said:
            lines.append(
                f"**{label(model)[0].upper()}{label(model)[1:]}.** Change of the rescaled error against the same model without a condition, "
                f"fold by fold: {'; '.join(said)}."
            )
    return lines


def _change(row: dict[str, object]) -> str:
    low, high = row["low"], row["high"]
    if low is None or pd.isna(low):
        return f"{row['metric']} {row['mean']:+.3f} (one repetition: no interval)"
    seen = "" if row["seen"] else ", contains zero"
    return f"{row['metric']} {row['mean']:+.3f} [{low:+.3f}, {high:+.3f}{seen}]"


def leak_in_words(study: StudyResults) -> str:
    """What releases give away of their conditions, without and with a mechanism."""
    table = leak_table(study)
    if not len(table):
        return ""
    said = []
    for protected, rows in table.groupby(table["condition"].str.contains(r"\+", regex=True)):
        given_away = rows[rows["found"] > FOUND * rows["chance"]]
        kind = "With a mechanism" if protected else "Without a mechanism"
        cells = f"the own condition of a release is the nearest of 100 in {_range(100 * rows['found'])} % of the cases"
        verdict = (
            f"more than {FOUND:g} times chance in {len(given_away)} of {len(rows)} cells"
            if len(given_away)
            else f"within {FOUND:g} times chance in all {len(rows)} cells"
        )
        said.append(
            f"{kind} {cells} ({verdict}), and its distance is {_range(rows['ratio'], '.2f')} of that to an unrelated one"
        )
    warning = (
        " That a release is not found by this one attack is no guarantee: the guarantee is epsilon_c, and without a mechanism there "
        "is none."
    )
    return f"**Leak check.** {'. '.join(said)}.{warning}"


def _range(values: pd.Series, form: str = ".0f") -> str:
    low, high = format(values.min(), form), format(values.max(), form)
    return low if low == high else f"{low} to {high}"


def signal_in_words(study: StudyResults) -> str:
    """How much of a condition the mechanisms keep, beside what theory predicts."""
    table = signal_table(study).dropna(subset=["mean cosine", "predicted"])
    if not len(table):
        return ""
    usual = table[table["cell"].isin(conditional(table["cell"]))]
    said = [f"{r.cell} {r.measured:.3f} (predicted {r.predicted:.3f})" for r in _named(usual if len(usual) else table)]
    worst = table["difference"].abs().max()
    return f"**Signal kept** (mean cosine between a condition and its private version): {', '.join(said)}; largest difference over all cells {worst:.3f}."


def _named(table: pd.DataFrame):  # type: ignore[no-untyped-def]
    return table.rename(columns={"mean cosine": "measured"}).itertuples()


def overhead_in_words(study: StudyResults) -> str:
    """What conditioning costs in time and memory."""
    table = overhead_table(study)
    if not len(table):
        return ""
    time = 100 * (table["core-seconds"].astype(float) / table["without"].astype(float) - 1)
    return (
        f"**Overhead.** Against the same cell without a condition, training takes {_range(time, '+.0f')} % core-seconds "
        f"over {len(table)} cell{'s' if len(table) > 1 else ''} (*Cost of conditioning* has them one by one)."
    )


def stability_in_words(study: StudyResults) -> str:
    """Failed runs, spikes and spread of the small cells that C4 is about: no condition, and the Gaussian one."""
    table = stability_table(study)
    named = {c: parsed(str(c)) for c in table.index}
    table = table.loc[[c for c, name in named.items() if name and name.condition in ("", "gaussian")]]
    if not len(table):
        return ""
    said = [
        f"*{cell}* {row['failed']} of {row['planned']} failed, {row['runs with a spike']} with a spike, SWD varies by {row['SWD, sd over seeds']:.3g}"
        for cell, row in table.to_dict("index").items()
    ]
    return f"**Stability** over the seeds of a small training: {'; '.join(said)}. C4 below tests it."


def limits(study: StudyResults) -> str:
    """What this report cannot say about conditions."""
    lines = [
        "- Training and conditioning set are disjoint parts of one data set; a conditional model therefore trains on fewer "
        "trajectories than the model without a condition, and what a person has in both sets is protected in each apart.",
        "- The compressor of a condition is trained with the model: its guarantee for the conditioning set does not depend on that, "
        "since the norm is bounded before the noise comes in.",
        "- The leak check is one attack (nearest of 100 by distance). It can show a leak and cannot show that there is none.",
        "- A condition without a mechanism is shown to say what it gives away; it may not be released.",
    ]
    if any(map(is_tiny, study.runs["cell"])):
        lines.append(
            "- Stability is measured on small trainings with many seeds; whether large trainings fail for the same reasons is not known."
        )
    if not ({TRAINING, CONDITIONING, "both"} <= set(study.results.get("threat_model", []))):
        lines.append("- Not every threat model has a complete run in this profile.")
    return "\n".join(lines)


def _mechanism(cell: str) -> bool:
    name = parsed(cell)
    return bool(name) and name is not None and name.condition not in ("", "sample", "attributes")
