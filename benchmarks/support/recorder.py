"""Writes down what happens to a job while it trains, an event per line, as it happens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from motet.runtime.controller.job import Job
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport, Recovery


class Recorder(TrainObserver):
    """Hears of a job's progress; `drive` tells it of which job."""

    def __init__(self, out: Path, machines: int) -> None:
        """`machines`: for how many an epoch's event says what blocks they have."""
        self._out = out
        self._machines = machines
        self._job: Job | None = None

    def drive(self, job: Job) -> None:
        """Record this job."""
        self._job = job
        job.listen(self)

    @property
    def job(self) -> Job:
        """The job that was last given to `drive`."""
        assert self._job is not None
        return self._job

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training begins, or goes on after a recovery."""
        self.write("started", instances=instance_count, model_bytes=model_bytes)

    def epoch_done(self, report: EpochReport) -> None:
        """An epoch, and the configuration at its end."""
        self.write("epoch", **self.state(), **asdict(report))

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """A change ended."""
        self.write("reconfigured", **asdict(report))

    def recovering(self, recovery: Recovery) -> None:
        """An executor was lost."""
        self.write("recovering", **asdict(recovery))

    def state(self) -> dict[str, Any]:
        """Who does what now; blocks by machine."""
        layout = self.job.layout
        machines = range(max(self._machines, *(one + 1 for one in layout.executors)))
        return {
            "workers": len(layout.workers),
            "servers": len(layout.servers),
            "data_blocks": [len(layout.data.blocks_of(one)) for one in machines],
            "model_blocks": [len(layout.model.blocks_of(one)) for one in machines],
        }

    def write(self, kind: str, **fields: Any) -> None:
        """An event of now; `at_s` is Unix time."""
        append_event(self._out, kind, **fields)


def append_event(out: Path, kind: str, **fields: Any) -> None:
    """One more line, also while somebody else writes."""
    line = json.dumps({"kind": kind, "at_s": time.time(), **fields}, default=str)
    with out.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """What was written."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
