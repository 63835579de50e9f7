"""Deep against classical synthesizers at one epsilon: the best of each family, tested against each other, in tables and sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from trajkit.study.cells import CLASSICAL, MODELS, label
from trajkit.study.ranking import Setting, adjusted, pairwise, pick, values_of
from trajkit.study.ranking import settings as all_settings
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.text import claims_in_words
from trajkit.trajectories import Trajectories

UNTESTED = pd.DataFrame(columns=["setting", "a", "b", "p", "better"])  # the best of a family needs no test within it
PUBLISHED = "privtrace-published-private"
PROPER = ("privtrace", "adatrace", "flat", "road_counts", "private_evolution")
FAMILIES = {"deep": tuple(MODELS), "classical": tuple(CLASSICAL)}


@dataclass(frozen=True)
class Duel:
    """The best of each family in one setting, and the paired tests between the two (`ranking.pairwise`); None: none complete."""

    setting: Setting
    deep: str | None
    classical: str | None
    tests: pd.DataFrame

    def other(self, contestant: str) -> str:
        """The opponent of ``contestant``."""
        return str(self.classical if contestant == self.deep else self.deep)

    @property
    def both(self) -> bool:
        """Whether there are two to compare."""
        return self.deep is not None and self.classical is not None


def settings(study: StudyResults) -> list[Setting]:
    """The private settings in which two contestants or more stand, of either family."""
    return [s for s in all_settings(study.runs["cell"]) if s.private and s.protocol == "matched"]


def shown(study: StudyResults) -> dict[str, Trajectories | None]:
    """Releases to draw: real test trajectories, then every contestant of the first setting, then PrivTrace as published."""
    first = [c for s in settings(study)[:1] for c in s.cells.values()]
    return study.panels([*first, PUBLISHED])


def duels(study: StudyResults) -> list[Duel]:
    """One duel a setting; Holm's adjustment runs over the primary metrics and all settings together."""
    if study.test_ratio is None:
        return []
    found = [_duel(study, setting) for setting in settings(study)]
    tests = [d.tests for d in found if len(d.tests)]
    if not tests:
        return found
    together = adjusted(pd.concat(tests, ignore_index=True))
    return [replace(d, tests=together[together["setting"] == d.setting.name]) for d in found]


def _duel(study: StudyResults, setting: Setting) -> Duel:
    best = {}
    for family, members in FAMILIES.items():
        own = setting.only(m for m in members if m in setting.cells)
        best[family] = pick(study.results, own, UNTESTED, metrics=PRIMARY).model
    tests = pd.DataFrame()
    if None not in best.values() and study.test_ratio is not None:
        two = setting.only([str(best["deep"]), str(best["classical"])])
        tests = pairwise(study.results, [two], metrics=PRIMARY, test_ratio=study.test_ratio)
    return Duel(setting, best["deep"], best["classical"], tests)


