"""The hosts of a testbed as a ground for schedules; a machine of a schedule is a pair of hosts."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from motet.runtime.core.options import SpillOptions
from support.host_cluster import HostMachines
from support.schedule_choices import Place, ProfiledJob
from support.testbed_jobs import JobKind, KeptState, Measured, RunningJob, begin

PAIR = 2


def hosts_of(place: Place) -> list[int]:
    """The hosts of these pairs."""
    return [PAIR * pair + host for pair in place for host in range(PAIR)]


class TestbedGround:
    """Trainings that are suspended and resumed by their checkpoints in `folder`. `interleaves`:
    they take turns; `spills`: input is on disk as far as memory does not suffice."""

    def __init__(
        self,
        hosts: HostMachines,
        kinds: Sequence[JobKind],
        jobs: Sequence[ProfiledJob],
        folder: Path,
        *,
        interleaves: bool,
        spills: bool,
    ) -> None:
        self._hosts, self._kinds, self._jobs, self._interleaves = hosts, kinds, jobs, interleaves
        self._kept = [
            KeptState(
                folder / f"job{job}",
                spill=SpillOptions(None, folder / f"spill{job}") if spills else None,
            )
            for job in range(len(kinds))
        ]
        for job in range(len(kinds) if spills else 0):
            (folder / f"spill{job}").mkdir(parents=True)
        self._runs: list[list[RunningJob]] = [[] for _ in kinds]
        self._places: list[list[Place]] = [[] for _ in kinds]
        self._pauses_s: list[float] = []
        self._ended: queue.Queue[int] = queue.Queue()
        self._told: set[int] = set()
        self._began_s = time.monotonic()

    def now_s(self) -> float:
        """See Ground."""
        return time.monotonic() - self._began_s

    def start(self, job: int, place: Place) -> None:
        """See Ground."""
        started = begin(
            self._hosts,
            self._kinds[job],
            hosts_of(place),
            interleaves=self._interleaves,
            seed=job,
            kept=self._kept[job],
            ended=lambda: self._ended.put(job),
        )
        self._runs[job].append(started)
        self._places[job].append(place)

    def iterations_left(self) -> list[float]:
        """See Ground; by whole epochs."""
        return [
            job.iterations * (1 - min(len(kept.observer.epochs) / kind.epochs, 1.0))
            for job, kind, kept in zip(self._jobs, self._kinds, self._kept, strict=True)
        ]

    def move_s(self) -> float:
        """See Ground: a pause and a start, the means so far."""
        starts_s, pauses_s = self.start_ups_s(), self._pauses_s
        return sum(mean(each) for each in (starts_s, pauses_s) if each)

    def pause(self, jobs: Sequence[int]) -> list[int]:
        """See Ground. Raises what a job raised."""
        asked_s = time.monotonic()
        for job in jobs:
            self._runs[job][-1].job.suspend()
        for job in jobs:
            self._runs[job][-1].end()
            self._pauses_s.append(self._runs[job][-1].ended_s - asked_s)
        ended = [job for job in jobs if self._runs[job][-1].result is not None]
        self._told.update(ended)
        return ended

    def next_ends(self) -> list[int]:
        """See Ground. Raises what a job raised."""
        while True:
            job = self._ended.get()
            self._runs[job][-1].end()
            if self._runs[job][-1].result is not None and job not in self._told:
                self._told.add(job)
                return [job]

    def end_all(self) -> None:
        """Cancel what still runs."""
        for runs in self._runs:
            for run in runs[-1:]:
                run.job.cancel()
                run.thread.join()

    def start_ups_s(self) -> list[float]:
        """Of all stays that trained an epoch."""
        found = [run.start_up_s for runs in self._runs for run in runs]
        return [each for each in found if each is not None]

    def wind_downs_s(self) -> list[float]:
        """Of all stays."""
        return [run.wind_down_s for runs in self._runs for run in runs[-1:]]

    def stopped_s(self) -> float:
        """For which jobs did not train because they moved, a sum over jobs: pauses and starts."""
        again = [run.start_up_s for runs in self._runs for run in runs[1:]]
        return sum(self._pauses_s) + sum(each for each in again if each is not None)

    def measured(self, cpus: float) -> list[Measured | None]:
        """Of each job, its longest stay on one pair; None: it trained no epoch on one. `cpus`: of
        a host."""
        return [self._measured(job, cpus) for job in range(len(self._kinds))]

    def _measured(self, job: int, cpus: float) -> Measured | None:
        log = self._kept[job].observer
        stays = zip(self._runs[job], self._places[job], strict=True)
        found = [
            log.between(run.begun_s, run.ended_s, cpus) for run, place in stays if len(place) == 1
        ]
        known = [each for each in found if each is not None]
        return max(known, key=lambda each: each.batches) if known else None

    def pairs(self) -> list[list[int]]:
        """Of each job: on how many pairs it was, stay by stay."""
        return [[len(place) for place in places] for places in self._places]

    def losses(self) -> list[float]:
        """The last one of each job."""
        results = [runs[-1].result for runs in self._runs]
        return [float("nan") if one is None else one.losses[-1] for one in results]

    def waited_for_data_s(self) -> list[float]:
        """Of each job: for how long COMP waited for spilled data."""
        return [sum(report.load_s for _, report in kept.observer.epochs) for kept in self._kept]

    def models(self) -> list[str]:
        """Digests of the models of all jobs."""
        results = [runs[-1].result for runs in self._runs]
        return ["" if result is None else result.model_sha256 for result in results]
