"""Runs of jobs in an accounting log, and the jobs that they belong to.

sacct prints a record for every run of a job that was requeued (with `--duplicates`), for every
component of a heterogeneous job, and in dumps of several periods one for every period.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

_RUNS_AGAIN = frozenset(
    (
        *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "PREEMPTED", "NODE_FAIL"),
        *("BOOT_FAIL", "RESIZING"),
    )
)
"""States of a run after which the same job may run again (job_state_codes of Slurm)."""

_COMPONENT = re.compile(r"(?P<job>.+)\+\d+(?P<again>#\d+)?")


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A record of sacct, or a job that consists of several.

    `row`: of its first record. `start_us`, `end_us`: None if unknown. `ran_us`: time on its
    resources; None if it never started. `is_cut`: its time to the end is unknown. `runs`,
    `components`: number of records that were added up.
    """

    id: str
    row: int
    state: str
    submit_us: int
    start_us: int | None
    end_us: int | None
    ran_us: int | None
    gpus: int
    cpus: int
    memory_bytes: int
    nodes: int
    is_cut: bool = False
    runs: int = 1
    components: int = 1


@dataclass(frozen=True)
class JobsOfLog:
    """`repeated`: records that another one replaces; `reused`: jobs with a number used before."""

    jobs: tuple[SlurmJob, ...]
    repeated: int
    reused: int


def jobs_of_log(records: Sequence[SlurmJob]) -> JobsOfLog:
    """Jobs from all records: requeued runs are added up, components are one job."""
    groups: dict[str, list[SlurmJob]] = {}
    for record in records:
        groups.setdefault(record.id, []).append(record)
    jobs: list[SlurmJob] = []
    repeated = reused = 0
    for group in groups.values():
        runs = _latest_views(group)
        repeated += len(group) - len(runs)
        found = _separate_jobs(runs)
        reused += len(found) - 1
        jobs += found
    return JobsOfLog(tuple(_with_components(jobs)), repeated, reused)


def _latest_views(group: Sequence[SlurmJob]) -> list[SlurmJob]:
    """One record per run, by submission; of several records of a run the one that shows most."""
    if len(group) == 1:
        return list(group)
    latest: dict[tuple[int, int | None], SlurmJob] = {}
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


def _progress(record: SlurmJob) -> tuple[bool, int]:
    return not record.is_cut, record.ran_us or 0


def _separate_jobs(runs: Sequence[SlurmJob]) -> list[SlurmJob]:
    """Add up runs that continue the one before; other runs are jobs with a reused number."""
    found: list[SlurmJob] = []
    for run in runs:
        if found and found[-1].state in _RUNS_AGAIN:
            found[-1] = _continued(found[-1], run)
        else:
            found.append(replace(run, id=f"{run.id}#{len(found) + 1}") if found else run)
    return found


def _continued(job: SlurmJob, run: SlurmJob) -> SlurmJob:
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


def _with_components(jobs: Iterable[SlurmJob]) -> list[SlurmJob]:
    """Components of a heterogeneous job, `123+0` and `123+1`, are one job with all resources."""
    found: dict[tuple[str, bool], SlurmJob] = {}
    for job in jobs:
        component = _COMPONENT.fullmatch(job.id)
        name = component["job"] + (component["again"] or "") if component else job.id
        key = (name, component is not None)
        whole = found.get(key)
        found[key] = replace(job, id=name) if whole is None else _joined(whole, job)
    return list(found.values())


def _joined(whole: SlurmJob, part: SlurmJob) -> SlurmJob:
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
