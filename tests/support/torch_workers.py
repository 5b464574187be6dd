"""Worker processes that run one function after another, each with a service of a job of its own.

They stay between cases, and are forks of a process that has loaded PyTorch with its compiler, which
the first optimizer of a process loads: together three seconds of a processor.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import distributed

from motet.aggregation.agent.gradient_service import GradientService

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["torch._dynamo", "torch_workers", "torch_training", "motet.torch"])

Case = Callable[["Worker"], Any]
"""Runs in every worker process; a function at the top of a module."""


class ServiceMaker(Protocol):
    """Opens one worker's access to a job. Pickled."""

    def __call__(self, job: str, rank: int, workers: int) -> GradientService: ...


class Worker:
    """What a case gets: its place among the workers, and a job of its own."""

    def __init__(self, rank: int, workers: int, job: str, maker: ServiceMaker) -> None:
        self.rank, self.workers = rank, workers
        self.job, self._maker = job, maker

    def service(self, name: str = "") -> GradientService:
        """`name`: of one of several jobs in one case."""
        return self._maker(self.job + name, self.rank, self.workers)

    def any_service(self, *, job: str, rank: int, workers: int) -> GradientService:
        """Access to a job of another name: in place of the pool of the environment."""
        return self._maker(job, rank, workers)


class WorkerProcesses:
    """So many processes with a process group over gloo."""

    def __init__(self, workers: int, maker: ServiceMaker, folder: Path) -> None:
        self.workers = workers
        self._numbers, self._name = count(), str(folder)
        self._pipes: list[Connection] = []
        self._processes = []
        for rank in range(workers):
            ours, theirs = _CONTEXT.Pipe()
            process = _CONTEXT.Process(
                target=_work, args=(rank, workers, maker, str(folder / "gloo"), theirs), daemon=True
            )
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def run(self, case: Case, *arguments: Any, **more: Any) -> list[Any]:
        """The results by rank. Raises AssertionError with the traceback of the first that fails."""
        job = f"{case.__name__}-{self._name}-{next(self._numbers)}"
        for pipe in self._pipes:
            pipe.send((case, job, arguments, more))
        found: dict[int, Any] = {}
        while len(found) < self.workers:
            for pipe in wait(
                [each for each in self._pipes if self._pipes.index(each) not in found]
            ):
                assert isinstance(pipe, Connection)
                is_done, result = pipe.recv()
                if not is_done:  # The others may wait for it for ever.
                    for process in self._processes:
                        process.kill()
                    raise AssertionError(result)
                found[self._pipes.index(pipe)] = result
        return [found[rank] for rank in range(self.workers)]

    def close(self) -> None:
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.send(None)
        for process in self._processes:
            process.join()


def _work(rank: int, workers: int, maker: ServiceMaker, meeting: str, pipe: Connection) -> None:
    torch.set_num_threads(1)

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=workers
    )
    while (received := pipe.recv()) is not None:
        case, job, arguments, more = received
        try:
            pipe.send((True, case(Worker(rank, workers, job, maker), *arguments, **more)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))
    distributed.destroy_process_group()
