"""Lenders in processes of their own are killed and stopped while a training spills to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import motet
from marked_process import MarkedProcess, new_motet_process
from motet.domain.arrays import Array
from motet.interfaces.trained_model import TrainedModel
from motet.runtime.core.reporting.reports import EpochReport
from motet.transport import new_secret, write_secret

pytestmark = pytest.mark.soak
EPOCHS, LENDERS = 9, 3
SLAB, MOST = "1M", "64M"


class Lenders:
    """Processes of `motet memory lend`, which come back where they were."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.secret_file = folder / "secret"
        write_secret(self.secret_file, new_secret())
        self._ports = [0] * LENDERS
        self._running = [self._started(number) for number in range(LENDERS)]

    @property
    def addresses(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports)

    def kill(self, *numbers: int) -> None:
        for number in numbers:
            self._running[number].process.kill()
            self._running[number].process.wait()

    def restart(self, *numbers: int) -> None:
        self.kill(*numbers)
        for number in numbers:
            self._running[number] = self._started(number)

    def signal(self, number: int, which: signal.Signals) -> None:
        os.kill(self._running[number].process.pid, which)

    def _started(self, number: int) -> MarkedProcess:
        process = new_motet_process(
            *("memory", "lend", "--slab", SLAB, "--most", MOST, "--head-room", "1M"),
            *("--port", str(self._ports[number]), "--secret-file", self.secret_file),
            *("--state-dir", self._folder / f"lender-{number}"),
        )
        self._ports[number] = int(process.first_line().rpartition(":")[2])
        return process


@pytest.fixture
def lenders(tmp_path: Path) -> Iterator[Lenders]:
    with ExitStack() as stack:
        found = Lenders(tmp_path)
        stack.callback(found.kill, *range(LENDERS))
        yield found


@pytest.fixture(scope="module")
def features() -> Array:
    return np.random.default_rng(0).random((120_000, 32))


def trained(features: Array, **options: object) -> TrainedModel:
    with motet.Cluster(2) as cluster:
        return cluster.train("kmeans", features, n_clusters=4, epochs=EPOCHS, tol=0, **options)


def test_a_training_ends_with_the_model_of_the_disk_whatever_happens_to_its_lenders(
    lenders: Lenders, features: Array
) -> None:
    def after_epoch(report: EpochReport) -> None:
        match report.epoch_index:
            case 0:
                lenders.kill(0)
            case 2:
                lenders.signal(1, signal.SIGSTOP)
            case 3:
                lenders.signal(1, signal.SIGCONT)
                lenders.restart(0)
            case 5:
                lenders.kill(0, 1, 2)
            case 6:
                lenders.restart(0, 1, 2)

    result = trained(
        features,
        spill=1.0,
        spill_to=lenders.addresses,
        spill_secret=lenders.secret_file,
        callbacks=after_epoch,
    )
    expected = trained(features, spill=1.0)
    np.testing.assert_array_equal(result.model.cluster_centers_, expected.model.cluster_centers_)
    document = result.document
    assert not document.recoveries
    assert document.remote_bytes > features.nbytes // 2
    assert document.remote_read_bytes > features.nbytes
    assert document.backup_read_bytes > 0
