"""Anonymity or differential privacy: utility and measured risk of every release on the same axes, in tables and sentences."""

from __future__ import annotations

from typing import Any

import pandas as pd

from trajkit.attacks.adversaries import BACK, HOME, MATCHED, NEXT, OFF, ROUTES, WORK
from trajkit.study import anonymity_panels as panels
from trajkit.study.adversaries import adversary_table, surely_named
from trajkit.study.cells import ANONYMIZERS, is_tiny, mapped, parsed
from trajkit.study.decisions import decisions, errors_by_cell
from trajkit.study.results import K_ANONYMOUS, PRIMARY, StudyResults
from trajkit.study.risk import ALL, FOUND, GUESSED, KNOWN, SPACE, in_short, named, risk_table
from trajkit.study.silence import PLACES, silence_table
from trajkit.study.text import claims_in_words
from trajkit.trajectories import Trajectories

FOUND_BY = {
    ROUTES: "whole routes", MATCHED: "people by their streets", NEXT: "next trips of a person", HOME: "homes", WORK: "works",
}  # fmt: skip


def lattice_table(study: StudyResults, cell: str = K_ANONYMOUS) -> pd.DataFrame:
    """`anonymity_panels.lattice` of a cell, first repetition."""
    return panels.lattice(study.report_of(cell) or {})


def suppression_table(study: StudyResults) -> pd.DataFrame:
    """`anonymity_panels.missing` of every anonymizer, first repetition, with its ``release``."""
    parts = [panels.missing(study.report_of(c) or {}).assign(release=named(c)) for c in _anonymizers(study)]
    return pd.concat([p for p in parts if len(p)] or parts[:1], ignore_index=True) if parts else pd.DataFrame()


def missing_by(study: StudyResults, by: str) -> pd.DataFrame:
    """`suppression_table` of one division (the beginning of its name), strata as columns."""
    table = suppression_table(study)
    part = table[table["of"].str.startswith(by)] if len(table) else table
    return part.pivot(index="release", columns="", values=panels.SHARE) if len(part) else pd.DataFrame()


def utility_table(study: StudyResults) -> pd.DataFrame:
    """One row a release: rescaled errors (means over repetitions), what it leaves out, and how many trajectories it has."""
    errors = errors_by_cell(study)
    if not len(errors):
        return errors
    silence = silence_table(study).set_index("cell")
    rows = []
    for cell in errors.index:
        g = study.guarantee(study.complete.loc[study.complete["cell"] == cell, "run_id"].iloc[0])
        released = study.released(str(cell))
        row: dict[str, Any] = {"release": named(str(cell)), "promise": in_short(g), **errors.loc[cell].to_dict()}
        row[PLACES] = silence[PLACES].get(cell)
        row["trajectories released"] = "" if released is None else f"{len(released):,}"
        rows.append(row)
    return pd.DataFrame(rows)


def frontier_table(study: StudyResults) -> pd.DataFrame:
    """`risk_table` with the mean rescaled error of the primary metrics as ``error``; releases without either are left out.

    A metric on which real data scores no better than no information has no scale, and then there is no error to draw by.
    """
    risk = risk_table(study)
    errors = errors_by_cell(study)
    if not len(risk) or not len(errors):
        return pd.DataFrame()
    mean = errors.reindex(columns=list(PRIMARY)).mean(axis=1, skipna=False)
    return risk.assign(error=risk["cell"].map(mean)).dropna(subset=["error", "auc"])


def answer(study: StudyResults) -> str:
    """What to take for which use, what the attack makes of it, and what became of the claim."""
    if not len(study.results):
        return "**No run is complete, so there is no answer yet.** The reasons are listed under *Runs that failed*."
    table = decisions(study)
    lines = [
        "**In short**, publish "
        + "; ".join(f"for {row['use']}: **{row['take']}**" for row in table.to_dict("records"))
        + "."
    ]
    lines.append(
        "A release with a DP promise comes first where it is usable (every error of the use closer to real data than to no information), "
        "because its promise holds whatever an adversary knows and adds up over releases; anonymity holds for one release and one kind of "
        "knowledge."
    )
    return "\n\n".join(
        [*lines, *_risk_in_words(study), *adversaries_in_words(adversary_table(study)), *claims_in_words(study)]
    )


def _risk_in_words(study: StudyResults) -> list[str]:
    risk = risk_table(study)
    if not study.may_show_raw:
        return ["Risks are not shown: they are measured on raw data, which is private."]
    if not len(risk):
        return [f"There is no release to attack with {KNOWN} known points."]
    said = []
    for fields in (SPACE, ALL):
        part = risk[risk["fields"] == fields]
        above = part[(part["auc_low"] > 0.5) & (part["kind"] != "none")]
        if len(part):
            names = ", ".join(
                f"{r['release']} ({r['auc']:.2f})" for r in above.sort_values("auc", ascending=False).to_dict("records")
            )
            said.append(f"by {fields} " + (f"in {names}" if names else "in none"))
    text = "Four known points tell people who are in the data from people who are not (AUC surely above 0.5), among releases that promise something, "
    return [text + "; ".join(said) + "." + _bounds_in_words(risk), *_members_in_words(risk)]


