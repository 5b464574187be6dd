"""`kubectl get workloads -A -o json` of Kueue, and `kubectl get jobs -A -o json`."""

from __future__ import annotations

from collections.abc import Sequence

from motet.domain.errors import BadInput
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.json_entries import entries_of_items
from motet.sim.traces.formats.kubernetes.objects import ClusterJob, ObjectReader, object_name
from motet.sim.traces.formats.logged_jobs import JobLog, LoggedJob
from motet.sim.traces.problems import BadRow, Problems
from motet.sim.traces.source import Source
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Jobs

_MARKS = ('"podSets"', '"kueue.x-k8s.io/', '"batch/v1"')
_COUNT_OTHERS = "to let another resource count: --columns num_gpus=cpu"


class KueueFormat(TraceFormat):
    """A list of objects; workloads of Kueue have the times of their admission."""

    name = "kueue"
    described = "Kueue workloads or Kubernetes jobs (kubectl -o json)"
    takes_columns = True

    def recognises(self, source: Source) -> bool:
        """Whether it is JSON with objects of Kueue or batch jobs."""
        return source.head[0].lstrip()[:1] in ("[", "{") and any(
            mark in line for line in source.head for mark in _MARKS
        )

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. Time 0 is the first submission.

        A job's duration is the time from its admission to its end, and that of runs that ended in
        an eviction. Workloads that never started or request no GPU are left out.
        """
        gpu_resource = _gpu_resource(source)
        stamps = TimeStamps(source.options.zone)
        reader = ObjectReader(stamps, gpu_resource)
        lines: list[int] = []
        found: dict[int, ClusterJob] = {}
        for row, (line, entry) in enumerate(entries_of_items(source)):
            lines.append(line)
            try:
                found[row] = reader.read(entry)
            except BadRow as error:
                problems.add_error(row, error, object_name(entry, row))
        now_us = max((job.seen_us for job in found.values()), default=0)
        jobs = [_logged(row, job, now_us) for row, job in found.items()]
        log = JobLog(jobs, lines, _texts(found, len(lines)), _COUNT_OTHERS, stamps)
        return log.replayable(problems, stamps.notices())[0]


def _gpu_resource(source: Source) -> str | None:
    """The resource that the user lets count as GPU. Raises BadInput for other columns."""
    others = [name for name in source.options.columns if name != "num_gpus"]
    if others:
        raise BadInput(
            f"--columns {others[0]}=...: Kubernetes objects have no columns; only "
            "num_gpus=RESOURCE chooses the resource that counts, for example num_gpus=cpu"
        )
    return source.options.columns.get("num_gpus")


def _logged(row: int, job: ClusterJob, now_us: int) -> LoggedJob:
    """`now_us`: the latest time in the log, until which running jobs ran at least."""
    is_running = job.start_us is not None and job.end_us is None
    ran_us: int | None = None
    if job.start_us is not None:
        until_us = now_us if job.end_us is None else job.end_us
        ran_us = until_us - job.start_us + job.past_us
    elif job.past_us:
        ran_us = job.past_us
    return LoggedJob(
        job.id,
        row,
        job.state,
        job.submit_us,
        job.start_us,
        job.end_us,
        ran_us,
        job.needs.gpus,
        job.needs.cpus,
        job.needs.memory_bytes,
        0,
        is_cut=is_running or (ran_us is not None and job.end_us is None),
        runs=1 + (job.past_us > 0 and job.start_us is not None),
    )


def _texts(found: dict[int, ClusterJob], count: int) -> dict[str, Sequence[str]]:
    def column(name: str) -> list[str]:
        return [str(getattr(found[row], name)) if row in found else "" for row in range(count)]

    return {
        "user": column("namespace"),
        "queue": column("queue"),
        "priority": column("priority"),
    }
