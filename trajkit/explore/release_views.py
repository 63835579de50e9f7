"""What `explore-runs` shows of one release: streets lost, real beside released, errors between floor and ceiling, guarantee, examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from html import escape

import numpy as np

from trajkit.datasets.cache import cache_root
from trajkit.explore.releases import Entry, judged
from trajkit.explore.street_use import BUSY, FACTOR, StreetUse, street_loss, street_use
from trajkit.geo import box_xy
from trajkit.metrics import METRICS
from trajkit.privacy.guarantee import RNG_SEEDED, Guarantee
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.study.params import RunConfig
from trajkit.study.rescaling import FLOOR
from trajkit.study.run import Run
from trajkit.trajectories import Trajectories
from trajkit.viz import records
from trajkit.viz.pictures import Picture, Text, View, sentence
from trajkit.viz.streets import street_map
from trajkit.yamlio import private_mark

SHOWN = 250  # trajectories on a map
EXAMPLES = 4
KEPT = 256  # releases whose pictures are kept
NOT_SHOWN = "The data set is private, so its real trips, and what is computed from them street by street, are not shown: set allow_raw = True to see them."
UNCOVERED = "These errors compare with private trips and no guarantee covers them: they are for those who hold the data, not to pass on."

Errors = tuple[tuple[str, float | None], ...]  # of each metric: its name, and the rescaled error, None without a scale


class ReleaseViews:
    """The views of releases, kept once they are drawn. ``entries``: those whose errors are compared; ``allow_raw``: show private data too."""

    def __init__(self, entries: Sequence[Entry], *, allow_raw: bool = False) -> None:
        self.entries, self.allow_raw = list(entries), allow_raw
        self._stage = lru_cache(8)(_Stage)
        self._drawn = lru_cache(KEPT)(self._draw)

    def of(self, entry: Entry) -> list[View]:
        """Everything that is shown of one release that is made."""
        stage = self._stage(_place(entry))
        raw = self.allow_raw or not stage.private
        if entry.config.method == FLOOR and not raw:
            return [sentence(NOT_SHOWN)]
        floor = self._floor(entry)
        return self._drawn(entry, raw, floor, self._judged(entry))

    def prepare(self, entry: Entry) -> None:
        """Compute, without drawing, what takes longest."""
        stage = self._stage(_place(entry))
        if stage.roads is not None:
            use_of(entry, stage.roads)

    def sets(self, entry: Entry) -> tuple[dict[str, Trajectories | Release | None], RoadNetwork | None]:
        """What a map shows side by side, real (None where it may not be shown) and released, and the streets beneath."""
        stage = self._stage(_place(entry))
        raw = self.allow_raw or not stage.private
        return {"real (test)": stage.real if raw else None, _title(entry): entry.release()}, stage.roads

    def _floor(self, entry: Entry) -> Entry | None:
        """The made release of real trips that this one compares with."""
        for e in self.entries:
            if e.config.method == FLOOR and e.made and _place(e) == _place(entry) and e.data == entry.data:
                return e
        return None

    def _judged(self, entry: Entry) -> Errors:
        alike = [e for e in self.entries if e.data == entry.data and e.config.fold == entry.config.fold]
        table = judged(alike if entry in alike else [*alike, entry])
        rows = table[table["run_id"] == entry.run_id]
        return tuple(
            (m, None if np.isnan(v) else float(v)) for m, v in zip(rows["metric"], rows["rescaled"], strict=True)
        )

    def _draw(self, entry: Entry, raw: bool, floor: Entry | None, errors: Errors) -> list[View]:
        stage, release = self._stage(_place(entry)), entry.release()
        released, guarantee = release.trajectories, release.guarantee
        views: list[View] = []
        if raw and stage.roads is not None:
            views += _streets(stage, entry, floor)
        elif raw:
            views.append(sentence("No road map is known for this data set, so lost streets cannot be shown."))
        else:
            views.append(sentence(NOT_SHOWN))
        views += [stage.real_map()] if raw else []
        views += [_map(stage, released, _title(entry))] if raw or guarantee.holds else []
        views += [sentence(UNCOVERED)] if stage.private else []
        views += [_bars(errors, _title(entry)), card(guarantee)]
        return views + ([_examples(stage, released, raw)] if raw or guarantee.holds else [])


def _place(entry: Entry) -> str:
    """What decides the real trips that a release is shown beside."""
    keys = ("dataset", "data", "dataset_settings", "unit", "fold", "length")
    return json.dumps({k: v for k, v in entry.config.model_dump(mode="json").items() if k in keys}, sort_keys=True)


class _Stage:
    """The real test trips of one fold and the road map, with what is computed of them once."""

    def __init__(self, place: str) -> None:
        run = Run(cache_root(), RunConfig(**json.loads(place), method=FLOOR))
        self.real, self.roads, self.private = run.real, run.roads, run.private
        self.bounds = box_xy(self.real.meta.box, self.real.meta.crs)
        self.streets = None if self.roads is None else self.roads.streets()
        self.use = None if self.roads is None else street_use(self.real, self.roads)
        self.real_map = lru_cache(1)(lambda: _map(self, self.real, "real (test)"))


def _title(entry: Entry) -> str:
    return entry.method + ("" if entry.epsilon == "none" else f", epsilon {entry.epsilon}")


def _map(stage: _Stage, trajs: Trajectories, title: str) -> Picture:
    shown = _some(trajs, SHOWN)
    name = f"{title}: {len(shown)} of {len(trajs):,} trips"
    return Picture(records.trips_map(shown, bounds=stage.bounds, streets=stage.streets, title=name), f"Map of {name}")


def _some(trajs: Trajectories, n: int) -> Trajectories:
    return trajs.take(np.unique(np.linspace(0, len(trajs) - 1, min(n, len(trajs))).astype(int)))


def use_of(entry: Entry, roads: RoadNetwork) -> StreetUse:
    """Street use of a release, computed once and kept in the cache under the id of its run."""
    file = cache_root() / "explore" / "streets" / f"{entry.run_id}.npz"
    if file.is_file():
        saved = np.load(file)
        return StreetUse(saved["share"], float(saved["off_roads"]))
    use = street_use(entry.release().trajectories, roads)
    file.parent.mkdir(parents=True, exist_ok=True)
    private_mark(file.parent, "street use of real trips, private ones among them: nothing here may leave")
    part = file.with_suffix(".part.npz")
    np.savez_compressed(part, share=use.share, off_roads=use.off_roads)
    part.replace(file)
    return use


def _streets(stage: _Stage, entry: Entry, floor: Entry | None) -> list[View]:
    assert stage.roads is not None and stage.use is not None and stage.streets is not None
    use = use_of(entry, stage.roads)
    loss = street_loss(stage.use, use)
    said = f"{_title(entry)}: {loss.lost_share:.0%} of the {int(loss.lost.sum() + loss.kept.sum()):,} busy streets are lost"
    alone = (
        ""
        if floor is None
        else f" (real trips sampled alike lose {street_loss(stage.use, use_of(floor, stage.roads)).lost_share:.0%})"
    )
    explained = (
        f"{said}{alone}. A street is busy where at least {1000 * BUSY:g} of 1,000 real trips pass it, and lost where released trips "
        f"do so less than a {'quarter' if FACTOR == 4 else f'{FACTOR:g}th'} as often. {use.off_roads:.0%} of the released way is near no street."
    )
    kinds = {"kept": loss.kept, "lost": loss.lost, "added": loss.added}
    picture = Picture(street_map(stage.streets, kinds, title=said), f"Road map. {explained}")
    return [sentence(explained), picture]


def _bars(errors: Errors, title: str) -> Picture:
    named = {f"{METRICS[metric].title} ({metric})": value for metric, value in errors}
    known = "; ".join(f"{name} {value:.2f}" for name, value in named.items() if value is not None)
    return Picture(
        records.metric_bars(named, title=f"{title}: rescaled errors"),
        f"Rescaled error of each metric, 0 is real data, 1 is no information: {known or 'floor and ceiling are not made yet'}",
    )


def card(guarantee: Guarantee) -> Text:
    """The guarantee as a card: whether it holds, epsilon, delta, unit, what it rests on, or the reason why there is none."""
    colour, verdict = ("#0072b2", "holds") if guarantee.holds else ("#d55e00", "does not hold")
    if guarantee.holds and guarantee.epsilon is not None and guarantee.rng == RNG_SEEDED:
        verdict += ", while nobody knows the seed that repeats its noise"
    epsilon = "none" if guarantee.epsilon is None else f"{guarantee.epsilon:g}"
    rows = {
        "kind": guarantee.kind, "epsilon": epsilon, "delta": "" if guarantee.delta is None else f"{guarantee.delta:g}",
        "k": guarantee.k or "", "unit of privacy": guarantee.unit or "", "adjacency": guarantee.adjacency or "",
        "mechanism": guarantee.mechanism or "", "accountant": guarantee.accountant or "", "noise": guarantee.rng,
        "numerics": guarantee.numerics, "reason": guarantee.reason or "",
    }  # fmt: skip
    cells = "".join(
        f'<tr><th style="text-align: left; padding-right: 1em">{escape(k)}</th><td style="text-align: left">{escape(str(v))}</td></tr>'
        for k, v in rows.items()
        if v != ""
    )
    resting = "".join(f"<li>{escape(a)}</li>" for a in guarantee.assumptions)
    return Text(
        f'<div role="note" style="border: 3px solid {colour}; border-radius: 8px; padding: 8px 14px; max-width: 34em">'
        f"<b>Guarantee: {verdict}</b><p>{escape(guarantee.in_words())}</p><table>{cells}</table>"
        + (f"<p>It assumes:</p><ul>{resting}</ul>" if resting else "")
        + "</div>"
    )


def _examples(stage: _Stage, released: Trajectories, raw: bool) -> Picture:
    rows = [("real", _some(stage.real, EXAMPLES))] if raw else []
    rows.append(("released", _some(released, EXAMPLES)))
    figure = records.examples(rows, bounds=stage.bounds, streets=stage.streets)
    return Picture(figure, f"{EXAMPLES} single trips each of: {', '.join(name for name, _ in rows)}")
