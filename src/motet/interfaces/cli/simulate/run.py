"""`motet simulate`: check, read the trace, simulate while showing progress, write the results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, JobFailed
from motet.interfaces.cli.shell.streams.results import print_result
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.cli.shell.trace_input import TraceFlags, traces
from motet.interfaces.cli.simulate.policy_settings import experiments
from motet.interfaces.cli.simulate.progress import simulation_progress
from motet.interfaces.cli.simulate.result_writer import ResultWriter, absolute_if_file
from motet.interfaces.cli.simulate.run_names import run_names_of
from motet.interfaces.simulation_pool import run_all
from motet.interfaces.simulation_runs import Scenario, SimulationTask
from motet.report.rendering.json_text import to_json
from motet.report.rendering.quantities import count_text, quantity
from motet.report.simulation.folder import SimulationFolder
from motet.report.simulation.summary_table import simulation_summary
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
from motet.sim.cluster_file import open_cluster
from motet.sim.experiment import Experiment
from motet.sim.generate.named import RECIPES
from motet.sim.metrics.results import SimulationResult
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.traces import Trace
from motet.sim.traces.options import parse_columns
from motet.sim.traces.summary import LoggedTimes, logged_times
from motet.sim.workload.interventions import TimedEvent

MOST_SEEDS = 1000


@dataclass(frozen=True)
class SimulateFlags(TraceFlags):
    """The options of the command line as given."""

    cluster: str
    machine_events: Path | None
    policies: str
    settings: tuple[str, ...]
    sweeps: tuple[str, ...]
    seed_text: str
    seeds: int | None
    processes: int | None
    out: Path | None
    overwrite: bool
    log_decisions: bool
    as_json: bool
    quiet: bool


def run_simulations(flags: SimulateFlags) -> None:
    """Simulate as the flags say and print the result. Raises MotetError."""
    if flags.log_decisions and flags.out is None:
        raise BadInput("--log-decisions needs --out DIR, the folder that the log is written to")
    with redirect_stdout(sys.stderr):  # Output of the user's own policies is not the result.
        trace, cluster, results = _simulate(flags)
    _print(flags, trace, cluster, results)
    _check_allocations(results)


def _simulate(flags: SimulateFlags) -> tuple[Trace, ClusterSpec, Sequence[SimulationResult]]:
    wanted = experiments(flags.policies, flags.settings, _seeds(flags), flags.sweeps)
    cluster = open_cluster(flags.cluster)
    timeline = _timeline(flags, cluster)
    seeds = sorted({experiment.seed for experiment in wanted})
    trace_of = traces(flags, cluster.gpu_count, seeds, "--trace ")
    trace = trace_of[wanted[0].seed]
    _print_notices(flags, trace, wanted, cluster)
    names = run_names_of(wanted)
    with (
        nullcontext() if flags.out is None else locked_folder(flags.out),
        TemporaryDirectory(prefix="motet-decisions-") as scratch,
    ):
        folder = _folder(flags, names, wanted)
        log_folder = Path(scratch) if flags.log_decisions else None
        tasks = [
            SimulationTask(
                experiment,
                _scenario(trace_of[experiment.seed], cluster, timeline),
                log_folder and log_folder / f"{name}.jsonl",
            )
            for name, experiment in zip(names, wanted, strict=True)
        ]
        setup = _setup(flags, trace, cluster)
        writer = ResultWriter(names, tasks, folder, setup, is_quiet=flags.quiet)
        with simulation_progress(names, len(trace.workload), is_quiet=flags.quiet) as report:
            results = run_all(tasks, flags.processes, report, writer.write)
        writer.finish()
    return trace, cluster, results


def _check_allocations(results: Sequence[SimulationResult]) -> None:
    """Raises JobFailed for policies under which jobs waited and none ever ran."""
    idle = [each for each in results if each.unfinished["waiting"] and not each.has_started]
    if idle:
        names = ", ".join(dict.fromkeys(each.policy for each in idle))
        jobs = count_text(len(idle[0].outcome.workload), "job")
        raise JobFailed(
            f"{names}: no job ever got GPUs, of {jobs}: the policy's Decision.gpus is 0 for all "
            "jobs at every decision, and it asks for no later one (recheck_at_us)"
        )


def _folder(
    flags: SimulateFlags, names: Sequence[str], wanted: Sequence[Experiment]
) -> SimulationFolder | None:
    """The folder of `--out`. Raises BadInput if a file would be lost."""
    if flags.out is None:
        return None
    files = (flags.trace, flags.throughputs, flags.machine_events, flags.cluster)
    given = (*map(str, files), *flags.policies.split(","))
    values = [setting.partition("=")[2] for setting in flags.settings]
    inputs = [Path(text) for text in (*given, *values)]
    swept = {experiment.swept for experiment in wanted} - {None}
    return SimulationFolder(
        flags.out, names, swept=map(str, swept), inputs=inputs, overwrite=flags.overwrite
    )


def _scenario(trace: Trace, cluster: ClusterSpec, timeline: Sequence[TimedEvent]) -> Scenario:
    return Scenario(trace.workload, trace.sha256, cluster, timeline)


def _timeline(flags: SimulateFlags, cluster: ClusterSpec) -> Sequence[TimedEvent]:
    """Machine events of the run. Raises BadInput."""
    path = flags.machine_events
    return () if path is None else read_machine_events(path, cluster)


def _seeds(flags: SimulateFlags) -> list[int]:
    """`--seed 1,2,5`, or `--seed 1 --seeds 3` for 1, 2, 3."""
    try:
        seeds = [int(part) for part in flags.seed_text.split(",")]
    except ValueError:
        seeds = [-1]
    if min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise BadInput(f"--seed {flags.seed_text}: give different whole numbers, at least 0")
    if flags.seeds is not None:
        if len(seeds) > 1:
            raise BadInput(f"--seed {flags.seed_text} --seeds {flags.seeds}: give one of the two")
        seeds = list(range(seeds[0], seeds[0] + flags.seeds))
    if len(seeds) > MOST_SEEDS:
        raise BadInput(f"{len(seeds)} seeds; at most {MOST_SEEDS} at once")
    return seeds


def _print_notices(
    flags: SimulateFlags, trace: Trace, wanted: Sequence[Experiment], cluster: ClusterSpec
) -> None:
    """Notices about the trace and the experiments on stderr, before the simulations start."""
    if flags.quiet:
        return
    of_runs = (each.notices(trace.workload, cluster) for each in wanted)
    for notice in dict.fromkeys((*trace.notices, *chain.from_iterable(of_runs))):
        echo_note(notice)
    seeds = {experiment.seed for experiment in wanted}
    if len(seeds) > 1 and not (flags.is_drawn or any(each.draws_lots for each in wanted)):
        echo_note(
            f"all {len(seeds)} seeds give the same result: the trace is a file, and no setting "
            f"uses random numbers; --trace {next(iter(RECIPES))} draws a workload for every seed"
        )


def _setup(flags: SimulateFlags, trace: Trace, cluster: ClusterSpec) -> Mapping[str, Any]:
    return {
        "command": ["motet", *sys.argv[1:]],
        "trace": str(flags.trace) if flags.is_drawn else str(flags.trace.absolute()),
        "format": trace.format,
        **({"columns": parse_columns(flags.column_texts)} if flags.column_texts else {}),
        **({"timezone": flags.timezone} if flags.timezone else {}),
        **({"encoding": flags.encoding} if flags.encoding else {}),
        **({"time_format": flags.time_format} if flags.time_format else {}),
        **({"time_zero": trace.zero.isoformat()} if trace.zero else {}),
        "skip_bad_rows": flags.skip_bad_rows,
        "skipped": dict(trace.skipped),
        "cluster": absolute_if_file(flags.cluster),
        "machines": cluster.size,
        "gpus": cluster.gpu_count,
    }


def _print(
    flags: SimulateFlags, trace: Trace, cluster: ClusterSpec, results: Sequence[SimulationResult]
) -> None:
    documents = [result.summary for result in results]
    if flags.as_json:
        sys.stdout.write(to_json({"runs": documents}))
        return
    heading = (
        f"{count_text(len(trace.workload), 'job')} of {flags.trace.name} on "
        f"{count_text(cluster.gpu_count, 'GPU')} ({flags.cluster})"
    )
    if logged := logged_times(trace):
        heading += f"\n{_logged_text(logged, len(trace.workload))}"
    print_result(simulation_summary(heading, documents, flags.out))


def _logged_text(logged: LoggedTimes, jobs: int) -> str:
    """The completion times where the log was written, to compare with those of the policies."""
    which = "" if logged.jobs == jobs else f", {logged.jobs:,} jobs that ended"
    jct, delay = logged.jct_s, logged.delay_s
    return (
        f"In the log{which}: JCT mean {quantity(jct['mean'])}, median {quantity(jct['median'])}, "
        f"95th {quantity(jct['p95'])}, delay {quantity(delay['mean'])}"
    )
