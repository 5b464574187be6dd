"""The life of a small cluster whose journal is kept as a golden one, and what is told about it.

`python tests/support/golden_journal.py FOLDER NAME SEED` writes `NAME.sql`, a dump of the journal,
and `NAME.json`, the state of the master that wrote it. A golden journal is written once, by the
version that introduces its format, and never again.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.launcher.messages import AttemptProgressed
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.master.job_updates import UpdateJob
from motet.live.master.master import Master
from motet.live.master.submissions.submission import Submit, SubmitArray
from motet.live.queues.queue_changes import CreateQueue, LimitQueue
from scripted_cluster import SECOND_US, ScriptedCluster

GOLDEN_CLUSTER = ClusterDeclared(("m0", "m1"), (4, 4))
_POLICIES = (
    ChoosePolicy("tiresias-las", {"thresholds": "20"}),
    ChoosePolicy("gandiva", {"quantum_s": "7"}),
    ChoosePolicy("srtf", {"min_runtime": "20"}),
    ChoosePolicy("optimus"),
    ChoosePolicy("best-effort"),
    ChoosePolicy("tiresias-las", {"thresholds": "40", "quantum_s": "3"}),
)
_STEPS_BY_POLICY = 25
_POLICIES_WITH_DRAINS = 3


class GoldenLife:
    """Users, processes and machines that act at random."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.cluster = ScriptedCluster(folder, ChoosePolicy("fifo"), GOLDEN_CLUSTER)
        self._random = random.Random(seed)
        self._epochs: dict[str, float] = {}

    def live(self) -> None:
        for queue in ("ml", "vision"):
            self.cluster.ask(CreateQueue(queue, "ann"))
        acts = (
            *(self._submit,) * 5,
            *(self._train, self._submit_array, self._submit_after),
            *(self._progress,) * 4,
            *(self._report,) * 10,
            *(self._change, self._update, self._wait),
        )
        for count, policy in enumerate(_POLICIES):
            drains = (self._drain,) if count < _POLICIES_WITH_DRAINS else ()
            if not drains:
                self.cluster.handle(ResumeMachine("m1", "ann"))
                self.cluster.ask(LimitQueue("ml", "ann", {"guarantee": 4}))
                self.cluster.ask(LimitQueue("vision", "ann", {"guarantee": 2, "borrow": 3}))
            self.cluster.ask(policy)
            self.cluster.policy = policy
            for _ in range(_STEPS_BY_POLICY):
                self._random.choice([*acts, *drains])()
        self._crowd()

    def _crowd(self) -> None:
        """Many jobs wait, and all of them for another reason at once."""
        for _ in range(20):
            self._submit()
        self.cluster.policy = ChoosePolicy("yarn-cs")
        self.cluster.ask(self.cluster.policy)
        for _ in range(10):
            self._report()

    def _submit(self) -> None:
        processes = self._random.choice([1, 1, 2, 3, 5])
        queue = self._random.choice(["default", "ml", "vision"])
        values = {
            "name": f"job-{processes}",
            "run": "true",
            "workdir": "/",
            "processes": processes,
            "queue": queue,
            "priority": self._random.choice([-1, 0, 0, 1]),
            "duration_s": self._random.randint(5, 90),
            "retry": {"max_attempts": 2},
        }
        self.cluster.handle(Submit(job_spec(values), self._random.choice(["ann", "bob"])))

    def _submit_after(self) -> None:
        if known := sorted(self.cluster.master.state.jobs):
            after = [self._random.choice(known)]
            values = {"name": "job", "run": "true", "workdir": "/", "duration_s": 9, "after": after}
            self.cluster.handle(Submit(job_spec(values), "ann"))

    def _submit_array(self) -> None:
        values = {"name": "sweep", "run": "true", "workdir": "/", "duration_s": 15}
        self.cluster.handle(SubmitArray(array_spec({**values, "array": "1-4%2"}), "bob"))

    def _train(self) -> None:
        values = {"name": "fit", "app": "mlr", "data": "digits", "workdir": "/", "epochs": 20}
        elastic = {"workers": {"min": 1, "max": 3}, "servers": 1, "duration_s": 40}
        self.cluster.handle(Submit(job_spec({**values, **elastic}), "ann"))

    def _progress(self) -> None:
        launcher = self.cluster.launcher
        running = [each for each in sorted(launcher.running) if each not in launcher.stopping]
        if running:
            attempt = self._random.choice(running)
            done = self._epochs[attempt] = self._epochs.get(attempt, 0.0) + 1.0
            loss = round(1.0 / (done + 1.0), 6)
            self.cluster.handle(AttemptProgressed(attempt, done, ((done, loss),), 2.0))

    def _report(self) -> None:
        launcher = self.cluster.launcher
        if not launcher.running:
            self.cluster.handle()
            return
        attempt = self._random.choice(sorted(launcher.stopping or launcher.running))
        ends: list[tuple[int | None, Any]] = [(0, "exited"), (1, "exited"), (None, "lost")]
        if attempt in launcher.stopping:
            ends = [(None, "stopped")]
        end = self._random.choice([None, None, *ends])
        report = launcher.started(attempt) if end is None else launcher.ended(attempt, *end)
        self.cluster.handle(report)

    def _change(self) -> None:
        if known := sorted(self.cluster.master.state.jobs):
            verb: Any = self._random.choice(["cancel", "suspend", "resume", "resume"])
            self.cluster.handle(Change(self._random.choice(known), verb, "ann"))

    def _update(self) -> None:
        if known := sorted(self.cluster.master.state.jobs):
            queue = self._random.choice([None, "ml", "vision"])
            self.cluster.handle(UpdateJob(self._random.choice(known), "ann", 2, queue))

    def _drain(self) -> None:
        kind: Callable[[str], Any] = self._random.choice(
            [lambda name: DrainMachine(name, "test", "ann"), lambda name: ResumeMachine(name, "a")]
        )
        self.cluster.handle(kind("m1"))

    def _wait(self) -> None:
        self.cluster.now_us += self._random.randint(1, 20) * SECOND_US
        self.cluster.handle()


