"""Removal of valid rows without anything to schedule, such as jobs that never ran."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from motet.sim.traces.problems import Problems
from motet.sim.traces.trace import Jobs

T = TypeVar("T")


def without(
    jobs: Jobs,
    problems: Problems,
    rows: Collection[int],
    because: str,
    counts: Sequence[int] | None = None,
) -> Jobs:
    """Return `jobs` without these rows, with a notice such as "12 jobs BECAUSE: left out".

    `counts`: the number of jobs that each row stands for. None: one.
    """
    gone = {row for row in rows if row not in problems}
    if not gone:
        return jobs
    kept = [row for row in range(len(jobs)) if row not in gone]
    problems.renumber(kept)

    def only(cells: Sequence[T]) -> list[T]:
        return [cells[row] for row in kept]

    lost, total = len(gone), len(jobs)
    if counts is not None:
        lost, total = sum(counts[row] for row in gone), sum(counts)
    notice = f"{lost:,} of {total:,} jobs {because}: left out"
    return replace(
        jobs,
        lines=only(jobs.lines),
        ids=only(jobs.ids),
        submit_us=only(jobs.submit_us),
        duration_us=only(jobs.duration_us),
        gpus=only(jobs.gpus),
        cpus=only(jobs.cpus) if jobs.cpus else (),
        memory_bytes=only(jobs.memory_bytes) if jobs.memory_bytes else (),
        text={name: only(cells) for name, cells in jobs.text.items()},
        notices=(*jobs.notices, notice),
        work=None if jobs.work is None else jobs.work.take(kept),
        interventions=None if jobs.interventions is None else jobs.interventions.take(kept),
    )
