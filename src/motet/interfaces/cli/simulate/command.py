"""The command `motet simulate` and its options."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from motet.interfaces.cli.shell.log_options import (
    columns_option,
    encoding_option,
    input_option,
    time_format_option,
    timezone_option,
)
from motet.interfaces.cli.shell.option_groups import SectionedCommand, SectionOption, json_option
from motet.interfaces.cli.shell.out_folder import OutFolder
from motet.sim.known_names import FORMAT_NAMES, WORKLOAD_NAMES

policy_option = partial(click.option, cls=SectionOption, section="Policies")
output_option = partial(click.option, cls=SectionOption, section="Output")


def complete_policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Policy names for the shell, also after a comma."""
    from motet.engine.policy_loading.catalogue import ALL_POLICIES, built_in_policies

    before, comma, part = incomplete.rpartition(",")
    names = (ALL_POLICIES, *built_in_policies())
    return [f"{before}{comma}{name}" for name in names if name.startswith(part)]


@click.command(
    "simulate", cls=SectionedCommand, short_help="Replay a log of jobs under scheduling policies."
)
@input_option(
    "--trace",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Log of jobs; or a workload that is drawn for every seed: "
    f"{', '.join(WORKLOAD_NAMES[:-1])} or {WORKLOAD_NAMES[-1]}.",
)
@input_option(
    "--format",
    "format_name",
    metavar="F",
    help=f"{', '.join(FORMAT_NAMES[:-1])} or {FORMAT_NAMES[-1]}; recognised from the content of "
    "the trace if not given.",
)
@input_option(
    "--throughputs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Gavel traces: the table of speeds that they were generated with.",
)
@columns_option
@timezone_option
@time_format_option
@encoding_option
@input_option("--skip-bad-rows", is_flag=True, help="Leave bad rows out instead of refusing them.")
@input_option(
    "--cluster",
    required=True,
    metavar="SPEC",
    help="MACHINESxGPUS, for example 15x4, or a .csv or .yaml file that lists machines.",
)
@input_option(
    "--machine-events",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Machines that come, drain or leave while jobs run (CSV: time,machine,event).",
)
@input_option(
    "--profiles",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Speeds and sizes of your models (CSV), in addition to the built-in ones.",
)
@input_option(
    "--queues",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What is guaranteed to queues, and what they borrow and lend (YAML).",
)
@policy_option(
    "--policy",
    "policies",
    required=True,
    metavar="P[,P...]",
    shell_complete=complete_policies,
    help="Names from 'motet policy list', all for all of them, or ./mine.py for your own.",
)
@policy_option(
    "--set",
    "settings",
    multiple=True,
    metavar="[P.]K=V",
    help="Set a parameter ('motet policy describe P' lists them) of policy P, or of all policies "
    "that have it; repeatable.",
)
@policy_option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="[P.]K=V:V...",
    help="A run for every value of a parameter, and a figure of its effect.",
)
@policy_option(
    "--seed",
    "seed_text",
    default="0",
    show_default=True,
    metavar="K[,K...]",
    help="Seed of drawn workloads, random placements, slow machines and policies with a random "
    "order; several seeds give confidence intervals.",
)
@policy_option(
    "--seeds", type=click.IntRange(1), metavar="N", help="N seeds, beginning with --seed."
)
@policy_option(
    "--jobs",
    "processes",
    type=click.IntRange(1),
    metavar="N",
    help="Number of parallel runs, each in a process.  [default: number of CPUs]",
)
@output_option(
    "--out",
    type=OutFolder(),
    metavar="DIR",
    help="Write jobs.csv and timeline.csv of every run, summary.json and figures there.",
)
@output_option(
    "--log-decisions",
    is_flag=True,
    help="Also write decisions.jsonl of every run, for 'motet explain'.",
)
@output_option("--overwrite", is_flag=True, help="Replace the simulation that is in --out.")
@json_option("Output")
@output_option("-q", "--quiet", is_flag=True, help="No progress and no notices on stderr.")
@click.pass_context
def simulate_command(ctx: click.Context, /, **flags: Any) -> None:
    """Replay a log of jobs on a simulated cluster, for every policy, swept value and seed.

    The same trace, cluster, settings and seed give the same result to the byte.

    \b
    Examples:
      motet simulate --trace jobs.csv --cluster 15x4 --policy fifo,tiresias-las
      motet simulate --trace jobs.csv --cluster 15x4 --policy tiresias-las,./mine.py \\
                     --set tiresias-las.thresholds=3200,7200 --out runs/first
      motet simulate --trace tiresias-480 --cluster 15x4 --policy yarn-cs,tiresias-las \\
                     --seeds 5 --json
      motet simulate --trace jobs.csv --cluster 15x4 --policy fifo,tiresias-las \\
                     --sweep thresholds=3600:3600,7200:3600,7200,14400 --out runs/k
    """
    from motet.interfaces.cli.shell.exits import exit_code_of
    from motet.interfaces.cli.shell.process.supervisor import run_supervised

    ctx.exit(run_supervised(lambda: exit_code_of(lambda: _simulate(flags))))


def _simulate(flags: Mapping[str, Any]) -> None:
    from motet.interfaces.cli.simulate.run import SimulateFlags, run_simulations

    files = {name: flags[name] for name in ("profiles", "queues")}
    own = [f"{name}={path}" for name, path in files.items() if path is not None]
    others = {name: value for name, value in flags.items() if name not in files}
    run_simulations(SimulateFlags(**others | {"settings": (*flags["settings"], *own)}))