def adversaries_in_words(table: pd.DataFrame) -> list[str]:
    """What a street map, links between trips, nights at home and averaged noise give away: of who promises nothing, and of who promises most."""
    known = table[table["value"].notna()] if len(table) else table
    if not len(known):
        return []
    said = []
    for measure, what in FOUND_BY.items():
        part = known[known["measure"] == measure].sort_values("value", ascending=False)
        bare, promised = part[~part["protects"].astype(bool)], part[part["protects"].astype(bool)]
        if len(bare):
            top = bare.iloc[0]
            text = f"{100 * top['value']:.0f} % of {what} in {top['release']} (a guess: {100 * top['guess']:.0f} %)"
            if len(promised):
                most = promised.iloc[0]
                text += f", and of what promises something at most {100 * most['value']:.0f} %, in {most['release']}"
            said.append(text)
    lines = ["**Adversaries with more than four points** find " + "; ".join(said) + "."] if said else []
    noise = known[known["cell"].map(lambda c: (name := parsed(c)) is not None and name.model == "planar_laplace")]
    off, back = (noise[noise["measure"] == m]["value"] for m in (OFF, BACK))
    if len(off) and len(back) and noise.loc[noise["measure"] == BACK, "high"].iloc[0] < off.iloc[0]:
        lines.append(
            f"Noise on every point is no answer: points that were moved by {off.iloc[0]:.0f} m on average are brought back to "
            f"{back.iloc[0]:.0f} m from the true ones, on average, by what joins them."
        )
    none = table[table["reason"].str.contains("generated")]["cell"].nunique()
    if none:
        lines.append(
            f"In {none} generated releases none of these four has anything to start from: no trajectory there is anybody's. What is left to "
            "find in those is whether somebody's data was used (membership)."
        )
    for cell, (measure, value, limit) in surely_named(table).items():
        lines.append(
            f"**{named(cell)}: {measure} in {100 * value:.0f} %, where 1/k is {100 * limit:.0f} %.** Its promise is about cells, lines or few points, and "
            "this adversary knows everybody's trips and the streets."
        )
    return ["\n".join(f"- {line}" for line in lines)] if lines else []


def _members_in_words(risk: pd.DataFrame) -> list[str]:
    """What somebody finds who knows whole trips and looks for the nearest released one; nothing where nobody was asked."""
    known = risk[risk["member auc"].notna()] if "member auc" in risk else risk.iloc[:0]
    if not len(known):
        return []
    text = "Who knows whole trips, and not four points of one, tells members from others by the nearest released path"
    promised = known[known["kind"] != "none"].sort_values("member auc", ascending=False)
    above = promised[promised["member auc low"] > 0.5]
    names = ", ".join(f"{r['release']} ({r['member auc']:.2f})" for r in above.to_dict("records")) or "none of them"
    text += f": among releases that promise something, surely (AUC) in {names}." if len(promised) else "."
    if len(promised):
        most = promised.loc[promised[FOUND].astype(float).idxmax()]
        text += (
            f" Taking 1 % of the others for members by mistake, he finds most members of these in {most['release']}: {100 * most[FOUND]:.0f} % of them "
            f"({100 * most[f'{FOUND} low']:.0f} to {100 * most[f'{FOUND} high']:.0f} %), where a guess finds {100 * most[GUESSED]:.0f} %."
        )
    return [text + " This is one attack on people of the usual kind: where it finds nobody, it certifies nothing."]


def _bounds_in_words(risk: pd.DataFrame) -> str:
    """How near naming a target comes to 1/k, where it is nearest; empty where no release promises a k that bounds it."""
    linked = risk[risk["bound"].notna()]
    if not len(linked):
        return ""
    success = linked[["named", "named by cells"]].astype(float).max(axis=1)
    worst = (success / linked["bound"]).idxmax()
    bound = float(linked.loc[worst, "bound"])
    where = f"with a mean probability of {success[worst]:.3f}, where 1/k is {bound:.3f}"
    if success[worst] > bound * (1 + 1e-9):
        return f" **A k-anonymous release breaks its promise:** the attacker names a target of {linked.loc[worst, 'release']} {where}."
    return f" In releases whose promise bounds it by 1/k the attacker names a target {where}; in no other of these does he come nearer to it."


def _anonymizers(study: StudyResults) -> list[str]:
    cells = [str(c) for c in dict.fromkeys(study.runs["cell"]) if not is_tiny(c)]
    return [c for c in cells if (name := parsed(c)) and name.model in ANONYMIZERS]


def shown(study: StudyResults) -> dict[str, Trajectories | None]:
    """Releases to draw: real test trajectories, the anonymizers at their usual k, and the private releases."""
    return study.panels(
        c for c in mapped(study.runs["cell"]) if (name := parsed(c)) and name.regime in ("syntactic", "private")
    )
