"""The controller of a pool of Aggregators: events in, instructions out. Pure."""

from __future__ import annotations

from collections.abc import Set

from motet.aggregation.master.controller.arrivals import check_worker, joining_step, new_job
from motet.aggregation.master.controller.measured_jobs import (
    plan_measured_job,
    recalibrate,
    refit,
)
from motet.aggregation.master.controller.operation_results import (
    forget_openings,
    lost_tensors,
    note_death,
    note_done,
    note_failed,
    note_lost_replicas,
    replace_in_hint,
)
from motet.aggregation.master.controller.reconciliation import reconcile
from motet.aggregation.master.state.events import (
    AggregatorDied,
    AggregatorDrained,
    AggregatorMeasured,
    AggregatorStarted,
    JobsAdmitted,
    OperationDone,
    OperationFailed,
    PoolEvent,
    Ticked,
    WorkerJoined,
    WorkerLeft,
    WorkerLost,
    WorkerSeen,
)
from motet.aggregation.master.state.instructions import (
    EndJob,
    KillAggregator,
    PoolInstruction,
    SetWorkersOn,
    StartAggregator,
)
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import AggregatorState, MasterSettings, PoolState
from motet.aggregation.master.state.worker_schedule import WorkerSchedule
from motet.aggregation.planner.clusters import ClusteredPool
from motet.aggregation.wire.job_credentials import job_of_cluster

_MOST_FAILED_STARTS = 3
_LONGEST_TICK_S = 1.0
"""More than that between two ticks is a pause of pMaster itself, which says nothing of others."""
_PATIENCE = 6
"""So many times as long may an Aggregator be silent that has the only copy of a tensor."""


