"""Machines that users or repeated failures have drained, and times in which none could be reached:
parts of the state. Folds over facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from motet.domain.units import NEVER_US
from motet.live.jobs.attempt import Attempt, AttemptOutcome
from motet.live.jobs.failure_class import FailureClass
from motet.live.launcher.messages import RankExit, first_failure
from motet.live.master.facts import DrainBegan, MachineDrained, MachineResumed


@dataclass(frozen=True, slots=True)
class MachineDrain:
    """`user`: empty: the server. `from_us`: Unix time. `has_begun`: not while it is planned."""

    reason: str
    user: str
    from_us: int
    has_begun: bool


@dataclass(frozen=True, slots=True)
class Outage:
    """A joined cluster cannot be reached; `refusal` says why. `until_us`: None: not yet again."""

    from_us: int
    refusal: str
    until_us: int | None = None

    def covers(self, at_us: int) -> bool:
        """Whether the cluster could not be reached then."""
        return self.from_us <= at_us and (self.until_us is None or at_us < self.until_us)


def with_refusal(outages: tuple[Outage, ...], at_us: int, refusal: str) -> tuple[Outage, ...]:
    """From now on the cluster cannot be reached, or can be if `refusal` is empty; the same as if it
    was so before."""
    if outages and outages[-1].until_us is None:
        if outages[-1].refusal == refusal:
            return outages
        outages = (*outages[:-1], replace(outages[-1], until_us=at_us))
    return (*outages, Outage(at_us, refusal)) if refusal else outages


class MachineDrains:
    """`of`: by machine. `failures`: infrastructure failures in a row, by machine."""

    def __init__(self) -> None:
        self.of: dict[str, MachineDrain] = {}
        self.failures: dict[str, int] = {}

    def fold(self, at_us: int, fact: MachineDrained | DrainBegan | MachineResumed) -> None:
        """Apply a fact."""
        match fact:
            case MachineDrained(name, reason, user, from_us):
                begins_us = at_us if from_us is None else from_us
                self.of[name] = MachineDrain(reason, user, begins_us, from_us is None)
            case DrainBegan(name):
                self.of[name] = replace(self.of[name], has_begun=True)
            case MachineResumed(name):
                self.of.pop(name, None)
                self.failures.pop(name, None)

    def has_begun(self, name: str) -> bool:
        """Whether the machine takes no further jobs."""
        return name in self.of and self.of[name].has_begun

    def due(self, now_us: int) -> list[str]:
        """Machines whose planned time has come."""
        return [name for name, each in self._planned() if each.from_us <= now_us]

    @property
    def next_due_us(self) -> int:
        """When the next planned drain begins."""
        return min((each.from_us for _, each in self._planned()), default=NEVER_US)

    def attempt_ended(
        self, attempt: Attempt, machines: Iterable[str], failed_on: str | None
    ) -> None:
        """`machines`: of the attempt; `failed_on`: where the infrastructure failed."""
        if failed_on is not None:
            self.failures[failed_on] = self.failures.get(failed_on, 0) + 1
        elif attempt.outcome in (AttemptOutcome.SUCCEEDED, AttemptOutcome.FAILED):
            for name in machines:
                self.failures.pop(name, None)

    def _planned(self) -> Iterator[tuple[str, MachineDrain]]:
        return ((name, each) for name, each in self.of.items() if not each.has_begun)


def failing_machine(
    failure: str, exits: tuple[RankExit, ...], machines: Iterable[tuple[str, int]]
) -> str | None:
    """Where a process of an attempt was lost; None: its end was none of the machine's fault.

    `machines`: names and numbers of processes, in the order of the ranks.
    """
    rank = first_failure(exits)
    if rank is None or failure != FailureClass.LOST_PROCESS.key:
        return None
    names = [name for name, count in machines for _ in range(count)]
    return names[rank]
