"""A worker joins a job that is finding out where its optimizer runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from motet.aggregation.control.pool_client import PoolClient
from motet.aggregation.master.processes.pool import LocalPool, PoolSettings
from motet.aggregation.master.processes.pool_folder import PoolFolder
from waiting import wait_until

pytestmark = pytest.mark.cluster

SUPPORT = Path(__file__).parent.parent / "support"


class JoinedTraining:
    """A worker that trains alone, and one that joins it before its second round ends."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder, self._options = folder, options
        self._pool = LocalPool(PoolFolder(folder / "pool"), PoolSettings(4))
        self._workers: list[subprocess.Popen[str]] = []

    def begin(self) -> None:
        """Return when both workers have joined."""
        self._workers.append(self._start(0))
        with PoolClient.find(self._pool.folder.address) as client:
            wait_until(lambda: client.describe().jobs)
            self._workers.append(self._start(1))
            wait_until(lambda: client.describe().jobs[0].workers == (0, 1))
        (self._folder / "go").touch()

    def steps(self, rank: int) -> int:
        """That a worker knows to be done; 0: it has done none itself."""
        path = self._folder / f"steps-{rank}"
        return int(path.read_text()) if path.exists() else 0

    def values(self, rank: int) -> dict[str, torch.Tensor]:
        """The parameters at the end."""
        found: dict[str, torch.Tensor] = torch.load(self._folder / f"values-{rank}.pt")
        return found

    def has_ended(self, rank: int) -> bool:
        """Whether a worker's process has."""
        return self._workers[rank].poll() is not None

    def end(self, rank: int) -> tuple[int, str]:
        """Exit status and errors, once it has ended."""
        (self._folder / "end").touch()
        _, errors = self._workers[rank].communicate(timeout=300.0)
        return self._workers[rank].returncode, errors

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._pool.close()

    def _start(self, rank: int) -> subprocess.Popen[str]:
        paths = [str(SUPPORT), os.environ.get("PYTHONPATH", "")]
        environment = {
            "MOTET_AGGREGATION": str(self._pool.folder.address),
            "MOTET_JOB": "joined",
            "RANK": str(rank),
            "WORLD_SIZE": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(paths),
        }
        program = [sys.executable, str(SUPPORT / "joining_torch_program.py"), str(self._folder)]
        return subprocess.Popen(
            [*program, *self._options],
            env=os.environ | environment,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def training(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[JoinedTraining]:
    """With the options of the test's parameter."""
    found = JoinedTraining(tmp_path, *getattr(request, "param", ()))
    try:
        found.begin()
        yield found
    finally:
        found.close()


@pytest.mark.soak
def test_a_worker_that_joins_early_waits_until_the_optimizer_is_on_the_aggregators(
    training: JoinedTraining,
) -> None:
    wait_until(lambda: training.steps(1) or training.has_ended(1))
    assert [training.end(rank)[0] for rank in (0, 1)] == [0, 0]
    assert training.steps(0) == training.steps(1)
    torch.testing.assert_close(training.values(1), training.values(0), rtol=0, atol=0)


@pytest.mark.soak
@pytest.mark.parametrize("training", [("--changes-gradients",)], indirect=True)
def test_a_worker_that_joins_early_is_refused_if_the_optimizer_stays_in_the_workers(
    training: JoinedTraining,
) -> None:
    wait_until(lambda: training.has_ended(1))
    status, errors = training.end(1)
    assert status == 1
    assert "with the optimizer in its workers" in errors
    assert training.end(0) == (0, "")
