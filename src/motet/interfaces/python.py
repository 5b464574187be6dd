"""Simulations from Python: `from motet import load_trace, simulate`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from motet.domain.cluster import ClusterSpec
from motet.interfaces.plottable_result import PlottableResult
from motet.interfaces.simulation_runs import Scenario, run_one
from motet.sim.cluster_file import open_cluster
from motet.sim.experiment import Experiment
from motet.sim.generate.named import drawn_trace, is_drawn
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.traces import Trace, read_trace
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload


def load_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    skip_bad_rows: bool = False,
    largest_gang: int | None = None,
    columns: Mapping[str, str] | None = None,
    timezone: str | None = None,
) -> Trace:
    """Read a log of jobs; the format is recognised from the content unless `format` names it.

    `largest_gang`: jobs with more GPUs are bad rows. `columns`: the columns of a table that is in
    no known format, by Motet's names, as {"submit_time": "Submitted", "num_gpus": "GPUs"}.
    `timezone`: of times without one, such as "Europe/Berlin"; None: UTC. Raises BadInput for the
    first bad row; with `skip_bad_rows` bad rows are left out and counted in the trace's `skipped`.
    """
    return read_trace(path, format, skip_bad_rows, largest_gang, columns=columns, timezone=timezone)


def simulate(
    trace: Trace | Workload | str | os.PathLike[str],
    cluster: ClusterSpec | str = "15x4",
    policy: str = "tiresias-las",
    seed: int = 0,
    machine_events: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> PlottableResult:
    """Replay a trace on a simulated cluster, in this process.

    `trace`: a result of `load_trace`, a path, a `Workload`, or "tiresias-480", a workload drawn
    from `seed`. `cluster`: MACHINESxGPUS, or a CSV or YAML file that lists machines. `policy`: a
    name from `motet policy list`, or the path of your own, `./mine.py`. `machine_events`: a CSV
    file of machines that come, drain or leave. `settings`: as with `--set`, for example
    `thresholds=(3200, 7200), placement="count"`. Raises BadInput and UnknownName for arguments that
    cannot be simulated, such as a job wider than the cluster.
    """
    machines = open_cluster(cluster) if isinstance(cluster, str) else cluster
    experiment = Experiment(policy, {name: _text(v) for name, v in settings.items()}, seed)
    experiment.check()
    scenario = _scenario(trace, seed, machines)
    if machine_events is not None:
        timeline = read_machine_events(Path(machine_events), machines)
        scenario = replace(scenario, timeline=timeline)
    return run_one(experiment, scenario)


def _scenario(
    trace: Trace | Workload | str | os.PathLike[str], seed: int, cluster: ClusterSpec
) -> Scenario:
    if isinstance(trace, Workload):
        return Scenario(trace, _sha256(trace), cluster)
    loaded = trace if isinstance(trace, Trace) else _opened(trace, seed)
    return Scenario(loaded.workload, loaded.sha256, cluster)


def _opened(trace: str | os.PathLike[str], seed: int) -> Trace:
    """A file is preferred to a workload of the same name."""
    name = os.fspath(trace)
    return drawn_trace(name, seed) if is_drawn(name) else load_trace(trace)


def _sha256(workload: Workload) -> str:
    """SHA-256 of a workload that was not read from a file."""
    digest = hashlib.sha256("\n".join(workload.ids).encode())
    demands = [each for each in (workload.cpus, workload.memory_bytes) if each.any()]
    for column in (workload.submit_us, workload.duration_us, workload.gpus, *demands):
        digest.update(column.tobytes())
    if workload.work is not None:
        digest.update(motet_csv(workload).encode())
    return digest.hexdigest()


def _text(value: Any) -> str:
    """The value as text for `--set`."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
