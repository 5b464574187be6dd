"""When training is over, and what a loss costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motet.domain.errors import BadInput, JobFailed
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.progress import Progress
from motet.runtime.core.options import StopRule, TrainOptions
from motet.runtime.core.reporting.reports import EpochReport, Recovery
from motet.runtime.core.rows import Rows


def reports(*losses: float) -> list[EpochReport]:
    return [EpochReport(n, loss, {}, 1, 1, 1, 1, 1, 1, 1) for n, loss in enumerate(losses)]


def progress(epoch_count: int, *losses: float) -> Progress:
    """`losses` so far; the checkpoint is after `epoch_count` of them."""
    listed = reports(*losses)
    rows = Rows(np.empty(0, np.int64), {})
    return Progress(Checkpoint(epoch_count, np.zeros(1), rows, tuple(listed[:epoch_count])), listed)


def options(**changes: Any) -> TrainOptions:
    return TrainOptions(**{"machines": 1, "workers": 1, "servers": 1, "epochs": 3, **changes})


def test_training_is_over_when_the_checkpoint_has_all_epochs() -> None:
    assert not progress(2, 3.0, 2.0, 1.0).is_over(options())
    assert progress(3, 3.0, 2.0, 1.0).is_over(options())


def test_training_is_over_when_the_loss_is_reached() -> None:
    rule = options(until=StopRule("loss", 2.0))
    assert progress(2, 3.0, 2.0).is_over(rule)
    assert not progress(2, 3.0, 2.1).is_over(rule)


def test_the_last_epoch_is_the_last_one_asked_for_or_the_one_that_converged() -> None:
    rule = options(until=StopRule("improvement", 0.1))
    assert [progress(0, 3.0, 2.0).is_last(epoch, options()) for epoch in (1, 2)] == [False, True]
    assert progress(0, 3.0, 2.9).is_last(1, rule)
    assert not progress(0, 3.0, 2.0).is_last(1, rule)


def test_an_epoch_that_rejected_its_step_has_not_converged() -> None:
    rule = options(until=StopRule("improvement", 0.1), epochs=99)
    assert not progress(0, 3.0, 2.0, 2.0, 2.0).is_last(3, rule)
    assert progress(0, 3.0, *[2.0] * 6).is_last(6, rule)


def test_a_loss_takes_the_reports_back_to_the_checkpoint() -> None:
    now = progress(1, 3.0, 2.0, 1.0)
    assert now.go_back("executor 2 died", 5) == Recovery(3, 1, "executor 2 died")
    assert now.losses == [3.0]
    assert now.recoveries == [Recovery(3, 1, "executor 2 died")]


def test_a_loss_before_the_first_epoch_is_at_epoch_0() -> None:
    assert progress(0).go_back("it died", 1) == Recovery(0, 0, "it died")


def test_only_recoveries_to_the_same_checkpoint_are_counted() -> None:
    now = progress(1, 3.0, 2.0)
    now.recoveries = [Recovery(1, 0, "first"), Recovery(2, 1, "second")]
    now.go_back("third", 2)
    with pytest.raises(JobFailed, match="without progress; the last cause: fourth"):
        now.go_back("fourth", 2)


def converged_at(residual: float, loss: float = 2.0) -> Progress:
    rows = Rows(np.empty(0, np.int64), {})
    listed = [EpochReport(0, loss, {}, 1, 1, 1, 1, 1, 1, 1, residual=residual)]
    return Progress(Checkpoint(1, np.zeros(1), rows, tuple(listed)), listed)


def test_training_is_over_once_the_residual_is_at_most_the_tolerance() -> None:
    assert converged_at(1e-3).is_over(options(tol=1e-3))
    assert not converged_at(1.1e-3).is_over(options(tol=1e-3))
    assert not converged_at(0.0).is_over(options(tol=0.0))


def test_a_tolerance_of_zero_reports_no_convergence() -> None:
    assert converged_at(0.5).convergence("norm", options()) is None


@pytest.mark.parametrize(
    ("residual", "until", "ended_by"),
    [(0.1, None, "convergence"), (0.3, None, "epochs"), (0.3, StopRule("loss", 2.0), "until")],
)
def test_why_training_ended(residual: float, until: StopRule | None, ended_by: str) -> None:
    found = converged_at(residual).convergence("norm", options(tol=0.2, until=until, epochs=1))
    assert found is not None
    assert (found.measure, found.residual, found.ended_by) == ("norm", residual, ended_by)


class Damaged:
    """A checkpoint on disk that cannot be read back, or only as the one of an earlier epoch."""

    epoch_count, reports = 2, tuple(reports(3.0, 2.0))

    def __init__(self, earlier: Checkpoint | None) -> None:
        self._earlier = earlier

    def read(self) -> Checkpoint:
        if self._earlier is None:
            raise BadInput("no checkpoint is whole")
        return self._earlier

    def to_return_to(self) -> Checkpoint:
        return self.read()


def test_a_loss_leads_to_the_checkpoint_that_can_be_read_back() -> None:
    job = progress(2, 3.0, 2.0, 1.0)
    job.checkpoint = Damaged(progress(1, 3.0).checkpoint.read())
    assert job.go_back("executor 1 died", 5) == Recovery(3, 1, "executor 1 died")
    assert (job.checkpoint.epoch_count, job.losses) == (1, [3.0])


def test_without_a_checkpoint_a_loss_ends_the_job() -> None:
    job = progress(2, 3.0, 2.0, 1.0)
    job.checkpoint = Damaged(None)
    with pytest.raises(JobFailed, match="executor 1 died; no checkpoint to continue from: no ch"):
        job.go_back("executor 1 died", 5)
