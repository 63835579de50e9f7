"""Simulated weeks of transit passengers: sequences of stations, nobody's movements.

They imitate what Chen, Fung, Desai (arXiv 1112.2020, section V) publish about their data, the transit history of one week
in Montreal: 1,210,096 sequences over 1,012 stations, mean length 6.7, maximum 121, few long ones, and most of the top 250
patterns of at most three stations. Nothing else is fitted: lengths beyond that (their Figure 3 is not in the text),
popularity, lines and habits are this module's assumptions, stated here and in `length_law`.

Network, the same for every seed: lines of about 23 stations with neighbouring numbers; popularity falls like
1 / (rank + 13), rank from 0, over all stations, ranks at random. Passengers: a home by popularity; a work place on the
home's line (half) or anywhere, by popularity. A week is home, work, home, work, …; each element after the first may be
another place instead: in place of home a station of its line (25 %), in place of work a leisure station anywhere, by
popularity (35 %), or a repetition of the element before (2 %).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trajkit.errors import ParameterError
from trajkit.seeds import rng
from trajkit.sequences import Sequences
from trajkit.trajectories import concatenate_offsets

N_SEQUENCES, STATIONS = 1_210_096, 1_012
MEAN_LENGTH, MAX_LENGTH = 6.7, 121
STATIONS_PER_LINE = 23
NETWORK_SEED = 7
SHIFT = 12.0
SAME_LINE, REPEATED, NEAR_HOME, LEISURE = 0.5, 0.02, 0.25, 0.35
# occasional riders: chance of 1, 2, 3, and of 4 or more elements; the other two groups: mean number of elements, spread, share
OCCASIONAL = (0.25, 0.40, 0.15, 0.20)
REGULAR, REGULAR_SPREAD = 10.0, 3.5
HEAVY, HEAVY_SHARE = 18.0, 0.15


def simulate_transit(n: int = N_SEQUENCES, *, stations: int = STATIONS, seed: int) -> Sequences:
    """Simulate ``n`` weekly sequences over ``stations`` stations, each of 1 to 121 elements, 6.7 on average.

    The law is the same for every n; single sequences are not (a larger n is another draw). Raises ParameterError for n
    below 0, fewer than 2 stations or a bad seed.
    """
    if n < 0 or stations < 2:
        raise ParameterError(f"n = {n} and stations = {stations}: give at least 0 sequences and 2 stations")
    network = _Network(stations)
    lengths = 1 + _draw(length_law(), rng(seed, "data", "transit", "lengths"), n)
    offsets = concatenate_offsets(lengths)
    home, work = network.people(rng(seed, "data", "transit", "people"), n)
    rider = np.repeat(np.arange(n, dtype=np.int32), lengths)
    place = np.arange(offsets[-1], dtype=np.int32) - offsets[:-1].astype(np.int32)[rider]
    symbols = np.where(place % 2 == 0, home[rider], work[rider])
    _wander(symbols, place, network, rng(seed, "data", "transit", "rides"))
    return Sequences(symbols, offsets, stations)


@lru_cache(maxsize=1)
def length_law() -> np.ndarray:
    """float64 [121]: chance of 1, 2, …, 121 elements, a mixture whose mean is exactly 6.7.

    Occasional riders: 1, 2, 3, 4 or more elements with the chances `OCCASIONAL`, from 4 on each length half as likely as
    the one before. Regular riders: a normal about 10 (five days, there and back), on whole numbers. Heavy riders, 15 % of
    those who are not occasional: geometric with mean 18, the long tail; what would pass 121 counts as 121. The share of
    occasional riders is the one that gives the mean.
    """
    rides = np.arange(1, MAX_LENGTH + 1)
    occasional = np.append(OCCASIONAL[:3], OCCASIONAL[3] * 0.5 ** (rides[3:] - 3.0))
    regular = np.exp(-0.5 * ((rides - REGULAR) / REGULAR_SPREAD) ** 2)
    heavy = (1 - 1 / HEAVY) ** (rides - 1.0) / HEAVY
    heavy[-1] = 1 - heavy[:-1].sum()
    occasional, regular = occasional / occasional.sum(), regular / regular.sum()
    frequent = (1 - HEAVY_SHARE) * regular + HEAVY_SHARE * heavy
    low, high = (float(law @ rides) for law in (occasional, frequent))
    share = (high - MEAN_LENGTH) / (high - low)
    law = share * occasional + (1 - share) * frequent
    law.setflags(write=False)  # one array for all callers
    return law


class _Network:
    """The public network: the line of each station, and cumulative popularity, so that a line is an interval of it."""

    def __init__(self, stations: int) -> None:
        self.stations = stations
        rank = rng(NETWORK_SEED, "data", "transit", "network", stations).permutation(stations)
        weight = 1.0 / (rank + 1 + SHIFT)
        self.cumulative = np.concatenate([[0.0], np.cumsum(weight / weight.sum())])
        lines = max(1, round(stations / STATIONS_PER_LINE))
        ends = np.linspace(0, stations, lines + 1).round().astype(np.int64)
        line = np.repeat(np.arange(lines), np.diff(ends))
        self.low, self.high = self.cumulative[ends[line]], self.cumulative[ends[line + 1]]

    def anywhere(self, random: np.random.Generator, n: int) -> np.ndarray:
        """int32 [n]: stations by popularity."""
        return self._at(random.random(n))

    def on_line_of(self, station: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """int32 [n]: stations of the line of each ``station``, by popularity."""
        low, high = self.low[station], self.high[station]
        return self._at(low + random.random(len(station)) * (high - low))

    def people(self, random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """int32 [n] twice: home and work stations, never the same."""
        home = self.anywhere(random, n)
        work = np.where(random.random(n) < SAME_LINE, self.on_line_of(home, random), self.anywhere(random, n))
        return home, np.where(work == home, (home + 1) % self.stations, work).astype(np.int32)

    def _at(self, u: np.ndarray) -> np.ndarray:
        return np.minimum(np.searchsorted(self.cumulative, u, side="right") - 1, self.stations - 1).astype(np.int32)


def _wander(symbols: np.ndarray, place: np.ndarray, network: _Network, random: np.random.Generator) -> None:
    """Put other places into the strict back and forth of ``symbols``, in place; the first element of a week stays home."""
    chance = random.random(len(symbols), dtype=np.float32)
    later, at_home = place > 0, place % 2 == 0
    near = np.flatnonzero(later & at_home & (chance < NEAR_HOME))
    leisure = np.flatnonzero(later & ~at_home & (chance < LEISURE))
    repeated = np.flatnonzero(later & (chance > 1 - REPEATED))
    symbols[near] = network.on_line_of(symbols[near], random)
    symbols[leisure] = network.anywhere(random, len(leisure))
    symbols[repeated] = symbols[repeated - 1]


def _draw(law: np.ndarray, random: np.random.Generator, n: int) -> np.ndarray:
    """int64 [n]: indices drawn from the chances ``law``."""
    cumulative = np.cumsum(law)
    return np.minimum(np.searchsorted(cumulative / cumulative[-1], random.random(n), side="right"), len(law) - 1)
