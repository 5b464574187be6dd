"""Runs one simulation in this process and measures how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from numba.core import event

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import JobFailed, remedy_of_write
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.ports import Journal
from motet.report.cluster_run.decision_writer import DecisionWriter, in_batches
from motet.report.cluster_run.run_label import Sweep
from motet.report.simulation.folder import RunOutput
from motet.sim.experiment import Experiment
from motet.sim.metrics.results import SimulationResult
from motet.sim.workload.input_coverage import missing_inputs
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload


@dataclass(frozen=True, eq=False)
class Scenario:
    """The workload and the cluster of an experiment.

    `timeline`: machine events. `zero`: the date of time 0, if the log has dates.
    """

    workload: Workload
    trace_sha256: str
    cluster: ClusterSpec
    timeline: Sequence[TimedEvent] = ()
    zero: datetime | None = None


@dataclass(frozen=True, eq=False)
class SimulationTask:
    """One simulation to run. `log`: file for the decision log; None for no log."""

    experiment: Experiment
    scenario: Scenario
    log: Path | None = None


def run_one(
    experiment: Experiment,
    scenario: Scenario,
    report: Callable[[int], None] = lambda _: None,
    log: Path | None = None,
) -> SimulationResult:
    """Simulate in this process; calls `report` with the number of finished jobs.

    `log`: file for the decision log. Raises JobFailed if it cannot be written.
    """
    started_s = time.perf_counter()
    compile_s: list[float] = []
    with _journal(log, scenario) as journal, event.install_timer("numba:compile", compile_s.append):
        outcome = experiment.run(
            scenario.workload,
            scenario.cluster,
            lambda finished, _: report(finished),
            journal,
            scenario.timeline,
        )
    report(len(scenario.workload))
    policy = experiment.policy_class
    return SimulationResult(
        experiment.name,
        experiment.parameters(),
        experiment.seed,
        scenario.trace_sha256,
        outcome,
        time.perf_counter() - started_s,
        _sweep(experiment),
        missing_inputs(policy, scenario.workload),
        policy.knows_durations,
        sum(compile_s),
    )


def run_output(
    name: str, result: SimulationResult, setup: Mapping[str, Any], log: Path | None = None
) -> RunOutput:
    """The output of a result. `log`: file with its decision log."""
    return RunOutput(
        name,
        result.summary,
        setup,
        result.job_rows(),
        result.fairness_rows(),
        result.placement_rows(),
        result.cluster_run,
        result.placements,
        log,
        result.training_rows(),
        result.quality_rows(),
    )


def _sweep(experiment: Experiment) -> Sweep | None:
    swept = experiment.swept
    return None if swept is None else Sweep(swept, experiment.settings[swept])


@contextmanager
def _journal(log: Path | None, scenario: Scenario) -> Iterator[Journal | None]:
    """A journal that writes the decision log; None without a file."""
    if log is None:
        yield None
        return
    try:
        with log.open("w", encoding="utf-8", newline="\n") as file:
            names = scenario.workload.ids, scenario.cluster.names
            with in_batches(DecisionWriter(file, *names)) as write:
                yield DecisionLog(write)
    except OSError as error:
        raise JobFailed(
            f"{log}: the decision log cannot be written ({error.strerror or error}); "
            f"{remedy_of_write(error)}, or name another folder for temporary files in TMPDIR"
        ) from error
