"""Maps of trajectories: a kepler.gl map for notebooks, the same as a file that opens without a network, and a static twin.

    from trajkit.viz.maps import trip_map

    m = trip_map({"real": run.real, "released": release}, roads=run.roads, split=True)
    m.show()                        # in a notebook: the map, and its static twin below
    m.save("outputs/maps/a.html")   # the page, a.png and a.svg
    m.widget()                      # to put into a box of widgets; m.widget().update({...}) shows other sets
    m.notes                         # what the map says below its legend

What is shown. Up to ``rows`` whole trajectories of each set, drawn by ``seed``; less than all is said in the notes. Layers: "trips" move under
the time player, "lines" are whole trajectories, "hexagons" count points. Beneath lie the streets of ``roads`` or a grid. ``split`` shows the
first set on the left and the second on the right. The view begins at the public box, and colours can be told apart by everybody.

Times. By default all days are laid over one day of local time. Where a set has no times the clock is made: all trajectories start together
and take 15 s a point. ``clock`` is "day", "own" (times as they are) or "made".

Private data. A set is shown where its data are public (simulated data, or declared so) or where it is a `Release` whose guarantee holds.
Everything else of a private data set is raw and needs ``allow_raw=True``: bare trajectories, releases without a guarantee, and what an attack
has rebuilt. Of a run, pass `Run.release`'s answer, not its trajectories. Neither the widget nor the page knows trajectory ids or user ids, and places are rounded to 0.1 m.

Network. Nothing outside is asked, neither by the widget nor by the page, whose own policy forbids it. ``basemap="online"`` alone loads streets
from basemaps.cartocdn.com.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from trajkit.errors import MissingDataError, ParameterError
from trajkit.release import Release
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories
from trajkit.viz.figures import finished
from trajkit.viz.kepler_bundle import bundle
from trajkit.viz.kepler_state import config, set_id
from trajkit.viz.live import is_live
from trajkit.viz.map_clock import clock_of
from trajkit.viz.map_figure import save_twin, twin
from trajkit.viz.map_html import page
from trajkit.viz.map_lines import Lines, beneath
from trajkit.viz.map_sets import chosen_sets, view_box
from trajkit.viz.pictures import Picture, sentence
from trajkit.yamlio import write_text

Sets = Mapping[str, Trajectories | Release | None]


@dataclass(frozen=True)
class MapSettings:
    """How sets are drawn; the arguments of `trip_map`."""

    roads: RoadNetwork | None = None
    layers: tuple[str, ...] = ("trips", "lines")
    split: bool = False
    basemap: str | None = None
    rows: int = 2000
    seed: int = 0
    clock: str | None = None
    allow_raw: bool = False
    height: int = 600

    def __post_init__(self) -> None:
        if self.basemap not in (None, "online"):
            raise ParameterError(f"basemap {self.basemap!r} is unknown: leave it out (offline), or write 'online'")
        if self.height < 100:
            raise ParameterError(f"height is in pixels, at least 100, got {self.height}")


def trip_map(
    sets: Sets,
    *,
    roads: RoadNetwork | None = None,
    layers: Sequence[str] = ("trips", "lines"),
    split: bool = False,
    basemap: str | None = None,
    rows: int = 2000,
    seed: int = 0,
    clock: str | None = None,
    allow_raw: bool = False,
    height: int = 600,
) -> TripMap:
    """Return the map of named sets (see the module). ``height`` in pixels; a set that is None is named as not shown.

    Raises ParameterError for bad arguments and PrivacyAccountingError for raw private data without ``allow_raw``.
    """
    settings = MapSettings(roads, tuple(layers), split, basemap, rows, seed, clock, allow_raw, height)
    return TripMap(sets, settings)


class TripMap:
    """A map of trajectories, see `trip_map`. ``notes``: what it says about itself; ``alt``: its alternative text."""

    def __init__(self, sets: Sets, settings: MapSettings) -> None:
        self.settings = settings
        self._sets, notes = chosen_sets(sets, rows=settings.rows, seed=settings.seed, allow_raw=settings.allow_raw)
        self._box = view_box(self._sets)
        self._clock = clock_of(self._sets, settings.clock)
        self._beneath, said = beneath(settings.roads, self._box, self._sets[0].trajs.meta.crs)
        moving = self._clock.notes if "trips" in settings.layers else ()
        online = ("the basemap is loaded from basemaps.cartocdn.com",) if self.online else ()
        self.notes: list[str] = [*notes, *moving, said, *online]
        self._config = config(
            self._sets, self._clock, self._box,
            layers=settings.layers, split=settings.split, online=self.online, height=settings.height,
        )  # fmt: skip
        self._widget: Any = None

    @property
    def online(self) -> bool:
        """Whether the map asks an outside host for its basemap."""
        return self.settings.basemap is not None

    @property
    def alt(self) -> str:
        """The map in words, for those who do not see it."""
        named = ", ".join(f"{s.name} ({len(s.trajs):,} trajectories)" for s in self._sets)
        return f"Map of {named}{', side by side' if self.settings.split else ''}. " + ". ".join(self.notes) + "."

    @cached_property
    def lines(self) -> bytes:
        """The lines of all sets, packed as `trajkit.viz.map_lines` says."""
        return b"".join(part.packed() for part in self._parts)

    @cached_property
    def state(self) -> str:
        """What the map is besides its lines, as JSON."""
        sides = ("left", "right") if self.settings.split else ("",) * len(self._sets)
        return json.dumps(
            {
                "lines": [part.header() for part in self._parts],
                "digest": hashlib.sha256(self.lines).hexdigest()[:16],
                "config": self._config,
                "legend": [
                    {"name": s.name, "colour": s.colour, "side": side}
                    for s, side in zip(self._sets, sides, strict=True)
                ],
                "notes": self.notes,
                "alt": self.alt,
                "online": self.online,
                "height": self.settings.height,
            }
        )

    def widget(self) -> Any:
        """The map as a Jupyter widget; its ``update(sets)`` shows other sets in the same way. Raises MissingDataError without keplergl."""
        if self._widget is None:
            from trajkit.viz.kepler_widget import KMap

            kepler = bundle(self.online)
            self._widget = KMap(state=self.state, lines=self.lines, kepler=kepler, settings=self.settings)
        return self._widget

    def figure(self) -> Figure:
        """The static twin."""
        return finished(twin(self._sets, self._beneath, self._box, self.notes, self.settings.layers), self.alt)

    def html(self) -> str:
        """The map as one HTML page that opens without a network. Raises MissingDataError without keplergl."""
        title = " | ".join(s.name for s in self._sets)
        return page(
            self.state, self.lines, bundle(self.online),
            twin=self.picture().html(), title=title, online=self.online,
        )  # fmt: skip

    def save(self, path: str | Path) -> list[Path]:
        """Write the page at ``path`` (.html) and the twin beside it as PNG and SVG; return the three paths."""
        path = Path(path)
        if path.suffix != ".html":
            raise ParameterError(f"a map is saved as a page: end the name {path.name} in .html")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.html())
        return [path, *save_twin(self.figure(), path, self.alt)]

    def picture(self) -> Picture:
        """The static twin with its alternative text, to show in a notebook or a panel."""
        return Picture(self.figure(), self.alt)

    def show(self) -> None:
        """Show the map and its static twin in a notebook; the twin alone where nobody looks, or where no map can be made, and then say why."""
        from IPython.display import display

        if is_live():
            try:
                display(self.widget())
            except MissingDataError as error:
                sentence(f"Only a static figure: the interactive map is not possible here ({error}).").display()
        self.picture().display()

    @cached_property
    def _parts(self) -> list[Lines]:
        moving = [
            Lines(set_id(i), s.trajs.lonlat, s.trajs.offsets, seconds)
            for i, (s, seconds) in enumerate(zip(self._sets, self._clock.seconds, strict=True))
        ]
        return [*moving, self._beneath]
