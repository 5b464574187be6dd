"""Runs simulations, several at once in processes of their own, and measures how long they take."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import JobFailed, MotetError
from motet.engine.catalogue import find_policies
from motet.engine.decision_log import DecisionLog
from motet.engine.ports import Journal
from motet.report.cluster_run.decision_file import DecisionWriter
from motet.report.cluster_run.sweep import Sweep
from motet.sim.experiment import Experiment
from motet.sim.metrics.results import SimulationResult
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload

RunProgress: TypeAlias = Callable[[int, int], None]
"""Told the number of a run and how many of its jobs have finished."""

RunKeeper: TypeAlias = Callable[[int, SimulationResult], None]
"""Given the number of a run and its result, as soon as it is finished."""

REPORT_EVERY_S = 0.1


@dataclass(frozen=True, eq=False)
class Scenario:
    """What an experiment is carried out on. `timeline`: what happens to machines meanwhile."""

    workload: Workload
    trace_sha256: str
    cluster: ClusterSpec
    timeline: Sequence[TimedEvent] = ()


@dataclass(frozen=True, eq=False)
class Run:
    """`log`: a file for the decision log, or None."""

    experiment: Experiment
    scenario: Scenario
    log: Path | None = None


def run_all(
    runs: Sequence[Run],
    processes: int | None = None,
    report: RunProgress = lambda *_: None,
    keep: RunKeeper = lambda *_: None,
) -> list[SimulationResult]:
    """Results in the order of the runs; one process means this one.

    `processes`: at most so many at once (None: as many as there are CPUs). Raises what the first
    run that fails raises; what finished before has been given to `keep`.
    """
    processes = min(processes or cpu_count(), len(runs))
    if processes > 1:
        return _run_in_processes(runs, processes, report, keep)
    results = []
    for number, run in enumerate(runs):
        results.append(run_one(run.experiment, run.scenario, partial(report, number), run.log))
        keep(number, results[-1])
    return results


def run_one(
    experiment: Experiment,
    scenario: Scenario,
    report: Callable[[int], None] = lambda _: None,
    log: Path | None = None,
) -> SimulationResult:
    """Simulate in this process; `report` is told how many jobs have finished.

    `log`: a file for the decision log. Raises JobFailed where it cannot be written.
    """
    started_s = time.perf_counter()
    with _journal(log, scenario) as journal:
        outcome = experiment.run(
            scenario.workload,
            scenario.cluster,
            lambda finished, _: report(finished),
            journal,
            scenario.timeline,
        )
    report(len(scenario.workload))
    return SimulationResult(
        policy_name(experiment.policy),
        experiment.parameters(),
        experiment.seed,
        scenario.trace_sha256,
        outcome,
        time.perf_counter() - started_s,
        _sweep(experiment),
    )


def _sweep(experiment: Experiment) -> Sweep | None:
    swept = experiment.swept
    return None if swept is None else Sweep(swept, experiment.settings[swept])


@contextmanager
def _journal(log: Path | None, scenario: Scenario) -> Iterator[Journal | None]:
    """What hears of the decisions; nobody without a file."""
    if log is None:
        yield None
        return
    try:
        with log.open("w", encoding="utf-8", newline="\n") as file:
            yield DecisionLog(DecisionWriter(file, scenario.workload.ids, scenario.cluster.names))
    except OSError as error:
        raise JobFailed(
            f"{log}: the decision log cannot be written ({error.strerror or error}); free some "
            "space, or name another folder for temporary files in TMPDIR"
        ) from error


def policy_name(asked: str) -> str:
    """What a policy is called: of `./mine.py` the name that it gives itself."""
    return next(iter(find_policies(asked)))


def cpu_count() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- several at once -------------------------------------------------------------------------------


def _run_in_processes(
    runs: Sequence[Run], processes: int, report: RunProgress, keep: RunKeeper
) -> list[SimulationResult]:
    with _scoreboard(len(runs)) as (path, scores):
        ended = _pooled(runs, processes, lambda: _report_all(scores, report), keep, path)
    # Raised here, where no frame holds the pool: it must be gone before this process is.
    if isinstance(ended, BrokenProcessPool):
        raise MotetError(
            "a simulation was killed, most likely because memory ran out; use fewer processes "
            "(--jobs 1) or a shorter trace"
        ) from ended
    if isinstance(ended, BaseException):
        raise ended
    return ended


def _pooled(
    runs: Sequence[Run],
    processes: int,
    report: Callable[[], None],
    keep: RunKeeper,
    scoreboard: Path,
) -> list[SimulationResult] | BaseException:
    """All results, or what ended the first run that failed."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        promises = [
            pool.submit(_run_numbered, number, run, scoreboard) for number, run in enumerate(runs)
        ]
        failure = _watch(promises, report, keep)
        if failure is None:
            return [promise.result() for promise in promises]
        for promise in promises:
            promise.cancel()
        for process in active_children():
            process.kill()
        return failure


def _watch(
    runs: Sequence[Future[SimulationResult]], report: Callable[[], None], keep: RunKeeper
) -> BaseException | None:
    """Report until all are done or one has failed."""
    kept: set[int] = set()
    while len(kept) < len(runs):
        done, _ = wait(runs, timeout=REPORT_EVERY_S, return_when=FIRST_EXCEPTION)
        report()
        for number, run in enumerate(runs):
            if run in done and number not in kept and run.exception() is None:
                keep(number, run.result())
                kept.add(number)
        failure = next((run.exception() for run in runs if run in done and run.exception()), None)
        if failure is not None:
            return failure
    return None


def _report_all(scores: NDArray[np.int64], report: RunProgress) -> None:
    for number, finished in enumerate(scores.tolist()):
        report(number, finished)


@contextmanager
def _scoreboard(runs: int) -> Iterator[tuple[Path, NDArray[np.int64]]]:
    """A file that every process maps: how many jobs have finished in each run."""
    with tempfile.TemporaryDirectory(prefix="motet-simulate-") as folder:
        path = Path(folder) / "finished_jobs"
        yield path, np.memmap(path, dtype=np.int64, mode="w+", shape=(runs,))


def _run_numbered(number: int, run: Run, scoreboard: Path) -> SimulationResult:
    """In a process of the pool. What a policy prints there must not come between results."""
    scores = np.memmap(scoreboard, dtype=np.int64, mode="r+")

    def report(finished: int) -> None:
        scores[number] = finished

    with redirect_stdout(sys.stderr):
        return run_one(run.experiment, run.scenario, report, run.log)