class PoolController:
    """Decides for one pool. `state` may be read between events.

    Source: the seed's section 4.3.3. A job is measured on Aggregators of its own, then planned;
    what differs from the plan is moved. A death does not change the plan: the replica serves until
    another process has the tensors.
    """

    def __init__(self, settings: MasterSettings, state: PoolState | None = None) -> None:
        """`state`: of a pMaster that has ended."""
        self.state = state or PoolState(settings, ClusteredPool(settings.rules))

    def handle(self, event: PoolEvent) -> list[PoolInstruction]:
        """Take in an event; what is to be done about it, in this order.

        Raises BadInput or PoolFull for a worker that cannot join; the state is as before.
        """
        plan = self.state.pool
        ended = [*self._take_in(event), *self._lost_jobs()]
        is_frequent = isinstance(event, AggregatorMeasured | Ticked | WorkerSeen)
        if is_frequent and self.state.pool is plan and not ended and not self._is_unsettled():
            return []
        return [*ended, *reconcile(self.state)]

    def resume(self, running: Set[int]) -> list[PoolInstruction]:
        """Go on from the state of a pMaster that has ended: what was under way is done again.

        `running`: the processes that live. The first call, and only then.
        """
        again = [
            StartAggregator(each.number)
            for each in self.state.aggregators.values()
            if each.is_requested and not each.endpoint
        ]
        for each in list(self.state.aggregators.values()):
            if each.endpoint and each.number not in running:
                note_death(self.state, each.number)
        forget_openings(self.state)
        refit(self.state)
        under_way = list(self.state.operations.values())
        return [*again, *under_way, *self._lost_jobs(), *reconcile(self.state)]

    def job_named(self, name: str) -> PoolJob | None:
        """The job of a name that has not ended."""
        return next((job for job in self.state.jobs.values() if job.name == name), None)

    def _is_unsettled(self) -> bool:
        """Whether workers of a job changed, replicas were lost, or the pause after a failed
        operation is over."""
        resting = self.state.resting
        rested = [each for each, until_s in resting.items() if until_s <= self.state.now_s]
        for each in rested:
            del resting[each]
        return bool(rested) or any(
            job.is_news or any(each.lost_replicas for each in job.measured.values())
            for job in self.state.jobs.values()
        )

    def _take_in(self, event: PoolEvent) -> list[PoolInstruction]:
        match event:
            case WorkerJoined() | WorkerSeen() | WorkerLost() | WorkerLeft():
                return self._worker_event(event)
            case (
                AggregatorStarted() | AggregatorDied() | AggregatorDrained() | AggregatorMeasured()
            ):
                self._aggregator_event(event)
            case OperationDone() | OperationFailed():
                self._operation_event(event)
            case JobsAdmitted():
                return self._admitted(event)
            case Ticked():
                return self._ticked(event)
        return []

    # -- workers ---------------------------------------------------------------------------------

    def _worker_event(
        self, event: WorkerJoined | WorkerSeen | WorkerLost | WorkerLeft
    ) -> list[PoolInstruction]:
        match event:
            case WorkerJoined():
                self._worker_joined(event)
            case WorkerSeen():
                self._worker_seen(event)
            case WorkerLost():
                self._worker_lost(event)
            case WorkerLeft():
                return self._worker_left(event)
        return []

    def _worker_joined(self, event: WorkerJoined) -> None:
        job = self.job_named(event.request.job)
        if job is None:
            job = new_job(self.state, event.request, event.secret)
        else:
            check_worker(job, event.request)
            if event.request.rank not in job.schedule.ranks:
                step = joining_step(job)
                self._staff(job, job.schedule.with_rank(event.request.rank, step))
        self._worker_seen(WorkerSeen(job.number, event.request.rank))

    def _worker_seen(self, event: WorkerSeen) -> None:
        job = self.state.jobs.get(event.job)
        if job is not None:
            job.present.add(event.rank)
            job.missing_since_s.pop(event.rank, None)
            job.empty_since_s = None

    def _worker_left(self, event: WorkerLeft) -> list[PoolInstruction]:
        job = self.state.jobs.get(event.job)
        if job is None:
            return []
        self._dismiss(job, event.rank, event.steps + 1)
        return [] if job.schedule.ranks or job.present else [self._end(job)]

    def _worker_lost(self, event: WorkerLost) -> None:
        """The step that waits for the worker's gradients ends without it."""
        job = self.state.jobs.get(event.job)
        if job is not None:
            self._dismiss(job, event.rank, job.steps[0] + 1)

    def _dismiss(self, job: PoolJob, rank: int, step: int) -> None:
        job.present.discard(rank)
        job.missing_since_s.pop(rank, None)
        if rank in job.schedule.ranks:
            self._staff(job, job.schedule.without_rank(rank, step))
        if not job.schedule.ranks:
            job.empty_since_s = self.state.now_s

    def _staff(self, job: PoolJob, schedule: WorkerSchedule) -> None:
        job.schedule = schedule
        job.is_news = True

    def _admitted(self, event: JobsAdmitted) -> list[PoolInstruction]:
        admitted = {each.job: each for each in event.jobs}
        self.state.admitted = admitted
        return [
            self._end(job, f"job {job.name!r} does not run in the cluster any more")
            for job in list(self.state.jobs.values())
            if job_of_cluster(job.name) not in admitted
        ]

    # -- Aggregators -----------------------------------------------------------------------------

    def _aggregator_event(
        self, event: AggregatorStarted | AggregatorDied | AggregatorDrained | AggregatorMeasured
    ) -> None:
        aggregator = self.state.aggregators.get(event.aggregator)
        if aggregator is None:  # It was stopped meanwhile.
            return
        match event:
            case AggregatorStarted():
                aggregator.endpoint, aggregator.machine = event.endpoint, event.machine
                self.state.failed_starts = 0
            case AggregatorDied():
                note_death(self.state, event.aggregator)
            case AggregatorDrained():
                aggregator.is_draining = True
                for job in self.state.jobs.values():
                    replace_in_hint(self.state, job, event.aggregator)
            case AggregatorMeasured():
                aggregator.silent_s = 0.0
                self._measured(event)

    def _operation_event(self, event: OperationDone | OperationFailed) -> None:
        operation = self.state.operations.pop(event.operation, None)
        if operation is None:  # Its Aggregator died meanwhile.
            return
        if isinstance(event, OperationDone):
            note_done(self.state, operation)
            return
        note_failed(self.state, operation)
        if isinstance(operation, SetWorkersOn) and operation.job in self.state.jobs:
            # The Aggregator has applied the step already: the worker joins later.
            job = self.state.jobs[operation.job]
            later = max(joining_step(job), 2 * operation.from_step - job.steps[1])
            self._staff(job, job.schedule.with_later_join(operation.from_step, later))

    def _measured(self, event: AggregatorMeasured) -> None:
        for measurement in event.measurements:
            job = self.state.jobs.get(measurement.job)
            if job is not None:
                job.measured[event.aggregator] = measurement
                endpoints = measurement.lost_replicas
                note_lost_replicas(self.state, job, event.aggregator, endpoints)
                self._forget_ended_sets(job)
                plan_measured_job(self.state, job)

    def _forget_ended_sets(self, job: PoolJob) -> None:
        """Not while an Aggregator may refuse a set because the step has ended: the workers of that
        step are those of the set before."""
        if all(self.state.is_ready(each, job.number) for each in job.live_homes):
            job.schedule = job.schedule.since(job.steps[0] + 1)

    # -- time ------------------------------------------------------------------------------------

    def _ticked(self, event: Ticked) -> list[PoolInstruction]:
        state, settings = self.state, self.state.settings
        silent_s, state.now_s = min(event.at_s - state.now_s, _LONGEST_TICK_S), event.at_s
        kills = self._condemned(silent_s)
        for job in list(state.jobs.values()):
            for rank, since_s in list(job.missing_since_s.items()):
                if event.at_s - since_s > settings.linger_s:
                    self._worker_lost(WorkerLost(job.number, rank))
        if event.at_s >= state.period_ends_s:
            state.period_ends_s = event.at_s + settings.period_s
            recalibrate(state)
            state.pool = state.pool.after_period()
        ended = [self._end(job) for job in list(state.jobs.values()) if self._is_abandoned(job)]
        return [*kills, *ended]

    def _condemned(self, silent_s: float) -> list[KillAggregator]:
        """Its tensors may pass to others only once it is certainly dead."""
        found = []
        for each in self.state.aggregators.values():
            if not each.endpoint or each.is_condemned:
                continue
            each.silent_s += silent_s
            if each.silent_s > self._patience_s(each):
                each.is_condemned = True
                found.append(KillAggregator(each.number))
        return found

    def _patience_s(self, aggregator: AggregatorState) -> float:
        jobs = self.state.jobs.values()
        is_only = any((job.replicas[job.tensors_at(aggregator.number)] < 0).any() for job in jobs)
        return self.state.settings.silent_s * (_PATIENCE if is_only else 1)

    def _is_abandoned(self, job: PoolJob) -> bool:
        since_s = job.empty_since_s
        return since_s is not None and self.state.now_s - since_s > self.state.settings.linger_s

    # -- ends ------------------------------------------------------------------------------------

    def _lost_jobs(self) -> list[PoolInstruction]:
        ends: list[PoolInstruction] = []
        for job in list(self.state.jobs.values()):
            lost = lost_tensors(job)
            if lost:
                names = f"{len(lost)} tensors, {job.request.tensors[lost[0]].name!r} among them"
                error = f"job {job.name!r}: Aggregators with both copies of {names} have died"
                ends.append(self._end(job, error))
            elif not job.is_routed and self.state.failed_starts >= _MOST_FAILED_STARTS:
                error = f"job {job.name!r}: {self.state.failed_starts} Aggregators did not start"
                ends.append(self._end(job, error))
        return ends

    def _end(self, job: PoolJob, error: str = "") -> EndJob:
        """Aggregators that are not needed any more are released at once or after the period."""
        del self.state.jobs[job.number]
        pool = self.state.pool
        if job.number in pool.waiting or pool.cluster_of(job.number) is not None:
            pool = pool.after_exit(job.number)
            if not pool.rules.on_demand:
                pool = pool.after_period()
        self.state.pool = pool
        return EndJob(job.number, error)
