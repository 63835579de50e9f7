"""Sentences of a report, made from its figures: nothing here is typed in, everything is computed from the runs."""

from __future__ import annotations

import math

from trajkit.privacy.accounting import DpSgd, user_level_epsilon
from trajkit.privacy.guarantee import RNG_SEEDED, TRAINING
from trajkit.study.cells import MODELS, effects, is_tiny, label
from trajkit.study.claims import NOT_TESTABLE
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.stats import corrected_interval


def setting(study: StudyResults) -> str:
    """Where the figures come from, in one paragraph."""
    plan, done = study.plan, int(study.runs["complete"].sum())
    data = f"Data set **{plan['dataset']}** ({'private' if plan['private'] else 'public'}), fingerprint `{plan['data_fingerprint'][:8]}`"
    ordinary = study.runs[~study.runs["cell"].map(is_tiny)]
    folds = ordinary.loc[ordinary["vary"] == "fold", "replicate"].nunique()
    return f"{data}; profile **{plan['profile']}**: {plan['about']} {done} of {len(study.runs)} runs are complete, over {folds} fold(s)."


def answer(study: StudyResults) -> str:
    """The answer in a few sentences: what each model reaches in each regime, what DP-SGD adds, what becomes of the claims."""
    if not len(study.results) or study.test_ratio is None:
        return "**No run is complete, so there is no answer yet.** The reasons are listed under *Runs that failed*."
    lines = ["Errors are on the scale where real data scores 0 and no information scores 1." + _cloud(study)]
    for model in study.models:
        said = [_reached(study, model), *_added(study, model), *_against_nothing(study, model)]
        lines.append(f"**{label(model)[0].upper()}{label(model)[1:]}.** {' '.join(said)}")
    return "\n\n".join([*lines, *claims_in_words(study)])


def claims_in_words(study: StudyResults) -> list[str]:
    """One paragraph a claim: its verdict for each model, with the reason; last, what this profile cannot test."""
    verdicts = study.verdicts()
    lines, missing = [], []
    for name in dict.fromkeys(v.claim for v in verdicts):
        own = [v for v in verdicts if v.claim == name]
        tested = [v for v in own if v.verdict != NOT_TESTABLE]
        if len(tested) < len(own):
            models = ", ".join(label(v.model) for v in own if v.model and v not in tested)
            missing.append(f"{name} for {models}" if models else name)
        if tested:
            said = "; ".join(f"{label(v.model)}{': ' if v.model else ''}**{v.verdict}**, since {v.why}" for v in tested)
            scope = f" {tested[0].scope[0].upper()}{tested[0].scope[1:]}." if tested[0].scope else ""
            lines.append(f"**{name}** ({own[0].statement.rstrip('.')}). {_capital(said)}.{scope}")
    if missing:
        lines.append(
            f"Not testable here, since cells are missing or incomplete or a metric is not measured: {'; '.join(missing)}. *Verdicts* says why."
        )
    return lines


def _capital(text: str) -> str:
    """``text`` with a capital first letter, also where it begins with emphasis."""
    at = len(text) - len(text.lstrip("*"))
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


def _reached(study: StudyResults, model: str) -> str:
    said = []
    for cell in study.cells_of(model):
        scores = _scores(study, cell)
        if scores:
            said.append(f"*{cell}* {scores}")
    return f"{'; '.join(said)}." if said else "No run is complete."


def _scores(study: StudyResults, cell: str) -> str:
    """Rescaled primary errors of one cell with their intervals; empty where no run is complete."""
    parts = []
    for metric in PRIMARY:
        values = study.results.loc[
            (study.results["cell"] == cell) & (study.results["metric"] == metric), "rescaled"
        ].dropna()
        if len(values):
            parts.append(f"{metric} {corrected_interval(values, test_ratio=study.test_ratio or 1)}")
    return ", ".join(parts)


def _added(study: StudyResults, model: str) -> list[str]:
    lines = []
    said_of = {"clipping": "Clipping alone", "noise": "The noise alone", "DP-SGD in all": "DP-SGD in all"}
    for effect in effects(model):
        said = [_change(row) for row in study.differences([effect], metrics=PRIMARY).itertuples()]
        if said:
            lines.append(f"{said_of[effect[0]]} changes the rescaled error by {' and '.join(said)}.")
    others = study.differences(effects(model)[-1:])
    clear = others[others["seen"].astype(bool) & ~others["metric"].isin(PRIMARY)]
    if len(clear):
        moved = ", ".join(f"{r.metric} {r.mean:+.2f}" for r in clear.itertuples())
        lines.append(
            f"Among the other metrics, which are descriptive, the interval of what DP-SGD changes excludes zero for {moved} (rescaled error; not adjusted for the number of metrics)."
        )
    return lines


