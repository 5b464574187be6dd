"""Runs several simulations, each in a process of its own, with progress and early results."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stdout
from functools import partial
from multiprocessing import active_children, get_context, resource_tracker
from pathlib import Path
from typing import TypeAlias

import cloudpickle
import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import MotetError
from motet.interfaces.simulation_runs import SimulationTask, run_one
from motet.interfaces.usable_hardware import cpu_count
from motet.runtime.executor.process_control import die_with_parent, exit_at_once
from motet.sim.metrics.results import SimulationResult

ProgressReport: TypeAlias = Callable[[int, int], None]
"""Called with the number of a task and the number of its finished jobs."""

ResultKeeper: TypeAlias = Callable[[int, SimulationResult], None]
"""Called with the number of a task and its result when it has finished."""

REPORT_EVERY_S = 0.1
_WARNINGS = "PYTHONWARNINGS"


def run_all(
    tasks: Sequence[SimulationTask],
    processes: int | None = None,
    report: ProgressReport = lambda *_: None,
    keep: ResultKeeper = lambda *_: None,
) -> list[SimulationResult]:
    """Results in the order of the tasks.

    `processes`: at most so many at once (None: one per CPU); a single one is this process. Raises
    the error of the first task that fails; results of finished tasks were passed to `keep`.
    """
    processes = min(processes or cpu_count(), len(tasks))
    if processes > 1:
        return _run_in_processes(tasks, processes, report, keep)
    results = []
    for number, task in enumerate(tasks):
        results.append(run_one(task.experiment, task.scenario, partial(report, number), task.log))
        keep(number, results[-1])
    return results


def _run_in_processes(
    tasks: Sequence[SimulationTask], processes: int, report: ProgressReport, keep: ResultKeeper
) -> list[SimulationResult]:
    with _shared_progress(len(tasks)) as (path, finished_jobs):
        ended = _pooled(tasks, processes, lambda: _report_all(finished_jobs, report), keep, path)
    # Raised here, where no frame refers to the pool: it must be closed before this process ends.
    if isinstance(ended, BrokenProcessPool):
        raise MotetError(
            "a simulation was killed, most likely because memory ran out; use fewer processes "
            "(--jobs 1) or a shorter trace"
        ) from ended
    if isinstance(ended, BaseException):
        raise ended
    return ended


def _pooled(
    tasks: Sequence[SimulationTask],
    processes: int,
    report: Callable[[], None],
    keep: ResultKeeper,
    progress_file: Path,
) -> list[SimulationResult] | BaseException:
    """All results, or the error of the first task that failed."""
    _start_tracker()
    # Processes of a pool do not notice that their parent was killed.
    with ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)
    ) as pool:
        promises = [
            pool.submit(_run_in_pool, number, cloudpickle.dumps(task), progress_file)
            for number, task in enumerate(tasks)
        ]
        failure = _watch(promises, report, keep)
        if failure is None:
            return [promise.result() for promise in promises]
        for promise in promises:
            promise.cancel()
        for process in active_children():
            process.kill()
        return failure


def _begin(parent: int) -> None:
    """Of a process of the pool, which ends without freeing first what it has imported."""
    die_with_parent(parent)
    atexit.register(exit_at_once, 0)


def _start_tracker() -> None:
    """Start the process that removes the semaphores of a pool which was killed.

    Its warning that there were some would follow the message of Ctrl-C.
    """
    given = os.environ.get(_WARNINGS)
    os.environ[_WARNINGS] = ",".join(filter(None, [given, "ignore:resource_tracker:UserWarning"]))
    try:
        resource_tracker.ensure_running()
    finally:
        if given is None:
            del os.environ[_WARNINGS]
        else:
            os.environ[_WARNINGS] = given


def _watch(
    promises: Sequence[Future[SimulationResult]], report: Callable[[], None], keep: ResultKeeper
) -> BaseException | None:
    """Report progress until all have finished or one has failed; returns its error."""
    kept: set[int] = set()
    while len(kept) < len(promises):
        done, _ = wait(promises, timeout=REPORT_EVERY_S, return_when=FIRST_EXCEPTION)
        report()
        for number, promise in enumerate(promises):
            if promise in done and number not in kept and promise.exception() is None:
                keep(number, promise.result())
                kept.add(number)
        failed = (promise.exception() for promise in promises if promise in done)
        failure = next((error for error in failed if error), None)
        if failure is not None:
            return failure
    return None


def _report_all(finished_jobs: Ints, report: ProgressReport) -> None:
    for number, finished in enumerate(finished_jobs.tolist()):
        report(number, finished)


@contextmanager
def _shared_progress(tasks: int) -> Iterator[tuple[Path, Ints]]:
    """A file that every process maps: the number of finished jobs of each task, `(tasks,)`."""
    with tempfile.TemporaryDirectory(prefix="motet-simulate-") as folder:
        path = Path(folder) / "finished_jobs"
        yield path, np.memmap(path, dtype=np.int64, mode="w+", shape=(tasks,))


def _run_in_pool(number: int, pickled: bytes, progress_file: Path) -> SimulationResult:
    """Run in a process of the pool. Output of policies goes to stderr, since stdout is
    the result.

    `pickled`: the task. Classes of policies that a script or a notebook defines travel by value.
    """
    task: SimulationTask = cloudpickle.loads(pickled)
    finished_jobs = np.memmap(progress_file, dtype=np.int64, mode="r+")

    def report(finished: int) -> None:
        finished_jobs[number] = finished

    with redirect_stdout(sys.stderr):
        return run_one(task.experiment, task.scenario, report, task.log)
