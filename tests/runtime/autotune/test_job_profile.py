"""A job in the terms of the cost model."""

from __future__ import annotations

import pytest

from in_process_cluster import InProcessCluster
from motet.runtime.autotune.job_profile import cruise_profile, mean_block_bytes
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from toy_app import ToyRegression

INSTANCES, FEATURES = 203, 40


def job(*, sparse: bool = False) -> Job:
    app = ToyRegression(batch_size=20, features=FEATURES, sparse=sparse)
    options = TrainOptions(machines=2, workers=1, servers=1, epochs=1)
    return Job(app, app.prepare(None, seed=1), options, InProcessCluster(2))


def test_the_profile_has_the_jobs_blocks_and_mini_batches() -> None:
    training = job()
    profile = cruise_profile(training)
    assert profile.instances == INSTANCES
    assert profile.global_batches == training.plan.schedule.batch_count
    assert profile.data_blocks == training.plan.schedule.block_count
    assert profile.model_blocks == training.plan.table.block_count
    assert profile.exchange_bytes == 0.0


def test_only_a_sparse_job_exchanges_parts_of_the_model() -> None:
    assert cruise_profile(job()).touched == ()
    assert cruise_profile(job(sparse=True)).touched[-1] == (1.0, 1.0)


def test_all_blocks_of_a_table_have_its_bytes() -> None:
    training = job()
    found = mean_block_bytes(training)
    assert found.model * training.plan.table.block_count == pytest.approx(FEATURES * 8)
    assert found.data * training.plan.schedule.block_count == pytest.approx(training.rows.nbytes)
