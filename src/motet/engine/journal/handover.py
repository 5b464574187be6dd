"""Transfers of GPUs between jobs in one decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.log_entry import NO_JOBS, OtherJobs
from motet.domain.snapshot import Placement
from motet.engine.journal.blockers import first_of


class Handover:
    """Jobs that released GPUs and jobs that received GPUs at one instant."""

    def __init__(
        self,
        actions: Sequence[Action],
        before: Mapping[int, Start | Migrate],
        gone: Sequence[tuple[int, int]],
    ) -> None:
        """`before`: the latest start or move of each job until now; `gone`: jobs that ended at this
        instant, with their GPUs."""
        self._actions, self._before, self._gone = actions, before, gone

    def takers_of(self, where: Placement) -> OtherJobs:
        """Jobs that received GPUs on these machines or moved there, else such jobs on any machine.

        For a job that held GPUs before and holds more now, the number is the difference.
        """
        here = (self._takers_on.get(machine, []) for machine in where.machines)
        indices = sorted({index for on_one in here for index in on_one})
        takers = [self._takers[index] for index in indices] or self._takers
        return first_of([(job, gpus) for job, gpus, _ in takers])

    def exchanged_with(self, job: int) -> OtherJobs:
        """Jobs that received GPUs if this job has fewer now, or released some if it has more; in
        the order of the actions."""
        more = self._gains[job]
        if more < 0:
            return first_of([(job, gain) for job, gain in self._gains.items() if gain > 0])
        if more == 0:
            return NO_JOBS
        given = [(job, -gain) for job, gain in self._gains.items() if gain < 0]
        return first_of([*self._gone, *given])

    @cached_property
    def _gains(self) -> dict[int, int]:
        """Change in the number of GPUs by job."""
        gains: dict[int, int] = {}
        for action in self._actions:
            is_start = isinstance(action, Start)
            before = None if is_start else self._before.get(action.job)
            had = 0 if before is None else sum(before.placement.counts)
            has = 0 if isinstance(action, Preempt) else sum(action.placement.counts)
            gains[action.job] = has - had
        return gains

    @cached_property
    def _takers(self) -> list[tuple[int, int, Placement]]:
        return [
            (each.job, self._gains[each.job] or sum(each.placement.counts), each.placement)
            for each in self._actions
            if not isinstance(each, Preempt) and self._gains[each.job] >= 0
        ]

    @cached_property
    def _takers_on(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index, (_, _, place) in enumerate(self._takers):
            for machine in place.machines:
                found.setdefault(machine, []).append(index)
        return found