def duel_table(study: StudyResults) -> pd.DataFrame:
    """One row a setting and primary metric: the two, the paired difference deep - classical with its interval, and who is clearly better."""
    rows = []
    for d in duels(study):
        for test in d.tests.to_dict("records"):
            rows.append(
                {
                    "setting": d.setting.name, "metric": test["metric"], "deep": label(test["a"]), "classical": label(test["b"]),
                    "deep - classical": test["mean"], "low": test["low"], "high": test["high"], "folds": test["folds"],
                    "p (Holm)": test["p (Holm)"], "clearly better": label(test["better"]) or "neither",
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def composition_table(study: StudyResults) -> pd.DataFrame:
    """One row a look of each classical cell: what was counted, how often, its epsilon, sensitivity and scale of noise."""
    rows = []
    for cell, group in study.complete[study.complete["method"].isin(CLASSICAL)].groupby("cell", sort=False):
        for part in study.guarantee(group["run_id"].iloc[0]).parts:
            rows += [{"cell": cell, **look} for look in part.details.get("looks", [])]
    return pd.DataFrame(rows, columns=["cell", "what", "times", "epsilon", "sensitivity", "scale"])


def answer(study: StudyResults) -> str:
    """Which family to take at which epsilon, how sure, where the other leads, what both cost; then the verdicts."""
    if not len(study.results) or study.test_ratio is None:
        return "**No run is complete, so there is no answer yet.** The reasons are listed under *Runs that failed*."
    found = [d for d in duels(study) if d.both]
    if not found:
        return "\n\n".join(
            ["No setting of this study holds both families, so there is nothing to compare.", *claims_in_words(study)]
        )
    scale = "Errors are on the scale where real data scores 0 and no information scores 1; the best of a family has the lowest mean of SWD and JSD."
    return "\n\n".join([_in_short(study, found), scale, *(_in_words(study, d) for d in found), *claims_in_words(study)])


def named(contestant: str, *, bold: bool = False) -> str:
    """The contestant in a sentence, with an article where it is not a name of its own."""
    words = label(contestant)
    return ("" if contestant in PROPER else "the ") + (f"**{words}**" if bold else words)


def _means(study: StudyResults, d: Duel, contestant: str, metrics: tuple[str, ...]) -> dict[str, float]:
    own = d.setting.only(c for c in (d.deep, d.classical) if c)
    means = {m: values_of(study.results, own, m) for m in metrics}  # over the folds that both have completed
    return {m: float(v[contestant].mean()) for m, v in means.items() if contestant in v and len(v)}


def _in_short(study: StudyResults, found: list[Duel]) -> str:
    said = []
    for d in found:
        deep, classical = (_means(study, d, str(m), PRIMARY) for m in (d.deep, d.classical))
        first, second = (
            (d.classical, d.deep) if sum(classical.values()) <= sum(deep.values()) else (d.deep, d.classical)
        )
        said.append(
            f"{d.setting.name}: {named(str(first), bold=True)} ahead of {named(str(second))} ({_sure(d, str(first))})"
        )
    return f"**In short**: {'; '.join(said)}."


def _sure(d: Duel, leader: str) -> str:
    """How sure it is that ``leader``, which has the lower mean, is better."""
    if not len(d.tests) or d.tests["p"].isna().all():
        return "no test: one repetition that both have completed"
    won, lost = (list(d.tests.loc[d.tests["better"] == name, "metric"]) for name in (leader, d.other(leader)))
    if not won and not lost:
        return "not sure: no difference survives the adjustment for the number of tests"
    said = [f"clearly in {' and '.join(won)}"] if won else []
    said += [f"but {named(d.other(leader))} is clearly better in {' and '.join(lost)}"] if lost else []
    return ", ".join(said)


def _in_words(study: StudyResults, d: Duel) -> str:
    deep, classical = str(d.deep), str(d.classical)
    metrics = tuple(dict.fromkeys(study.results["metric"]))
    a, b = _means(study, d, deep, metrics), _means(study, d, classical, metrics)
    figures = [
        f"{label(name)} {', '.join(f'{m} {values[m]:.2f}' for m in PRIMARY)}"
        for name, values in ((deep, a), (classical, b))
    ]
    both = [m for m in metrics if m in a and m in b]
    leads = {deep: [m for m in both if a[m] < b[m]], classical: [m for m in both if b[m] < a[m]]}
    text = f"**{d.setting.name[0].upper()}{d.setting.name[1:]}**: the best deep generator against the best classical synthesizer, {' against '.join(figures)}."
    text += " Over all metrics, descriptively: " + "; ".join(
        f"{named(name)} has the lower error in {len(found)} of {len(both)} ({', '.join(found) or 'none'})"
        for name, found in leads.items()
    )
    return text + "." + _seconds(study, d)


def _seconds(study: StudyResults, d: Duel) -> str:
    """What a release of either costs."""
    cost = {str(m): _fit_seconds(study, d.setting.cells[str(m)]) for m in (d.deep, d.classical)}
    if any(v != v for v in cost.values()):
        return ""
    deep, classical = (cost[str(m)] for m in (d.deep, d.classical))
    return f" Fitting takes {deep:.0f} s and {classical:.1f} s."


def _fit_seconds(study: StudyResults, cell: str) -> float:
    seconds = []
    for rid in study.complete.loc[study.complete["cell"] == cell, "run_id"]:
        trained = study.training_seconds(rid)
        own = study.read(rid, "manifest.json")["seconds"].get("fit", float("nan"))
        seconds.append(trained if trained == trained else own)
    return float(pd.Series(seconds, dtype=float).mean())
