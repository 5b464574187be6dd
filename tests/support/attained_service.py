"""Attained service of jobs that have succeeded: what the engine counted, what the journal says, and
what the shepherds really ran.

The engine counts from the start of the last process until it takes the slots away, or until the end
of the last process, however late it hears of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from attempt_files import attempt_file
from motet.domain.actions import Migrate, Preempt, Start
from motet.domain.events import (
    Cancelled,
    Event,
    Failed,
    Finished,
    Resized,
    Started,
    StartFailed,
    Stopped,
    Suspended,
)
from motet.domain.units import SECOND_US
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.journal.recorded_step import actions_of
from motet.live.master.replay import ReplayedCluster, declared_by, events_of

_ROUNDING_US = 10
_ENDS = (Stopped, StartFailed, Finished, Failed, Cancelled, Suspended)


@dataclass
class Account:
    """Of one job. `slots`: of its present attempt, 0: none. `counted`: (begin, end, slots)."""

    slots: int = 0
    allocated_us: int = 0
    since_us: int | None = None
    counted: list[tuple[int, int, int]] = field(default_factory=list)

    def end(self, at_us: int) -> None:
        if self.since_us is not None:
            self.counted.append((self.since_us, max(at_us, self.since_us), self.slots))
        self.slots, self.since_us = 0, None

    @property
    def slot_us(self) -> int:
        return sum((end - begin) * slots for begin, end, slots in self.counted)


class Accounts:
    """Attained service by the events and actions of records, without the engine."""

    def __init__(self) -> None:
        self.of: dict[int, Account] = {}

    def add(self, record: Record) -> None:
        for event in events_of(record):
            self._take(record.at_us, event)
        for action in actions_of(record.actions):
            assert not isinstance(action, Migrate), "jobs of this check have one size and place"
            account = self.of.setdefault(action.job, Account())
            if isinstance(action, Preempt):
                account.end(record.at_us)
            elif isinstance(action, Start):
                account.slots, account.since_us = sum(action.placement.counts), None
                account.allocated_us = record.at_us

    def _take(self, at_us: int, event: Event) -> None:
        if isinstance(event, Started | Resized) and (account := self.of[event.job]).slots:
            since_us = max(event.since_us or at_us, account.allocated_us)
            account.since_us = since_us if account.since_us is None else account.since_us
        elif isinstance(event, _ENDS):
            until_us = getattr(event, "until_us", None) or at_us
            self.of.setdefault(event.job, Account()).end(until_us)


@dataclass(frozen=True)
class Service:
    """`engine`: slot-microseconds by job that finished. `accounts`: by job. `jobs`: all."""

    engine: dict[int, int]
    accounts: dict[int, Account]
    jobs: dict[int, LiveJob]


def service_of(address: str) -> Service:
    """Read a journal from its first record."""
    engine, accounts = dict[int, int](), Accounts()
    with JournalReader(address) as reader:
        records = [*reader.records()]
    cluster = ReplayedCluster(declared_by(records[0]))
    for record in records:
        before = len(cluster.engine.state.history.gpus)
        cluster.replay(record)
        accounts.add(record)
        ended = [each.job for each in events_of(record) if isinstance(each, Finished)]
        found = cluster.engine.state.history.attained_gpu_us[before:].tolist()
        engine |= dict(zip(ended, found, strict=True))
    return Service(engine, accounts.of, cluster.state.jobs)


def check_attained(folder: Path, address: str) -> tuple[float, float]:
    """Raises AssertionError unless all service is that of a process that ran, counted once.

    Returns the slot-seconds of all jobs by the engine and by the shepherds.
    """
    service = service_of(address)
    assert service.engine == {job: service.accounts[job].slot_us for job in service.engine}
    really_s = sum(
        _check_job(folder, job, service.accounts[job.number]) for job in service.jobs.values()
    )
    return sum(service.engine.values()) / SECOND_US, really_s


def _check_job(folder: Path, job: LiveJob, account: Account) -> float:
    """The attempts of the journal are those of the shepherds, one after the other, and what is
    counted of each is what all of its processes ran, until it was stopped.

    Returns the slot-seconds in which all processes of an attempt ran.
    """
    begun = {
        int(path.parent.parent.name)
        for path in (folder / "attempts" / str(job.number)).glob("*/rank-*/started.json")
    }
    assert begun <= {each.number for each in job.attempts}, f"job {job.number}: an unknown attempt"
    counted = iter(account.counted)
    real_s, before_s = 0.0, 0.0
    for attempt in job.attempts:
        what = f"attempt {job.number}.{attempt.number}"
        runs = _runs(folder, job.number, attempt)
        is_whole = len(runs) == len(attempt.exits)
        if is_whole and attempt.stop_cause is None:
            assert attempt.running_us is not None, f"{what} ran, and is not counted"
        if not runs:
            assert attempt.running_us is None, f"{what} is counted, and never ran"
            continue
        begin_s, last_s = max(begin for begin, _ in runs), max(end for _, end in runs)
        assert before_s <= min(begin for begin, _ in runs), f"{what} began before the last ended"
        before_s = last_s
        if not is_whole:
            assert attempt.running_us is None, f"{what} is counted, and was not complete"
            continue
        real_s += (last_s - begin_s) * len(runs)
        if attempt.running_us is None or attempt.stop_cause is not None:
            continue  # It was stopped: counted until then, or not at all.
        since_us, until_us = _counted_of(counted, begin_s)
        wanted = (begin_s * SECOND_US, last_s * SECOND_US)
        assert (since_us, until_us) == pytest.approx(wanted, abs=_ROUNDING_US), what
    return real_s


def _counted_of(counted: Iterator[tuple[int, int, int]], begin_s: float) -> tuple[int, int]:
    """The interval that begins at this time; those before it are of attempts that were stopped."""
    for since_us, until_us, _ in counted:
        if since_us >= begin_s * SECOND_US - _ROUNDING_US:
            return since_us, until_us
    raise AssertionError(f"no service is counted since {begin_s}")


def _runs(folder: Path, job: int, attempt: Attempt) -> list[tuple[float, float]]:
    """When its processes ran, Unix seconds; the journal has the ends that the shepherds recorded.

    The end of one whose shepherd was killed is that of which the launcher made sure.
    """
    found = []
    for rank, told in enumerate(attempt.exits):
        started = attempt_file(folder, job, attempt.number, rank, "started.json")
        ended = attempt_file(folder, job, attempt.number, rank, "exit.json")
        if ended is not None:
            assert (ended["code"], ended["ended_at"]) == (told.code, told.ended_s)
        if started is not None:
            found.append((float(started["at"]), told.ended_s))
    return found
