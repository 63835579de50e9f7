"""Tables and sentences on what audits found, made from their figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from trajkit.attacks.audit_task import AuditReport
from trajkit.attacks.verdict import SOUND, Verdict
from trajkit.study.audits import shown_audits, surprises
from trajkit.study.claims import read_claims
from trajkit.study.results import StudyResults
from trajkit.study.rule_audits import scheme_of

GANS = ("worst_case", "tiny_gan", "one_run", "shadow")
DRAWN, BROKEN = ("worst_case", "tiny_gan"), "broken"
COLUMNS = (
    *("audit", "kind", "subject", "test", "claimed epsilon", "delta", "epsilon at least", "of it black box"),
    *("best AUC", "contradicted by", "verdict", "releases a world", "tried", "level", "seconds"),
)
SHOWN = ["subject", "claimed epsilon", "epsilon at least", "best AUC", "contradicted by", "verdict", "releases a world"]
SHOWN_GANS = [*SHOWN[:3], "of it black box", *SHOWN[3:]]
LEAST_CLAIM = 1.0
WHITE_BOX = ("weights", "critic")  # how scores begin that need more than released trajectories
NONE = "This profile has no audits, or they were not run yet."


def _planned(study: StudyResults) -> list[dict[str, Any]]:
    """One entry a shard; none in studies without audits."""
    found: list[dict[str, Any]] = study.plan.get("audits", [])
    return found


def _parameters(study: StudyResults) -> dict[str, dict[str, Any]]:
    return {p["name"]: p["parameters"] for p in _planned(study)}


def _reports(study: StudyResults) -> dict[str, AuditReport]:
    return shown_audits(_planned(study), study.audits, raw=study.may_show_raw)


def found(study: StudyResults) -> Iterator[tuple[str, str, Verdict]]:
    """(name of the audit, its kind, verdict) of all complete audits, in the order of the plan."""
    kinds = {p["name"]: p["audit"] for p in _planned(study)}
    for name, report in _reports(study).items():
        yield from ((name, kinds[name], v) for v in report.verdicts)


def verdicts(study: StudyResults) -> pd.DataFrame:
    """One row a verdict: the columns `COLUMNS`. "epsilon at least" holds at the level of its row, all scores of the row together; "of it
    black box" is what the scores of released trajectories alone show of it, corrected for all; for GANs."""
    rows = [
        {
            "audit": name, "kind": kind, "subject": v.subject, "test": v.test, "claimed epsilon": v.claimed_epsilon,
            "delta": v.claimed_delta, "epsilon at least": v.epsilon_lower, "of it black box": _black_box(v, kind), "best AUC": v.best_auc,
            "contradicted by": " and ".join(v.by), "verdict": v.verdict, "releases a world": v.trials, "tried": v.tried,
            "level": v.level, "seconds": round(v.seconds, 1),
        }
        for name, kind, v in found(study)
    ]  # fmt: skip
    numbers = ("claimed epsilon", "delta", "epsilon at least", "of it black box", "best AUC")
    return pd.DataFrame(rows, columns=COLUMNS).astype(dict.fromkeys(numbers, "float64"))


def _black_box(v: Verdict, kind: str) -> float | None:
    """The bound by released trajectories alone, for GANs; None elsewhere, and where figures of both kinds went into one test."""
    seen = [s for s in v.scores if not s.score.startswith(WHITE_BOX)]
    if kind == "one_run":
        return v.epsilon_lower
    return v.epsilon_by(s.score for s in seen) if kind in GANS and seen else None


def gans(study: StudyResults) -> pd.DataFrame:
    """The rows of `verdicts` on the two schemes of a private GAN."""
    table = verdicts(study)
    return table[table["kind"].isin(GANS)]


def subjects(study: StudyResults) -> pd.DataFrame:
    """The rows of `verdicts` on all other methods and mechanisms as they are."""
    table = verdicts(study)
    return table[~table["kind"].isin([*GANS, BROKEN]) & table["subject"].str.endswith(SOUND)]


def broken(study: StudyResults) -> pd.DataFrame:
    """What each test says of each sound and broken copy of training and counting: subjects are rows, tests columns; empty where a test does not apply."""
    table = verdicts(study)
    table = table[table["kind"] == BROKEN]
    said = table.assign(said=["caught" if by else "passed" for by in table["contradicted by"]])
    wide = said.pivot_table(index="subject", columns="test", values="said", aggfunc="first", sort=False)
    return wide.fillna("").rename_axis(index=None, columns=None)


def weakened(study: StudyResults) -> pd.DataFrame:
    """The rows of `verdicts` on other subjects that were given too little noise."""
    table = verdicts(study)
    return table[~table["kind"].isin([*GANS, BROKEN]) & ~table["subject"].str.endswith(SOUND)]


def tables(study: StudyResults, name: str) -> dict[str, pd.DataFrame]:
    """Name of the audit -> its table ``name``, where it has one."""
    return {k: pd.DataFrame(r.tables[name]) for k, r in _reports(study).items() if r.tables.get(name)}


def together(study: StudyResults, name: str) -> pd.DataFrame:
    """The tables ``name`` of all audits, one below the other; empty where none has one."""
    found = tables(study, name)
    return pd.concat([*found.values()], ignore_index=True) if found else pd.DataFrame()


def remembered(study: StudyResults) -> list[Verdict]:
    """For the figure: audits of noise on the generator and on the critic that claim the smallest epsilon and were held against a curve,
    one of each kind of data (and of each scheme), the one with the most trainings, placebos left out."""
    planned = _parameters(study)
    chosen: dict[tuple[str, str], Verdict] = {}
    for name, kind, v in found(study):
        p = planned[name]
        if kind not in DRAWN or p["placebo"] or p.get("canary", "corner") != "corner" or p.get("penalty"):
            continue
        key = (p["scheme"], p.get("data", kind))
        if p["claimed"] <= LEAST_CLAIM and (key not in chosen or v.trials > chosen[key].trials):
            chosen[key] = v
    return list(chosen.values())


