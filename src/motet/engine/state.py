"""What the engine knows: active jobs, free machines, finished jobs. A fold over events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.model_profile import ModelProfile
from motet.domain.snapshot import UNKNOWN, History, JobTable, Placement, Queues, Snapshot
from motet.engine.history import Finished
from motet.engine.table import JOB_COLUMNS, ActiveTable, read_only
from motet.placement.room import Demand, Room


class ClusterState:
    """Changes only through its methods, each of which is one kind of event."""

    def __init__(
        self,
        cluster: ClusterSpec,
        memory_columns: Mapping[str, int],
        driver_columns: Mapping[str, int],
        queues: Queues,
        models: Sequence[ModelProfile] = (),
    ) -> None:
        """`driver_columns`: what the driver keeps beside every job. `models`: by index.

        `has_shared`: whether two jobs ever held the same GPUs. `has_elastic`: whether there ever
        was an elastic job. `has_demands`: whether a job ever asked for CPUs or memory that a
        machine counts; `room` keeps them. Raises BadInput for a column of a policy that has the
        name of another.
        """
        _check_names(memory_columns, driver_columns)
        self.cluster = cluster
        self.table = ActiveTable(memory_columns, driver_columns)
        self.now_us = 0
        self.room = Room.of(cluster)
        self.free_gpus: Ints = self.room.gpus
        self.placements: dict[int, Placement] = {}
        self.has_shared = False
        self.has_elastic = False
        self.has_demands = False
        self._counts = {name for name in ("cpus", "memory_bytes") if getattr(cluster, name).any()}
        self._gpu_count = cluster.gpu_count
        self._queues = replace(queues, quota_gpus=read_only(queues.quota_gpus))
        self._models = tuple(models)
        self._seen_cluster = _seen(cluster)
        self._seen_free_gpus = read_only(self.free_gpus)
        self._seen_room = read_only(self.room.cpus), read_only(self.room.memory_bytes)
        self._seen_placements = MappingProxyType(self.placements)
        self._finished = Finished()

    def advance(self, now_us: int) -> None:
        """Time passes: jobs that hold GPUs attain service, the others wait."""
        passed_us, self.now_us = now_us - self.now_us, now_us
        jobs = self.table.jobs
        if not passed_us or not len(jobs):
            return
        ran_us = np.where(jobs.held_gpus > 0, passed_us, 0)
        jobs.executed_us[:] += ran_us
        service_gpu_us = ran_us * jobs.held_gpus
        if self.has_shared:
            service_gpu_us //= np.where(jobs.partner == UNKNOWN, 1, 2)
        jobs.attained_gpu_us[:] += service_gpu_us
        jobs.waiting_us[:] += passed_us - ran_us

    def submitted(self, values: Mapping[str, int]) -> None:
        """A job arrives; `values`: its columns. Without others it is rigid: a worker per GPU."""
        gpus = values["gpus"]
        rigid = {"workers": gpus, "min_workers": gpus, "max_workers": gpus}
        self.table.add({**rigid, **values})
        self.has_elastic = self.has_elastic or _is_elastic(values)
        if self._counts and not self.has_demands:
            self.has_demands = any(values.get(name) for name in self._counts)

    def started(
        self,
        number: int,
        placement: Placement,
        workers: int,
        servers: int,
        partner: int = UNKNOWN,
    ) -> None:
        """A job holds these GPUs from now on (and no others), which `partner` may hold already."""
        jobs, row = self.table.jobs, self.table.row_of(number)
        self._take_back(number)
        self.placements[number] = placement
        if self.has_demands:
            demand, shares_gpus = Demand.of(jobs, row), partner != UNKNOWN
            self.room.take(placement, demand, shares_gpus=shares_gpus)
        elif partner == UNKNOWN:
            for machine, count in zip(*placement, strict=True):
                self.free_gpus[machine] -= count
        if partner != UNKNOWN:
            jobs.partner[row], jobs.partner[self.table.row_of(partner)] = partner, number
            self.has_shared = True
        jobs.held_gpus[row] = sum(placement.counts)
        jobs.held_workers[row], jobs.held_servers[row] = workers, servers
        jobs.last_start_us[row] = self.now_us
        if jobs.first_start_us[row] == UNKNOWN:
            jobs.first_start_us[row] = self.now_us

    def vacated(self, number: int) -> None:
        """A job holds no GPUs any more."""
        self._take_back(number)
        jobs, row = self.table.jobs, self.table.row_of(number)
        jobs.held_gpus[row] = jobs.held_workers[row] = jobs.held_servers[row] = 0

    def finished(self, number: int) -> None:
        """A job is done and leaves."""
        self._take_back(number)
        jobs, row = self.table.jobs, self.table.row_of(number)
        self._finished.add(int(jobs.attained_gpu_us[row]), int(jobs.gpus[row]))
        self.table.remove(number)

    def remember(self, memory: Mapping[str, Ints]) -> None:
        """A policy's own columns for the next decision."""
        for name, values in memory.items():
            self.table.column(name)[:] = values

    def snapshot(self) -> Snapshot:
        """What a policy sees now, and cannot write to."""
        table = self.table
        cpus, memory_bytes = self._seen_room if self.has_demands else (None, None)
        return Snapshot(
            self.now_us,
            table.seen_jobs,
            self._seen_cluster,
            self._gpu_count,
            self._seen_free_gpus,
            self._seen_placements,
            table.seen_memory,
            self._finished.history,
            self._queues,
            None,  # Estimates, which only some policies want.
            cpus,
            memory_bytes,
            self._models,
        )

    @property
    def jobs(self) -> JobTable:
        """The active jobs."""
        return self.table.jobs

    @property
    def history(self) -> History:
        """Finished jobs."""
        return self._finished.history

    def _take_back(self, number: int) -> None:
        placement = self.placements.pop(number, None)
        jobs, row = self.table.jobs, self.table.row_of(number)
        partner = int(jobs.partner[row])
        if partner != UNKNOWN:
            jobs.partner[row] = jobs.partner[self.table.row_of(partner)] = UNKNOWN
        if placement is None:
            return
        if self.has_demands:
            demand, shares_gpus = Demand.of(jobs, row), partner != UNKNOWN
            self.room.give_back(placement, demand, shares_gpus=shares_gpus)
        elif partner == UNKNOWN:
            for machine, count in zip(*placement, strict=True):
                self.free_gpus[machine] += count


def _is_elastic(job: Mapping[str, int]) -> bool:
    has_range = job.get("min_workers") != job.get("max_workers")
    return has_range or job.get("min_servers") != job.get("max_servers")


def _check_names(memory: Mapping[str, int], driver: Mapping[str, int]) -> None:
    taken = memory.keys() & {*JOB_COLUMNS, *driver}
    if taken:
        raise BadInput(
            f"memory_columns names {min(taken)!r}, which is a column already; call it otherwise"
        )


def _seen(cluster: ClusterSpec) -> ClusterSpec:
    """The same machines in columns that cannot be written to."""
    return replace(
        cluster,
        gpus=read_only(cluster.gpus),
        type=read_only(cluster.type),
        rack=read_only(cluster.rack),
        cpus=read_only(cluster.cpus),
        memory_bytes=read_only(cluster.memory_bytes),
        bandwidth_bps=read_only(cluster.bandwidth_bps),
    )
