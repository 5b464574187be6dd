"""The jobs that held GPUs while a job waited."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Set
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from motet.insight.story import Story

MOST_NAMED = 5


class HeldGpus(NamedTuple):
    """GPUs that a job held for some time; `to_us`: None if the simulation ended first.

    `taken_us`: since when other jobs could be given them, because its processes were being stopped;
    None: since they were free. `is_shared`: other jobs held the same GPUs when it got them.
    """

    job: str
    gpus: int
    from_us: int
    to_us: int | None
    taken_us: int | None = None
    is_shared: bool = False


HoldingFields: TypeAlias = tuple[str, int, int, int | None, int | None, bool]
"""Those of HeldGpus, as other records of the same have them."""


@dataclass(frozen=True)
class Meanwhile:
    """`most`: (job, GPU-time in microseconds) of the jobs that held most during all waits.

    `jobs`: number of jobs that held any; `later`: those among them submitted after the job.
    """

    most: tuple[tuple[str, int], ...] = ()
    jobs: int = 0
    later: int = 0

    @classmethod
    def of(
        cls, story: Story, holdings: Iterable[HoldingFields], submitted_later: Set[str]
    ) -> Meanwhile:
        """Counts only time in which the job of the story waited. Waits without an end
        do not count.
        """
        waited = _CumulativeWait(story)
        held_gpu_us: dict[str, int] = {}
        for job, gpus, from_us, to_us, _, _ in holdings:
            until_us = waited.whole_us if to_us is None else waited.at(to_us)
            shared_us = until_us - waited.at(from_us)
            if shared_us > 0:
                held_gpu_us[job] = held_gpu_us.get(job, 0) + shared_us * gpus
        most = nsmallest(MOST_NAMED, held_gpu_us.items(), key=lambda each: (-each[1], each[0]))
        later = len(held_gpu_us.keys() & submitted_later)
        return cls(tuple(most), len(held_gpu_us), later)


class _CumulativeWait:
    """Total waiting time of the job before a point in time."""

    def __init__(self, story: Story) -> None:
        waits = [
            (chapter.from_us, lasted_us)
            for chapter in story.chapters
            if chapter.kind == "wait" and (lasted_us := story.lasted_us(chapter)) is not None
        ]
        self._from_us = [from_us for from_us, _ in waits]
        self._lasted_us = [lasted_us for _, lasted_us in waits]
        self._before_us = list(accumulate(self._lasted_us, initial=0))
        self.whole_us = self._before_us[-1]

    def at(self, time_us: int) -> int:
        """Microseconds waited until `time_us`."""
        place = bisect_right(self._from_us, time_us) - 1
        if place < 0:
            return 0
        within_us = min(time_us - self._from_us[place], self._lasted_us[place])
        return self._before_us[place] + within_us