def true_guarantee(study: StudyResults) -> pd.DataFrame:
    """What noise on the generator alone is claimed to promise, and what it does, as text."""
    table = together(study, "true guarantee")
    if not len(table):
        return table
    return table.assign(**{k: [f"{x:.2g}" for x in table[k]] for k in ("delta", "mu", "epsilon that holds")})


def budgets(study: StudyResults) -> pd.DataFrame:
    """What was tried, and at what budget."""
    table = verdicts(study)[["audit", "subject", "test", "releases a world", "delta", "level", "tried", "seconds"]]
    return table.assign(delta=[f"{x:.2g}" for x in table["delta"]])


def holes(study: StudyResults) -> pd.DataFrame:
    """Audits that are not complete or not shown, or did not come out as their params expect, with the reason."""
    rows = [{"audit": k, "reason": r} for k, r in study.audits.items() if isinstance(r, str)]
    if not study.may_show_raw:
        rows = [
            {**r, "reason": "failed or not run; its folder says why (a message may quote private data)"} for r in rows
        ]
    told = _reports(study)
    hidden = [k for k, r in study.audits.items() if isinstance(r, AuditReport) and k not in told]
    rows += [
        {"audit": k, "reason": "complete, not shown: it looked at private records (allow_raw: true shows it)"}
        for k in hidden
    ]
    rows += [{"audit": "", "reason": s} for s in surprises(_planned(study), told)]
    return pd.DataFrame(rows, columns=["audit", "reason"])


def answer(study: StudyResults) -> str:
    """What was contradicted and what was not, in a few sentences."""
    if not any(True for _ in found(study)):
        return NONE
    said = [_claim(study), _largest(study), _others(study), _copies(study)]
    return "\n\n".join(s for s in said if s)


def _claim(study: StudyResults) -> str:
    verdict = next((v for v in study.verdicts() if v.claim == "C6"), None)
    if verdict is None:
        return ""
    return f"**Claim C6** ({read_claims()['C6'].statement.rstrip('.')}): **{verdict.verdict}**; {verdict.why}."


def _largest(study: StudyResults) -> str:
    """The strongest contradiction of noise on the generator, and the strongest with records that look like trips."""
    planned = _parameters(study)
    fell = [
        (planned[n], v)
        for n, _, v in found(study)
        if scheme_of(planned[n]) == "generator"
        and not planned[n].get("placebo")
        and v.by
        and v.epsilon_lower is not None
    ]
    if not fell:
        return ""
    worst = max((v for _, v in fell), key=lambda v: (v.epsilon_lower or 0) / (v.claimed_epsilon or 1))
    text = (
        f"Where epsilon {worst.claimed_epsilon:.3g} is claimed, it is at least **{worst.epsilon_lower:.2f}** ({worst.subject}; "
        f"{worst.trials:,} trainings in each world, {100 * worst.level:g} % confidence for this audit alone)."
    )
    natural = [v for p, v in fell if p.get("data") in ("natural", "scratch") and "epsilon" in v.by]
    if natural:
        best = max(natural, key=lambda v: v.epsilon_lower or 0)
        text += (
            f" On trips of a city, with a tiny GAN: at least {best.epsilon_lower:.2f} where {best.claimed_epsilon:.3g} is claimed, of it "
            f"{_black_box(best, 'tiny_gan'):.2f} from released trajectories alone ({best.subject})."
        )
    return text


def _others(study: StudyResults) -> str:
    sound = subjects(study)
    sound = sound[sound["claimed epsilon"].notna()]
    if not len(sound):
        return ""
    fell = sound[sound["contradicted by"] != ""]
    if len(fell):
        return f"**{len(fell)} of {len(sound)} other claims are contradicted**: {'; '.join(fell['subject'])}."
    return f"None of the {len(sound)} other claims that were audited is contradicted. That is no proof: a stronger adversary may see more."


def _copies(study: StudyResults) -> str:
    table = broken(study)
    caught = table.eq("caught").any(axis=1) if len(table) else pd.Series(dtype=bool)
    weak = weakened(study).groupby("subject", sort=False)["contradicted by"].agg(lambda by: (by != "").any())
    caught = pd.concat([caught, weak]).astype(bool)
    copies = [s for s in caught.index if not s.endswith(SOUND)]
    if not copies:
        return ""
    missed = [s for s in copies if not caught[s]]
    false = [s for s in caught.index if s.endswith(SOUND) and caught[s]]
    text = f"{len(copies) - len(missed)} of {len(copies)} broken copies are caught by at least one test"
    text += f"; missed: {', '.join(missed)}." if missed else "."
    return text + (f" **{', '.join(false)} was called broken, which it is not.**" if false else "")


def membership(study: StudyResults) -> pd.DataFrame:
    """One row a kind of noise: the best of its attacks on average people by AUC, chosen afterwards, and the canary's own figures beside it."""
    table = together(study, "membership")
    if not len(table):
        return table
    return table.loc[table.groupby("noise", sort=False)["AUC"].idxmax()]


def rocs(study: StudyResults) -> pd.DataFrame:
    """regime, attack, fpr [k], tpr [k]: the curves of the attacks on average people."""
    return together(study, "roc")


def said(study: StudyResults) -> dict[str, str]:
    """Name of the audit -> what it says of itself."""
    return {name: table["text"].iloc[0] for name, table in tables(study, "in words").items()}
