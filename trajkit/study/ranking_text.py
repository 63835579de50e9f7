"""Sentences of the report on which model is best, made from its figures."""

from __future__ import annotations

import pandas as pd

from trajkit.study.cells import CONDITIONAL, label
from trajkit.study.ranking import USABLE, Pick, Setting, mean_ranks, pairwise, pick, rank_table, settings
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.text import claims_in_words

SURE = {
    "clear": "This is sure: it is clearly better than every other model on a primary metric and clearly worse on none",
    "partly": "This is sure only against a part of the other models",
    "mixed": "It is not best in everything: another model is clearly better on a primary metric",
    "not clear": "This is not sure: no difference to another model survives the adjustment for the number of tests",
    "alone": "It is the only model that can be picked here",
    "one repetition": "How sure this is cannot be said: one repetition gives no test",
}

AGAINST = {
    "clearly better": "clearly better than the {}",
    "clearly worse": "clearly worse than the {}",
    "better and worse": "better on one metric and worse on the other than the {}",
    "no clear difference": "no clear difference to the {}",
    "no test": "no test against the {}",
}


def comparisons(study: StudyResults) -> list[Setting]:
    """The settings that the study's plan allows."""
    return settings(study.runs["cell"])


def tests_of(study: StudyResults) -> pd.DataFrame:
    """Paired tests between models over the primary metrics, in every setting."""
    if study.test_ratio is None:
        return pd.DataFrame()
    return pairwise(study.results, comparisons(study), metrics=PRIMARY, test_ratio=study.test_ratio)


def picks(study: StudyResults) -> list[Pick]:
    """The model to take in each setting that has complete runs of two models."""
    tests = tests_of(study)
    return [pick(study.results, s, tests, metrics=PRIMARY) for s in comparisons(study)]


def answer(study: StudyResults) -> str:
    """Which model to pick, when, and how sure; then the verdicts."""
    if not len(study.results) or study.test_ratio is None:
        return "**No run is complete, so there is no answer yet.** The reasons are listed under *Runs that failed*."
    found, ranks = picks(study), rank_table(study.results, comparisons(study))
    if not found:
        return "\n\n".join(
            ["No setting of this study holds two models, so there is nothing to rank.", *claims_in_words(study)]
        )
    scale = "Errors are on the scale where real data scores 0 and no information scores 1; a pick has the lowest mean of SWD and JSD."
    said = [
        _pick_in_words(p) + _elsewhere(p, ranks) + _missing(study, s)
        for p, s in zip(found, comparisons(study), strict=True)
    ]
    return "\n\n".join([_in_short(found), scale, *said, *claims_in_words(study)])


def _in_short(found: list[Pick]) -> str:
    """One sentence: the pick without DP, at the models' own budget where that was run, and the pick under DP."""
    plain = next((p for p in found if p.setting.startswith("plain") and p.model), None)
    private = next((p for p in found if p.setting.startswith("private") and p.model), None)
    said = [
        f"{where} ({p.setting}) the **{label(p.model)}** (how sure: {p.sure}{'' if p.usable else '; none is good'})"
        for where, p in (("without DP", plain), ("under DP", private))
        if p and p.model
    ]
    if not said:
        return "**No model can be picked yet.**"
    return f"**In short**: pick {', and '.join(said)}."


def _pick_in_words(p: Pick) -> str:
    where = f"**{p.setting[0].upper()}{p.setting[1:]}**: "
    excluded = "".join(f" The {label(m)} is left out: its guarantee does not hold." for m in p.excluded)
    if p.model is None:
        return f"{where}no model can be picked, since no repetition is complete for every model or none has a guarantee that holds.{excluded}"
    figures = ", ".join(f"{metric} {value:.2f}" for metric, value in p.rescaled.items())
    text = f"{where}pick the **{label(p.model)}** ({figures})."
    if len(set(p.firsts.values())) > 1:
        text += f" No model is first on both: {', '.join(f'{label(m)} on {metric}' for metric, m in p.firsts.items())}; the mean of the two decided."
    others = ", ".join(AGAINST[words].format(label(m)) for m, words in p.against.items())
    text += f" {SURE[p.sure]}" + (f" ({others})." if others and p.sure != "one repetition" else ".")
    if not p.usable:
        text += f" Even it is closer to no information than to real data (above {USABLE}) on a primary metric, so none of the models is good here."
    return text + _follows(p) + excluded


def _follows(p: Pick) -> str:
    """What a pick without DP gives away beyond what it was trained on."""
    if p.model not in CONDITIONAL or p.private:
        return ""
    return (
        " Each of its trajectories follows a real one of the conditioning set, and in this setting nothing is asked to protect "
        "that one: the leak check of question 2 shows what that gives away."
    )


def _elsewhere(p: Pick, ranks: pd.DataFrame) -> str:
    """Where another model leads on a level that decides nothing."""
    table = mean_ranks(ranks[ranks["setting"] == p.setting].loc[lambda t: ~t["model"].isin(p.excluded)])
    said = []
    for level in ("trajectory", "pattern", "road"):
        if p.model is None or (p.setting, level) not in table.index:
            continue
        row = table.loc[(p.setting, level)]
        first = str(row.idxmin())
        if row[first] < row[p.model]:
            said.append(
                f"on the {level} level the {label(first)} (mean rank {row[first]:.1f} against {row[p.model]:.1f})"
            )
    return f" Elsewhere another model leads, descriptively: {'; '.join(said)}." if said else ""


def _missing(study: StudyResults, setting: Setting) -> str:
    """Runs of the setting that are not complete: a model that fails often is no safe pick, whatever its other runs reach."""
    runs = study.runs[study.runs["cell"].isin(setting.cells.values())]
    counts = runs.groupby("cell", sort=False)["complete"].agg(["sum", "size"])
    said = [f"{cell} {size - done} of {size}" for cell, done, size in counts.itertuples() if done < size]
    return f" Runs that failed or are missing: {', '.join(said)}." if said else ""


def pick_table(study: StudyResults) -> pd.DataFrame:
    """The picks as a table: setting, model, how sure, and why."""
    return pd.DataFrame([
        {
            "setting": p.setting,
            "pick": label(p.model) if p.model else "none",
            "how sure": p.sure,
            **{f"{metric} (rescaled)": value for metric, value in p.rescaled.items()},
            "against the others": "; ".join(f"{label(m)}: {words}" for m, words in p.against.items()),
            "usable": "yes" if p.usable else "no",
            "left out (no guarantee)": ", ".join(map(label, p.excluded)),
        }
        for p in picks(study)
    ])  # fmt: skip
