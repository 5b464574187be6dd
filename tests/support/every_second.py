"""Tiresias-LAS decided anew at every second: an oracle without any computation of event times.

At each second, in this order: completed jobs leave, jobs of this second arrive, jobs move between
queues, and all GPUs are distributed anew. Only counts of GPUs matter; preemptions cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Trial:
    """A job; `ran` and `waited` count the seconds since it last entered the first queue."""

    duration: int
    gpus: int
    left: int
    ran: int = 0
    waited: int = 0
    holds: bool = False
    history: list[str] = field(default_factory=list)
    start: int = -1
    end: int = -1


def run_every_second(
    rows: list[tuple[int, int, int]], gpu_count: int, limits: tuple[int, ...], knob: float
) -> list[Trial]:
    """`rows`: (submit, duration, gpus), by submission. `limits`: GPU-seconds of each queue but the
    last. `history` of a result: the second of each preemption, demotion and promotion.
    """
    jobs = [Trial(duration, gpus, duration) for _, duration, gpus in rows]
    queues: list[list[int]] = [[] for _ in range(len(limits) + 1)]
    second = 0
    while any(job.end < 0 for job in jobs):
        for queue in queues:
            queue[:] = [number for number in queue if not _leaves(jobs[number], second)]
        queues[0] += [number for number, row in enumerate(rows) if row[0] == second]
        _move(jobs, queues, limits, knob, second)
        _hand_out(jobs, queues, gpu_count, second)
        for queue in queues:
            queue.sort(key=lambda number: not jobs[number].holds)
            for number in queue:
                _pass_a_second(jobs[number])
        second += 1
    return jobs


def _leaves(job: Trial, second: int) -> bool:
    if job.left == 0:
        job.end, job.holds = second, False
    return job.left == 0


def _pass_a_second(job: Trial) -> None:
    job.left -= job.holds
    job.ran += job.holds
    job.waited += not job.holds


def _move(
    jobs: list[Trial],
    queues: list[list[int]],
    limits: tuple[int, ...],
    knob: float,
    second: int,
) -> None:
    """Demotions and promotions of this second, in the order of job numbers."""
    level_of = {number: level for level, queue in enumerate(queues) for number in queue}
    for number, level in sorted(level_of.items()):
        job = jobs[number]
        used_up = level < len(limits) and job.ran * job.gpus >= limits[level]
        starves = level > 0 and job.ran > 0 and job.waited >= knob * job.ran
        if job.holds and used_up:
            _to_tail(number, queues, level, level + 1)
            job.history.append(f"demoted {second}")
        elif not job.holds and starves:
            _to_tail(number, queues, level, 0)
            job.history.append(f"promoted {second}")
            job.ran = job.waited = 0


def _to_tail(number: int, queues: list[list[int]], old: int, new: int) -> None:
    queues[old].remove(number)
    queues[new].append(number)


def _hand_out(jobs: list[Trial], queues: list[list[int]], free: int, second: int) -> None:
    for number in [number for queue in queues for number in queue]:
        job = jobs[number]
        fits = job.gpus <= free
        if fits:
            free -= job.gpus
            job.start = second if job.start < 0 else job.start
        elif job.holds:
            job.history.append(f"preempted {second}")
        job.holds = fits


def count_of(job: Trial, kind: str) -> int:
    """How often the job was `preempted`, `demoted` or `promoted`."""
    return sum(entry.startswith(kind) for entry in job.history)
