"""A master with a real journal and a launcher that a test scripts; the master can be killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Answer, Master
from motet.live.master.requests import TrainingProgram, Workplace
from motet.live.master.submissions.submission import Submit
from scripted_launcher import ScriptedLauncher

CLUSTER = ClusterDeclared(("m0", "m1"), (2, 2))
SECOND_US = 1_000_000


class ScriptedCluster:
    """A master, its journal and its launcher; the master can be killed."""

    def __init__(
        self,
        folder: Path,
        policy: ChoosePolicy | None = None,
        cluster: ClusterDeclared = CLUSTER,
    ) -> None:
        self.folder, self.launcher, self.declared = folder, ScriptedLauncher(), cluster
        self.policy = policy or ChoosePolicy("fifo")
        self.now_us = 1_700_000_000 * SECOND_US
        self.store: JournalStore | None = None
        self.begin()

    def begin(self) -> None:
        """Start a master on the journal, as after a crash of the one before."""
        self.replay()
        self.go_on()

    def replay(self) -> None:
        """Read the journal; time does not pass."""
        self.close()
        self.store = JournalStore(str(self.folder / "journal.db"))
        program = TrainingProgram(("python", "train"), {"PYTHONPATH": "/motet"})
        workplace = Workplace(self.folder, {"PATH": "/bin"}, program)
        self.master = Master(self.store, self.declared, workplace, lambda: self.now_us)

    def go_on(self) -> None:
        """Take part again: the step may bring decisions that are due by now."""
        self.ask(self.policy)
        self.launcher.receive(self.master.pending_requests)

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def handle(self, *inputs: Input) -> list[Answer]:
        self.now_us += SECOND_US
        replies, requests = self.master.handle(inputs)
        self.launcher.receive(requests)
        return replies

    def ask(self, given: Input) -> Any:
        (reply,) = self.handle(given)
        if reply.error is not None:
            raise reply.error
        return reply.value

    def submit(self, processes: int = 1, key: str = "", **more: Any) -> int:
        values = {"name": "job", "run": "true", "workdir": "/", "processes": processes, **more}
        number: int = self.ask(Submit(job_spec(values), "ann", key))
        return number

    def train(self, **more: Any) -> int:
        """Submit a training."""
        values = {"name": "fit", "app": "mlr", "data": "digits", "workdir": "/", **more}
        number: int = self.ask(Submit(job_spec(values), "ann"))
        return number

    def until_started(self, number: int) -> None:
        """Let time pass until a job has an attempt."""
        for _ in range(1000):
            if self.job(number).attempt is not None:
                return
            self.handle()
        raise AssertionError(f"job {number} does not start")

    def job(self, number: int) -> LiveJob:
        return self.master.state.jobs[number]
