"""Which sizes trainings had when, and with which others they shared machines. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from motet.interfaces.forecasts.remaining_work import worked_until_us
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob


@dataclass(frozen=True, slots=True)
class HeldSpan:
    """A job held slots of one size, beside the same `partners`; start-ups are left out.
    `partners`: numbers of the other trainings on its machines. `asynchronous`: those of them, and
    itself, that a policy let train so."""

    from_us: int
    to_us: int
    workers: int
    servers: int
    partners: tuple[int, ...]
    asynchronous: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Open:
    """An attempt that holds slots. `since_us`: since when with these partners."""

    job: int
    attempt: Attempt
    works_from_us: int
    since_us: int


def held_spans(
    jobs: Iterable[LiveJob], from_us: int, until_us: int, start_us: Callable[[Attempt], int]
) -> Mapping[int, list[HeldSpan]]:
    """By job, in the order of time, between two moments. `start_us`: how long the start-up of
    an attempt took."""
    chosen = [*jobs]
    by_machine = frozenset(job.number for job in chosen if job.spec.is_by_machine)
    changes: list[tuple[int, int, int, Attempt]] = []
    for job in chosen:
        for attempt in job.attempts:
            began_us = max(attempt.requested_us, from_us)
            ended_us = min(worked_until_us(attempt) or until_us, until_us)
            if began_us < ended_us:
                changes.append((began_us, 1, job.number, attempt))
                changes.append((ended_us, 0, job.number, attempt))
    changes.sort(key=lambda change: change[:3])
    sweep = _Sweep(by_machine)
    for at_us, begins, number, attempt in changes:
        if begins:
            works_us = attempt.requested_us + start_us(attempt)
            sweep.begins(at_us, number, attempt, max(works_us - at_us, 0))
        else:
            sweep.ends(at_us, number)
    return sweep.found


class _Sweep:
    """Passes over the begins and ends of attempts in the order of time."""

    def __init__(self, by_machine: frozenset[int]) -> None:
        self.found: defaultdict[int, list[HeldSpan]] = defaultdict(list)
        self._by_machine = by_machine
        self._open: dict[int, _Open] = {}
        self._on: defaultdict[int, set[int]] = defaultdict(set)

    def begins(self, at_us: int, job: int, attempt: Attempt, start_up_us: int) -> None:
        self._open[job] = _Open(job, attempt, at_us + start_up_us, at_us)
        for partner in self._partners(job):
            self._close(at_us, partner, leaving_out=job)
        if job in self._by_machine:
            for machine in attempt.placement.machines:
                self._on[machine].add(job)

    def ends(self, at_us: int, job: int) -> None:
        self._close(at_us, job)
        partners = self._partners(job)
        for partner in partners:
            self._close(at_us, partner)
        for machine in self._open.pop(job).attempt.placement.machines:
            self._on[machine].discard(job)

    def _partners(self, job: int) -> tuple[int, ...]:
        if job not in self._by_machine:
            return ()
        machines = self._open[job].attempt.placement.machines
        return tuple(sorted({each for it in machines for each in self._on[it]} - {job}))

    def _close(self, at_us: int, job: int, leaving_out: int | None = None) -> None:
        """Note the span that ends now. `leaving_out`: a job that comes now."""
        held = self._open[job]
        from_us, held.since_us = max(held.since_us, held.works_from_us), at_us
        if from_us < at_us:
            partners = tuple(each for each in self._partners(job) if each != leaving_out)
            roles = held.attempt.workers, held.attempt.servers
            numbers = (job, *partners)
            switched = frozenset(it for it in numbers if self._open[it].attempt.is_asynchronous)
            self.found[job].append(HeldSpan(from_us, at_us, *roles, partners, switched))
