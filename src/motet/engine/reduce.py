"""Fold events into the state, the measurements and the pending requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from motet.domain import events
from motet.domain.errors import BadInput
from motet.domain.events import Event
from motet.domain.model_profile import ModelMeasured
from motet.domain.queues.queue_limits import QueueLimits
from motet.engine.actions.requests import Requests
from motet.engine.actions.slots import Slots
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.measurements.machine_monitor import MachineMonitor
from motet.engine.state.cluster_state import ClusterState
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.memory_curve import MachineBytes

UPDATABLE = ("queue", "priority")
"""Columns of a job that the user may change."""
_NAN = float("nan")


class Reducer:
    """Folds one event after the other; `fold` returns whether the event requires a decision."""

    def __init__(
        self,
        state: ClusterState,
        slots: Slots,
        requests: Requests,
        measurements: Measurements | None,
        monitor: MachineMonitor | None,
    ) -> None:
        self._state, self._slots, self._requests = state, slots, requests
        self._measurements, self._monitor = measurements, monitor
        self._handlers: Mapping[type[Event], Callable[[Any], bool]] = {
            events.Submitted: self._submitted,
            events.Cancelled: self._stopped_for_good,
            events.TimedOut: self._stopped_for_good,
            events.Suspended: self._suspended,
            events.Resumed: self._resumed,
            events.Updated: self._updated,
            events.QueueAdded: self._queue_added,
            events.QueueLimited: self._queue_limited,
            events.Delayed: self._delayed,
            events.Started: self._started,
            events.Resized: self._resized,
            events.Stopped: self._stopped,
            events.StartFailed: self._start_failed,
            events.Finished: self._finished,
            events.Failed: self._failed,
            events.SpeedChanged: self._runs,
            events.ProgressMeasured: self._progress_measured,
            events.SpeedMeasured: self._speed_measured,
            events.SizeProposed: self._size_proposed,
            events.SubtasksMeasured: self._subtasks_measured,
            ModelMeasured: self._model_measured,
            events.RemainingMeasured: self._remaining_measured,
            events.MachineMeasured: self._machine_measured,
            events.MachineAdded: self._machine_added,
            events.MachineResized: self._machine_resized,
            events.MachineCame: self._machine_came,
            events.Drained: self._drained,
            events.MachineLeft: self._machine_left,
            events.Tick: self._tick,
        }

    def fold(self, event: Event) -> bool:
        """Apply an event. Raises BadInput for a job that is not active."""
        return self._handlers[type(event)](event)

    # -- users -------------------------------------------------------------------------------------

    def _submitted(self, event: events.Submitted) -> bool:
        if self._state.is_active(event.job):
            raise BadInput(f"job {event.job} was already submitted")
        self._state.submitted({"number": event.job, **event.columns})
        if self._measurements is not None and (event.goal or event.data) is not None:
            goal = event.goal or events.Goal()
            target, planned = goal.target_loss, goal.planned_steps
            self._measurements.arrived(
                event.job,
                _NAN if target is None else target,
                _NAN if planned is None else planned,
                event.data,
            )
        return True

    def _stopped_for_good(self, event: events.Cancelled | events.TimedOut) -> bool:
        self._leave(event.job)
        self._requests.stop(event.job)
        return True

    def _suspended(self, event: events.Suspended) -> bool:
        self._require(event.job, event.job in self._state.table)
        self._slots.observe(event.job)
        self._state.suspend(event.job)
        self._requests.stop(event.job)
        return True

    def _resumed(self, event: events.Resumed) -> bool:
        self._require(event.job, event.job in self._state.suspended)
        self._state.resume(event.job)
        return True

    def _updated(self, event: events.Updated) -> bool:
        self._require(event.job, self._state.is_active(event.job))
        for name in event.columns:
            if name not in UPDATABLE:
                raise BadInput(f"{name} of a job cannot change; it is one of {UPDATABLE}")
        self._state.updated(event.job, event.columns)
        return True

    def _queue_added(self, event: events.QueueAdded) -> bool:
        self._state.add_queue(event.name)
        return False

    def _queue_limited(self, event: events.QueueLimited) -> bool:
        if not 0 <= event.queue < len(self._state.queues.names):
            raise BadInput(f"there is no queue {event.queue}")
        limits = QueueLimits(event.guarantee, event.borrow, event.lend, event.is_held)
        self._state.limit_queue(event.queue, limits)
        return True

    def _delayed(self, event: events.Delayed) -> bool:
        self._require(event.job, self._state.is_active(event.job))
        self._state.delayed(event.job, event.until_us)
        return True

    # -- results of actions ------------------------------------------------------------------------

    def _started(self, event: events.Started) -> bool:
        """The report of a start that was withdrawn meanwhile changes nothing."""
        if event.job in self._state.table and self._requests.is_issued(event.job):
            self._state.begun(event.job, event.since_us)
            self._runs(event)
        return False

    def _runs(self, event: events.Started | events.Resized | events.SpeedChanged) -> bool:
        table = self._state.table
        if event.job in table:
            jobs, row = table.jobs, table.row_of(event.job)
            jobs.ready_us[row] = event.ready_us
            jobs.rate[row], jobs.alone_rate[row] = event.rate, event.alone_rate
        return False

    def _resized(self, event: events.Resized) -> bool:
        self._requests.resized(event.job)
        if event.job in self._state.table:
            self._state.begun(event.job, event.since_us)
        return self._runs(event)

    def _stopped(self, event: events.Stopped) -> bool:
        """A job that stops without a request, for example because it was killed, waits again."""
        if self._requests.stopped(event.job) or event.job not in self._state.placements:
            return False
        self._state.ran_until(event.job, event.until_us)
        self._slots.vacate(event.job)
        return True

    def _start_failed(self, event: events.StartFailed) -> bool:
        self._requests.gone(event.job)
        if event.job in self._state.placements:
            self._state.vacated(event.job)
        return True

    # -- ends of jobs ------------------------------------------------------------------------------

    def _finished(self, event: events.Finished) -> bool:
        self._require(event.job, self._state.is_active(event.job))
        if event.job in self._state.suspended:  # It finished before its processes were stopped.
            self._state.resume(event.job)
        self._slots.observe(event.job)
        self._state.ran_until(event.job, event.until_us)
        if self._measurements is not None:
            self._measurements.left(event.job)
        self._state.finished(event.job)
        self._requests.gone(event.job)
        return True

    def _failed(self, event: events.Failed) -> bool:
        self._leave(event.job)
        self._requests.gone(event.job)
        return True

    def _leave(self, job: int) -> None:
        self._require(job, self._state.is_active(job))
        if self._measurements is not None:
            self._measurements.left(job)
        self._state.left(job)

    # -- measurements ------------------------------------------------------------------------------

    def _progress_measured(self, event: events.ProgressMeasured) -> bool:
        if self._measurements is not None and event.job in self._measurements:
            self._measurements.trained(event.job, event.steps_done, event.points)
        return False

    def _speed_measured(self, event: events.SpeedMeasured) -> bool:
        if self._measurements is not None and event.job in self._measurements:
            self._measurements.ran(event.job, event.workers, event.servers, event.steps_per_s)
        return False

    def _size_proposed(self, event: events.SizeProposed) -> bool:
        if not self._state.is_active(event.job):
            return False
        self._state.proposed(event.job, event.workers, event.servers)
        return True

    def _subtasks_measured(self, event: events.SubtasksMeasured) -> bool:
        if self._measurements is not None and event.job in self._measurements:
            memory = _measured_memory(event)
            self._measurements.took(event.job, event.machines, measured_times(event), memory)
        return False

    def _model_measured(self, event: ModelMeasured) -> bool:
        """The job is placed by it when it starts the next time."""
        if self._state.is_active(event.job):
            self._state.learned_model(event.job, event.skew_class)
        return False

    def _remaining_measured(self, event: events.RemainingMeasured) -> bool:
        jobs, table = self._state.jobs, self._state.table
        if len(event.jobs) == len(jobs) and not np.count_nonzero(event.jobs != jobs.number):
            jobs.remaining_us[:] = event.remaining_us
            return False
        for job, remaining_us in zip(event.jobs.tolist(), event.remaining_us, strict=True):
            if job in table:
                jobs.remaining_us[table.row_of(job)] = remaining_us
        return False

    def _machine_measured(self, event: events.MachineMeasured) -> bool:
        if self._monitor is not None:
            self._monitor.measured(event.machine, event.times_as_long, self._state.now_us)
        return False

    # -- machines and time -------------------------------------------------------------------------

    def _machine_added(self, event: events.MachineAdded) -> bool:
        if event.machine != self._state.cluster.size:
            raise BadInput(f"machine {event.machine} is not the next one of the cluster")
        size = event.gpus, event.cpus, event.memory_bytes
        self._state.add_machine(event.name, *size)
        self._requests.add_machine(event.gpus)
        if self._monitor is not None:
            self._monitor.add_machine()
        return True

    def _machine_resized(self, event: events.MachineResized) -> bool:
        self._state.resize_machine(event.machine, event.cpus, event.memory_bytes)
        return True

    def _machine_came(self, event: events.MachineCame) -> bool:
        self._state.machines.open(event.machine)
        return True

    def _drained(self, event: events.Drained) -> bool:
        self._state.machines.close(event.machine)
        return True

    def _machine_left(self, event: events.MachineLeft) -> bool:
        self._state.machines.close(event.machine)
        for job in self._state.on_machine(event.machine):
            self._slots.vacate(job)
            self._requests.stop(job)
        return True

    def _tick(self, event: events.Tick) -> bool:
        del event
        return True

    # -- active jobs -------------------------------------------------------------------------------

    def _require(self, job: int, holds: bool) -> None:
        if not holds:
            raise BadInput(f"job {job} is not active, or its state does not permit this event")


def measured_times(event: events.SubtasksMeasured) -> SubtaskTimes:
    """Of an iteration."""
    outside_s, overlaps = event.outside_s or 0.0, bool(event.overlaps)
    return SubtaskTimes(event.comp_s, event.comm_s, outside_s, overlaps=overlaps)


def _measured_memory(event: events.SubtasksMeasured) -> MachineBytes | None:
    """A report without the least counts every machine as the one with the most."""
    if event.memory_bytes is None:
        return None
    least = event.least_memory_bytes
    return MachineBytes(event.memory_bytes, event.memory_bytes if least is None else least)
