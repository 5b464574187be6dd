"""From whom to whom GPUs went when a decision was carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.log_entry import NOBODY, OtherJobs, Team
from motet.domain.snapshot import Placement
from motet.engine.turn import first_of


class Exchanges:
    """Who gave up GPUs and who got some at one moment, as far as jobs that are resized care."""

    def __init__(
        self,
        actions: Sequence[Action],
        before: Mapping[int, Team],
        gone: Sequence[tuple[int, int]],
    ) -> None:
        """`before`: what jobs ran with; `gone`: jobs that finished just now, with their GPUs."""
        self._actions, self._before, self._gone = actions, before, gone

    def of(self, action: Migrate | Start) -> OtherJobs:
        """Who got GPUs if this job has fewer now, who gave some up if it has more; in the order of
        the actions."""
        more = self._gains[action.job]
        if more < 0:
            return first_of([(job, gain) for job, gain in self._gains.items() if gain > 0])
        if more == 0:
            return NOBODY
        given = [(job, -gain) for job, gain in self._gains.items() if gain < 0]
        return first_of([*self._gone, *given])

    @cached_property
    def _gains(self) -> dict[int, int]:
        """GPUs by job, more than it had."""
        gains: dict[int, int] = {}
        for action in self._actions:
            is_start = isinstance(action, Start)
            before = None if is_start else self._before.get(action.job)
            had = 0 if before is None else before.gpus
            has = 0 if isinstance(action, Preempt) else sum(action.placement.counts)
            gains[action.job] = has - had
        return gains


class Takers:
    """Who got GPUs at one moment."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._all = [action for action in actions if not isinstance(action, Preempt)]
        self._on: dict[int, list[int]] | None = None

    def of(self, where: Placement) -> OtherJobs:
        """Those who got some on these machines; if nobody did, all who got any."""
        if self._on is None:
            self._on = self._by_machine()
        here = (self._on.get(machine, []) for machine in where.machines)
        indices = sorted({index for on_one in here for index in on_one})
        takers = [self._all[index] for index in indices] or self._all
        return first_of([(taker.job, sum(taker.placement.counts)) for taker in takers])

    def _by_machine(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index, action in enumerate(self._all):
            for machine in action.placement.machines:
                found.setdefault(machine, []).append(index)
        return found
