"""Machines that are slow for limited times: parser of the setting, and schedule of the changes.

`slow_machines=0.1,3600,4`: every machine is slow a tenth of the time, in spells of an hour on
average, during which computing takes four times as long. The times until a spell begins and ends
are exponentially distributed. `slow_machines=x.csv` lists spells instead::

    machine,start,end,times_as_long
    m3,600,4200,4

Machines by their names in the cluster; seconds on the trace's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US, exact_seconds, microseconds
from motet.sim.event_csv import read_rows

COLUMNS = ("machine", "start", "end", "times_as_long")
MOST_TIMES_AS_LONG = 100.0
SHORTEST_SPELL_S, LONGEST_SPELL_S = 1.0, 1e9
NO_MACHINES = "none"
_USAGE = (
    "give the fraction of time, the mean spell length in seconds, and the factor of the computing "
    "time, for example 0.1,3600,4; or a .csv file; or none"
)


class PaceChange(NamedTuple):
    """From this time on, computing on this machine takes `times_as_long` relative to normal."""

    time_us: int
    machine: int
    times_as_long: float


@dataclass(frozen=True)
class DrawnSpells:
    """A machine is slow for `part` of the time, for `spell_s` seconds at a time on average."""

    part: float
    spell_s: float
    times_as_long: float


@dataclass(frozen=True)
class ListedSpell:
    """`place`: file and line, for error messages."""

    place: str
    machine: str
    start_us: int
    end_us: int
    times_as_long: float


Spells: TypeAlias = DrawnSpells | tuple[ListedSpell, ...]


def parse_spells(text: str) -> Spells:
    """The spells that the setting describes. Raises BadInput."""
    if text == NO_MACHINES:
        return ()
    if Path(text).suffix.lower() == ".csv":
        return tuple(_listed(Path(text)))
    return _drawn(text)


def pace_changes(
    spells: Spells, cluster: ClusterSpec, from_us: int, seed: int
) -> Iterator[PaceChange]:
    """Changes ordered by time, then machine; for drawn spells without end, from `from_us` on.

    Equal seeds draw equal changes, regardless of the jobs. Raises BadInput for a machine that the
    cluster does not have, or overlapping spells of a machine.
    """
    if isinstance(spells, DrawnSpells):
        sequence = np.random.SeedSequence(seed, spawn_key=(1,))  # Placements draw from the root.
        return _draw(spells, cluster.size, from_us, np.random.default_rng(sequence))
    return iter(_changes(spells, {name: number for number, name in enumerate(cluster.names)}))


# -- drawn -----------------------------------------------------------------------------------------


def _drawn(text: str) -> DrawnSpells:
    try:
        part, spell_s, times_as_long = map(float, text.split(","))
    except ValueError:
        raise BadInput(f"slow_machines={text}: {_USAGE}") from None
    if not 0 < part < 1:
        raise BadInput(
            f"slow_machines={text}: {part:g} as the fraction of time; give a value between 0 and 1"
        )
    if not SHORTEST_SPELL_S <= spell_s <= LONGEST_SPELL_S:
        raise BadInput(
            f"slow_machines={text}: spells of {spell_s:g} s; give at least {SHORTEST_SPELL_S:g} "
            f"and at most {LONGEST_SPELL_S:,.0f}"
        )
    if not 1 <= times_as_long <= MOST_TIMES_AS_LONG:
        raise BadInput(
            f"slow_machines={text}: {times_as_long:g} times as long; give 1 to "
            f"{MOST_TIMES_AS_LONG:g}"
        )
    return DrawnSpells(part, spell_s, times_as_long)


def _draw(
    spells: DrawnSpells, machines: int, from_us: int, rng: np.random.Generator
) -> Iterator[PaceChange]:
    usual_s = spells.spell_s * (1 - spells.part) / spells.part
    is_slow = (rng.random(machines) < spells.part).tolist()
    for machine in range(machines):
        if is_slow[machine]:
            yield PaceChange(from_us, machine, spells.times_as_long)

    def later(time_us: int, *, slow: bool) -> int:
        mean_s = spells.spell_s if slow else usual_s
        return time_us + max(round(rng.exponential(mean_s) * SECOND_US), 1)

    coming = [(later(from_us, slow=is_slow[it]), it) for it in range(machines)]
    heapify(coming)
    while True:
        time_us, machine = coming[0]
        is_slow[machine] = not is_slow[machine]
        yield PaceChange(time_us, machine, spells.times_as_long if is_slow[machine] else 1.0)
        heapreplace(coming, (later(time_us, slow=is_slow[machine]), machine))


# -- listed ----------------------------------------------------------------------------------------


def _changes(spells: Sequence[ListedSpell], numbers: Mapping[str, int]) -> list[PaceChange]:
    for spell in spells:
        if spell.machine not in numbers:
            raise BadInput(
                f"{spell.place}: the cluster has no machine {spell.machine!r}; the first of its "
                f"{len(numbers)} is called {next(iter(numbers))!r}"
            )
    in_order = sorted(spells, key=lambda spell: (numbers[spell.machine], spell.start_us))
    for one, other in pairwise(in_order):
        if one.machine == other.machine and other.start_us < one.end_us:
            raise BadInput(
                f"{other.place}: {one.machine} is slow already until {exact_seconds(one.end_us)} "
                f"s ({one.place}); begin a spell after the end of the previous one"
            )
    changes: list[PaceChange] = []
    for spell in in_order:
        machine = numbers[spell.machine]
        changes.append(PaceChange(spell.start_us, machine, spell.times_as_long))
        changes.append(PaceChange(spell.end_us, machine, 1.0))
    return sorted(changes, key=lambda change: change[:2])  # Ends come first.


def _listed(path: Path) -> Iterator[ListedSpell]:
    for place, cells in read_rows("slow_machines=", path, COLUMNS):
        yield _spell(place, cells)


def _spell(place: str, cells: Mapping[str, str]) -> ListedSpell:
    try:
        start_us, end_us = microseconds(cells["start"]), microseconds(cells["end"])
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None
    if not 0 <= start_us < end_us:
        raise BadInput(
            f"{place}: slow from {cells['start']} to {cells['end']} s; a spell begins at 0 or "
            "later and ends after that"
        )
    try:
        times_as_long = float(cells["times_as_long"])
    except ValueError:
        times_as_long = 0.0
    if not 1 <= times_as_long <= MOST_TIMES_AS_LONG:
        raise BadInput(
            f"{place}: times_as_long is {cells['times_as_long']!r}; give a number from 1 to "
            f"{MOST_TIMES_AS_LONG:g}"
        )
    return ListedSpell(place, cells["machine"], start_us, end_us, times_as_long)
