"""A journal with the history of many jobs, written by the master itself by a clock of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptRunning,
    RankExit,
)
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit
from motet.live.queues.queue_changes import CreateQueue

STEP_US = 10_000_000
USERS, QUEUES, NAMES = 23, 7, ("resnet", "bert", "lda", "mlr", "nmf-large", "lasso")


class PageJournal:
    """Fills the journal of a state folder. `events`: facts and events written so far."""

    def __init__(self, folder: Path, cluster: ClusterDeclared, policy: str, now_us: int) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._store = JournalStore(str(folder / "journal.db"))
        self._now_us = now_us
        self._master = Master(self._store, cluster, Workplace(folder, {}), lambda: self._now_us)
        self._master.choose_first(ChoosePolicy(policy))
        self._slots = sum(cluster.slots)
        self.events = 0
        self._step([CreateQueue(f"team{number}", "admin") for number in range(QUEUES)])

    def run_jobs(self, count: int, reports: int) -> None:
        """Jobs that all end; each reports its progress some times."""
        for begin in range(0, count, self._slots):
            size = min(self._slots, count - begin)
            jobs = self._submitted(size)
            self._step([AttemptRunning(f"{job}.1", self._now_us / 1e6) for job in jobs])
            for report in range(1, reports + 1):
                self._step([_progress(job, report) for job in jobs])
            self._step([AttemptEnded(f"{job}.1", (self._end(job),)) for job in jobs])

    def queue_jobs(self, count: int) -> None:
        """Jobs that stay: they fill the slots, the others wait."""
        for begin in range(0, count, 1000):
            jobs = self._submitted(min(1000, count - begin))
            active = self._master.state.active
            running = [job for job in jobs if job in active]
            self._step([AttemptRunning(f"{job}.1", self._now_us / 1e6) for job in running])

    def close(self) -> None:
        """Give the journal to a server."""
        self._store.close()

    def _submitted(self, count: int) -> range:
        first = self._master.state.next_job
        jobs = range(first, first + count)
        self._step([Submit(job_spec(_document(job)), f"user{job % USERS}") for job in jobs])
        return jobs

    def _step(self, inputs: Sequence[Input]) -> None:
        """Raises the error of the first input that is refused."""
        self._now_us += STEP_US
        answers, _ = self._master.handle(inputs)
        self.events += 2 * len(inputs)
        for answer in answers:
            if answer.error is not None:
                raise answer.error

    def _end(self, job: int) -> RankExit:
        code = 1 if job % 10 == 0 else 0
        return RankExit(code, None, "exited", self._now_us / 1e6 - 60, self._now_us / 1e6)


def _document(job: int) -> dict[str, object]:
    return {
        "name": f"{NAMES[job % len(NAMES)]}-{job}",
        "queue": f"team{job % QUEUES}",
        "priority": job % 5,
        "run": "python train.py",
        "workdir": "/",
    }


def _progress(job: int, report: int) -> AttemptProgressed:
    return AttemptProgressed(f"{job}.1", float(report), ((float(report), 1 / report),))
