"""Twelve jobs on pairs of hosts of a testbed, by several schedules: profiles, runs, predictions."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.testbed.hosts import Limits
from motet.testbed.layout import HostLayout
from motet.testbed.machine import require_testbed_machine
from motet.testbed.testbed import Testbed
from support.host_cluster import HostMachines
from support.host_usage import HostUsage, UsageTrace
from support.schedule_choices import Choose, ProfiledJob, Running, by_chance, grouped, isolated
from support.schedule_ledger import Steps, steps_in
from support.schedule_outcomes import (
    SECTIONS,
    Outcome,
    Prediction,
    Profile,
    profiles_in,
    write_profiles,
)
from support.schedule_run import predicted, run_schedule
from support.testbed_ground import PAIR, TestbedGround, hosts_of
from support.testbed_jobs import JobKind, measured_on, prepare

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Schedule:
    """`interleaves`: jobs take turns; `spill`: the input that they have on disk, as `motet train
    --spill` takes it; empty: none, and mini-batches are not computed in sections.

    With `auto` memory limits no group, and the kernel limits the hosts. In other schedules the
    limit decides which jobs fit beside each other and is not enforced: while a job starts, it needs
    more for a moment than afterwards."""

    name: str
    choose: Choose
    interleaves: bool = True
    spill: str = ""

    @property
    def spills(self) -> bool:
        """Whether input is on disk where memory does not suffice."""
        return self.spill == "auto"


SCHEDULES = {
    each.name: each
    for each in (
        Schedule("isolated", isolated, interleaves=False),
        Schedule("naive", by_chance, interleaves=False),
        Schedule("subtasks", by_chance),
        Schedule("grouping", grouped),
        Schedule("reloading", grouped, spill="auto"),
        Schedule(SECTIONS, isolated, interleaves=False, spill="0"),
    )
}


@dataclass(frozen=True)
class Stage:
    """The hosts, `cpus` of each and the jobs on them. `lengths_s`: for how long each job trains
    alone on a pair. `memory`: of a host, in multiples of what the job that needs most has there.
    """

    name: str
    hosts: HostMachines
    cpus: float
    kinds: Sequence[JobKind]
    lengths_s: Sequence[float]
    memory: float

    @property
    def pairs(self) -> int:
        """How many machines schedules have."""
        return len(self.hosts) // PAIR

    def profiles(self, seconds: float, folder: Path, *, again: bool) -> list[Profile]:
        """Of all jobs, as many at a time as there are pairs; kept in `folder`."""
        found = [] if again else profiles_in(folder)
        if [each.name for each in found] == [kind.name for kind in self.kinds]:
            return found
        found, before = [], HostUsage(self.name).memory_bytes()
        for first in range(0, len(self.kinds), self.pairs):
            found += self._profiled(self.kinds[first : first + self.pairs], seconds, before)
        write_profiles(folder, found)
        return found

    def _profiled(
        self, kinds: Sequence[JobKind], seconds: float, before: Sequence[int]
    ) -> list[Profile]:
        """`before`: bytes in use on each host without jobs."""
        trace = UsageTrace(self.name)
        places = [(kind, hosts_of((pair,))) for pair, kind in enumerate(kinds)]
        with trace.recorded():
            usage = lambda: HostUsage(self.name)  # noqa: E731
            together = measured_on(self.hosts, places, seconds, usage, self.cpus, nullcontext)
        found = []
        for (kind, numbers), measured in zip(places, together.jobs, strict=True):
            if measured is None:
                raise SystemExit(
                    f"{kind.name}: no whole epoch in {seconds:.0f} s; give more --seconds"
                )
            most = max(trace.most_bytes[host] - before[host] for host in numbers)
            found.append(
                Profile(kind.name, *measured.times[:4], measured.period_s, measured.per_epoch, most)
            )
            print(found[-1], flush=True)
        return found

    def jobs(self, profiles: Sequence[Profile]) -> tuple[list[JobKind], list[ProfiledJob]]:
        """With as many epochs as make each job so long."""
        kinds, jobs = [], []
        for kind, length_s, one in zip(self.kinds, self.lengths_s, profiles, strict=True):
            epochs = max(2, round(length_s / (one.period_s * one.per_epoch)))
            kinds.append(replace(kind, epochs=epochs))
            times = SubtaskTimes(one.comp_s, one.comm_s, one.outside_s, one.gap_s)
            jobs.append(ProfiledJob(kind.name, times, epochs * one.per_epoch, one.memory_bytes))
        return kinds, jobs

    def run(self, schedule: Schedule, profiles: Sequence[Profile]) -> Outcome:
        """Carry it out."""
        kinds, jobs = self.jobs(profiles)
        for seed, kind in enumerate(kinds):
            prepare(kind, seed)
        limit_bytes = self.memory * max(job.memory_bytes for job in jobs)
        room = float("inf") if schedule.spills else limit_bytes
        if schedule.spills:
            self._limit_memory(limit_bytes + max(HostUsage(self.name).memory_bytes()))
        trace = UsageTrace(self.name)
        with tempfile.TemporaryDirectory(prefix="motet-schedule-", dir="/var/tmp") as folder:
            usage = HostUsage(self.name)
            ground = TestbedGround(
                self.hosts,
                kinds,
                jobs,
                Path(folder),
                interleaves=schedule.interleaves,
                spill=schedule.spill,
            )
            try:
                with trace.recorded():
                    used_s = time.process_time()
                    now = Running(jobs, self.pairs, room, hosts_per_machine=PAIR)
                    log = run_schedule(ground, now, schedule.choose)
                    cpu, network = usage.fractions(log.makespan_s)
                    controllers = (time.process_time() - used_s) / log.makespan_s
                ground.finish()
            finally:
                ground.end_all()
        start_s = mean(ground.start_ups_s())
        stays = ground.stays()
        measured = steps_in(stays, self.cpus)

        def simulated(
            of: Sequence[ProfiledJob], stay_s: float, hosts: int | None, steps: Steps
        ) -> Prediction | None:
            if not (schedule.interleaves or schedule.choose is isolated):
                return None
            found = predicted(of, self.pairs, room, schedule.choose, stay_s, hosts, steps)
            return Prediction(found.jct_s, found.makespan_s)

        stay_s = start_s + mean(ground.wind_downs_s())
        return Outcome(
            schedule.name,
            log.ends_s,
            cpu,
            network,
            start_s,
            log.moves,
            ground.stopped_s(),
            log.most_beside(),
            mean(ground.waited_for_data_s()),
            [each // MEGABYTE for each in trace.most_bytes],
            ground.models(),
            ground.losses(),
            ground.pairs(),
            controllers,
            simulated([_without_gap(job) for job in jobs], 0.0, None, {}),
            simulated(jobs, stay_s, PAIR, {}),
            simulated(jobs, stay_s, PAIR, measured),
            [[round(p.at_s, 1), round(p.cpu, 3), round(p.network, 3)] for p in trace.points],
            ", ".join(f"{load:.1f}" for load in os.getloadavg()),
            list(log.decisions_s),
            ground.recoveries(),
            stays,
        )

    def _limit_memory(self, limit_bytes: float) -> None:
        bed = Testbed(HostLayout(self.name), require_testbed_machine())
        bed.change(["all"], Limits(memory_bytes=round(limit_bytes)))


def _without_gap(job: ProfiledJob) -> ProfiledJob:
    return replace(job, times=job.times._replace(gap_s=0.0))
