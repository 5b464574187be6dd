"""Worker processes that all tests of a run share, on Aggregators and on a reference of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from pool_agents import aggregators
from reference_aggregator import ReferenceAgent, ReferenceAggregator
from torch_workers import ServiceMaker, WorkerProcesses

SERVICES = ["aggregators", pytest.param("reference", marks=pytest.mark.soak)]


@contextmanager
def _service(kind: str, folder: Path) -> Iterator[ServiceMaker]:
    if kind == "aggregators":
        with aggregators(2) as maker:
            yield maker
        return
    server = ReferenceAggregator(str(folder / "socket"))
    yield partial(ReferenceAgent, str(folder / "socket"))
    server.close()


@contextmanager
def _processes(workers: int, kind: str, folder: Path) -> Iterator[WorkerProcesses]:
    with _service(kind, folder) as maker:
        processes = WorkerProcesses(workers, maker, folder)
        yield processes
        processes.close()


@pytest.fixture(scope="session", params=SERVICES)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcesses]:
    """Two worker processes."""
    with _processes(2, request.param, tmp_path_factory.mktemp("pair")) as found:
        yield found


@pytest.fixture(params=[1, 4])
def one_or_four(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkerProcesses]:
    """One worker process, and four."""
    with _processes(request.param, "aggregators", tmp_path) as found:
        yield found
