"""Worker processes that all tests of a run share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from reference_aggregator import ReferenceAgent, ReferenceAggregator
from torch_workers import WorkerProcesses


@pytest.fixture(scope="session")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a reference aggregator."""
    address = str(tmp_path_factory.mktemp("aggregator") / "socket")
    server = ReferenceAggregator(address)
    yield address
    server.close()


@pytest.fixture(scope="session")
def pair(aggregator: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcesses]:
    """Two worker processes."""
    yield from _processes(2, aggregator, tmp_path_factory.mktemp("pair"))


def _processes(workers: int, aggregator: str, folder: Path) -> Iterator[WorkerProcesses]:
    processes = WorkerProcesses(workers, partial(ReferenceAgent, aggregator), folder)
    yield processes
    processes.close()


@pytest.fixture(params=[1, 4])
def one_or_four(
    request: pytest.FixtureRequest, aggregator: str, tmp_path: Path
) -> Iterator[WorkerProcesses]:
    """One worker process, and four."""
    yield from _processes(request.param, aggregator, tmp_path)
