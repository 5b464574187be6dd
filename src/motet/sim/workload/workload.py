"""Jobs to replay, as columns in order of arrival."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from motet.domain.arrays import Bools, Ints
from motet.domain.snapshot import UNKNOWN
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.interventions import Interventions

_DIGITS = re.compile(r"(\d+)")
_MOST_DIGITS = 4_000  # Python's limit for parsing integers.


@dataclass(frozen=True, eq=False)
class Workload:
    """A row per job, by (submit time, id); the row is the job's number.

    `duration_us`: run time on its GPUs, alone and consolidated. `model`: index into `model_names`,
    or UNKNOWN. `queue`: index into `queue_names`. `user`: "" if unknown. `work`: of elastic jobs
    (None: there are none); their duration is that on their full request. `cpus`, `memory_bytes`: of
    the full request, spread over its GPUs; 0: no requirement. `experiment`: index into
    `experiment_names`; UNKNOWN: a single job. `cut`: jobs whose duration is only a part of the time
    that they needed, since they were stopped or had not ended (None: there are none). `arrival_us`:
    ascending, when the policy gets to know the jobs (None: at `submit_us`).
    """

    ids: tuple[str, ...]
    submit_us: Ints
    duration_us: Ints
    gpus: Ints
    queue: Ints
    queue_names: tuple[str, ...]
    model: Ints
    model_names: tuple[str, ...]
    users: tuple[str, ...]
    cpus: Ints
    memory_bytes: Ints
    work: WorkModels | None
    experiment: Ints
    experiment_names: tuple[str, ...]
    interventions: Interventions | None = None
    cut: Bools | None = None
    arrival_us: Ints | None = None

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        submit_us: Any,
        duration_us: Any,
        gpus: Any,
        *,
        queues: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        users: Sequence[str] | None = None,
        cpus: Any = 0,
        memory_bytes: Any = 0,
        work: WorkModels | None = None,
        experiments: Sequence[str] | None = None,
        interventions: Interventions | None = None,
        cut: Sequence[bool] | None = None,
    ) -> Self:
        """A workload from columns in any order. Work models determine duration and GPUs."""
        submit = np.asarray(submit_us, dtype=np.int64)
        order = _arrival_order(submit, ids)
        queue, queue_names = _indexed(queues or ["default"] * len(ids), order)
        model, model_names = _indexed(models or [""] * len(ids), order)
        experiment, experiment_names = _indexed(experiments or [""] * len(ids), order)

        def column(values: Any) -> Ints:
            whole = np.asarray(values, dtype=np.int64)
            return np.broadcast_to(whole, (len(ids),))[order]

        if work is not None:
            duration_us = np.where(work.is_modelled, work.duration_us(), duration_us)
            gpus = np.where(work.is_modelled, work.gpus, gpus)
        return cls(
            tuple(ids[row] for row in order),
            column(submit),
            column(duration_us),
            column(gpus),
            queue,
            queue_names or ("default",),
            model,
            model_names,
            tuple(users[row] for row in order) if users else ("",) * len(ids),
            column(cpus),
            column(memory_bytes),
            None if work is None else work.take(order),
            experiment,
            experiment_names,
            None if interventions is None else interventions.take(order),
            np.array(cut, dtype=np.bool_)[order] if cut is not None and any(cut) else None,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_cut(self) -> Bools:
        """`(jobs,)`: as `cut`."""
        return np.zeros(len(self), dtype=np.bool_) if self.cut is None else self.cut

    def __repr__(self) -> str:
        return f"<Workload: {len(self):,} jobs, {self.gpus.sum():,} GPUs asked for in all>"


def _arrival_order(submit_us: Ints, ids: Sequence[str]) -> list[int]:
    """Rows by submit time, then id; ids are compared only where times are equal."""
    order = np.argsort(submit_us, kind="stable")
    ends = [*(np.flatnonzero(np.diff(submit_us[order])) + 1).tolist(), len(order)]
    rows: list[int] = order.tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
        if end - begin > 1:
            rows[begin:end] = sorted(
                rows[begin:end], key=lambda row: (natural_key(ids[row]), ids[row])
            )
    return rows


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts "job-9" before "job-10"."""
    return tuple(
        (0, int(part)) if part.isdecimal() and len(part) <= _MOST_DIGITS else (1, part)
        for part in _DIGITS.split(text)
        if part
    )


def _indexed(values: Sequence[str], order: Sequence[int]) -> tuple[Ints, tuple[str, ...]]:
    """Indices of the values in `order`, UNKNOWN for "", and their sorted names."""
    names = tuple(sorted({value for value in values if value}))
    index = {name: place for place, name in enumerate(names)} | {"": UNKNOWN}
    return np.array([index[values[row]] for row in order], dtype=np.int64), names
