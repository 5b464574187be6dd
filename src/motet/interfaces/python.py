"""Simulations from Python: `from motet import load_trace, simulate`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from motet.domain.errors import BadInput
from motet.interfaces.python_messages import python_arguments
from motet.interfaces.simulation_pool import run_all
from motet.interfaces.simulation_runs import Scenario, SimulationTask
from motet.interfaces.simulations.arguments import (
    ClusterArgument,
    SeedArgument,
    TraceArgument,
    open_cluster_argument,
    open_trace_argument,
    seeds_of,
)
from motet.interfaces.simulations.policies import PolicyArgument, policy_experiments
from motet.interfaces.simulations.runs import SimulatedRuns
from motet.interfaces.simulations.simulated_run import SimulatedRun
from motet.report.rendering.quantities import count_text
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.traces import Trace, read_trace


@python_arguments
def load_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    skip_bad_rows: bool = False,
    largest_gang: int | None = None,
    columns: Mapping[str, str] | None = None,
    timezone: str | None = None,
    encoding: str | None = None,
    time_format: str | None = None,
) -> Trace:
    """Read a log of jobs; the format is recognised from the content unless `format` names it.

    `largest_gang`: jobs with more GPUs are bad rows. `columns`: the columns of a table that is in
    no known format, by Motet's names, as {"submit_time": "Submitted", "num_gpus": "GPUs"}.
    `timezone`: of times without one, such as "Europe/Berlin"; None: UTC. `encoding`: of the text,
    such as "gbk"; None: UTF-8, UTF-16 or Windows-1252. `time_format`: of times, such as
    "%d.%m.%Y %H:%M", or a unit since 1970 ("ms"); None: ISO 8601 or what is unambiguous. Raises
    BadInput for the first bad row; with
    `skip_bad_rows` bad rows are left out and counted in the trace's `skipped`.

    >>> motet.load_trace("jobs.csv", skip_bad_rows=True)
    <Trace: 480 jobs, tiresias, sha256 5f2c...>
    """
    if not isinstance(path, str | os.PathLike):
        raise BadInput(
            f"path={path!r:.60}: give the path of a log of jobs; simulate(...) takes a DataFrame "
            "as it is"
        )
    told = None, columns, timezone, encoding, time_format
    return read_trace(path, format, skip_bad_rows, largest_gang, *told)


@python_arguments
def simulate(
    trace: TraceArgument,
    cluster: ClusterArgument = "15x4",
    policy: PolicyArgument = "tiresias-las",
    *,
    seed: SeedArgument = 0,
    machine_events: str | os.PathLike[str] | None = None,
    processes: int = 1,
    **settings: Any,
) -> SimulatedRuns:
    """Replay a trace on a simulated cluster, under one policy or several.

    `trace`: a path, a result of `load_trace`, a DataFrame with a row per job (`job_id`,
    `submit_time`, `num_gpus`, `duration`; seconds), or a workload that is drawn from `seed`, such
    as "tiresias-480". `cluster`: MACHINESxGPUS, or a CSV or YAML file that lists machines; by
    default "15x4", the 60 GPUs of the Tiresias testbed, which the result names.

    `policy`: a name from `motet policy list` (default: "tiresias-las"), the path of your own,
    `./mine.py`, a class or an object (see `load_policy`); a list of these, or a dictionary of
    labels and these; "all" built-in policies. `seed`: one or several. `machine_events`: a CSV file
    of machines that come, drain or leave. `processes`: how many simulate at the same time; with
    more than one, a script needs `if __name__ == "__main__":`.

    `settings`: as with `--set`, for all policies that have the parameter. Raises BadInput and
    UnknownName for arguments that cannot be simulated, such as a job wider than the cluster.

    >>> result = motet.simulate("tiresias-480", cluster="15x4", policy=["fifo", "tiresias-las"])
    >>> result.summary[["jct_mean_s", "queueing_delay_mean_s"]]
    >>> result.plot_jct_cdf()
    >>> motet.simulate("jobs.csv", policy="tiresias-las", thresholds=(3200, 7200)).jobs
    """
    _require_processes(processes)
    seeds = seeds_of(seed)
    machines = open_cluster_argument(cluster)
    experiments = policy_experiments(policy, seeds, settings)
    replayed = open_trace_argument(trace, seeds)
    usual = Scenario(replayed.of_seed[seeds[0]].workload, "", machines)
    if machine_events is not None:
        usual = replace(usual, timeline=_events(machine_events, usual))
    scenarios = {
        number: replace(usual, workload=jobs.workload, trace_sha256=jobs.sha256, zero=jobs.zero)
        for number, jobs in replayed.of_seed.items()
    }
    tasks = [SimulationTask(each, scenarios[each.seed]) for each in experiments]
    results = run_all(tasks, processes)
    runs = [SimulatedRun(task, found) for task, found in zip(tasks, results, strict=True)]
    given = cluster if isinstance(cluster, str) else count_text(machines.gpu_count, "GPU")
    return SimulatedRuns(replayed.name, given, runs)


def _events(path: str | os.PathLike[str], scenario: Scenario) -> Any:
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"machine_events={path!r:.60}: give the path of a CSV file")
    return read_machine_events(Path(path), scenario.cluster)


def _require_processes(processes: int) -> None:
    if not isinstance(processes, int) or isinstance(processes, bool) or processes < 1:
        raise BadInput(f"processes={processes!r:.40}: must be a whole number of at least 1")
