"""What would we publish? The best private release at each epsilon, what privacy costs it, and where it does not win."""

from __future__ import annotations

import pandas as pd

from trajkit.study.cells import CLASSICAL, CONTESTANTS, MODELS, label
from trajkit.study.ranking import Pick, Setting, pairwise, pick, values_of
from trajkit.study.ranking import settings as all_settings
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.text import claims_in_words
from trajkit.trajectories import Trajectories

ON_MAP = "road_counts"
MAPS = {"": "the data set's own map", "-map-removed": "a tenth of its streets removed", "-map-lattice": "a lattice"}


def settings(study: StudyResults) -> list[Setting]:
    """The private settings, from the largest epsilon down."""
    return [
        s for s in all_settings(study.runs["cell"]) if s.private and s.protocol == "matched" and "tenth" not in s.regime
    ]


def picks(study: StudyResults) -> list[tuple[Setting, Pick]]:
    """The contestant with the lowest mean of the primary metrics in each setting, among those whose guarantee holds."""
    if study.test_ratio is None:
        return []
    chosen = settings(study)
    tests = pairwise(study.results, chosen, metrics=PRIMARY, test_ratio=study.test_ratio)
    return [(s, pick(study.results, s, tests, metrics=PRIMARY)) for s in chosen]


def best_plain(study: StudyResults) -> str | None:
    """The deep cell without privacy that has the lowest mean of the primary metrics; None where none is complete."""
    cells = [f"{m}-{r}" for m in MODELS for r in ("plain-long", "plain")]
    means = {c: sum(_mean(study, c, m) for m in PRIMARY) for c in cells}
    known = {c: v for c, v in means.items() if v == v}
    return min(known, key=known.__getitem__) if known else None


def _mean(study: StudyResults, cell: str, metric: str, column: str = "rescaled") -> float:
    rows = study.results[(study.results["cell"] == cell) & (study.results["metric"] == metric)]
    return float(rows[column].mean())


def answer(study: StudyResults) -> str:
    """The pick at each epsilon, the cost of privacy, and where another release is better."""
    if not len(study.results) or study.test_ratio is None:
        return "**No run is complete, so there is no answer yet.** The reasons are listed under *Runs that failed*."
    found = [(s, p) for s, p in picks(study) if p.model]
    if not found:
        return "\n\n".join(
            [
                "No private setting of this study holds two methods, so there is nothing to pick.",
                *claims_in_words(study),
            ]
        )
    plain = best_plain(study)
    said = "; ".join(f"{s.name.removeprefix('private, ')}: **{label(str(p.model))}** ({p.sure})" for s, p in found)
    scale = (
        "Errors are on the scale where real data scores 0 and no information scores 1; the pick has the lowest mean of SWD and JSD among "
        "releases whose guarantee holds."
    )
    lines = [f"**In short**, publish {said}.", scale, *(_in_words(study, s, p, plain) for s, p in found)]
    return "\n\n".join([*lines, *claims_in_words(study)])


def _in_words(study: StudyResults, setting: Setting, p: Pick, plain: str | None) -> str:
    figures = ", ".join(f"{m} {v:.3f}" for m, v in p.rescaled.items())
    text = f"**{setting.name[0].upper()}{setting.name[1:]}**: {label(str(p.model))} ({figures})."
    if plain:
        cell = setting.cells[str(p.model)]
        ratios = [f"{m} {_mean(study, cell, m):.3f} against {_mean(study, plain, m):.3f}" for m in PRIMARY]
        text += f" Against the best deep generator without privacy (*{plain}*): {', '.join(ratios)}."
    others = _better_elsewhere(study, setting, str(p.model))
    text += (
        f" Descriptively, another release has a lower error in {others}."
        if others
        else " No other release has a lower mean error in any metric."
    )
    return text + ("" if p.usable else " Even it is closer to no information than to real data on a primary metric.")


def _better_elsewhere(study: StudyResults, setting: Setting, model: str) -> str:
    """Metrics in which another contestant has a lower mean error, with the best of them."""
    said = []
    for metric in dict.fromkeys(study.results["metric"]):
        values = values_of(study.results, setting, str(metric), column="value")
        if model in values and len(values):
            best = str(values.mean().idxmin())
            if best != model:
                said.append(f"{metric} ({label(best)})")
    return ", ".join(said)


def cost_of_privacy(study: StudyResults) -> pd.DataFrame:
    """One row a setting and primary metric: the pick's error over that of the best deep generator without privacy, and over real data's."""
    plain, rows = best_plain(study), []
    for setting, p in picks(study):
        if p.model is None:
            continue
        cell = setting.cells[p.model]
        for metric in PRIMARY:
            own = _mean(study, cell, metric, "value")
            rows.append(
                {
                    "setting": setting.name, "release": label(p.model), "metric": metric, "error": own,
                    "rescaled": _mean(study, cell, metric),
                    f"over {plain or 'no plain cell'}": own / _mean(study, plain, metric, "value") if plain else None,
                    "over real data": own / _mean(study, "real", metric, "value"),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def wrong_maps(study: StudyResults) -> pd.DataFrame:
    """One row a map: rescaled errors of the release that is drawn on it, and the noisy share of trajectories off it."""
    rows = []
    for suffix, words in MAPS.items():
        cell = f"{ON_MAP}-private{suffix}"
        runs = study.complete[study.complete["cell"] == cell]
        if len(runs):
            off = [study.read(r, "release.json")["share of trajectories off the map (noisy)"] for r in runs["run_id"]]
            errors = {m: _mean(study, cell, str(m)) for m in dict.fromkeys(study.results["metric"])}
            rows.append({"map": words, **errors, "off the map (noisy)": sum(off) / len(off)})
    return pd.DataFrame(rows)


def shown(study: StudyResults) -> dict[str, Trajectories | None]:
    """Releases to draw: real test trajectories, then every contestant of the first private setting."""
    cells = [c for s in settings(study)[:1] for c in s.cells.values()]
    released = {c: study.released(c) for c in cells}
    return {"real (test)": study.real_panel(), **{c: r for c, r in released.items() if r is not None}}


def families() -> pd.DataFrame:
    """What each contestant is."""
    kinds = {**dict.fromkeys(MODELS, "deep generator, DP-SGD"), **dict.fromkeys(CLASSICAL, "noisy counts")}
    kinds |= {
        "road_counts": "noisy counts, drawn on the public road map",
        "private_evolution": "noisy votes for public candidates",
    }
    return pd.DataFrame([{"method": CONTESTANTS[m], "kind": k} for m, k in kinds.items()])
