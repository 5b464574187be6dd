"""Jobs of arrays that have not started: sacct prints one record for all of them, `123_[4-9%2]`.

The list has ranges and steps (`1-9:2`), and the most jobs that may run at a time after a `%`. It is
cut after 64 bytes (`[1,3,5,...]`) unless SLURM_BITSTR_LEN permits more; see JobID in sacct(1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.sim.traces.formats.logged_jobs import LoggedJob, count_noun

_RECORD = re.compile(r"(?P<array>\d+)_\[(?P<tasks>[^\]%]+)(?:%\d+)?\]")
_TASK = re.compile(r"(?P<array>\d+)_(?P<task>\d{1,7})")
_RANGE = re.compile(r"(?P<first>\d{1,7})(?:-(?P<last>\d{1,7})(?::(?P<step>[1-9]\d{0,6}))?)?")

_Ranges: TypeAlias = list[tuple[int, int, int]]
"""(first, last, step): indices of jobs in an array, of at most 7 digits."""


@dataclass(frozen=True)
class CountedArrays:
    """`records`: with the number of jobs that each stands for; records whose jobs all have other
    records are left out. `repeated`: how many these are. `cut`: kept records whose list is not
    whole."""

    records: tuple[LoggedJob, ...]
    repeated: int
    cut: int

    def notices(self) -> list[str]:
        """What is not known about the number of jobs."""
        if not self.cut:
            return []
        many = count_noun(self.cut, "record")
        return [
            f"{many} of arrays with a list of jobs that sacct has cut: those that are not in it do "
            "not count; with SLURM_BITSTR_LEN=0 in its environment, sacct prints the whole list"
        ]


def counted_arrays(records: Sequence[LoggedJob]) -> CountedArrays:
    """Count the jobs of arrays that have not started, each in its last record.

    A job with a record of its own, as in a later dump, no longer belongs to that of its array.
    """
    lists = _lists(records)
    known = _known_tasks(records, lists)
    counts: dict[int, int] = {}
    cut = 0
    for array, texts in lists.items():
        counted, is_cut = _count(texts, known.get(array, []))
        counts |= counted
        cut += is_cut
    kept = tuple(
        replace(record, tasks=counts[place]) if place in counts else record
        for place, record in enumerate(records)
        if counts.get(place, 1)
    )
    return CountedArrays(kept, len(records) - len(kept), cut)


def _count(texts: Sequence[tuple[int, str]], known: Sequence[int]) -> tuple[dict[int, int], int]:
    """Jobs of one array by the places of its records, and how many kept lists are not whole.

    A list that is not whole and shows no further job stands for one if it is the last one.
    """
    lists = [(place, *_listed(text)) for place, text in reversed(texts)]
    most = max((last for _, ranges, _ in lists for _, last, _ in ranges), default=-1)
    seen = np.zeros(most + 1, dtype=np.bool_)
    seen[[task for task in known if task <= most]] = True
    counts: dict[int, int] = {}
    cut = 0
    for number, (place, ranges, is_whole) in enumerate(lists):
        tasks = _mask(ranges, len(seen))
        is_last_cut = number == 0 and not is_whole
        counts[place] = int(np.count_nonzero(tasks & ~seen)) or int(is_last_cut)
        seen |= tasks
        cut += counts[place] > 0 and not is_whole
    return counts, cut


def _lists(records: Sequence[LoggedJob]) -> dict[str, list[tuple[int, str]]]:
    """For every array the places of its records, and their lists of jobs."""
    found: dict[str, list[tuple[int, str]]] = {}
    for place, record in enumerate(records):
        parts = _RECORD.fullmatch(record.id)
        if parts is not None and record.ran_us is None:
            found.setdefault(parts["array"], []).append((place, parts["tasks"]))
    return found


def _known_tasks(
    records: Sequence[LoggedJob], arrays: Mapping[str, object]
) -> dict[str, list[int]]:
    """For these arrays the indices of the jobs that have records of their own."""
    found: dict[str, list[int]] = {}
    for record in records if arrays else ():
        parts = _TASK.fullmatch(record.id)
        if parts is not None and parts["array"] in arrays:
            found.setdefault(parts["array"], []).append(int(parts["task"]))
    return found


def _listed(text: str) -> tuple[_Ranges, bool]:
    """The ranges of a list, and whether it has all of them."""
    found: _Ranges = []
    for item in text.split(","):
        parts = _RANGE.fullmatch(item)
        if parts is None:  # `...`, perhaps after the beginning of a number
            return found, False
        first, step = int(parts["first"]), int(parts["step"] or 1)
        last = int(parts["last"] or first)
        if last < first:  # The end of a list that was cut within a number.
            return found, False
        found.append((first, last, step))
    return found, True


def _mask(ranges: _Ranges, size: int) -> NDArray[np.bool_]:
    found = np.zeros(size, dtype=np.bool_)
    for first, last, step in ranges:
        found[first : last + 1 : step] = True
    return found
