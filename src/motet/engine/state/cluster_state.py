"""The state of a cluster: active jobs, placements, free GPUs, finished jobs. A fold over events."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from motet.domain.arrays import Ints, read_only
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.model_profile import SKEW_PROFILES, ModelProfile
from motet.domain.queues.queue_limits import QueueLimits
from motet.domain.snapshot import UNKNOWN, History, JobTable, Placement, Queues, Snapshot
from motet.domain.units import NEVER_US
from motet.engine.state.captured_state import CapturedState
from motet.engine.state.engine_columns import ENGINE_COLUMNS, WAITED_COLUMNS
from motet.engine.state.history import FinishedJobs
from motet.engine.state.machines import Machines
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS, sized_columns
from motet.engine.state.sharing import SharedSlots
from motet.engine.state.table import ActiveTable, check_memory_columns
from motet.placement.room import ResourceDemand, Room

T = TypeVar("T")


class ClusterState:
    """State that changes only through its methods, one for each kind of event."""

    def __init__(
        self,
        cluster: ClusterSpec,
        memory_columns: Mapping[str, int],
        driver_columns: Mapping[str, int],
        queues: Queues,
        models: Sequence[ModelProfile] = (),
    ) -> None:
        """`driver_columns`: the driver's own columns of every job. `models`: by index.

        `has_shared`: whether jobs ever held the same GPUs; `sharing`: the jobs that do.
        `has_elastic`: whether there ever was an elastic job. `has_demands`: whether a job ever
        requested CPUs or memory on a cluster that counts them; `room` counts them. `has_delays`:
        whether a job ever had to start later. `has_proposals`: whether there ever
        was a job that proposes its size.
        Raises BadInput if a policy's column has the name of another column.
        """
        self._own_columns = {**ENGINE_COLUMNS, **driver_columns}
        check_memory_columns(memory_columns, self._own_columns)
        self.cluster = cluster
        self.memory_columns: Mapping[str, int] = dict(memory_columns)
        self.table = ActiveTable(memory_columns, self._own_columns)
        self.now_us = 0
        self.machines = Machines(cluster)
        self.room = Room.of(cluster)
        self.placements: dict[int, Placement] = {}
        self.suspended: dict[int, Mapping[str, int]] = {}
        self.sharing = SharedSlots()
        self.has_shared = False
        self.has_elastic = False
        self.has_demands = False
        self.has_delays = False
        self.has_proposals = False
        self._counts = _counted(cluster)
        self.queues = queues
        self._models = tuple(models)
        self._see_room()
        self._seen_placements = MappingProxyType(self.placements)
        self._finished = FinishedJobs()

    def advance(self, now_us: int) -> None:
        """Time passes: jobs that run attain service, the others wait."""
        passed_us, self.now_us = now_us - self.now_us, now_us
        if passed_us:
            self.table.pass_time(passed_us, WAITED_COLUMNS[0], has_shared=self.has_shared)

    def add_machine(self, name: str, gpus: int, cpus: int, memory_bytes: int) -> None:
        """The cluster has grown by an empty machine."""
        self.cluster = self.cluster.with_machine(name, gpus, cpus, memory_bytes)
        self._has_other_machines(self.room.grown(self.cluster))

    def resize_machine(self, machine: int, cpus: int, memory_bytes: int) -> None:
        """A machine on which nothing runs has other CPUs and memory."""
        self.cluster = self.cluster.with_size(machine, cpus, memory_bytes)
        self._has_other_machines(self.room.resized(self.cluster))

    def _has_other_machines(self, room: Room) -> None:
        self._counts = _counted(self.cluster)
        self.has_demands = self.has_demands or any(map(self._is_demanded, self._counts))
        self.machines, self.room = self.machines.grown(self.cluster), room
        self._see_room()

    def add_queue(self, name: str) -> None:
        """There is a further queue, without limits."""
        self.queues = Queues((*self.queues.names, name), (*self.queues.limits, QueueLimits()))

    def limit_queue(self, queue: int, limits: QueueLimits) -> None:
        """A queue has other limits."""
        every = [*self.queues.limits]
        every[queue] = limits
        self.queues = Queues(self.queues.names, tuple(every))

    # -- arrivals and departures -------------------------------------------------------------------

    def submitted(self, values: Mapping[str, int]) -> None:
        """A job arrives; `values`: its columns. By default it is rigid, a worker per GPU."""
        gpus = values["gpus"]
        rigid = {"workers": gpus, "min_workers": gpus, "max_workers": gpus}
        self.table.add({**rigid, **values})
        self.has_elastic = self.has_elastic or _is_elastic(values)
        self.has_proposals = self.has_proposals or bool(values.get(TAKES_PROPOSALS))
        if self._counts and not self.has_demands:
            self.has_demands = any(values.get(name) for name in self._counts)

    def _is_demanded(self, column: str) -> bool:
        of_active = bool(getattr(self.table.jobs, column).any())
        return of_active or any(row.get(column) for row in self.suspended.values())

    def finished(self, number: int) -> None:
        """A job has finished and leaves."""
        jobs, row = self.table.jobs, self.table.row_of(number)
        self._finished.add(int(jobs.attained_gpu_us[row]), int(jobs.gpus[row]))
        self.left(number)

    def left(self, number: int) -> None:
        """A job leaves without a result."""
        if self.suspended.pop(number, None) is None:
            self._take_back(number)
            self.table.remove(number)

    def suspend(self, number: int) -> None:
        """A job leaves the active jobs until it is resumed."""
        self.vacated(number)
        self.suspended[number] = self.table.row(number)
        self.table.remove(number)

    def resume(self, number: int) -> None:
        """A suspended job waits for GPUs again."""
        self.table.add(self.suspended.pop(number))

    def delayed(self, number: int, until_us: int) -> None:
        """A job may not start before this time."""
        self.updated(number, {"not_before_us": until_us})
        self.has_delays = True

    def proposed(self, number: int, workers: int, servers: int) -> None:
        """A job proposes its size."""
        self.updated(number, {"proposed_workers": workers, "proposed_servers": servers})
        self._size(number)
        self.has_elastic = True

    def _size(self, number: int) -> None:
        """Renew the request of a job that proposes its size."""
        row = self.suspended.get(number) or self.table.row(number)
        if row[TAKES_PROPOSALS]:
            self.updated(number, sized_columns(row))

    def updated(self, number: int, columns: Mapping[str, int]) -> None:
        """Replace values of a job's columns."""
        if number in self.suspended:
            self.suspended[number] = {**self.suspended[number], **columns}
            return
        row = self.table.row_of(number)
        for name, value in columns.items():
            self.table.column(name)[row] = value

    def learned_model(self, number: int, skew_class: int) -> None:
        """The skew of a job's model is known; for drivers whose models end with SKEW_PROFILES."""
        first = len(self._models) - len(SKEW_PROFILES)
        if self._models[max(first, 0) :] == SKEW_PROFILES:
            self.updated(number, {"model": first + skew_class})

    def is_active(self, number: int) -> bool:
        """Whether a job has arrived and not left; it may be suspended."""
        return number in self.table or number in self.suspended

    # -- allocation and release --------------------------------------------------------------------

    def started(
        self,
        number: int,
        placement: Placement,
        workers: int,
        servers: int,
        partner: int = UNKNOWN,
        *,
        runs: bool = False,
    ) -> None:
        """A job holds exactly these GPUs from now on, shared with `partner` and all that share its.

        `runs`: it ran before, on others; otherwise it attains service from `begun` on.
        """
        jobs, row = self.table.jobs, self.table.row_of(number)
        self._take_back(number)
        self.placements[number] = placement
        if self.has_demands:
            demand, shares_gpus = ResourceDemand.of(jobs, row), partner != UNKNOWN
            self.room.take(placement, demand, shares_gpus=shares_gpus)
        elif partner == UNKNOWN:
            for machine, count in zip(*placement, strict=True):
                self.room.gpus[machine] -= count
        if partner != UNKNOWN:
            self.sharing.join(number, partner, self.table)
            self.has_shared = True
        jobs.held_gpus[row] = sum(placement.counts)
        jobs.held_workers[row], jobs.held_servers[row] = workers, servers
        jobs.last_start_us[row] = self.now_us
        if jobs.first_start_us[row] == UNKNOWN:
            jobs.first_start_us[row] = self.now_us
        if not runs:
            self.table.column("running_since_us")[row], jobs.ready_us[row] = UNKNOWN, NEVER_US
        if self.has_proposals:
            self._size(number)

    def begun(self, number: int, since_us: int | None = None) -> None:
        """The processes of a job that holds GPUs run from now on, or since an earlier time."""
        running_since_us, row = self.table.column("running_since_us"), self.table.row_of(number)
        if running_since_us[row] == UNKNOWN:
            allocated_us = int(self.table.jobs.last_start_us[row])
            begun_us = self.now_us if since_us is None else max(since_us, allocated_us)
            running_since_us[row] = min(begun_us, self.now_us)
            self.table.move_time(number, self.now_us - int(running_since_us[row]))

    def ran_until(self, number: int, until_us: int | None) -> None:
        """The processes of a job have ended at this time, of which the state hears now."""
        if until_us is None or number not in self.placements:
            return
        row = self.table.row_of(number)
        since_us = int(self.table.column("running_since_us")[row])
        if since_us != UNKNOWN:  # Before its last move it held other GPUs.
            since_us = max(since_us, int(self.table.jobs.last_start_us[row]))
            self.table.move_time(number, -max(self.now_us - max(until_us, since_us), 0))

    def vacated(self, number: int) -> None:
        """A job releases all of its GPUs."""
        self._take_back(number)
        jobs, row = self.table.jobs, self.table.row_of(number)
        jobs.held_gpus[row] = jobs.held_workers[row] = jobs.held_servers[row] = 0
        if self.has_proposals:
            self._size(number)

    def on_machine(self, machine: int) -> list[int]:
        """Jobs that hold GPUs there, ascending."""
        return sorted(job for job, place in self.placements.items() if machine in place.machines)

    # -- the policy --------------------------------------------------------------------------------

    def remember(self, memory: Mapping[str, Ints]) -> None:
        """Store the policy's own columns for the next decision."""
        for name, values in memory.items():
            self.table.column(name)[:] = values

    def change_memory(self, memory_columns: Mapping[str, int]) -> None:
        """Replace the columns of the previous policy by those of a new one.

        Raises BadInput for a column that has the name of another.
        """
        self._rebuild(memory_columns, without=memory_columns)

    def adopt_memory(self, memory_columns: Mapping[str, int]) -> None:
        """The same policy has other columns from now on; those that it keeps keep their values.

        Raises BadInput for a column that has the name of another.
        """
        self._rebuild(memory_columns, without=())

    def _rebuild(self, memory_columns: Mapping[str, int], without: Container[str]) -> None:
        check_memory_columns(memory_columns, self._own_columns)
        columns, suspended = self.table.columns(), self.suspended
        self.memory_columns = dict(memory_columns)
        self.table = ActiveTable(memory_columns, self._own_columns)
        self.table.restore(_without(without, columns))
        self._restore_suspended(
            {number: _without(without, row) for number, row in suspended.items()}
        )

    def snapshot(self) -> Snapshot:
        """The read-only input of a policy at this time."""
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
            self.queues,
            None,  # Estimates: added by the engine for policies that declare them.
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
        """Finished jobs."""
        return self._finished.history

    # -- capture and restore -----------------------------------------------------------------------

    def capture(self) -> CapturedState:
        """A copy of the complete state."""
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
        """Replace this state by a captured state of the same cluster.

        Columns of another policy or driver get the value of a new job. Raises BadInput if anything
        has happened here before.
        """
        if not self._is_new:
            raise BadInput("a capture is restored into a new state; this one is in use already")
        self.now_us = captured.now_us
        self.table.restore(captured.columns)
        self._restore_suspended(captured.suspended)
        self._finished = captured.finished.copy()
        for machine in captured.closed_machines:
            self.machines.close(machine)
        self.has_shared, self.has_elastic = captured.has_shared, captured.has_elastic
        self.has_demands = captured.has_demands
        self.has_delays = bool(self.table.column("not_before_us").any())
        self.has_proposals = bool(self.table.column(TAKES_PROPOSALS).any()) or any(
            row.get(TAKES_PROPOSALS) for row in captured.suspended.values()
        )
        self.sharing.restore(self.table)
        for number, placement in captured.placements.items():
            self._occupy(number, placement)

    @property
    def _is_new(self) -> bool:
        has_jobs = len(self.table) or self.suspended or len(self.history.gpus)
        return not (self.now_us or has_jobs or len(self.machines.closed))

    def _restore_suspended(self, rows: Mapping[int, Mapping[str, int]]) -> None:
        self.suspended = {number: self.table.completed(row) for number, row in rows.items()}

    def _see_room(self) -> None:
        self._seen_free_gpus = read_only(self.room.gpus)
        self._seen_room = read_only(self.room.cpus), read_only(self.room.memory_bytes)

    def _occupy(self, number: int, placement: Placement) -> None:
        """Hold a captured placement; of jobs that share GPUs only the first takes them."""
        jobs, row = self.table.jobs, self.table.row_of(number)
        shares_gpus = any(other in self.placements for other in self.sharing.others(number))
        self.placements[number] = placement
        self.room.take(placement, ResourceDemand.of(jobs, row), shares_gpus=shares_gpus)

    def _take_back(self, number: int) -> None:
        placement = self.placements.pop(number, None)
        jobs, row = self.table.jobs, self.table.row_of(number)
        shares_gpus = self.sharing.leave(number, self.table)
        if placement is None:
            return
        if self.has_demands:
            demand = ResourceDemand.of(jobs, row)
            self.room.give_back(placement, demand, shares_gpus=shares_gpus)
        elif not shares_gpus:
            for machine, count in zip(*placement, strict=True):
                self.room.gpus[machine] += count


def _without(names: Container[str], columns: Mapping[str, T]) -> dict[str, T]:
    return {name: column for name, column in columns.items() if name not in names}


def _is_elastic(job: Mapping[str, int]) -> bool:
    has_range = job.get("min_workers") != job.get("max_workers")
    return has_range or job.get("min_servers") != job.get("max_servers")


def _counted(cluster: ClusterSpec) -> set[str]:
    """Columns of demands that a machine limits."""
    return {name for name in ("cpus", "memory_bytes") if getattr(cluster, name).any()}
