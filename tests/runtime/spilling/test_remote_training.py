"""Trainings that spill to lenders of memory have the models of those that spill to the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from in_process_cluster import InProcessCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import SpillLenders, SpillOptions, TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from motet.transport import Endpoint
from remote_memory_parts import SECRET, SLAB_BYTES, MovableMemory, lending
from toy_app import ToyRegression
from wide_model import WideModel

DISK, EPOCHS = Path("/var/tmp"), 4
SLABS = 200
INPUT_BYTES = ToyRegression().prepare(None, seed=1).nbytes


class AfterEpoch(TrainObserver):
    """Calls a function after the second epoch."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == 1:
            self._act()


def spill(text: str, *endpoints: Endpoint) -> SpillOptions:
    lenders = SpillLenders(endpoints, SECRET, SLAB_BYTES) if endpoints else None
    return SpillOptions.parse(text, DISK, lenders)


def trained(options: SpillOptions, act: Callable[[], None] = lambda: None) -> TrainResult:
    app = WideModel(300) if options.model else ToyRegression()
    rows = app.prepare(None, seed=1)
    train = TrainOptions(machines=2, workers=2, servers=2, epochs=EPOCHS, spill=options)
    return Job(app, rows, train, InProcessCluster(2), AfterEpoch(act)).run()


def test_input_in_remote_memory_is_read_from_there() -> None:
    with lending(SLABS) as lender:
        result = trained(spill("1", lender.endpoint))
    assert result.model_sha256 == trained(spill("1")).model_sha256
    for epoch in result.epochs:
        assert min(epoch.remote_bytes, epoch.remote_read_bytes) > INPUT_BYTES
        assert epoch.backup_read_bytes == 0


@pytest.mark.soak
def test_a_lender_that_is_lost_during_the_training_changes_nothing() -> None:
    with lending(SLABS) as lender:
        result = trained(spill("1", lender.endpoint), lender.close)
    assert result.model_sha256 == trained(spill("1")).model_sha256
    first, last = result.epochs[0], result.epochs[-1]
    assert first.remote_bytes > last.remote_bytes == 0
    assert last.backup_read_bytes > 0
    assert not result.recoveries


def test_a_lender_that_takes_its_memory_back_changes_nothing() -> None:
    machine = MovableMemory()
    with lending(SLABS, memory=machine) as lender:
        result = trained(spill("1", lender.endpoint), lambda: machine.leave(1))
    assert result.model_sha256 == trained(spill("1")).model_sha256
    assert not result.recoveries


def test_a_model_in_remote_memory_is_the_same_to_the_bit() -> None:
    with lending(SLABS) as lender:
        result = trained(spill("model", lender.endpoint), lender.close)
    assert result.model_sha256 == trained(spill("model")).model_sha256
    assert result.epochs[0].remote_bytes > 0


@pytest.mark.soak
def test_lenders_that_are_absent_from_the_start_are_no_error() -> None:
    with lending() as lender:
        endpoint = lender.endpoint
    result = trained(spill("1", endpoint))
    assert result.model_sha256 == trained(spill("1")).model_sha256
    assert [epoch.remote_bytes for epoch in result.epochs] == [0] * EPOCHS
