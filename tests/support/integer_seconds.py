"""A second, plain simulator in whole seconds, to compare ours with job by job.

It follows the published simulator of Tiresias as its authors describe it: GPU counts only, free
preemption; at one instant completions, arrivals, service update with demotions and promotions, and
a full decision from an empty cluster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Job:
    """One job; times in seconds."""

    number: int
    submit: int
    duration: int
    gpus: int
    done: int = 0
    start: int = -1
    end: int = -1
    runs: bool = False
    level: int = 0
    executed: int = 0
    pending: int = 0
    preemptions: int = 0
    promotions: int = 0


def simulate(
    rows: list[tuple[int, int, int]],
    gpu_count: int,
    policy: str,
    limits: tuple[int, ...] = (),
    knob: float = math.inf,
) -> list[Job]:
    """`rows`: (submit, duration, gpus) by job number, in the order of their submission."""
    jobs = [Job(number, *row) for number, row in enumerate(rows)]
    waiting = list(jobs)
    active: list[Job] = []
    queues: list[list[Job]] = [[] for _ in range(len(limits) + 1)]
    now = 0
    while waiting or active:
        now = _next_time(now, waiting, active, limits if policy == "las" else (), knob)
        passed = now - _last(active, now)
        for job in active:
            _age(job, passed)
            job.clock = now  # type: ignore[attr-defined]
        for job in [job for job in active if job.done == job.duration]:
            job.end, job.runs = now, False
            active.remove(job)
            queues[job.level].remove(job)
        while waiting and waiting[0].submit == now:
            job = waiting.pop(0)
            job.clock = now  # type: ignore[attr-defined]
            active.append(job)
            queues[0].append(job)
        if policy == "las":
            _move(sorted(active, key=lambda job: job.number), queues, limits, knob)
        if policy in ("srtf", "srsf"):
            weight = (lambda j: j.gpus) if policy == "srsf" else (lambda j: 1)
            active.sort(key=lambda j: (j.duration - j.done) * weight(j))
        ordered = [job for queue in queues for job in queue] if policy == "las" else active
        if policy in ("fifo", "best-effort"):
            ordered = sorted(active, key=lambda job: not job.runs)
        _allocate(ordered, gpu_count, now, strict=policy == "fifo")
        for queue in queues:
            queue.sort(key=lambda job: not job.runs)
    return jobs


def _last(active: list[Job], now: int) -> int:
    return active[0].clock if active else now  # type: ignore[attr-defined, no-any-return]


def _age(job: Job, passed: int) -> None:
    if job.runs:
        job.done += passed
        job.executed += passed
    else:
        job.pending += passed


def _next_time(
    now: int, waiting: list[Job], active: list[Job], limits: tuple[int, ...], knob: float
) -> int:
    times = [waiting[0].submit] if waiting else []
    for job in active:
        if not job.runs:
            if job.level and job.executed and knob < math.inf:
                times.append(now + max(math.ceil(knob * job.executed) - job.pending, 1))
            continue
        times.append(now + job.duration - job.done)
        if job.level < len(limits):
            left = limits[job.level] - job.executed * job.gpus
            times.append(now + max(-(-left // job.gpus), 1))
    return min(times)


def _move(active: list[Job], queues: list[list[Job]], limits: tuple[int, ...], knob: float) -> None:
    for job in active:
        if job.runs and job.level < len(limits):
            if job.executed * job.gpus >= limits[job.level]:
                _to(job, job.level + 1, queues)
        elif not job.runs and job.level and job.executed and job.pending >= knob * job.executed:
            _to(job, 0, queues)
            job.promotions += 1
            job.executed = job.pending = 0


def _to(job: Job, level: int, queues: list[list[Job]]) -> None:
    queues[job.level].remove(job)
    job.level = level
    queues[level].append(job)


def _allocate(ordered: list[Job], free: int, now: int, *, strict: bool) -> None:
    is_blocked = False
    for job in ordered:
        fits = job.gpus <= free and not is_blocked
        is_blocked = is_blocked or (strict and not fits)
        if fits:
            free -= job.gpus
            job.start = now if job.start < 0 else job.start
        elif job.runs:
            job.preemptions += 1
        job.runs = fits
