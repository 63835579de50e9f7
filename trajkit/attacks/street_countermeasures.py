"""What may be tried against map matching of released cells: print another place of the cell than its centre, or release larger cells.

A place drawn in the cell misleads only an adversary who takes it for where somebody was. The cells are public, so that he can put every
printed place back into its cell; then all three forms say the same. `compare` measures both adversaries, and larger cells beside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from trajkit import seeds
from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.hmm_matching import Matcher, MatchSettings
from trajkit.attacks.map_matching import map_matching
from trajkit.attacks.origin import Origin
from trajkit.attacks.street_sequences import Streets
from trajkit.errors import ParameterError
from trajkit.geo import unproject
from trajkit.roads import RoadNetwork
from trajkit.trajectories import Trajectories

Where = Literal["centre", "random", "junction"]
FORMS: tuple[Where, ...] = ("centre", "random", "junction")


def as_cells(trajs: Trajectories, cells_m: float) -> Trajectories:
    """Each trajectory as the centres of the squares of ``cells_m`` metres that it passes (repeats merged), without times or any guarantee."""
    cells = SquareCells(cells_m)
    sig = signatures(trajs, cells, TimeBins(None))
    return replace(trajs, lonlat=unproject(cells.centres(sig.cells), trajs.meta.crs), offsets=sig.offsets, t=None)


def emitted(released: Trajectories, cells_m: float, where: Where, network: RoadNetwork, *, seed: int) -> Trajectories:
    """The same squares printed at their centre, at a random place in them, or at a random junction of ``network`` in them (else the centre).

    Drawn afresh for every point, from ``seed`` alone. Raises ParameterError for another ``where`` or cells that are no positive size.
    """
    if where not in FORMS or not (np.isfinite(cells_m) and cells_m > 0):
        raise ParameterError(f"where = {where!r}, cells_m = {cells_m!r}: use one of {FORMS} and a positive size")
    cells, random = SquareCells(cells_m), seeds.rng(seed, "sampling", "emission", where)
    label = cells.cell_of(released.xy)
    xy = cells.centres(label)
    if where == "random":
        xy = xy + random.uniform(-0.5, 0.5, xy.shape) * cells_m
    elif where == "junction":
        holder = cells.cell_of(network.node_xy)
        order = np.argsort(holder, kind="stable")
        low, high = (np.searchsorted(holder[order], label, side) for side in ("left", "right"))  # type: ignore[call-overload]
        some = np.flatnonzero(high > low)
        xy[some] = network.node_xy[order[low[some] + random.integers(0, high[some] - low[some])]]
    return replace(released, lonlat=unproject(xy, released.meta.crs))


def compare(
    raw: Trajectories, true: Streets, network: RoadNetwork, *, cells_m: tuple[float, ...], seed: int, **settings: Any
) -> pd.DataFrame:
    """One row for each size of cells, form of `FORMS` and adversary ("knows the cells", "takes points"): figures of `map_matching`.

    The release is every raw trajectory as its cells (`as_cells`), so that differences come from the form alone. settings: those of
    `map_matching` but ``cells_m``. Raises ParameterError as `map_matching` and `emitted` do.
    """
    matcher = Matcher(network, MatchSettings(**{n: v for n, v in settings.items() if n in MatchSettings.model_fields}))
    origin, rows = Origin.one_each(np.arange(len(raw))), []
    for size in cells_m:
        released = as_cells(raw, size)
        for where in FORMS:
            printed = emitted(released, size, where, network, seed=seed)
            for adversary, known in (("knows the cells", size), ("takes points", None)):
                about = {"about_m": size / 2**0.5} if known is None else {}
                found = map_matching(
                    raw,
                    true,
                    printed,
                    origin,
                    network,
                    seed=seed,
                    matcher=matcher,
                    cells_m=known,
                    **{**settings, **about},
                )
                rows.append(found.to_frame().assign(cells_m=size, printed=where, adversary=adversary))
    table = pd.concat(rows, ignore_index=True)
    first = ["cells_m", "printed", "adversary"]
    return table[first + [c for c in table.columns if c not in first]]
