"""`motet simulate`: check, read the trace, simulate while showing progress, write the results."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.interfaces.cli.shell.results import print_result
from motet.interfaces.cli.shell.terminal import is_live_terminal
from motet.interfaces.cli.simulate.input import TraceFlags, traces
from motet.interfaces.cli.simulate.policy_settings import experiments
from motet.interfaces.simulation_runs import Run, RunProgress, Scenario, policy_name, run_all
from motet.report.cluster_run.sweep import value_text
from motet.report.rendering.json_text import to_json
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import count_text, duration_text
from motet.report.simulation.folder import FinishedRun, SimulationFolder
from motet.report.simulation.table import simulation_summary
from motet.sim.cluster_file import open_cluster
from motet.sim.experiment import Experiment
from motet.sim.generate.named import RECIPES
from motet.sim.metrics.results import SimulationResult
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.traces import Trace
from motet.sim.workload.interventions import TimedEvent

MOST_SEEDS = 1000
LONGEST_VALUE = 80
_NOT_IN_NAMES = re.compile(r"[^\w.,+-]")


@dataclass(frozen=True)
class SimulateFlags(TraceFlags):
    """The command line as it was given."""

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


def run(flags: SimulateFlags) -> None:
    """Simulate as the flags say and print the result. Raises MotetError."""
    if flags.log_decisions and flags.out is None:
        raise BadInput("--log-decisions needs --out DIR, the folder that the log is written to")
    with redirect_stdout(sys.stderr):  # What a policy of one's own prints is not the result.
        trace, cluster, results = _simulate(flags)
    _show(flags, trace, cluster, results)


def _simulate(flags: SimulateFlags) -> tuple[Trace, ClusterSpec, list[SimulationResult]]:
    wanted = experiments(flags.policies, flags.settings, _seeds(flags), flags.sweeps)
    cluster = open_cluster(flags.cluster)
    timeline = _timeline(flags, cluster)
    found = traces(flags, cluster, sorted({experiment.seed for experiment in wanted}))
    trace = found[wanted[0].seed]
    _tell(flags, trace, wanted, cluster)
    names = _run_names(wanted)
    folder = _folder(flags, names, wanted)
    with TemporaryDirectory(prefix="motet-decisions-") as scratch:
        log_folder = Path(scratch) if flags.log_decisions else None
        runs = [
            _run(*one, found, cluster, timeline, log_folder)
            for one in zip(names, wanted, strict=True)
        ]
        keeper = _Keeper(names, runs, folder, _setup(flags, trace, cluster), is_quiet=flags.quiet)
        with _progress(names, len(trace.workload), is_quiet=flags.quiet) as report:
            results = run_all(runs, flags.processes, report, keeper.keep)
        keeper.finish()
    return trace, cluster, results


class _Keeper:
    """Writes every run as soon as it is finished: what ends the others leaves it."""

    def __init__(
        self,
        names: Sequence[str],
        runs: Sequence[Run],
        folder: SimulationFolder | None,
        setup: Mapping[str, Any],
        *,
        is_quiet: bool,
    ) -> None:
        self._names, self._runs, self._folder, self._setup = names, runs, folder, setup
        self._is_quiet = is_quiet
        self._is_told = not is_quiet and not is_live_terminal(sys.stderr)
        self._finished: dict[int, FinishedRun] = {}

    def keep(self, number: int, result: SimulationResult) -> None:
        """A run that is finished."""
        if self._folder is not None:
            run = _finished(self._names[number], self._runs[number], result)
            self._folder.add(run, self._setup)
            self._finished[number] = run
        if self._is_told and len(self._runs) > 1:
            done = f"{self._names[number]}: finished in {duration_text(result.wall_s)}"
            click.echo(done, err=True)
        if not self._is_quiet and (left := _left(result)):
            click.echo(f"{self._names[number]}: {left}", err=True)

    def finish(self) -> None:
        """What shows all runs."""
        if self._folder is not None:
            runs = [self._finished[number] for number in range(len(self._runs))]
            self._folder.finish(runs, self._setup)


def _left(result: SimulationResult) -> str:
    """What to say of jobs that did not finish; nothing if all did."""
    jobs, left = result.summary["jobs"], result.unfinished
    total = sum(left.values())
    if not total:
        return ""
    why = "the policy gives them no GPUs"
    if total > left["waiting"]:
        why = ", ".join(f"{count:,} {state}" for state, count in left.items() if count)
    return (
        f"{total:,} of {count_text(jobs, 'job')} did not finish: {why}; its figures are of the "
        "others"
    )


def _folder(
    flags: SimulateFlags, names: Sequence[str], wanted: Sequence[Experiment]
) -> SimulationFolder | None:
    """Raises BadInput where a file would be lost."""
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


def _run(
    name: str,
    experiment: Experiment,
    found: Mapping[int, Trace],
    cluster: ClusterSpec,
    timeline: Sequence[TimedEvent],
    log_folder: Path | None,
) -> Run:
    trace = found[experiment.seed]
    scenario = Scenario(trace.workload, trace.sha256, cluster, timeline)
    return Run(experiment, scenario, log_folder and log_folder / f"{name}.jsonl")


def _timeline(flags: SimulateFlags, cluster: ClusterSpec) -> Sequence[TimedEvent]:
    """What happens to machines. Raises BadInput."""
    path = flags.machine_events
    return [] if path is None else read_machine_events(path, cluster)


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


def _tell(
    flags: SimulateFlags, trace: Trace, wanted: Sequence[Experiment], cluster: ClusterSpec
) -> None:
    """What people should know before they wait."""
    if flags.quiet:
        return
    of_runs = (each.notices(trace.workload, cluster) for each in wanted)
    for notice in dict.fromkeys((*trace.notices, *chain.from_iterable(of_runs))):
        click.echo(notice, err=True)
    seeds = {experiment.seed for experiment in wanted}
    if len(seeds) > 1 and not (flags.is_drawn or any(each.draws_lots for each in wanted)):
        click.echo(
            f"all {len(seeds)} seeds give the same: a file is replayed, and nothing draws lots; "
            f"--trace {next(iter(RECIPES))} draws a workload for every seed",
            err=True,
        )


def _run_names(wanted: Sequence[Experiment]) -> list[str]:
    """`fifo`, `fifo-seed3` where there are several seeds, `tiresias-las-promote_knob=8-seed3`."""
    has_seeds = len({experiment.seed for experiment in wanted}) > 1
    names: list[str] = []
    for experiment in wanted:
        name = policy_name(experiment.policy)
        if experiment.swept is not None:
            value = value_text(experiment.settings[experiment.swept])
            name += f"-{experiment.swept}={_NOT_IN_NAMES.sub('_', value)[:LONGEST_VALUE]}"
        name += f"-seed{experiment.seed}" if has_seeds else ""
        names.append(f"{name}-{len(names)}" if name in names else name)
    return names


@contextmanager
def _progress(names: Sequence[str], jobs: int, *, is_quiet: bool) -> Iterator[RunProgress]:
    """A bar per run on a terminal; elsewhere there is a line for each that has finished."""
    if is_quiet or not is_live_terminal(sys.stderr):
        yield lambda number, finished: None
        return
    with _bars() as progress:
        runs = [progress.add_task(name, total=jobs, start=False) for name in names]

        def report(number: int, finished: int) -> None:
            if finished and not progress.tasks[number].started:
                progress.start_task(runs[number])
            progress.update(runs[number], completed=finished)

        yield report


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(complete_style=job_colour(0), finished_style=job_colour(2)),
        MofNCompleteColumn(),
        TextColumn("jobs  ETA", style=QUIET_STYLE),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )


def _finished(name: str, run: Run, result: SimulationResult) -> FinishedRun:
    experiment = run.experiment
    setup = {
        "policy": _whole_path(experiment.policy),
        "settings": dict(experiment.settings),
        "seed": experiment.seed,
        **({} if experiment.swept is None else {"swept": experiment.swept}),
    }
    rows = result.job_rows(), result.fairness_rows(), result.placement_rows()
    return FinishedRun(
        name,
        result.summary,
        setup,
        *rows,
        result.simulated,
        result.placements,
        run.log,
        result.training_rows(),
        result.quality_rows(),
    )


def _setup(flags: SimulateFlags, trace: Trace, cluster: ClusterSpec) -> dict[str, Any]:
    return {
        "command": ["motet", *sys.argv[1:]],
        "trace": str(flags.trace) if flags.is_drawn else str(flags.trace.absolute()),
        "format": trace.format,
        "skip_bad_rows": flags.skip_bad_rows,
        "skipped": dict(trace.skipped),
        "cluster": _whole_path(flags.cluster),
        "machines": cluster.size,
        "gpus": cluster.gpu_count,
    }


def _whole_path(given: str) -> str:
    """A name stays; a file can be found from elsewhere, too."""
    return str(Path(given).absolute()) if Path(given).is_file() else given


def _show(
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
    print_result(simulation_summary(heading, documents, flags.out))
