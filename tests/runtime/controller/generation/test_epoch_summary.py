"""An epoch's report is made of what its workers measured."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.errors import JobFailed
from motet.runtime.controller.generation.epoch_summary import epoch_summary, total_sums
from motet.runtime.core.application import Evaluation
from motet.runtime.core.reporting.reports import EpochReport, Help, RemoteUse
from motet.runtime.wire.control_messages import SpillUse
from worker_reports import done


def test_times_are_means_and_bytes_are_sums_and_the_slowest_worker_counts() -> None:
    workers = [
        done(0, 2, comp_us=1_000_000, comm_us=10, wait_us=0, pulled_bytes=5, pushed_bytes=1,
             batch_us=np.array([1e6, 4e6]), cpu_us=2_000_000, gate_us=500_000),
        done(1, 2, comp_us=3_000_000, comm_us=30, wait_us=4, pulled_bytes=7, pushed_bytes=2,
             batch_us=np.array([2e6, 2e6]), cpu_us=6_000_000, gate_us=1_500_000),
    ]  # fmt: skip
    assert epoch_summary(workers, Evaluation(0.5, {"mse": 0.25}), 100) == EpochReport(
        epoch_index=2,
        loss=0.5,
        metrics={"mse": 0.25},
        wall_s=5.0,
        comp_s=2.0,
        comm_s=2e-5,
        wait_s=2e-6,
        bytes_pulled=12,
        bytes_pushed=3,
        instances=100,
        batch_s=(2.0, 4.0),
        cycle_s=5.0,
        cpu_s=4.0,
        gate_s=1.0,
    )


def test_a_worker_that_joined_in_mid_epoch_has_no_part_in_its_first_mini_batches() -> None:
    whole = done(0, 0, batch_us=np.array([1e6, 1e6, 1e6]))
    joined = done(1, 0, first=2, batch_us=np.array([9e6]))
    summary = epoch_summary([whole, joined], Evaluation(1.0), 10)
    assert summary.batch_s == (1.0, 1.0, 9.0)


def test_workers_without_instances_add_nothing_to_the_sums() -> None:
    sums = [done(n, 0, sums=np.array(values)) for n, values in enumerate([[1.0, 2.0], [], [3, 4]])]
    assert total_sums(sums).tolist() == [4.0, 6.0]


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_fails_the_job_and_names_the_remedy(loss: float) -> None:
    with pytest.raises(JobFailed, match=r"in epoch 4: training diverged; scale the data, or lower"):
        epoch_summary([done(0, 3)], Evaluation(loss), 10)


def test_models_on_disk_are_added_up_and_the_time_is_a_mean_over_their_servers() -> None:
    spills = [SpillUse(5, 1_000_000), SpillUse(0, 0), SpillUse(7, 3_000_000)]
    summary = epoch_summary([done(0, 0)], Evaluation(1.0), 10, spills)
    assert (summary.model_spill_bytes, summary.model_spill_s) == (12, 2.0)


def test_the_use_of_remote_memory_is_added_up() -> None:
    spills = [SpillUse(0, 0, RemoteUse(1, 20, 300)), SpillUse(0, 0, RemoteUse(4, 50, 600))]
    summary = epoch_summary([done(0, 0)], Evaluation(1.0), 10, spills)
    assert summary.remote_bytes == 5
    assert (summary.remote_read_bytes, summary.backup_read_bytes) == (70, 900)


def test_the_evaluation_takes_the_mean_of_its_subtasks_and_all_of_the_slowest_worker() -> None:
    times = [np.array([1e6, 2e6, 9e6]), np.array([3e6, 4e6, 8e6])]
    workers = [done(rank, 0, evaluation_us=each) for rank, each in enumerate(times)]
    found = epoch_summary(workers, Evaluation(1.0), 10)
    assert (found.evaluation_comp_s, found.evaluation_comm_s, found.evaluation_s) == (2.0, 3.0, 9.0)


def test_waiting_for_the_slowest_worker_counts_once_in_a_cycle() -> None:
    """A worker that ends its mini-batch early waits in its evaluation for the others."""
    early = done(0, 0, batch_us=np.array([2e6]), evaluation_us=np.array([1e6, 0, 4e6]))
    late = done(1, 0, batch_us=np.array([5e6]), evaluation_us=np.array([1e6, 0, 1e6]))
    found = epoch_summary([early, late], Evaluation(1.0), 10)
    assert (found.cycle_s, sum(found.batch_s) + found.evaluation_s) == (6.0, 9.0)


def test_help_names_helper_and_helped_worker() -> None:
    workers = [done(0, 0, helped=np.array([[2.0, 1.0], [5.0, 3.0], [70.0, 8.0]])), done(1, 0)]
    assert epoch_summary(workers, Evaluation(1.0), 100).help == (
        Help(0, 2, batches=5, instances=70),
        Help(0, 1, batches=3, instances=8),
    )
