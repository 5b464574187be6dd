"""Measurements of elastic jobs and machines, and predictions that are computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from motet.domain.arrays import Bools, Floats, Ints


class LossForecasts(Protocol):
    """Predicted loss curves of several jobs."""

    def __len__(self) -> int: ...

    def predict(self, iterations: ArrayLike, /) -> Floats:
        """Losses after these steps, `(jobs,)` or `(jobs, n)`; steps from the last report on."""
        ...

    def disagreement(self, iterations: ArrayLike, /) -> Floats:
        """How far fitted curves lie from their blend, which the noise of single reports does not
        widen; shaped as in `predict`."""
        ...

    def iterations_to(self, losses: ArrayLike, /) -> Floats:
        """The first steps after which losses are at most these, `(jobs,)`; infinity: never."""
        ...


class Overlap(IntEnum):
    """Whether a job trains asynchronously, with COMM beside COMP.

    NEVER: not at all. PERMITTED: its user lets the policy decide, which changes the result. ALWAYS:
    its user wants it.
    """

    NEVER = 0
    PERMITTED = 1
    ALWAYS = 2


@dataclass(frozen=True, slots=True)
class DataSizes:
    """Bytes of the input, and of the model with working memory, on all machines of a job; whether
    it trains asynchronously."""

    input_bytes: int
    model_bytes: int
    overlap: Overlap = Overlap.NEVER

    @classmethod
    def of_values(cls, input_bytes: int, model_bytes: int, overlap: int = 0) -> DataSizes:
        """The inverse of `values`. Raises ValueError."""
        return cls(input_bytes, model_bytes, Overlap(overlap))

    @property
    def values(self) -> list[int]:
        """For a journal; those of jobs that never overlap are two, as in journals from before."""
        sizes = [self.input_bytes, self.model_bytes]
        return [*sizes, int(self.overlap)] if self.overlap else sizes


@dataclass(frozen=True, eq=False, slots=True)
class SubtaskEstimates:
    """COMP and COMM of jobs, a row per row of the `JobTable`, `(jobs,)`.

    Specified by the user: `input_bytes`, and `model_bytes` with working memory, on all machines
    together; NaN for a job that does not report COMP and COMM. Of one that reports the memory of
    its processes, `input_bytes` is 0, since what it keeps on disk is not in it; on the machine that
    needs most, of m machines, it needs `model_bytes` / m + `machine_bytes`. The latter is 0 before.
    `overlap`: an `Overlap`.

    Measured: on m machines an iteration takes `divided_s` / m + `constant_s` seconds of COMP,
    `comm_s` of COMM, and `outside_s` of the core of COMP, outside of it (0: the machine has other
    cores); NaN before the first measurement, which `is_measured` tells.
    """

    input_bytes: Floats
    model_bytes: Floats
    machine_bytes: Floats
    divided_s: Floats
    constant_s: Floats
    comm_s: Floats
    outside_s: Floats
    overlap: Ints

    @property
    def are_reported(self) -> Bools:
        """Which jobs report COMP and COMM."""
        return ~np.isnan(self.input_bytes)

    @property
    def is_measured(self) -> Bools:
        """Which jobs have a profile."""
        return ~np.isnan(self.comm_s)


@dataclass(frozen=True, eq=False, slots=True)
class Estimates:
    """A row per row of the `JobTable`, `(jobs,)` unless stated otherwise; NaN if unknown.

    Measured: `steps_done`; the present `loss`; `first_loss`; `largest_change`: the largest decrease
    of the loss between consecutive measurements, per step (SLAQ, section 3.1, divides by it to
    compare jobs).

    Specified by the user: `target_loss` at which the job ends, or `planned_steps` after which it
    ends.

    Predicted: `forecasts`, loss curves of the jobs with a known `loss`, a row for each in their
    order (None: there is no fitter); `steps_left` to the end, infinite if the loss never reaches
    its target; steps per second by `speed_mode` (0: unknown) with `speed`, `(jobs, 6)`: see
    `motet.estimate.speed_function`. `subtasks`: COMP and COMM (None: no job reports them).
    `end_confidence`: of the predicted fall within `steps_left`, 0 to 1; 1 for planned steps (None:
    1 for all).
    """

    steps_done: Floats
    loss: Floats
    first_loss: Floats
    largest_change: Floats
    target_loss: Floats
    planned_steps: Floats
    forecasts: LossForecasts | None
    steps_left: Floats
    speed_mode: Ints
    speed: Floats
    subtasks: SubtaskEstimates | None = None
    end_confidence: Floats | None = None

    def __len__(self) -> int:
        return len(self.steps_done)

    @property
    def certain_steps_left(self) -> Floats:
        """`steps_left`; NaN where infinite, or with a confidence below one half."""
        is_certain = np.isfinite(self.steps_left)
        if self.end_confidence is not None:
            is_certain &= self.end_confidence >= LEAST_CONFIDENCE
        return np.where(is_certain, self.steps_left, np.nan)


LEAST_CONFIDENCE = 0.5
"""With less the predicted curves are further apart than the loss is from its target."""


@dataclass(frozen=True, eq=False, slots=True)
class MachineSpeeds:
    """A row per machine, `(machines,)`.

    `times_as_long`: computing time of workers on the machine at the last measurement, divided by
    the usual time of workers of their job on such machines (1.0 before the first measurement).
    `measured_us`: the time of that measurement, UNKNOWN: none. The value of a machine without
    training jobs may be outdated.
    """

    times_as_long: Floats
    measured_us: Ints
