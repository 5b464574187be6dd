"""The state before training is made again when it is needed, and is the same then."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.controller.checkpoints.first_checkpoint import FirstCheckpoint
from motet.runtime.controller.progress import Progress
from motet.runtime.core.rows import Rows

STATE = Rows(np.arange(3), {"visits": np.zeros(3)})


def random_model() -> Array:
    return np.random.default_rng(7).random((50, 4))


def test_it_reads_the_same_model_every_time_and_keeps_none() -> None:
    first = FirstCheckpoint(random_model, STATE)
    begun = first.read()
    assert (begun.epoch_count, begun.batches, begun.reports) == (0, 0, ())
    assert begun.state is STATE
    model = weakref.ref(begun.model)
    del begun
    gc.collect()
    assert model() is None
    np.testing.assert_array_equal(first.read().model, random_model())


def test_a_loss_leads_back_to_it_without_a_model_in_memory() -> None:
    first = FirstCheckpoint(random_model, STATE)
    progress = Progress(first)
    progress.go_back("executor 1 died", 5)
    assert progress.checkpoint is first


def test_other_values_than_at_the_start_fail_the_job() -> None:
    models: Iterator[Array] = iter([np.zeros(3), np.ones(3)])
    first = FirstCheckpoint(lambda: next(models), STATE)
    first.read()
    with pytest.raises(JobFailed, match="initial_model has returned other values"):
        first.read()