def told(master: Master) -> dict[str, Any]:
    """What users see of a cluster, and what the engine knows of its active jobs."""
    state, engine = master.state, master._engine.state
    columns = engine.table.columns()
    rows = dict(enumerate(columns["number"].tolist()))
    return {
        "policy": [state.policy.policy, dict(state.policy.settings)],
        "queues": [*state.queues],
        "conditions": [*state.conditions],
        "drained": sorted(state.drains.of),
        "jobs": {str(number): _job(job) for number, job in state.jobs.items()},
        "service": {
            str(number): [int(columns["executed_us"][row]), int(columns["attained_gpu_us"][row])]
            for row, number in rows.items()
        },
        "suspended": sorted(engine.suspended),
        "placements": {
            str(job): [[*place.machines], [*place.counts]]
            for job, place in sorted(engine.placements.items())
        },
    }


def _job(job: LiveJob) -> dict[str, Any]:
    return {
        "state": job.state.value,
        "reason": job.reason,
        "submitted_us": job.submitted_us,
        "ended_us": job.known_end_us,
        "attempts": [
            {
                "placement": [[*each.placement.machines], [*each.placement.counts]],
                "roles": [each.workers, each.servers],
                "phase": each.phase.value,
                "outcome": each.outcome and each.outcome.value,
                "stop_cause": each.stop_cause and each.stop_cause.value,
                "times_us": [each.requested_us, each.running_us, each.freed_us],
            }
            for each in job.attempts
        ],
    }


def write_golden(folder: Path, name: str, seed: int) -> None:
    """Live, and keep the journal and what is told about its end."""
    with tempfile.TemporaryDirectory() as home:
        life = GoldenLife(Path(home), seed)
        life.live()
        expected = told(life.cluster.master)
        life.cluster.close()
        with closing(sqlite3.connect(Path(home) / "journal.db")) as journal:
            dump = "\n".join(journal.iterdump())
    (folder / f"{name}.sql").write_text(dump + "\n")
    (folder / f"{name}.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    write_golden(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
