"""Real jobs on one machine, one of which has a fault while it holds a token.

Where a process dies, the arbiter takes no token away, so a neighbour that goes on has got the token
of a dead process, not one that was over the limit.
"""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from faulty_app import Faulty
from local_toy import trained_locally
from motet.live.slots.memory_groups import group_parent, make_memory_group, remove_memory_group
from motet.runtime.arbiter.arbiter_process import SUBTASK_LIMIT_S
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from toy_app import ToyRegression
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]
EPOCHS, BATCH_SIZE = 12, 20
NEVER_S = 1e6
OPTIONS = TrainOptions(machines=1, workers=1, servers=1, epochs=EPOCHS, lost_after_s=600.0)


class Neighbour(TrainObserver):
    """Lets the fault happen after its first epoch, and goes on when it has happened."""

    def __init__(self, folder: Path) -> None:
        self.epochs_s: list[float] = []
        self._folder = folder

    def epoch_done(self, report: EpochReport) -> None:
        self.epochs_s.append(report.wall_s)
        if report.epoch_index == 0:
            (self._folder / "go").touch()
            wait_until((self._folder / "process").exists)


class AfterNeighbour(TrainObserver):
    """Ends its first epoch when the neighbour has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == 0:
            wait_until((self._folder / "go").exists)


@pytest.fixture
def machine() -> Iterator[LocalCluster]:
    with LocalCluster(1, interleaves=True) as cluster:
        yield cluster


@pytest.fixture
def patient_machine() -> Iterator[LocalCluster]:
    """One whose arbiter takes no token away."""
    with LocalCluster(1, interleaves=True, subtask_limit_s=NEVER_S) as cluster:
        yield cluster


@pytest.fixture
def little_memory(tmp_path: Path) -> Iterator[str]:
    """The file by which a process joins a control group with 150 MB."""
    made = make_memory_group(tmp_path, 150 << 20, group_parent())
    if made is None:
        pytest.skip("control groups of memory are not permitted here")
    yield made.procs
    remove_memory_group(made.folder)


class FaultyJob:
    """Trains in a thread; `process`: the one that has the fault."""

    def __init__(self, machine: LocalCluster, app: Faulty) -> None:
        self._folder = Path(app.folder)
        observer = AfterNeighbour(self._folder)
        self.job = Job(app, app.prepare(None, seed=1), OPTIONS, machine, observer)
        self.results: list[TrainResult] = []
        self._thread = threading.Thread(target=self._run, daemon=True)  # A failed test ends.
        self._thread.start()

    def _run(self) -> None:
        self.results.append(self.job.run())

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(int((self._folder / "process").read_text()))

    def end(self) -> None:
        self._thread.join()


def train_neighbour(machine: LocalCluster, folder: Path) -> list[float]:
    """The seconds of its epochs; its model is that of a job alone."""
    neighbour, app = Neighbour(folder), ToyRegression(batch_size=BATCH_SIZE)
    assert_as_alone(Job(app, app.prepare(None, seed=1), OPTIONS, machine, neighbour).run())
    return neighbour.epochs_s


def assert_as_alone(found: TrainResult) -> None:
    expected = trained_locally(EPOCHS, BATCH_SIZE)
    np.testing.assert_allclose(found.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("fault", ["stopped", "endless loop"])
def test_a_job_that_never_ends_its_subtask_delays_a_neighbour_by_the_limit_once(
    machine: LocalCluster, tmp_path: Path, fault: str
) -> None:
    faulty = FaultyJob(machine, Faulty(fault, str(tmp_path)))
    epochs_s = train_neighbour(machine, tmp_path)
    # Were it delayed in every subtask, every epoch would take eleven times the limit.
    assert sum(each >= SUBTASK_LIMIT_S for each in epochs_s) <= EPOCHS // 3
    process = faulty.process
    assert process.is_running()
    assert not faulty.results
    process.kill()
    faulty.end()
    assert_as_alone(faulty.results[0])


def test_with_two_cpu_tokens_a_job_computes_beside_one_that_never_ends(tmp_path: Path) -> None:
    with LocalCluster(1, interleaves=True, cpu_tokens=2, subtask_limit_s=NEVER_S) as machine:
        faulty = FaultyJob(machine, Faulty("endless loop", str(tmp_path)))
        train_neighbour(machine, tmp_path)
        assert faulty.process.is_running()
        faulty.process.kill()
        faulty.end()
    assert_as_alone(faulty.results[0])


@pytest.mark.parametrize("fault", ["crash", "out of memory"])
def test_the_token_of_a_job_that_crashes_is_free_at_once(
    patient_machine: LocalCluster, tmp_path: Path, fault: str, little_memory: str
) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulty = FaultyJob(patient_machine, Faulty(fault, str(tmp_path), little_memory))
    train_neighbour(patient_machine, tmp_path)
    faulty.end()
    (result,) = faulty.results
    assert_as_alone(result)
    assert len(result.recoveries) == 1


def test_a_job_killed_in_an_endless_comp_returns_its_token(
    patient_machine: LocalCluster, tmp_path: Path
) -> None:
    """The neighbour stands still until the kill: nothing else frees the token."""
    faulty = FaultyJob(patient_machine, Faulty("endless loop", str(tmp_path)))
    trained: list[float] = []
    neighbour = threading.Thread(
        target=lambda: trained.extend(train_neighbour(patient_machine, tmp_path)), daemon=True
    )
    neighbour.start()
    wait_until((tmp_path / "process").exists)
    faulty.process.kill()
    neighbour.join()
    assert len(trained) == EPOCHS
    faulty.end()
    (result,) = faulty.results
    assert_as_alone(result)
