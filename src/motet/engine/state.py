"""What the engine knows: active jobs, free machines, finished jobs. A fold over events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.model_profile import ModelProfile
from motet.domain.snapshot import UNKNOWN, History, JobTable, Placement, Queues, Snapshot
from motet.domain.wait import Wait
from motet.engine.capture import CapturedState
from motet.engine.history import FinishedJobs
from motet.engine.machines import Machines
from motet.engine.table import JOB_COLUMNS, ActiveTable, read_only
from motet.placement.room import Demand, Room

WAITED_COLUMNS = tuple(f"waited_{code.key}_us" for code in Wait)
"""Time without GPUs by reason, in the order of the codes."""
ENGINE_COLUMNS = {
    "preemptions": 0,
    "migrations": 0,
    "rescales": 0,
    "wait_code": 0,
    **dict.fromkeys(WAITED_COLUMNS, 0),
}
"""What the engine keeps of every job beside its `JobTable`: how often a decision preempted, moved
or resized it, the reason of its present wait, and the time of all of its waits."""


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
        self._own_columns = {**ENGINE_COLUMNS, **driver_columns}
        check_memory_columns(memory_columns, self._own_columns)
        self.cluster = cluster
        self.table = ActiveTable(memory_columns, self._own_columns)
        self.now_us = 0
        self.machines = Machines(cluster)
        self.room = Room.of(cluster)
        self.placements: dict[int, Placement] = {}
        self.suspended: dict[int, Mapping[str, int]] = {}
        self.has_shared = False
        self.has_elastic = False
        self.has_demands = False
        self._counts = {name for name in ("cpus", "memory_bytes") if getattr(cluster, name).any()}
        self._queues = replace(queues, quota_gpus=read_only(queues.quota_gpus))
        self._models = tuple(models)
        self._seen_free_gpus = read_only(self.room.gpus)
        self._seen_room = read_only(self.room.cpus), read_only(self.room.memory_bytes)
        self._seen_placements = MappingProxyType(self.placements)
        self._finished = FinishedJobs()

    def advance(self, now_us: int) -> None:
        """Time passes: jobs that hold GPUs attain service, the others wait."""
        passed_us, self.now_us = now_us - self.now_us, now_us
        if passed_us:
            self.table.pass_time(passed_us, WAITED_COLUMNS[0], has_shared=self.has_shared)

    # -- jobs come and go --------------------------------------------------------------------------

    def submitted(self, values: Mapping[str, int]) -> None:
        """A job arrives; `values`: its columns. Without others it is rigid: a worker per GPU."""
        gpus = values["gpus"]
        rigid = {"workers": gpus, "min_workers": gpus, "max_workers": gpus}
        self.table.add({**rigid, **values})
        self.has_elastic = self.has_elastic or _is_elastic(values)
        if self._counts and not self.has_demands:
            self.has_demands = any(values.get(name) for name in self._counts)

    def finished(self, number: int) -> None:
        """A job is done and leaves."""
        jobs, row = self.table.jobs, self.table.row_of(number)
        self._finished.add(int(jobs.attained_gpu_us[row]), int(jobs.gpus[row]))
        self.left(number)

    def left(self, number: int) -> None:
        """A job leaves without a result."""
        if self.suspended.pop(number, None) is None:
            self._take_back(number)
            self.table.remove(number)

    def suspend(self, number: int) -> None:
        """A job takes no part until it is resumed."""
        self.vacated(number)
        self.suspended[number] = self.table.row(number)
        self.table.remove(number)

    def resume(self, number: int) -> None:
        """A suspended job waits for GPUs again."""
        self.table.add(self.suspended.pop(number))

    def updated(self, number: int, columns: Mapping[str, int]) -> None:
        """Columns of a job have other values."""
        if number in self.suspended:
            self.suspended[number] = {**self.suspended[number], **columns}
            return
        row = self.table.row_of(number)
        for name, value in columns.items():
            self.table.column(name)[row] = value

    # -- jobs get GPUs and lose them ---------------------------------------------------------------

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
                self.room.gpus[machine] -= count
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

    def on_machine(self, machine: int) -> list[int]:
        """Jobs that hold GPUs there, ascending."""
        return sorted(job for job, place in self.placements.items() if machine in place.machines)

    # -- the policy --------------------------------------------------------------------------------

    def remember(self, memory: Mapping[str, Ints]) -> None:
        """A policy's own columns for the next decision."""
        for name, values in memory.items():
            self.table.column(name)[:] = values

    def change_memory(self, memory_columns: Mapping[str, int]) -> None:
        """Another policy decides: its columns take the place of those of the one before.

        Raises BadInput for a column that has the name of another.
        """
        check_memory_columns(memory_columns, self._own_columns)
        columns = self.table.columns()
        for name in memory_columns:
            columns.pop(name, None)
        self.table = ActiveTable(memory_columns, self._own_columns)
        self.table.restore(columns)
        self.suspended = {
            number: {name: value for name, value in row.items() if self.table.has(name)}
            | dict(memory_columns)
            for number, row in self.suspended.items()
        }

    def snapshot(self) -> Snapshot:
        """What a policy sees now, and cannot write to."""
        table, free = self.table, self.room.gpus
        cpus, memory_bytes = self._seen_room if self.has_demands else (None, None)
        has_closed = len(self.machines.closed) > 0
        return Snapshot(
            self.now_us,
            table.seen_jobs,
            self.machines.cluster(free),
            self.machines.gpu_count(free),
            read_only(self.usable_gpus) if has_closed else self._seen_free_gpus,
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
    def usable_gpus(self) -> Ints:
        """Free GPUs that jobs can get, by machine."""
        return self.machines.usable(self.room.gpus)

    @property
    def jobs(self) -> JobTable:
        """The active jobs."""
        return self.table.jobs

    @property
    def history(self) -> History:
        """FinishedJobs jobs."""
        return self._finished.history

    # -- captured and restored ---------------------------------------------------------------------

    def capture(self) -> CapturedState:
        """Everything that is known now; later changes of the state do not change it."""
        return CapturedState(
            self.now_us,
            self.table.columns(),
            dict(self.placements),
            dict(self.suspended),
            self._finished.copy(),
            tuple(self.machines.closed.tolist()),
            self.has_shared,
            self.has_elastic,
            self.has_demands,
        )

    def restore(self, captured: CapturedState) -> None:
        """Know what was captured, of the same cluster, and nothing else.

        Columns of another policy or driver get the value of a new job.
        """
        self.now_us = captured.now_us
        self.table.restore(captured.columns)
        self.suspended = dict(captured.suspended)
        self._finished = captured.finished.copy()
        for machine in captured.closed_machines:
            self.machines.close(machine)
        self.has_shared, self.has_elastic = captured.has_shared, captured.has_elastic
        self.has_demands = captured.has_demands
        for number, placement in captured.placements.items():
            self._occupy(number, placement)

    def _occupy(self, number: int, placement: Placement) -> None:
        """Of two jobs that share GPUs the second one takes none."""
        jobs, row = self.table.jobs, self.table.row_of(number)
        shares_gpus = int(jobs.partner[row]) in self.placements
        self.placements[number] = placement
        self.room.take(placement, Demand.of(jobs, row), shares_gpus=shares_gpus)

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
                self.room.gpus[machine] += count


def _is_elastic(job: Mapping[str, int]) -> bool:
    has_range = job.get("min_workers") != job.get("max_workers")
    return has_range or job.get("min_servers") != job.get("max_servers")


def check_memory_columns(memory: Mapping[str, int], own: Mapping[str, int]) -> None:
    """Raises BadInput for a column of a policy that has the name of another column."""
    taken = memory.keys() & {*JOB_COLUMNS, *own}
    if taken:
        raise BadInput(
            f"memory_columns names {min(taken)!r}, which is a column already; call it otherwise"
        )
