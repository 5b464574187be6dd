"""The model of a job on disk, and what the job reports of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import SpillOptions, TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from motet.runtime.executor import generation_context
from motet.runtime.spilling.machine_memory import MachineMemory, MemoryState
from motet.runtime.spilling.model.model_on_disk import TimedPlace, TransferTime
from motet.runtime.spilling.model.spilled_values import SpilledValues
from motet.runtime.spilling.targets.spill_file import SpillFile
from waiting import wait_until
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


class Neighbour:
    """Another process that has taken all memory; it ends with the second epoch of the job."""

    def __init__(self) -> None:
        self.has_ended = False

    def state(self, memory: MachineMemory) -> MemoryState:
        del memory
        return MemoryState(1 << 30, (1 << 30) * self.has_ended)


class EndsNeighbour(TrainObserver):
    """Two epochs later there was a whole one with room; workers wait until the model is back."""

    def __init__(self, neighbour: Neighbour, is_spilled: Callable[[], bool]) -> None:
        self._neighbour, self._is_spilled = neighbour, is_spilled

    def epoch_done(self, report: EpochReport) -> None:
        self._neighbour.has_ended = report.epoch_index >= 1
        if report.epoch_index == 4:
            wait_until(lambda: not self._is_spilled())


def is_model_spilled(cluster: InProcessCluster) -> bool:
    context = cluster.executors[0]._executor._context
    assert context is not None
    assert context._model_spilling is not None
    return context._model_spilling.blocks.is_spilled


def test_a_model_returns_to_memory_when_a_neighbour_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    neighbour = Neighbour()
    monkeypatch.setattr(generation_context, "_LARGE_MODEL_BYTES", 0)
    monkeypatch.setattr(MachineMemory, "state", lambda memory: neighbour.state(memory))
    app = WideModel(KEYS)
    spill = SpillOptions.parse("auto", DISK)
    options = TrainOptions(machines=1, workers=1, servers=1, epochs=6, spill=spill)
    cluster, rows = InProcessCluster(1), app.prepare(None, seed=1)
    observer = EndsNeighbour(neighbour, lambda: is_model_spilled(cluster))
    result = Job(app, rows, options, cluster, observer).run()
    spilled = [epoch.model_spill_bytes > 0 for epoch in result.epochs]
    assert (spilled[:2], spilled[-1]) == ([True, True], False)
    in_memory = TrainOptions(machines=1, workers=1, servers=1, epochs=6)
    alone = Job(WideModel(KEYS), rows, in_memory, InProcessCluster(1)).run()
    assert result.model_sha256 == alone.model_sha256


LARGE = (16 << 20) // (8 * WIDTH)


@pytest.mark.parametrize(("keys", "is_spilled"), [(LARGE - 1, False), (LARGE, True)])
def test_a_small_model_stays_in_memory_whoever_asks_for_room(
    monkeypatch: pytest.MonkeyPatch, keys: int, is_spilled: bool
) -> None:
    """The worker asks before it pulls, the server before each request."""
    monkeypatch.setattr(MachineMemory, "state", lambda memory: MemoryState(1 << 30, 0))
    app = WideModel(keys)
    spill = SpillOptions.parse("auto", DISK)
    options = TrainOptions(machines=1, workers=1, servers=1, epochs=1, spill=spill)
    result = Job(app, app.prepare(None, seed=1), options, InProcessCluster(1)).run()
    assert [epoch.model_spill_bytes > 0 for epoch in result.epochs] == [is_spilled]
