"""All metrics of a server, in the text format of Prometheus."""

from __future__ import annotations

import platform
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from motet import __version__
from motet.interfaces.server.metrics.cluster_figures import ClusterFigures
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import AttemptOver, AttemptRan, JobFact
from motet.live.master.master import DurableStep
from motet.live.master.state import LiveState

_DECISION_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_APPEND_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_REQUEST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_WAIT_S = (1, 5, 15, 60, 300, 900, 3600, 10_800, 43_200, 86_400, 259_200, 604_800)
_FINAL = tuple(state.value for state in JobState if state.is_final)


class ServerMetrics:
    """Observes the master (see MasterObserver) and requests; `text` may be called by any thread."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the server's state."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        build = Info("motet_build", "Version of Motet and of Python.", registry=self.registry)
        build.info({"version": __version__, "python": platform.python_version()})
        free = self._gauge("disk_free_bytes", "Free bytes on the disk of the state folder.")
        free.set_function(lambda: shutil.disk_usage(folder).free)
        self._figures, self._lock = ClusterFigures(), threading.Lock()
        self._has_launched = False
        self._jobs_metrics()
        self._step_metrics()
        self._requests = Histogram(
            "motet_http_request_duration_seconds",
            "Time until the first byte of an answer.",
            ("method", "route", "status"),
            buckets=_REQUEST_S,
            registry=self.registry,
        )
        self.registry.register(_Gauges(self._figures, self._lock))

    def text(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self.registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered. `route`: the template of its path."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    # -- the master --------------------------------------------------------------------------------

    def began(self, state: LiveState) -> None:
        """See MasterObserver. What the journal holds already is not counted."""
        with self._lock:
            self._figures.follow(state.jobs.values())
            self._figures.follow_cluster(state)

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """See MasterObserver."""
        with self._lock:
            moves = self._figures.follow(jobs)
            if any(not isinstance(fact, JobFact) for step in steps for fact in step.facts):
                self._figures.follow_cluster(state)
        for queue in moves.submitted:
            self._submitted.labels(queue).inc()
        for final in moves.finished:
            self._finished.labels(final.value).inc()
        for step in steps:
            self._count_step(step, state)

    def launched(self) -> None:
        """See MasterObserver."""
        if self._has_launched:
            self._launchers.inc()
        self._has_launched = True

    def _count_step(self, step: DurableStep, state: LiveState) -> None:
        record = step.record
        self._decisions.observe(step.decided_s)
        self._appends.observe(step.appended_s)
        self._records.inc()
        self._bytes.inc(sum(map(len, (record.events, record.facts, record.actions))))
        for fact in step.facts:
            match fact:
                case AttemptRan(number, attempt):
                    self._count_start(state.jobs[number], attempt)
                case AttemptOver():
                    self._count_end(state.jobs[fact.job], fact)
                case _:
                    continue

    def _count_start(self, job: LiveJob, attempt: int) -> None:
        running = job.attempts[attempt - 1].running_us
        if running is not None and not any(each.running_us for each in job.attempts[: attempt - 1]):
            self._waits.observe((running - job.submitted_us) / 1e6)

    def _count_end(self, job: LiveJob, over: AttemptOver) -> None:
        self._attempts.labels(over.outcome).inc()
        if over.failure:
            self._failures.labels(over.failure).inc()
        if job.attempts[over.attempt - 1].was_preempted:
            self._preemptions.inc()

    # -- what there is -----------------------------------------------------------------------------

    def _jobs_metrics(self) -> None:
        self._submitted = self._counter("jobs_submitted", "Jobs that were submitted.", ("queue",))
        self._finished = self._counter(
            "jobs_finished", "Jobs that have reached a final state.", ("state",)
        )
        for state in _FINAL:
            self._finished.labels(state)
        self._waits = self._histogram(
            "job_wait_seconds", "Time from the submission of a job to its first run.", _WAIT_S
        )
        self._attempts = self._counter("attempts", "Attempts that have ended.", ("outcome",))
        self._failures = self._counter("failures", "Failures of attempts by class.", ("class",))
        self._preemptions = self._counter("preemptions", "Attempts that policies have preempted.")

    def _step_metrics(self) -> None:
        self._decisions = self._histogram(
            "schedule_duration_seconds", "Duration of a step of the engine.", _DECISION_S
        )
        self._appends = self._histogram(
            "journal_append_duration_seconds", "Time until a record is on the disk.", _APPEND_S
        )
        self._records = self._counter("journal_records", "Records added to the journal.")
        self._bytes = self._counter("journal_bytes", "Size of the records, without indexes.")
        self._launchers = self._counter(
            "launcher_restarts", "Launchers that took the place of one that had ended."
        )

    def _counter(self, name: str, text: str, labels: Iterable[str] = ()) -> Counter:
        return Counter(f"motet_{name}", text, tuple(labels), registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"motet_{name}", text, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"motet_{name}", text, buckets=buckets, registry=self.registry)


class _Gauges(Collector):
    """The state of the cluster at the time of a scrape."""

    def __init__(self, figures: ClusterFigures, lock: threading.Lock) -> None:
        self._figures, self._lock = figures, lock

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """See prometheus_client."""
        with self._lock:
            jobs, waiting = dict(self._figures.jobs), self._figures.waiting()
            machines, slots = self._figures.machines(), self._figures.slots()
            queues, idle = self._figures.queues, len(self._figures.idle)
            gpu_ratio = self._figures.gpu_usage()
        everyone = {(state, queue): 0 for state in JobState for queue in queues} | jobs
        family = GaugeMetricFamily("motet_jobs", "Jobs.", labels=("state", "queue"))
        for (state, queue), count in everyone.items():
            family.add_metric((state.value, queue), count)
        yield family
        yield _by("motet_queue_length", "Jobs that wait for slots.", "queue", waiting)
        text = "Jobs that run and write nothing."
        yield GaugeMetricFamily("motet_jobs_without_progress", text, value=idle)
        yield _by("motet_machines", "Machines.", "state", machines)
        yield _by("motet_slots", "Slots of machines that have not left.", "state", slots)
        total = sum(slots.values())
        ratio = slots["used"] / total if total else 0.0
        yield GaugeMetricFamily("motet_slot_usage_ratio", "Used slots by all.", value=ratio)
        if gpu_ratio is not None:
            yield GaugeMetricFamily("motet_gpu_usage_ratio", "Used GPUs by all.", value=gpu_ratio)


def _by(name: str, text: str, label: str, values: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for each, count in values.items():
        family.add_metric((each,), count)
    return family
