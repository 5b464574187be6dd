"""Which workers the steps of a job wait for. Workers join and leave between steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, takewhile


@dataclass(frozen=True)
class WorkerSet:
    """Steps from `from_step` on wait for these ranks, which ascend."""

    from_step: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class WorkerSchedule:
    """Sets by their first step, ascending; a set is in force until the next one."""

    sets: tuple[WorkerSet, ...]

    @classmethod
    def of(cls, workers: int) -> WorkerSchedule:
        """Ranks 0 to `workers` - 1 from the first step on."""
        return cls((WorkerSet(1, tuple(range(workers))),))

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the last set."""
        return self.sets[-1].ranks

    def first_step(self, rank: int) -> int:
        """The step from which on the last set's rank takes part without a gap."""
        first = self.sets[-1].from_step
        for each in reversed(self.sets):
            if rank not in each.ranks:
                break
            first = each.from_step
        return first

    def with_rank(self, rank: int, step: int) -> WorkerSchedule:
        """With a worker from a step on."""
        return self._changed(step, lambda ranks: tuple(sorted({*ranks, rank})))

    def without_rank(self, rank: int, step: int) -> WorkerSchedule:
        """Without a worker from a step on. If no other worker is left there, those that were to
        join later join then: no step would end in between.
        """
        changed = self._changed(step, lambda ranks: tuple(each for each in ranks if each != rank))
        before = [each for each in changed.sets if each.from_step < step]
        after = [each for each in changed.sets if each.from_step >= step]
        staffed = [each for each in after if each.ranks]
        if after and not after[0].ranks and staffed:
            after = [WorkerSet(step, staffed[0].ranks), *staffed[1:]]
        return WorkerSchedule(_merged([*before, *after]))

    def with_later_join(self, step: int, later: int) -> WorkerSchedule:
        """With the set that begins at a step beginning later, as all that follow."""
        moved = [
            WorkerSet(max(each.from_step, later), each.ranks) if each.from_step >= step else each
            for each in self.sets[1:]
        ]
        last = {each.from_step: each for each in (self.sets[0], *moved)}
        return WorkerSchedule(_merged(list(last.values())))

    def since(self, step: int) -> WorkerSchedule:
        """Without the sets that were in force before a step only."""
        ended = {one for one, following in pairwise(self.sets) if following.from_step <= step}
        return WorkerSchedule(tuple(each for each in self.sets if each not in ended))

    def next_for(self, told: tuple[WorkerSet, ...]) -> WorkerSet | None:
        """The next set for an Aggregator that was told these; None: it knows all.

        A set replaces what the Aggregator knows of its step and later ones.
        """
        known = [each for each in told if each.from_step >= self.sets[0].from_step]
        pairs = zip(self.sets, known, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if same == len(self.sets):
            return self.sets[-1] if len(known) > same else None
        is_earlier = same < len(known) and known[same].from_step < self.sets[same].from_step
        return self.sets[same - 1 if same and is_earlier else same]

    def _changed(
        self, step: int, change: Callable[[tuple[int, ...]], tuple[int, ...]]
    ) -> WorkerSchedule:
        before = [each for each in self.sets if each.from_step < step]
        after = [each for each in self.sets if each.from_step >= step]
        if before and (not after or after[0].from_step > step):
            after.insert(0, WorkerSet(step, before[-1].ranks))
        changed = [WorkerSet(each.from_step, change(each.ranks)) for each in after]
        return WorkerSchedule(_merged([*before, *changed]))


def _merged(sets: list[WorkerSet]) -> tuple[WorkerSet, ...]:
    """Without sets that change nothing."""
    kept: list[WorkerSet] = []
    for each in sets:
        if not kept or kept[-1].ranks != each.ranks:
            kept.append(each)
    return tuple(kept)
