"""Work models of elastic jobs: steps, speeds by configuration, and loss curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import product
from math import ceil, isinf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats, Ints
from motet.domain.estimates import Overlap
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import LONGEST_S, SECOND_US
from motet.estimate.speed_function import PARAMETERS, SpeedFunctions, SpeedMode, speed
from motet.report.rendering.quantities import count_text
from motet.sim.curves import LossCurve
from motet.sim.workload.subtask_work import SubtaskWork

MOST_OF_A_ROLE = 1_000_000
SLOWEST, FASTEST = 1e-6, 1e9
MOST_GPU_S = LONGEST_S
FULL_REQUEST_MUST_FIT = "the full request of an elastic job must fit"
ROLE_COLUMNS = (
    "workers",
    "servers",
    "min_workers",
    "max_workers",
    "min_servers",
    "max_servers",
    "worker_gpus",
    "server_gpus",
)


@dataclass(frozen=True, eq=False)
class WorkModels:
    """A row per job of a workload, `(jobs,)` columns.

    `planned_steps`: the job ends after these steps, or earlier at `target_loss` (NaN: none); 0: a
    rigid job without a model, whose other columns are unused. `steps`: the actual number of steps.
    `workers`, `servers`: of its full request, within the limits. `worker_gpus`, `server_gpus`: GPUs
    of each. `speeds`: true steps per second. `curve`: index into `curves`, which cover the planned
    steps; or UNKNOWN. `subtasks`: COMP and COMM times, from which those jobs' speeds follow (None:
    no job has them).
    """

    planned_steps: Ints
    steps: Ints
    workers: Ints
    servers: Ints
    min_workers: Ints
    max_workers: Ints
    min_servers: Ints
    max_servers: Ints
    worker_gpus: Ints
    server_gpus: Ints
    speeds: SpeedFunctions
    curve: Ints
    curves: tuple[LossCurve, ...]
    target_loss: Floats
    subtasks: SubtaskWork | None = None

    @classmethod
    def of(
        cls,
        planned_steps: Any,
        speed_mode: Any,
        speed: Any,
        *,
        curves: Sequence[LossCurve | None] = (),
        target_loss: Any = np.nan,
        subtasks: SubtaskWork | None = None,
        **roles: Any,
    ) -> Self:
        """Work models from columns; scalars apply to every job. `speed`: `(jobs, 6)`, as
        `PARAMETERS`.

        `curves`: of every job, None for jobs without one. `roles`: of `ROLE_COLUMNS`; by default
        one to `workers` workers of one GPU, no servers. Jobs with `subtasks` have the speed that
        follows from these, whatever `speed_mode` and `speed` say.
        """
        planned = np.atleast_1d(np.asarray(planned_steps, dtype=np.int64))
        size = len(planned)
        target = np.broadcast_to(np.asarray(target_loss, np.float64), (size,)).copy()
        given = _with_defaults(roles)
        known = tuple({id(each): each for each in curves if each is not None}.values())
        places = {id(each): place for place, each in enumerate(known)} | {id(None): UNKNOWN}
        index = [places[id(each)] for each in curves] if curves else UNKNOWN
        parameters = np.broadcast_to(np.asarray(speed, np.float64), (size, len(PARAMETERS)))
        speeds = SpeedFunctions(_column(speed_mode, size), parameters.copy())
        if subtasks is not None:
            _set_speeds(speeds, subtasks)
        return cls(
            planned_steps=planned,
            steps=_last_steps(planned, target, curves or [None] * size),
            speeds=speeds,
            subtasks=subtasks,
            curve=_column(index, size),
            curves=known,
            target_loss=target,
            **{name: _column(given[name], size) for name in ROLE_COLUMNS},
        )

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def is_modelled(self) -> NDArray[np.bool_]:
        """Which jobs have a model."""
        modelled: NDArray[np.bool_] = self.steps > 0
        return modelled

    @property
    def gpus(self) -> Ints:
        """GPUs of the full request."""
        return self.workers * self.worker_gpus + self.servers * self.server_gpus

    def duration_us(self) -> Ints:
        """Run time of each job on its full request, alone and consolidated; 0 without a model."""
        speeds = self.speeds.steps_per_s(self.workers, self.servers)
        if self.subtasks is not None:
            for job in np.flatnonzero(self.subtasks.overlap == Overlap.ALWAYS).tolist():
                speeds[job] = self.full_speed(job)
        durations = [
            time_of(steps, speed) if steps else 0
            for steps, speed in zip(self.steps.tolist(), speeds.tolist(), strict=True)
        ]
        return np.array(durations, dtype=np.int64)

    def full_speed(self, job: int) -> float:
        """Steps per second of a job on its full request, alone and consolidated."""
        workers, servers = int(self.workers[job]), int(self.servers[job])
        if self.subtasks is not None and self.subtasks.overlap[job] == Overlap.ALWAYS:
            return 1 / self.subtasks.times(job, workers).iteration_s
        return float(self.speeds.take([job]).steps_per_s(workers, servers)[0])

    def take(self, rows: Any) -> Self:
        """These rows, in this order."""
        whole = ("curves", "speeds", "subtasks")
        names = [field.name for field in fields(self) if field.name not in whole]
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        subtasks = None if self.subtasks is None else self.subtasks.take(rows)
        speeds = self.speeds.take(rows)
        return type(self)(curves=self.curves, speeds=speeds, subtasks=subtasks, **columns)

    def curve_of(self, job: int) -> LossCurve | None:
        """The true loss curve of a job."""
        index = int(self.curve[job])
        return None if index == UNKNOWN else self.curves[index]

    def loss(self, job: int, steps: Any) -> Floats:
        """Losses of a job after these steps, `(n,)`; NaN if the job has no curve."""
        done, curve = np.asarray(steps, dtype=np.float64), self.curve_of(job)
        if curve is None:
            return np.full(done.shape, np.nan)
        return curve.at(done / int(self.planned_steps[job]))

    def complaints(self) -> Iterator[tuple[int, str]]:
        """Invalid jobs with the first reason for each."""
        wrong = {} if self.subtasks is None else dict(self.subtasks.complaints())
        yield from wrong.items()
        for job in np.flatnonzero(self.is_modelled).tolist():
            if job in wrong:
                continue
            text = self._wrong_role(job, "worker") or self._wrong_role(job, "server")
            text = text or self._wrong_end(job) or self._wrong_speed(job)
            if text:
                yield job, text

    def _wrong_role(self, job: int, role: str) -> str | None:
        asked, least, most = (
            int(getattr(self, name)[job]) for name in (f"{role}s", f"min_{role}s", f"max_{role}s")
        )
        smallest = 1 if role == "worker" else 0
        if not smallest <= least <= asked <= most <= MOST_OF_A_ROLE:
            return (
                f"min_{role}s, {role}s and max_{role}s are {least}, {asked} and {most}, they must "
                f"ascend within {smallest} and {MOST_OF_A_ROLE:,}"
            )
        gpus = int(getattr(self, f"{role}_gpus")[job])
        if not smallest <= gpus <= MOST_OF_A_ROLE:
            return f"{role}_gpus is {gpus}, it must be within {smallest} and {MOST_OF_A_ROLE:,}"
        if role == "server" and most > 0 and least == 0:
            return f"min_servers is 0, it must be at least 1 where max_servers is {most}"
        return None

    def _wrong_end(self, job: int) -> str | None:
        target, curve = float(self.target_loss[job]), self.curve_of(job)
        if np.isnan(target):
            return None
        if curve is None:
            return f"target_loss is {target:g}, but the job has no curve"
        if target >= curve.losses[0]:
            return (
                f"target_loss is {target:g}, its curve begins at {curve.losses[0]:g}; give a loss "
                f"below that, at least {curve.lowest:g}"
            )
        if target < curve.lowest:
            return f"target_loss is {target:g}, its curve never falls below {curve.lowest:g}"
        return None

    def _wrong_speed(self, job: int) -> str | None:
        """Check the corners of the range, where steps are slowest, since all terms are convex."""
        mode, parameters = int(self.speeds.mode[job]), self.speeds.parameters[job]
        if mode == SpeedMode.UNKNOWN:
            return "the job has no speed, it must be sync or async"
        if not (np.isfinite(parameters).all() and (parameters >= 0).all()):
            return "a parameter of its speed is negative or no number"
        for workers, servers in product(self._limits(job, "workers"), self._limits(job, "servers")):
            found = speed(mode, parameters.tolist(), workers, servers)
            if not SLOWEST <= found <= FASTEST:
                gang = f"{count_text(workers, 'worker')} and {count_text(servers, 'server')}"
                if isinf(found):
                    return f"with {gang} its steps take no time; give a speed_t0 above 0 (seconds)"
                return (
                    f"with {gang} it makes {found:g} steps per second, it must be within "
                    f"{SLOWEST:g} and {FASTEST:g}"
                )
            gpus = workers * int(self.worker_gpus[job]) + servers * int(self.server_gpus[job])
            if self.planned_steps[job] / found * gpus >= MOST_GPU_S:
                return f"{self.planned_steps[job]} steps at {found:g} per second take too long"
        return None

    def _limits(self, job: int, roles: str) -> tuple[int, int]:
        columns = getattr(self, f"min_{roles}"), getattr(self, f"max_{roles}")
        return int(columns[0][job]), int(columns[1][job])


def _last_steps(planned: Ints, target: Floats, curves: Sequence[LossCurve | None]) -> Ints:
    """The actual number of steps: the first step that reaches the target loss, if a job has one."""
    last = planned.copy()
    for job in np.flatnonzero(~np.isnan(target)).tolist():
        curve = curves[job]
        if curve is not None and target[job] >= curve.lowest:
            last[job] = max(ceil(curve.part_until(float(target[job])) * int(planned[job])), 1)
    return last


def _set_speeds(speeds: SpeedFunctions, subtasks: SubtaskWork) -> None:
    """A synchronous job of w workers takes COMP / w + COMM for a step."""
    known = subtasks.is_known
    speeds.mode[known] = int(SpeedMode.SYNC)
    speeds.parameters[known] = 0.0
    speeds.parameters[known, 0] = subtasks.comp_s[known]
    speeds.parameters[known, 1] = subtasks.comm_s[known]
    speeds.parameters[known, PARAMETERS.index("batch")] = 1.0


def time_of(steps: int, steps_per_s: float) -> int:
    """Microseconds for this number of steps, rounded up; exact."""
    return -(-Fraction(steps) * SECOND_US // Fraction(steps_per_s))


def _with_defaults(roles: Mapping[str, Any]) -> Mapping[str, Any]:
    workers, servers = roles.get("workers", 1), roles.get("servers", 0)
    usual = {
        "workers": workers,
        "servers": servers,
        "min_workers": 1,
        "max_workers": workers,
        "min_servers": servers,
        "max_servers": servers,
        "worker_gpus": 1,
        "server_gpus": 0,
    }
    return usual | dict(roles)


def _column(values: Any, size: int) -> Ints:
    return np.broadcast_to(np.asarray(values, dtype=np.int64), (size,)).copy()
