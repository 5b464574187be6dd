"""The model of a job on disk, and what the job reports of it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import SpillOptions, TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.spilling.model.model_on_disk import TimedPlace, TransferTime
from motet.runtime.spilling.model.spilled_values import SpilledValues
from motet.runtime.spilling.spill_file import SpillFile
from wide_model import WIDTH, WideModel

DISK, EPOCHS, KEYS = Path("/var/tmp"), 2, 300


def trained(spill: SpillOptions | None) -> TrainResult:
    """On one worker and two servers, none of which is on the worker's machine."""
    app = WideModel(KEYS)
    options = TrainOptions(machines=3, workers=1, servers=2, epochs=EPOCHS, spill=spill)
    return Job(app, app.prepare(None, seed=1), options, InProcessCluster(3)).run()


def test_each_epoch_reports_the_model_of_all_servers_on_disk_and_the_time_for_it() -> None:
    for epoch in trained(SpillOptions.parse("model", DISK)).epochs:
        assert epoch.model_spill_bytes == KEYS * WIDTH * 8
        assert epoch.model_spill_s > 0
        assert epoch.load_s == 0


@pytest.mark.parametrize("spill", [None, SpillOptions.parse("0.5", DISK)])
def test_nothing_is_reported_of_a_model_in_memory(spill: SpillOptions | None) -> None:
    for epoch in trained(spill).epochs:
        assert (epoch.model_spill_bytes, epoch.model_spill_s) == (0, 0.0)


def test_a_model_on_disk_is_the_same_to_the_bit() -> None:
    digest = trained(SpillOptions.parse("0", DISK)).model_sha256
    assert trained(SpillOptions.parse("model", DISK)).model_sha256 == digest


def test_the_time_of_transfers_on_several_threads_is_their_sum_since_the_last_question() -> None:
    clock = iter(range(0, 1000, 10))
    time = TransferTime(lambda: next(clock))

    def transfer() -> None:
        with time.measured():
            pass

    threads = [threading.Thread(target=transfer) for _ in range(3)]
    for each in threads:
        each.start()
        each.join()
    assert (time.take(), time.take()) == (30, 0)


def test_a_transfer_that_fails_took_time_too() -> None:
    clock = iter([5, 12])
    time = TransferTime(lambda: next(clock))
    with pytest.raises(OSError, match="full"), time.measured():
        raise OSError("full")
    assert time.take() == 7


def test_places_of_a_model_keep_what_was_saved_last() -> None:
    clock = iter(range(100))
    time = TransferTime(lambda: next(clock))
    place = TimedPlace(SpilledValues(SpillFile(DISK)), time)
    place.save(np.arange(3.0))
    assert place.load().tolist() == [0.0, 1.0, 2.0]
    assert time.take() == 2
