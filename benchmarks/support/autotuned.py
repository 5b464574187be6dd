"""Trains a job under `--auto` on a testbed until nothing has changed for long enough.

Runs on the testbed's front and writes every epoch with its configuration. With several phases,
"quiet" is printed at the end of each, and the next one must begin with a change: machines come or
go.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.domain.errors import Interrupted
from motet.runtime.autotune.autotuner import Autotuner
from motet.runtime.autotune.history import TuningRecord
from motet.runtime.backends.ray.cluster import RayCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport, Recovery
from support.recorder import Recorder
from support.walk import TRAINING, say

QUIET = "quiet"


@dataclass(frozen=True)
class AutotunedRun:
    """What to train from which numbers of workers and servers.

    A phase ends `quiet_epochs` epochs and `quiet_s` seconds after its last change, when the
    autotuner has decided to stay; at the latest `limit_s` after its beginning.
    `machines_at_first`: None: all of them.
    """

    app: str
    data: str
    settings: Mapping[str, Any]
    machines: int
    workers: int
    servers: int
    quiet_epochs: int
    quiet_s: float = 12.0
    limit_s: float = 200.0
    phases: int = 1
    machines_at_first: int | None = None
    checkpoint_every: int = 1_000_000


class Watch(Recorder):
    """Ends a phase when nothing changes any more."""

    def __init__(self, run: AutotunedRun, out: Path) -> None:
        super().__init__(out, run.machines)
        self._run = run
        self._phase = 1
        self._is_running = False
        self._begin_phase(is_changed=True)

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training begins, or goes on after a recovery."""
        say(TRAINING)
        super().started(instance_count, model_bytes)
        if not self._is_running:
            self._begin_phase(is_changed=True)
        self._is_running = True

    def epoch_done(self, report: EpochReport) -> None:
        """End the phase if it is over."""
        super().epoch_done(report)
        self._epochs += 1
        if self._is_over(time.monotonic()):
            self._end_phase()

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """The job changed: the phase is not quiet yet."""
        super().reconfigured(report)
        self._changed()

    def recovering(self, recovery: Recovery) -> None:
        """The job recovers: the phase is not quiet yet."""
        super().recovering(recovery)
        self._changed()

    def decided(self, record: TuningRecord) -> None:
        """A decision was made."""
        decision = record.decision
        self._is_decided = decision.plan is None
        self.write(
            "decision",
            reason=decision.reason.value,
            before=asdict(decision.before),
            after=asdict(decision.after),
            measured_s=decision.measured_s,
            predicted_s=decision.predicted_s,
            gain=decision.gain,
        )

    def _changed(self) -> None:
        self._is_decided = False
        self._is_changed, self._epochs, self._since_s = True, 0, time.monotonic()

    def _begin_phase(self, *, is_changed: bool) -> None:
        self._changed()
        self._is_changed = is_changed
        self._began_s = time.monotonic()

    def _is_over(self, now_s: float) -> bool:
        run = self._run
        is_quiet = self._epochs >= run.quiet_epochs and now_s - self._since_s >= run.quiet_s
        is_done = is_quiet and self._is_changed and self._is_decided
        return is_done or now_s - self._began_s > run.limit_s

    def _end_phase(self) -> None:
        if self._phase == self._run.phases:
            self.job.cancel()
            return
        self._phase += 1
        self._begin_phase(is_changed=False)
        say(QUIET)


def train(run: AutotunedRun, out: Path) -> None:
    """Train until the last phase is over. Raises MotetError."""
    app = load_application(run.app)(**run.settings)
    rows = app.prepare(open_dataset(run.data), 0)
    options = TrainOptions(
        run.machines_at_first or run.machines,
        run.workers,
        run.servers,
        epochs=1_000_000,
        checkpoint_every=run.checkpoint_every,
    )
    address, at_least = os.environ["MOTET_ADDRESS"], run.machines_at_first
    with RayCluster.join(address, run.machines, at_least) as cluster:
        job, watch = Job(app, rows, options, cluster), Watch(run, out)
        watch.drive(job)
        try:
            with Autotuner(job, watch.decided):
                job.run()
        except Interrupted:
            return


if __name__ == "__main__":
    train(AutotunedRun(**json.loads(sys.argv[1])), Path(sys.argv[2]))
