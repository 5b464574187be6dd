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
from support.schedule_stays import EpochTimes, StayTimes
from support.testbed_jobs import JobKind, KeptState, RunningJob, begin

PAIR = 2


def hosts_of(place: Place) -> list[int]:
    """The hosts of these pairs."""
    return [PAIR * pair + host for pair in place for host in range(PAIR)]


class TestbedGround:
    """Trainings that are suspended and resumed by their checkpoints in `folder`. `interleaves`:
    they take turns; `spill`: input on disk, as `motet train --spill` takes it; empty: none."""

    def __init__(
        self,
        hosts: HostMachines,
        kinds: Sequence[JobKind],
        jobs: Sequence[ProfiledJob],
        folder: Path,
        *,
        interleaves: bool,
        spill: str,
    ) -> None:
        self._hosts, self._kinds, self._jobs, self._interleaves = hosts, kinds, jobs, interleaves
        self._kept = [
            KeptState(
                folder / f"job{job}",
                spill=SpillOptions.parse(spill, folder / f"spill{job}") if spill else None,
            )
            for job in range(len(kinds))
        ]
        for job in range(len(kinds) if spill else 0):
            (folder / f"spill{job}").mkdir(parents=True)
        self._runs: list[list[RunningJob]] = [[] for _ in kinds]
        self._places: list[list[Place]] = [[] for _ in kinds]
        self._pauses_s: list[float] = []
        self._ended: queue.Queue[tuple[int, int]] = queue.Queue()
        self._told: set[int] = set()
        self._began_s = time.monotonic()

    def now_s(self) -> float:
        """See Ground."""
        return time.monotonic() - self._began_s

    def start(self, job: int, place: Place) -> None:
        """See Ground."""
        stay = len(self._runs[job])
        started = begin(
            self._hosts,
            self._kinds[job],
            hosts_of(place),
            interleaves=self._interleaves,
            seed=job,
            kept=self._kept[job],
            ended=lambda: self._ended.put((job, stay)),
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
            run = self._runs[job][-1]
            run.end()
            if not run.is_trained:
                self._pauses_s.append(run.ended_s - asked_s)
        ended = [job for job in jobs if self._runs[job][-1].is_trained]
        self._told.update(ended)
        return ended

    def next_ends(self) -> list[int]:
        """See Ground. Raises what a job raised."""
        while True:
            job, stay = self._ended.get()
            # Of a stay that was paused, not the one after it, which may have begun.
            run = self._runs[job][stay]
            if not run.is_trained:
                run.end()
            elif job not in self._told:
                self._told.add(job)
                return [job]

    def end_all(self) -> None:
        """Cancel what still runs."""
        for runs in self._runs:
            for run in runs[-1:]:
                run.job.cancel()
                run.thread.join()

    def finish(self) -> None:
        """Wait for the fitted models of all jobs. Raises what a job raised."""
        for runs in self._runs:
            runs[-1].end()

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

    def stays(self) -> list[StayTimes]:
        """Of all jobs, with their epochs."""
        return [
            self._stay(job, run, place)
            for job, runs in enumerate(self._runs)
            for run, place in zip(runs, self._places[job], strict=True)
        ]

    def _stay(self, job: int, run: RunningJob, place: Place) -> StayTimes:
        zero_s, start_s = self._began_s, run.start_up_s
        epochs = [
            EpochTimes.of(at_s - zero_s, report)
            for at_s, report in self._kept[job].observer.epochs
            if run.begun_s <= at_s <= run.ended_s
        ]
        begun_s = run.begun_s - zero_s
        trains_s = None if start_s is None else begun_s + start_s
        return StayTimes(job, place, begun_s, trains_s, run.ended_s - zero_s, epochs)

    def pairs(self) -> list[list[int]]:
        """Of each job: on how many pairs it was, stay by stay."""
        return [[len(place) for place in places] for places in self._places]

    def recoveries(self) -> int:
        """Failures that jobs survived; they repeat epochs. Of stays that were not paused."""
        results = [run.result for runs in self._runs for run in runs]
        return sum(len(result.recoveries) for result in results if result is not None)

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
