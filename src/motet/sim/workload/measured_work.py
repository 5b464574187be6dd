"""Work of jobs whose speeds were measured at some sizes, instead of given by a formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from motet.domain.arrays import Ints
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS
from motet.estimate.colocation.group_time import group_iteration_s
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.estimate.speed_function import PARAMETERS
from motet.sim.workload.elastic_work import ROLE_COLUMNS, WorkModels
from motet.sim.workload.size_speeds import SizeSpeeds

KnownSpeeds: TypeAlias = SizeSpeeds | SubtaskProfile
"""A profile makes an iteration one step, also beside the jobs on the same machines."""


@dataclass(frozen=True, eq=False)
class MeasuredJob:
    """`steps`: until its end. `roles`: values of ROLE_COLUMNS. `takes_proposals`: it begins with
    its full request, and proposes other sizes."""

    steps: int
    roles: Mapping[str, int]
    speeds: KnownSpeeds
    takes_proposals: bool = False

    @property
    def gpus(self) -> int:
        """Of its full request."""
        workers = self.roles["workers"] * self.roles["worker_gpus"]
        return workers + self.roles["servers"] * self.roles["server_gpus"]

    @property
    def full_speed(self) -> float:
        """Steps per second on the full request."""
        return steps_per_s(self.speeds, self.roles["workers"], self.roles["servers"])


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredWork(WorkModels):
    """`measured`: by job; None: a job without a model."""

    measured: tuple[MeasuredJob | None, ...]

    @classmethod
    def of_jobs(cls, jobs: Sequence[MeasuredJob | None]) -> Self:
        """A row for each."""
        steps = [0 if job is None else job.steps for job in jobs]
        blank = np.zeros((len(jobs), len(PARAMETERS)))
        roles: dict[str, Any] = {name: _column(jobs, name) for name in ROLE_COLUMNS}
        base = WorkModels.of(steps, 0, blank, **roles)
        return cls(
            planned_steps=base.planned_steps,
            steps=base.steps,
            speeds=base.speeds,
            curve=base.curve,
            curves=base.curves,
            target_loss=base.target_loss,
            measured=tuple(jobs),
            **roles,
        )

    def complaints(self) -> Iterator[tuple[int, str]]:
        """None: what was measured is so."""
        yield from ()

    def columns(self, job: int) -> dict[str, int]:
        """Of an arriving job, beside those of its roles."""
        known = self.measured[job]
        if known is None or not known.takes_proposals:
            return {}
        sizes = {f"proposed_{role}": known.roles[role] for role in ("workers", "servers")}
        return {TAKES_PROPOSALS: 1, **sizes}


def is_measured(speeds: KnownSpeeds, workers: int, servers: int) -> bool:
    """Whether the job was measured with this size."""
    if isinstance(speeds, SubtaskProfile):
        return workers in {count.machines for count in speeds.counts}
    return (workers, servers) in speeds.measured


def steps_per_s(speeds: KnownSpeeds, workers: int, servers: int) -> float:
    """Of a job that shares its machines with no other."""
    if isinstance(speeds, SubtaskProfile):
        return 1 / group_iteration_s([speeds.at(workers)])
    return speeds.at(workers, servers)


def _column(jobs: Sequence[MeasuredJob | None], name: str) -> Ints:
    usual = 1 if name in ("workers", "min_workers", "max_workers", "worker_gpus") else 0
    return np.array([usual if job is None else job.roles[name] for job in jobs], np.int64)
