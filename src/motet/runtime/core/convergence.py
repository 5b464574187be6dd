"""Convergence of a training run: how far an epoch's model is from the optimum. Pure.

An application measures the distance itself (`Evaluation.residual`), or it is the relative change of
the loss per epoch, or of `Application.lowered_metric`, between means over
`Application.improvement_epochs`. Training has converged once it is at most `tol`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application, Evaluation

EndedBy = Literal["convergence", "until", "epochs"]


@dataclass(frozen=True)
class Convergence:
    """The state at the end of a run.

    `residual`: what `measure` names, after the last epoch; `ended_by`: why training went no
    further, "until" for the user's own rule.
    """

    measure: str
    residual: float
    tol: float
    ended_by: EndedBy

    @classmethod
    def after(
        cls, measure: str, residual: float, tol: float, until_is_met: bool = False
    ) -> Convergence | None:
        """At the end of training; None if `tol` is 0."""
        if tol == 0:
            return None
        if has_converged(residual, tol):
            return cls(measure, residual, tol, "convergence")
        return cls(measure, residual, tol, "until" if until_is_met else "epochs")

    @property
    def is_missed(self) -> bool:
        """Whether training would have gone on, but had no epochs left."""
        return self.ended_by == "epochs"

    def __str__(self) -> str:
        """`relative gradient norm 3.1e-04, above tol=1e-05`."""
        if math.isinf(self.residual):
            return f"too few epochs to measure the {self.measure}"
        relation = "above" if self.residual > self.tol else "at most"
        return f"{self.measure} {self.residual:.1e}, {relation} tol={self.tol:g}"


def has_converged(residual: float, tol: float) -> bool:
    """Return whether training may end with this epoch; `tol` 0: it may not."""
    return tol > 0 and residual <= tol


class Evaluated(Protocol):
    """An `Evaluation`, or the report of an epoch."""

    @property
    def loss(self) -> float:
        """See Evaluation."""
        ...

    @property
    def metrics(self) -> Mapping[str, float]:
        """See Evaluation."""
        ...


def with_residual(
    app: Application, evaluation: Evaluation, earlier: Sequence[Evaluated]
) -> Evaluation:
    """Return the evaluation of an epoch with a residual: a relative change if it has none.

    `earlier`: of all epochs before, or at least of the last `2 * app.improvement_epochs`. Reports
    of a checkpoint from before the application had `lowered_metric` are not compared. Raises
    JobFailed for what is no Evaluation.
    """
    found: object = evaluation
    if not isinstance(found, Evaluation):
        kind = type(found).__name__
        raise JobFailed(f"{app.name}: summarise returned {kind}; return Evaluation(loss)")
    if evaluation.residual is not None:
        return evaluation
    compared = [*earlier[-2 * app.improvement_epochs :], evaluation]
    values = [each.loss for each in compared]
    if name := app.lowered_metric:
        values = [each.metrics[name] for each in compared if name in each.metrics]
    return replace(evaluation, residual=relative_change(values, app.improvement_epochs))


def relative_change(losses: Sequence[float], epochs: int) -> float:
    """Return the relative change of the loss per epoch; infinite with too few epochs.

    `epochs` above 1: the loss fluctuates, so the mean of the last `epochs` is compared with that
    of as many before, and a rise is no change. An application that may reject a step, and so keep
    its loss for an epoch, must measure its residual itself.
    """
    if len(losses) < 2 * epochs:
        return math.inf
    before, last = (
        sum(part) / epochs for part in (losses[-2 * epochs : -epochs], losses[-epochs:])
    )
    fall = abs(before - last) if epochs == 1 else max(before - last, 0.0)
    return fall / epochs / max(abs(before), 1e-300)
