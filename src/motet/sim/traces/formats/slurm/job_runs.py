"""Runs of jobs in an accounting log, and the jobs that they belong to.

sacct prints a record for every run of a job that was requeued (with `--duplicates`), for every
component of a heterogeneous job, and in dumps of several periods one for every period.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from motet.sim.traces.formats.logged_jobs import LoggedJob, count_noun
from motet.sim.traces.formats.slurm.waiting_arrays import CountedArrays, counted_arrays

_RUNS_AGAIN = frozenset(
    (
        *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "PREEMPTED", "NODE_FAIL"),
        *("BOOT_FAIL", "RESIZING"),
    )
)
"""States of a run after which the same job may run again (job_state_codes of Slurm)."""

_COMPONENT = re.compile(r"(?P<job>.+)\+\d+(?P<again>#\d+)?")


@dataclass(frozen=True)
class RunsOfLog:
    """`repeated`: records that another one replaces; `reused`: jobs with a number used before."""

    jobs: tuple[LoggedJob, ...]
    repeated: int
    reused: int
    arrays: CountedArrays

    def notices(self) -> list[str]:
        """What was assumed about records with the same number, and about arrays."""
        found = []
        if self.repeated:
            many = count_noun(self.repeated, "record")
            found.append(f"{many} of runs that others show later: not read")
        if self.reused:
            many = count_noun(self.reused, "job")
            found.append(f"{many} with the number of an earlier job: #2 appended")
        if parts := [job for job in self.jobs if job.components > 1]:
            components = sum(job.components for job in parts)
            whole = count_noun(len(parts), "heterogeneous job")
            found.append(f"{components:,} components of {whole}: read as one job with all GPUs")
        return [*found, *self.arrays.notices()]


def joined_runs(records: Sequence[LoggedJob]) -> RunsOfLog:
    """Jobs from all records: requeued runs are added up, components are one job. Jobs of an array
    that have not started stay together."""
    arrays = counted_arrays(records)
    groups: dict[str, list[LoggedJob]] = {}
    for record in arrays.records:
        groups.setdefault(record.id, []).append(record)
    jobs: list[LoggedJob] = []
    repeated, reused = arrays.repeated, 0
    for group in groups.values():
        runs = _latest_views(group)
        repeated += len(group) - len(runs)
        found = _separate_jobs(runs)
        reused += len(found) - 1
        jobs += found
    return RunsOfLog(tuple(_with_components(jobs)), repeated, reused, arrays)


def _latest_views(group: Sequence[LoggedJob]) -> list[LoggedJob]:
    """One record per run, by submission; of several records of a run the one that shows most."""
    if len(group) == 1:
        return list(group)
    latest: dict[tuple[int, int | None], LoggedJob] = {}
    for record in group:
        key = (record.submit_us, record.start_us)
        if key not in latest or _progress(record) > _progress(latest[key]):
            latest[key] = record
    started = {submit_us for submit_us, start_us in latest if start_us is not None}
    runs = [
        record
        for record in latest.values()
        if record.start_us is not None or record.submit_us not in started
    ]
    return sorted(runs, key=lambda run: (run.submit_us, run.start_us is None, run.start_us or 0))


def _progress(record: LoggedJob) -> tuple[bool, int]:
    return not record.is_cut, record.ran_us or 0


def _separate_jobs(runs: Sequence[LoggedJob]) -> list[LoggedJob]:
    """Add up runs that continue the one before; other runs are jobs with a reused number."""
    found: list[LoggedJob] = []
    for run in runs:
        if found and found[-1].state in _RUNS_AGAIN:
            found[-1] = _continued(found[-1], run)
        else:
            found.append(replace(run, id=f"{run.id}#{len(found) + 1}") if found else run)
    return found


def _continued(job: LoggedJob, run: LoggedJob) -> LoggedJob:
    ran = [each for each in (job.ran_us, run.ran_us) if each is not None]
    return replace(
        job,
        state=run.state,
        start_us=run.start_us if job.start_us is None else job.start_us,
        end_us=run.end_us,
        ran_us=sum(ran) if ran else None,
        gpus=max(job.gpus, run.gpus),
        cpus=max(job.cpus, run.cpus),
        memory_bytes=max(job.memory_bytes, run.memory_bytes),
        nodes=max(job.nodes, run.nodes),
        is_cut=run.is_cut or run.ran_us is None,
        runs=job.runs + run.runs,
    )


def _with_components(jobs: Iterable[LoggedJob]) -> list[LoggedJob]:
    """Components of a heterogeneous job, `123+0` and `123+1`, are one job with all resources."""
    found: dict[tuple[str, bool], LoggedJob] = {}
    for job in jobs:
        component = _COMPONENT.fullmatch(job.id)
        if component is None:
            found[job.id, False] = job
            continue
        name = component["job"] + (component["again"] or "")
        whole = found.get((name, True))
        found[name, True] = replace(job, id=name) if whole is None else _joined(whole, job)
    return list(found.values())


def _joined(whole: LoggedJob, part: LoggedJob) -> LoggedJob:
    ran = [each for each in (whole.ran_us, part.ran_us) if each is not None]
    return replace(
        whole,
        submit_us=min(whole.submit_us, part.submit_us),
        ran_us=max(ran) if ran else None,
        gpus=whole.gpus + part.gpus,
        cpus=whole.cpus + part.cpus,
        memory_bytes=whole.memory_bytes + part.memory_bytes,
        nodes=whole.nodes + part.nodes,
        is_cut=whole.is_cut or part.is_cut,
        components=whole.components + 1,
    )
