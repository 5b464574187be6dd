"""What one live run of `live_fidelity.py` came to, from the state of its server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from motet.domain.units import SECOND_US, seconds
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.live.jobs.job import LiveJob
from motet.sim.workload.workload import Workload
from support.resumable_program import JobUsage, recorded_usage

LOAD_FILE = "load.json"
"""In the folder of the state: the processor's load average at the end of the run."""


class StartUp(NamedTuple):
    """The mean time from a request of an attempt until all processes run, and the standard error of
    this mean: few starts take long, and each delays its job."""

    mean_s: float
    error_s: float

    @classmethod
    def of(cls, jobs: Sequence[LiveJob], *, is_first: bool) -> StartUp:
        """Of the first attempts of jobs, or of the others."""
        attempts = [each for job in jobs for each in job.attempts if (each.number == 1) is is_first]
        took_s = [seconds(it.running_us - it.requested_us) for it in attempts if it.running_us]
        error_s = stdev(took_s) / sqrt(len(took_s)) if len(took_s) > 1 else 0.0
        return cls(round(mean(took_s), 6) if took_s else 0.0, error_s)


@dataclass(frozen=True)
class LiveRun:
    """Completion times in seconds; `load`: at the end of the run, None: not recorded.

    `uneven_s`: by how much start-ups of a job differ from these means, the mean over jobs: what
    the simulator cannot know. `sizes`: slots of the machines. `usage`: CPU time of each job.
    """

    jct_s: float
    first: StartUp
    further: StartUp
    uneven_s: float
    preemptions: int
    load: float | None
    sizes: Sequence[int]
    usage: Sequence[JobUsage]

    @classmethod
    def of(cls, folder: Path, workload: Workload) -> LiveRun:
        """From the state of a server that has run this workload to its end."""
        journal = FollowedJournal(str(folder / "journal.db"))
        journal.read()
        state = journal.cluster.state
        journal.close()
        assert state.cluster is not None
        jobs = [*state.jobs.values()]
        check(jobs, workload, folder)
        first, further = (StartUp.of(jobs, is_first=each) for each in (True, False))
        path = folder / LOAD_FILE
        return cls(
            mean(seconds((job.ended_us or 0) - job.submitted_us) for job in jobs),
            first,
            further,
            mean(unevenness_s(job, first.mean_s, further.mean_s) for job in jobs),
            sum(len(job.attempts) - 1 for job in jobs),
            json.loads(path.read_text()) if path.exists() else None,
            sorted(state.cluster.slots),
            recorded_usage(folder),
        )


def check(jobs: Sequence[LiveJob], workload: Workload, folder: Path) -> None:
    """The jobs are those of the workload, and all have succeeded; ends the program otherwise."""
    ran = [(job.spec.processes, round((job.spec.duration_s or 0) * SECOND_US)) for job in jobs]
    wanted = [*zip(workload.gpus.tolist(), workload.duration_us.tolist(), strict=True)]
    if ran != wanted:
        raise SystemExit(f"{folder} has other jobs; give --quick, --slower and --order of its run")
    if any(job.state != "SUCCEEDED" for job in jobs):
        raise SystemExit(f"{folder}: some jobs have not succeeded")


def unevenness_s(job: LiveJob, first_s: float, further_s: float) -> float:
    """The differences of the start-ups of a job from the means, added up."""
    told_s = {True: first_s, False: further_s}
    return sum(
        abs(seconds(it.running_us - it.requested_us) - told_s[it.number == 1])
        for it in job.attempts
        if it.running_us is not None
    )