def _cloud(study: StudyResults) -> str:
    """What a cloud of points that no data has shaped scores."""
    scores = _scores(study, "cloud")
    return (
        f" *cloud*, normal points about the middle of the box that have seen no data, scores {scores}."
        if scores
        else ""
    )


def _against_nothing(study: StudyResults, model: str) -> list[str]:
    """Whether the private model beats the cloud, by paired differences."""
    table = study.differences([("", f"{model}-private", "cloud")])
    if table["low"].isna().all():  # no pair, or one repetition: nothing is clear either way
        return []
    seen = table[table["seen"].astype(bool)]
    better, worse = (list(seen.loc[part, "metric"]) for part in (seen["mean"] < 0, seen["mean"] > 0))
    clearly = (
        f"clearly better in {', '.join(better) or 'no metric'}, clearly worse in {', '.join(worse) or 'no metric'}"
    )
    return [
        f"Against the cloud the private model is {clearly}: where it is not better, the metric cannot tell that it learned anything."
    ]


def _change(row: object) -> str:
    metric, mean, low, high = row.metric, row.mean, row.low, row.high  # type: ignore[attr-defined]
    if low is None or math.isnan(low):
        return f"{mean:+.3f} in {metric} (one repetition: no interval)"
    seen = "" if row.seen else ", an interval that contains zero"  # type: ignore[attr-defined]
    return f"{mean:+.3f} in {metric} (95 % interval {low:+.3f} to {high:+.3f}{seen})"


def user_level(study: StudyResults, *, caps: tuple[int, ...] = (1, 2, 5)) -> str:
    """What the trajectory-level epsilon of the private runs means for a user with several trajectories."""
    for run in study.complete[study.complete["regime"] == "private"].to_dict("records"):
        guarantee = study.guarantee(run["run_id"])
        trained = next((p for p in guarantee.parts if p.protects == TRAINING and "sample_rate" in p.details), None)
        if not guarantee.holds or trained is None or guarantee.unit == "user":
            continue
        d = trained.details
        mechanism = DpSgd(sample_rate=d["sample_rate"], noise_multiplier=d["noise_multiplier"], steps=d["steps"])
        rows = [(m, user_level_epsilon(mechanism, delta=trained.delta, max_records_per_user=m)) for m in caps]
        table = "\n".join(
            [
                "| trajectories of one user, at most | epsilon for that user |",
                "|---|---|",
                *(f"| {m} | {e.epsilon:.1f}{' (loose bound)' if e.is_bound_only else ''} |" for m, e in rows),
            ]
        )
        intro = (
            f"The unit of privacy is one **{guarantee.unit}**. A user with several trajectories in the training set is protected less. "
            f"For the cell *{run['cell']}*, at the same delta, and only where the number of trajectories a user is really capped "
            "(this study caps nothing):\n\n"
        )
        return intro + table
    return "No private run with a guarantee that holds is complete, so there is nothing to convert to users."


def limits(study: StudyResults) -> str:
    """What this report cannot say."""
    plan, deep = study.plan, any(model in MODELS for model in study.models)
    of_deep = [
        "- DP-SGD is accounted for real numbers; the code computes in floating point (*idealised floating point* in the guarantee).",
        "- Sizes and rates of profiles quick and full were searched on a simulated city that is not reported; one choice, the form of "
        "the GAN's critic loss, was looked into again after first runs on the reported city had failed (`params/trials/`). No private "
        "data was searched: that would have to be paid for.",
        "- Core-seconds are measured, so models matched in them on one machine may differ on another; a GAN's updates are the "
        "generator's, and its critic's stand beside.",
    ]
    lines = [
        *(of_deep if deep else []),
        "- The metrics compare with real test trajectories and are not covered by any guarantee.",
        "- Trajectories of generators have a fixed number of points and, unless their name says *timed*, no times.",
        "- Where real data scores hardly better than no information, as on small sets, rescaled errors are large and say little.",
    ]
    private = study.complete.loc[study.complete["regime"] == "private", "run_id"]
    if any(study.guarantee(rid).rng == RNG_SEEDED for rid in private):
        lines.insert(
            0,
            "- Noise is drawn from the recorded seed so that the runs can be repeated: these releases are for study, not for "
            "publication. A real release draws it from the operating system (`noise: os`).",
        )
    if plan["profile"] != "paper":
        if deep:
            lines.insert(
                0,
                "- Where the plain model is itself far from real data, the noise of DP-SGD can hide behind its error: compare *plain* with "
                "*plain-long* before reading a small cost as cheap privacy, and look at the maps and the trajectory level.",
            )
        lines.insert(
            0,
            f"- Profile {plan['profile']} is far smaller than the published study: only the direction of a claim can be judged here.",
        )
    if len(study.results) and not (study.results["level"] == "road").any():
        lines.append("- No road network is known for this data set, so road fidelity is not measured.")
    return "\n".join(lines)
