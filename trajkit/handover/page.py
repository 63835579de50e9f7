"""The publishable page of a release: what was protected, against whom, how strongly, who was left out, what remains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trajkit.anonymize.anonymizer import MADE
from trajkit.handover.budget import COMPOSITION, Spend
from trajkit.handover.document import Page
from trajkit.handover.ledger import CUT_OTHERWISE, Account
from trajkit.handover.left_out import NEVER_MORE, LeftOut, in_degrees
from trajkit.privacy.guarantee import Guarantee, Part
from trajkit.study.tables import about
from trajkit.trajectories import Trajectories

QUESTIONS = ("What was protected", "Against whom", "How strongly", "Who was left out", "What remains")
UNNAMED = "tables"  # an owner's table without a name of its own
NO_FIGURES = (
    "no figure about the data stands here: the promise covers the file, and a true count beside it would not be covered"
)


@dataclass(frozen=True)
class Facts:
    """What the page is made from; nothing of the data but what may be said. ``account``: the ledger with this release, ``reserved`` in it."""

    title: str
    purpose: str
    method: str
    guarantee: Guarantee
    released: Trajectories
    account: Account
    left_out: LeftOut
    trips_per_user: int | None
    parameters: tuple[tuple[str, str], ...] = ()
    reserved: Spend | None = None
    setting: Mapping[str, Any] | None = None  # of k-anonymity: the cells and bins that were taken
    within_budget: bool = True
    figures: bool = False  # rounded shares were asked for

    @property
    def parts(self) -> bool:
        """Whether parts of trajectories are released, each like those of k."""
        return bool(self.setting) and self.setting["suppress"] == "segments"  # type: ignore[index]

    @property
    def made(self) -> int:
        """How many of the trajectories are marked as made, among true ones."""
        return sum(str(i).startswith(MADE) for i in self.released.traj_ids)

    @property
    def part(self) -> Part | None:
        """The DP promise to made trajectories in a release that keeps true ones as well."""
        return self.guarantee.parts[0] if "anonymity" in self.guarantee.kind and self.guarantee.parts else None


def release_page(facts: Facts) -> Page:
    """The page. A reader needs nothing but it."""
    g = facts.guarantee
    page = Page("Released trajectories" + (f": {facts.title}" if facts.title != UNNAMED else ""))
    page.table(("question", "answer"), list(zip(QUESTIONS, _short(facts), strict=True)))
    if facts.purpose:
        page.heading("Purpose, as stated by the owner")
        page.say(facts.purpose)
    page.heading("What is in the folder")
    page.listed(_contents(facts))
    page.heading("Parameters of the method (public numbers)")
    page.table(("parameter", "value"), facts.parameters)
    page.heading("How strongly")
    page.listed(_strength(facts))
    page.heading("Who was left out")
    _missing(page, facts)
    page.heading("What remains, and what is assumed")
    page.listed([*_remains(facts), *(f"assumed: {a}" for a in g.assumptions)])
    page.say("This page states what was done and measured. It is no judgement of law, and no advice.")
    return page


def _short(f: Facts) -> tuple[str, ...]:
    g = f.guarantee
    if g.kind == "dp":
        what = (
            f"each user, with all of his trajectories (at most {f.trips_per_user} of them were looked at)"
            if g.unit == "user"
            else "each single trajectory; a person with several of them is protected less"
        )
        whom = "anybody, whatever else he knows and however much he computes, all other records included"
        strong = f"differential privacy, epsilon {g.epsilon:.4g}, delta {g.delta:.2g}, per {g.unit}"
        out = "nobody by name: the file holds made trajectories, none of anyone; what was left out beforehand stands below"
        rest = "facts about many people together, which are the purpose; the assumptions below"
    else:
        unit = "part of a trajectory" if f.parts else "trajectory"
        what = {
            "user": f"each person, in each single released {unit}: at least {g.k} persons, himself included, look alike in it; not his trajectories "
            "taken together",
            "trajectory": f"each trajectory, hidden among at least {g.k}, all of which may be one person's: no person is protected",
        }.get(
            g.unit or "", f"each released place, shared by at least {g.k} persons; whole trajectories are not protected"
        )
        known = "where and when" if f.released.t is not None else "where"
        whom = f"somebody who knows {known} a person was, as coarsely as it is released here, and nothing else"
        strong = f"{g.kind}, k = {g.k}, per {g.unit}"
        out = "who is too rare to be one of k: rounded shares below" if f.left_out.shares else "see below"
        rest = (
            "what all k have in common; who has further knowledge or a second release of the same people may learn more"
        )
        if p := f.part:
            what = f"in trajectories made from true ones, {what}; in those marked as made, each {p.unit}, by differential privacy"
            whom += "; for trajectories marked as made: anybody, whatever else he knows"
            strong += f"; trajectories marked as made, by themselves: differential privacy, epsilon {p.epsilon:.4g}, delta {p.delta:.2g}, per {p.unit}; the whole has no epsilon"
    return what, whom, strong, out, rest


def _contents(f: Facts) -> list[str]:
    g, fixed = f.guarantee, len(f.released) and len(set(f.released.lengths.tolist())) == 1
    kind = "made by a method that saw noisy figures of true ones" if g.kind == "dp" else "true ones, made coarser"
    if f.part:
        kind = (
            f"{about(len(f.released) - f.made)} of them true ones, made coarser, and {f.made:,} made by a method that saw noisy figures of true ones: "
            f"their traj_id begins with {MADE}, and none of them is anybody's"
        )
    kind += "" if g.kind == "dp" else f"; how many {'parts' if f.parts else 'true ones'} the file holds is a true count"
    points = f", {f.released.lengths[0]} points each" if fixed else ""
    times = "with times" if f.released.t is not None else "without times"
    box = f.released.meta.box
    n = f"{len(f.released):,}" if g.kind == "dp" else about(len(f.released))
    names = "names (traj_id) were drawn by chance: no two tell that they are of one person"
    return [
        f"release.parquet: {n} {'parts of trajectories' if f.parts else 'trajectories'}{points}, {times}, {kind}; one row a point, degrees (WGS 84); {names}",
        *_resolution(f),
        f"method: {f.method}: {g.mechanism}",
        "guarantee.json: the promise, for programs; page.html and page.md: this page",
        f"all lie in the public box from {in_degrees(box.lon_min, box.lat_min)} to {in_degrees(box.lon_max, box.lat_max)}",
    ]


def _resolution(f: Facts) -> list[str]:
    """How coarse places and times are, where the method chose it."""
    if not f.setting:
        return []
    minutes = f.setting["minutes"]
    bins = (
        f"times tell bins of {minutes} min and no more: within a bin they keep the order of places"
        if minutes
        else "there are no times"
    )
    return [f"places are the middles of {f.setting['cells']} cells; {bins}"]


def _strength(f: Facts) -> list[str]:
    g, account = f.guarantee, f.account
    if g.kind != "dp":
        earlier = account.anonymous - 1
        again = (
            f"{earlier} release(s) of this kind were made of the same data before: together they may tell apart who one alone does not"
            if earlier > 0
            else "it is the first release of this kind of this data that its owner's ledger knows"
        )
        said = [
            f"k = {g.k}, counted by {g.unit}; checked by: {g.accountant}",
            "k-anonymity has no epsilon and does not add up over releases; " + again,
        ]
        return [*said, *_of_made(f)]
    return [
        *_odds("the file is", g.unit, g.epsilon, g.delta, g.adjacency),
        f"computed by: {g.accountant}",
        *_noise(f),
        *_sums(f),
    ]


def _of_made(f: Facts) -> list[str]:
    """How strongly those are protected that are not true ones, or what became of the epsilon that was set aside for them."""
    if f.reserved is None:
        return []
    if f.part is None:
        return [
            f"no trajectories were made, so no promise of differential privacy is needed; the {f.reserved.in_words()} set aside for them count in the "
            "owner's ledger all the same",
            *_sums(f),
        ]
    p = f.part
    odds = _odds("the made trajectories are", p.unit, p.epsilon, p.delta, p.adjacency)
    return [*odds, "that holds for made trajectories alone, not for the file", *_noise(f), *_sums(f)]


def _odds(what: str, unit: str | None, epsilon: float | None, delta: float | None, adjacency: str | None) -> list[str]:
    but = f", but for a probability of {delta:.2g}" if delta else ""
    return [
        f"with or without any one {unit} {what} nearly as likely: the odds of any conclusion change by at most a factor of "
        f"{_factor(float(epsilon or 0.0))}{but}",
        f"neighbouring data sets: one {unit} added or removed ({adjacency})",
    ]


def _noise(f: Facts) -> list[str]:
    return [f"noise: {f.guarantee.rng}; numerics: {f.guarantee.numerics}"]


def _sums(f: Facts) -> list[str]:
    """What all releases of the data have spent."""
    account, dp = f.account, f.guarantee.kind == "dp"
    sums = account.sums()
    spent = [f"by {unit} {sums[unit].in_words()}" for unit in ("trajectory", "user") if sums[unit].epsilon > 0]
    said = [
        f"all releases of this data by differential privacy so far, this one included ({COMPOSITION}): {'; '.join(spent)}; "
        f"the owner's cap is {account.cap.in_words() if account.cap else 'none'}",
    ]
    m = account.most_trips
    user = sums["all, per user"]
    if sums["trajectory"].epsilon > 0:
        said.append(
            f"for a user who has at most {m} trajectories (a bound that the owner stated) all of this is {user.in_words()} (group privacy): the odds of any "
            f"conclusion about him change by at most a factor of {_factor(user.epsilon)}"
            if m
            else "for a user the total is unbounded: nothing bounds how many trajectories he has"
        )
    if account.cuts > 1:
        said.append(CUT_OTHERWISE)
    if dp and account.anonymous:
        said.append(
            "releases of the same data that hold true trajectories, made coarser, exist too; these are in no sum"
        )
    return said


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 50 else f"e^{epsilon:.3g}, which is no protection"


def _missing(page: Page, f: Facts) -> None:
    o = f.left_out
    page.listed(o.rules)
    if f.trips_per_user and f.guarantee.kind == "dp":
        page.say(f"Of each user at most {f.trips_per_user} trajectories were looked at, chosen by chance.")
    if f.part:
        at_most = f"at most {f.trips_per_user} of each user, " if f.trips_per_user else ""
        page.say(
            f"Made trajectories stand for nobody and bring nobody back. They were made from noisy figures of all records, {at_most}also of those "
            "that are kept. The shares below are of true trajectories."
        )
    if not f.within_budget:
        page.say(
            "No setting that was tried suppresses as little as its budget allows; the one that suppresses least was taken."
        )
    page.table(("what", "share"), o.shares)
    for name, rows in o.strata.items():
        page.table((f"suppressed, {name}", "share"), rows)
    if o.shares or o.strata:
        cover = (
            " They are computed from true data and the promise does not cover them." if f.guarantee.kind == "dp" else ""
        )
        page.say(f"About these figures: {NEVER_MORE}. A row that is not there has too few.{cover}")
    elif f.figures:
        page.say("Nothing was dropped in preparation, or there are too few persons to say what.")
    elif f.guarantee.kind == "dp":
        page.say(f"On purpose {NO_FIGURES}.")
    else:
        page.say("There are too few persons in the data to say anything about shares.")


def _remains(f: Facts) -> list[str]:
    g = f.guarantee
    if g.kind == "dp":
        return [
            "made trajectories are no evidence that anybody went there; rare places and small numbers are mostly noise",
            "what is true of many people is still visible, also where it is true of somebody whose data was left out",
        ]
    made = "made trajectories are no evidence that anybody went there; whether any were made was decided from the data, and no promise covers that"
    return [
        *([made] if f.part else []),
        "whoever knows a person's way sees whether a trajectory like it is in the file, and that it is missing if it is not",
        "all k may share a sensitive place (a clinic, say): then the place is known although the person is not",
        f"no epsilon exists for {'the whole of ' if f.part else ''}this release, and no bound for an adversary who knows more than is assumed here",
    ]
