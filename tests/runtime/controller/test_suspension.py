"""Jobs that are suspended within an epoch, and continue from there on other executors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from in_process_cluster import InProcessCluster
from motet.apps.lda import LDA
from motet.domain.errors import BadInput, Interrupted
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Application
from motet.runtime.core.consistency import Async, Bsp, Consistency, Ssp
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.core.rows import Rows
from small_data import corpus
from soak_cases import others_in_soak
from suspending_app import Suspension, suspending
from toy_app import CountingInstances, ToyRegression

EPOCHS, TOY_BATCHES = 4, 11
OPTIONS = TrainOptions(machines=3, workers=3, servers=2, epochs=EPOCHS)


def prepared(app: Application) -> Rows:
    return app.prepare(corpus() if isinstance(app, LDA) else None, seed=0)


def suspend_at(
    app: Application, clock: int, folder: Path, options: TrainOptions = OPTIONS
) -> Interrupted:
    """Train until the job is suspended in the COMP of this mini-batch."""
    with pytest.raises(Interrupted) as found:
        run_suspended(app, clock, replace(options, checkpoint_dir=folder))
    return found.value


def run_suspended(app: Application, clock: int, options: TrainOptions) -> TrainResult:
    suspension, rows = Suspension(clock), prepared(app)
    cluster = suspension.cluster(options.machines)
    job = Job(suspending(app, suspension), rows, options, cluster)
    suspension.suspend = job.suspend
    return job.run()


def resumed(
    app: Application, folder: Path, options: TrainOptions = OPTIONS, **changes: int
) -> TrainResult:
    wanted = replace(options, checkpoint_dir=folder, resume=True, **changes)  # type: ignore[arg-type]
    rows = prepared(app)
    return Job(app, rows, wanted, InProcessCluster(wanted.machines)).run()


def alone(app: Application) -> TrainResult:
    rows = prepared(app)
    return Job(app, rows, OPTIONS, InProcessCluster(OPTIONS.machines)).run()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


@pytest.mark.parametrize(("app", "batches"), [(ToyRegression(), 11), (LDA(topics=4), 10)])
def test_a_job_suspended_within_an_epoch_continues_to_the_same_bits(
    tmp_path: Path, app: Application, batches: int
) -> None:
    stopped = suspend_at(app, batches + 3, tmp_path)
    assert str(stopped) == f"the job was stopped after 1 epoch and 5 of {batches} mini-batches"
    assert names(tmp_path) == ["epoch-000001-batch-000005"]
    again = resumed(app, tmp_path)
    assert again.model_sha256 == alone(app).model_sha256
    assert again.resumed_from_epoch == 1


@pytest.mark.parametrize("consistency", others_in_soak([Ssp(0), Ssp(2), Async()], [Ssp(2)]))
def test_without_lockstep_a_suspended_job_continues_where_all_workers_stood(
    tmp_path: Path, consistency: Consistency
) -> None:
    """No checkpoint is due before the last epoch."""
    options = replace(OPTIONS, consistency=consistency)
    stopped = suspend_at(ToyRegression(), TOY_BATCHES + 3, tmp_path, options)
    assert str(stopped) == "the job was stopped after 1 epoch and 5 of 11 mini-batches"
    assert names(tmp_path) == ["epoch-000001-batch-000005"]
    again = resumed(ToyRegression(), tmp_path, options)
    assert again.app.visits_.tolist() == [float(EPOCHS)] * 203
    assert [report.epoch_index for report in again.epochs] == list(range(EPOCHS))
    assert again.losses[-1] < again.losses[0]


def test_updates_of_a_suspended_asynchronous_job_are_in_its_checkpoint(tmp_path: Path) -> None:
    """Each worker has one to push when it stops."""
    options, app = replace(OPTIONS, consistency=Async()), CountingInstances()
    suspend_at(app, TOY_BATCHES + 3, tmp_path, options)
    assert set(resumed(app, tmp_path, options).app.coef_) == {EPOCHS * 203.0}


@pytest.mark.parametrize(
    ("before", "after"),
    others_in_soak(
        [(Async(), Bsp()), (Bsp(), Async()), (Async(), Ssp(1)), (Ssp(1), Async())],
        [(Async(), Bsp()), (Bsp(), Async())],
    ),
)
def test_a_job_that_continues_in_another_mode_loses_and_repeats_no_update(
    tmp_path: Path, before: Consistency, after: Consistency
) -> None:
    """As an attempt does that a policy runs asynchronously, and the next one not."""
    app = CountingInstances()
    suspend_at(app, TOY_BATCHES + 3, tmp_path, replace(OPTIONS, consistency=before))
    again = resumed(app, tmp_path, replace(OPTIONS, consistency=after))
    assert set(again.app.coef_) == {EPOCHS * 203.0}


def test_state_and_model_continue_on_other_numbers_of_executors(tmp_path: Path) -> None:
    app = LDA(topics=4)
    suspend_at(app, 3, tmp_path)
    assert names(tmp_path) == ["epoch-000000-batch-000005"]
    again = resumed(app, tmp_path, workers=1, servers=3)
    assert again.model_sha256 == alone(app).model_sha256


def test_other_numbers_of_workers_change_only_the_order_of_sums(tmp_path: Path) -> None:
    """A move loses and repeats no update: the loss is that of the job alone to rounding, and the
    model to the bit that of another job with the same moves."""
    found = []
    for name in ("once", "again"):
        suspend_at(ToyRegression(), TOY_BATCHES + 3, tmp_path / name)
        found.append(resumed(ToyRegression(), tmp_path / name, workers=2, servers=1))
    assert found[0].model_sha256 == found[1].model_sha256
    whole = alone(ToyRegression())
    assert found[0].app.visits_.tolist() == [float(EPOCHS)] * 203
    assert found[0].losses == pytest.approx(whole.losses, rel=1e-12)


def test_a_job_can_be_suspended_again_in_the_same_epoch(tmp_path: Path) -> None:
    app = ToyRegression()
    suspend_at(app, 2, tmp_path)
    suspend_at(app, 6, tmp_path, replace(OPTIONS, resume=True))
    assert names(tmp_path) == ["epoch-000000-batch-000004", "epoch-000000-batch-000008"]
    again = resumed(app, tmp_path)
    assert again.model_sha256 == alone(app).model_sha256
    assert again.app.visits_.tolist() == [float(EPOCHS)] * 203


def test_the_report_of_a_continued_epoch_is_of_its_remaining_mini_batches(tmp_path: Path) -> None:
    suspend_at(ToyRegression(), TOY_BATCHES + 3, tmp_path)
    first, second, *_ = resumed(ToyRegression(), tmp_path).epochs
    assert (len(first.batch_s), len(second.batch_s)) == (TOY_BATCHES, TOY_BATCHES - 5)
    assert min(second.batch_s) > 0


def test_a_suspension_in_the_last_mini_batch_of_an_epoch_ends_the_job_after_it(
    tmp_path: Path,
) -> None:
    stopped = suspend_at(ToyRegression(), TOY_BATCHES - 1, tmp_path)
    assert str(stopped) == "the job was stopped after 1 epoch"
    assert names(tmp_path) == ["epoch-000001"]
    assert resumed(ToyRegression(), tmp_path).model_sha256 == alone(ToyRegression()).model_sha256


def test_a_suspension_in_the_last_mini_batch_of_training_changes_nothing() -> None:
    last = EPOCHS * TOY_BATCHES - 1
    result = run_suspended(ToyRegression(), last, OPTIONS)
    assert result.model_sha256 == alone(ToyRegression()).model_sha256


def test_a_checkpoint_within_an_epoch_is_not_resumed_for_fewer_epochs(tmp_path: Path) -> None:
    suspend_at(ToyRegression(), TOY_BATCHES + 3, tmp_path)
    with pytest.raises(BadInput, match="the checkpoint already has 2 epochs, more than epochs=1"):
        resumed(ToyRegression(), tmp_path, epochs=1)
