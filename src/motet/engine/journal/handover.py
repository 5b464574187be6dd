"""Transfers of GPUs between jobs in one decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
        self._gone = gone
        self._gains: dict[int, int] = {}
        self._takers: list[tuple[int, int]] = []
        self._takers_on: dict[int, list[int]] = {}
        for action in actions:
            self._add(action, None if isinstance(action, Start) else before.get(action.job))

    def takers_of(self, where: Placement) -> OtherJobs:
        """Jobs that received GPUs on these machines or moved there, else such jobs on any machine.

        For a job that held GPUs before and holds more now, the number is the difference.
        """
        on = self._takers_on
        indices = {index for machine in where.machines for index in on.get(machine, ())}
        return first_of([self._takers[index] for index in sorted(indices)] or self._takers)

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

    def _add(self, action: Action, before: Start | Migrate | None) -> None:
        """Note the change in the number of GPUs of a job."""
        had = 0 if before is None else sum(before.placement.counts)
        if isinstance(action, Preempt):
            self._gains[action.job] = -had
            return
        has = sum(action.placement.counts)
        self._gains[action.job] = more = has - had
        if more >= 0:
            for machine in action.placement.machines:
                self._takers_on.setdefault(machine, []).append(len(self._takers))
            self._takers.append((action.job, more or has))
