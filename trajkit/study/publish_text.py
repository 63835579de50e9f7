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
MAPS = {
    "": "as it is",
    "-map-removed": "a tenth of the streets missing",
    "-map-year": "of another year",
    "-map-lattice": "a lattice",
    "-map-left": "as it is, but a fifth of the people leave the roads",
}


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
    picked = picks(study)
    found = [(s, p) for s, p in picked if p.model]
    if not found:
        return "\n\n".join(
            [
                "No private setting of this study holds two methods, so there is nothing to pick.",
                *claims_in_words(study),
            ]
        )
    plain = best_plain(study)
    none = [s.name for s, p in picked if not p.model]
    said = "; ".join(f"{s.name.removeprefix('private, ')}: **{label(str(p.model))}** ({p.sure})" for s, p in found)
    scale = (
        "Errors are on the scale where real data scores 0 and no information scores 1; the pick has the lowest mean of SWD and JSD among "
        "releases whose guarantee holds."
    )
    short = f"**In short**, publish {said}." + (f" Nothing can be picked for {', '.join(none)}." if none else "")
    lines = [short, scale, *(_in_words(study, s, p, plain) for s, p in found)]
    return "\n\n".join([*lines, *claims_in_words(study)])


def _in_words(study: StudyResults, setting: Setting, p: Pick, plain: str | None) -> str:
    figures = ", ".join(f"{m} {v:.3f}" for m, v in p.rescaled.items())
    text = f"**{setting.name[0].upper()}{setting.name[1:]}**: {label(str(p.model))} ({figures})."
    if plain:
        both = {m: _both(study, setting.cells[str(p.model)], plain, m, "rescaled") for m in PRIMARY}
        ratios = [f"{m} {t.iloc[:, 0].mean():.3f} against {t.iloc[:, 1].mean():.3f}" for m, t in both.items() if len(t)]
        folds = len(both[PRIMARY[0]])
        text += f" Against the best deep generator without privacy (*{plain}*), over {folds} fold(s): {', '.join(ratios) or 'no fold in common'}."
    text += _better_elsewhere(study, setting, p)
    return text + ("" if p.usable else " Even it is closer to no information than to real data on a primary metric.")


def _both(study: StudyResults, a: str, b: str, metric: str, column: str) -> pd.DataFrame:
    """Values of two cells, one row a repetition that both have completed."""
    rows = study.results[study.results["metric"] == metric]
    columns = [rows.loc[rows["cell"] == c].set_index("replicate")[column].rename(str(k)) for k, c in enumerate((a, b))]
    return pd.concat(columns, axis=1, join="inner").dropna()


def _better_elsewhere(study: StudyResults, setting: Setting, p: Pick) -> str:
    """In which metrics another release whose guarantee holds has a lower mean error, over the repetitions that all of them completed."""
    may = setting.only(m for m in setting.cells if m not in p.excluded)
    said, compared = [], 0
    for metric in dict.fromkeys(study.results["metric"]):
        values = values_of(study.results, may, str(metric), column="value")
        if p.model in values and len(values) and values.shape[1] > 1:
            compared += 1
            best = str(values.mean().idxmin())
            if best != p.model:
                said.append(f"{metric} ({label(best)})")
    if not compared:
        return " No other release with a guarantee completed the same repetitions, so it is compared with none."
    where = f"in {', '.join(said)}" if said else "in none"
    return f" Of {compared} metrics, another release with a guarantee has the lower mean error {where}."


def cost_of_privacy(study: StudyResults) -> pd.DataFrame:
    """One row a setting and primary metric: the pick's error over that of the best deep generator without privacy, and over real data's."""
    plain, rows = best_plain(study), []
    for setting, p in picks(study):
        if p.model is None:
            continue
        cell = setting.cells[p.model]
        for metric in PRIMARY:
            against = {c: _both(study, cell, c, metric, "value") for c in (plain, "real") if c}
            ratio = {c: float(t.iloc[:, 0].mean() / t.iloc[:, 1].mean()) for c, t in against.items() if len(t)}
            rows.append(
                {
                    "setting": setting.name, "release": label(p.model), "metric": metric, "error": _mean(study, cell, metric, "value"),
                    "rescaled": _mean(study, cell, metric),
                    f"over {plain or 'no plain cell'}": ratio.get(plain or ""),
                    "over real data": ratio.get("real"),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def wrong_maps(study: StudyResults) -> pd.DataFrame:
    """One row a map: rescaled errors of the release that is drawn on it, and the noisy share of trajectories off it."""
    rows = []
    for suffix, what in MAPS.items():
        cell = f"{ON_MAP}-private{suffix}"
        runs = study.complete[study.complete["cell"] == cell]
        if len(runs):
            reports = [study.read(r, "release.json") for r in runs["run_id"]]
            off = [report["share of trajectories off the map (noisy)"] for report in reports]
            errors = {m: _mean(study, cell, str(m)) for m in dict.fromkeys(study.results["metric"])}
            rows.append({"map": what, **errors, "off the map (noisy)": sum(off) / len(off), "cell": cell})
    return pd.DataFrame(rows)


def shown(study: StudyResults) -> dict[str, Trajectories | None]:
    """Releases to draw: real test trajectories, then every contestant of the first private setting."""
    return study.panels(c for s in settings(study)[:1] for c in s.cells.values())


def families() -> pd.DataFrame:
    """What each contestant is."""
    kinds = {**dict.fromkeys(MODELS, "deep generator, DP-SGD"), **dict.fromkeys(CLASSICAL, "noisy counts")}
    kinds |= {
        "road_counts": "noisy counts, drawn on the public road map",
        "private_evolution": "noisy votes for public candidates",
    }
    return pd.DataFrame([{"method": CONTESTANTS[m], "kind": k} for m, k in kinds.items()])
