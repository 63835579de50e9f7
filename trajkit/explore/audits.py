"""The audit viewer of `explore-privacy`: does a claim stand? Games of seconds, played beside the panel, and finished audits of a study."""

from __future__ import annotations

from collections.abc import Generator
from html import escape
from typing import Any

import ipywidgets as widgets

from trajkit.errors import ParameterError
from trajkit.explore.games import BUDGETS, SUBJECTS, Shown, finished_audits, playing
from trajkit.explore.on_demand import OnDemandPanel
from trajkit.explore.work import Step
from trajkit.viz.games import game_figure
from trajkit.viz.pictures import Picture, Text, View, sentence

CLAIMS = (0.5, 1.0, 2.0, 4.0, 10.0)


class AuditsPanel(OnDemandPanel):
    """See `audits_panel`. ``finished``: audits of a study by name."""

    label = "Play"

    def __init__(
        self, controls: dict[str, widgets.ValueWidget], finished: dict[str, Shown], *, releases: int, seed: int, interactive: bool | None
    ) -> None:  # fmt: skip
        self.finished, self.releases, self.seed = finished, releases, seed
        super().__init__(controls, interactive=interactive)
        self.known.update({(name, None): shown for name, shown in finished.items()})

    def wanted(self) -> tuple[str, float | None]:
        """The subject and, of a game, its claim."""
        return self._key(**self.values)

    def _key(self, *, subject: str, claimed: float, **_other: Any) -> tuple[str, float | None]:
        return subject, None if subject in self.finished else claimed

    def answering(self, key: tuple[str, float | None]) -> Generator[Step, None, Shown]:
        """Play the game."""
        if key in self.known:
            return self.known[key]  # type: ignore[no-any-return]
        shown = yield from playing(key[0], float(key[1] or 0), releases=self.releases, seed=self.seed)
        return shown

    def named(self, key: tuple[str, float | None]) -> str:
        """For the line that says what is being done."""
        return f"{key[0]}, claimed epsilon {key[1]:g}"

    def views_of(self, **chosen: Any) -> list[View]:
        """The verdict in words and in a picture."""
        subject, counted = chosen["subject"], chosen["counted"]
        done = subject in self.finished
        self.controls["claimed"].disabled = self.controls["counted"].disabled = done
        shown = self.answer(self._key(**chosen))
        if not isinstance(shown, Shown):
            return [sentence(shown or "The game is being played, this takes some seconds.")]
        return views(shown, min(counted, shown.budgets[-1]) if not done else shown.budgets[-1])


def views(shown: Shown, counted: int) -> list[View]:
    """The verdict after ``counted`` releases in each world."""
    v = shown.verdicts[shown.budgets.index(counted)]
    best = max(v.scores, key=lambda s: max(s.auc, 1 - s.auc))
    roc = best.roc if best.auc >= 0.5 else tuple((1 - x, 1 - y) for x, y in reversed(best.roc))
    played = shown.played
    bounds = [float(one.epsilon_lower or 0) for one in shown.verdicts]
    figure = game_figure(
        None if played is None else (played.a[:counted], played.b[:counted]), roc, v.allowed,
        budgets=shown.budgets, bounds=bounds, most=shown.most, chosen=counted, claimed=v.claimed_epsilon,
    )  # fmt: skip
    claim = "nothing is claimed" if v.claimed_epsilon is None else f"claimed epsilon {v.claimed_epsilon:.3g}"
    at_least = f"epsilon is at least {v.epsilon_lower:.3g}"
    alt = f"{v.subject}: after {counted:,} releases in each world {at_least}, {claim}: {v.verdict}. AUC {best.auc:.2f}"
    return [_words(v, counted, claim, at_least, shown.most[shown.budgets.index(counted)]), Picture(figure, alt)]


def _words(v: Any, counted: int, claim: str, at_least: str, most: float) -> Text:
    by = (
        f" (by {' and '.join({'epsilon': 'the bound on epsilon', 'curve': 'its whole curve', 'count': 'a count'}[b] for b in v.by)})"
        if v.by
        else ""
    )
    more = (
        "One counterexample settles it: the promise does not hold as it is made."
        if v.contradicted
        else "That proves nothing: a stronger adversary, or more releases, may see what this one did not."
    )
    return Text(
        f'<p style="font-size: 1.25em"><b>{escape(v.subject)}: {escape(v.verdict)}</b>{escape(by)}</p><p>{escape(claim[0].upper() + claim[1:])} at delta '
        f"{v.claimed_delta:.3g}; after {counted:,} releases in each world {escape(at_least)} ({v.level:.0%} confidence; perfect scores would show "
        f"{most:.3g}). {more} The confidence is that of one number of releases, not of all that one looks at.</p>",
        wide=True,
    )


def audits_panel(
    *, subject: str = SUBJECTS[0], claimed: float = 1.0, releases: int = BUDGETS[-1], seed: int = 0, question: str = "rq4",
    interactive: bool | None = None,
) -> AuditsPanel:  # fmt: skip
    """Look at games and at the finished audits of ``question``, beginning with ``subject`` claimed at epsilon ``claimed``.

    releases: played in each world, 100 at least. Raises ParameterError for what is not offered.
    """
    finished = finished_audits(question)
    subjects = [*SUBJECTS, *finished]
    problems = [
        *([f"subject = {subject!r}: one of {'; '.join(subjects)}"] if subject not in subjects else []),
        *([f"claimed = {claimed!r}: one of {', '.join(map(str, CLAIMS))}"] if claimed not in CLAIMS else []),
        *([f"releases = {releases!r}: a whole number of at least 100"] if releases < 100 else []),
    ]
    if problems:
        raise ParameterError("; ".join(problems))
    budgets = [n for n in BUDGETS if n < releases] + [releases]
    controls: dict[str, Any] = {
        "subject": widgets.Dropdown(options=subjects, value=subject, description="audit", layout=widgets.Layout(width="44em")),
        "claimed": widgets.SelectionSlider(options=[(f"{c:g}", c) for c in CLAIMS], value=claimed, description="claimed epsilon"),
        "counted": widgets.SelectionSlider(
            options=[(f"{n:,}", n) for n in budgets], value=budgets[-1], description="trainings counted"
        ),
    }  # fmt: skip
    return AuditsPanel(controls, finished, releases=releases, seed=seed, interactive=interactive)
