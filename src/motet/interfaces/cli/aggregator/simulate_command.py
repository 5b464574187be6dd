"""`motet aggregator simulate`: its options; `simulation` carries it out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from motet.aggregation.rule_defaults import CLUSTER_SIZE, LOSS_LIMIT, ON_DEMAND
from motet.interfaces.cli.shell.log_options import (
    columns_option,
    encoding_option,
    input_option,
    time_format_option,
    timezone_option,
)
from motet.interfaces.cli.shell.option_groups import SectionedCommand, SectionOption, json_option
from motet.interfaces.cli.shell.option_types import DurationType
from motet.interfaces.cli.shell.out_folder import OutFolder
from motet.sim.known_names import FORMAT_NAMES, WORKLOAD_NAMES

job_option = partial(click.option, cls=SectionOption, section="Jobs", show_default=True)
pool_option = partial(click.option, cls=SectionOption, section="Pool", show_default=True)
output_option = partial(click.option, cls=SectionOption, section="Output")


@click.command(
    "simulate", cls=SectionedCommand, short_help="Compare a pool with servers of each job's own."
)
@input_option(
    "--trace",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Log of jobs; or a workload that is drawn: {', '.join(WORKLOAD_NAMES)}.",
)
@input_option(
    "--format",
    "format_name",
    metavar="F",
    help=f"{', '.join(FORMAT_NAMES)}; recognised from the content if not given.",
)
@columns_option
@timezone_option
@time_format_option
@encoding_option
@input_option("--skip-bad-rows", is_flag=True, help="Leave bad rows out instead of refusing them.")
@input_option(
    "--skip",
    "skip_s",
    type=DurationType(),
    metavar="TIME",
    help="Begin so long after the first submission: 90s, 30m, 2h or 14d.",
)
@input_option(
    "--span",
    "span_s",
    type=DurationType(),
    metavar="TIME",
    help="Simulate so much of the log.  [default: to its end]",
)
@input_option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="K",
    help="Seed of what is drawn: the models of jobs, the workload.",
)
@job_option(
    "--least-gpus",
    type=click.IntRange(min=1),
    default=2,
    metavar="N",
    help="Jobs with fewer GPUs have no servers and are left out.",
)
@job_option(
    "--gpus-per-worker",
    type=click.IntRange(min=1),
    default=4,
    metavar="N",
    help="GPUs of one worker; a larger job has several workers.",
)
@job_option(
    "--servers-per-worker",
    type=click.FloatRange(min=0, min_open=True, max=100),
    default=1.0,
    metavar="X",
    help="Parameter servers that a user asks for, per worker; rounded up for each job.",
)
@job_option(
    "--cpu-per-byte",
    "cpu_ns_per_byte",
    type=click.FloatRange(min=0, min_open=True, max=1000),
    metavar="NS",
    help="Nanoseconds that a server with all its cores takes for a byte of the gradients of one "
    "worker.  [default: the loads that follow from the dissertation's figures]",
)
@job_option(
    "--spread",
    type=click.FloatRange(min=0, max=0.9),
    default=0.0,
    metavar="X",
    help="Iterations of jobs with the same model differ by up to this share, either way.",
)
@job_option(
    "--contention",
    type=click.FloatRange(min=0, max=1),
    default=0.0,
    metavar="X",
    help="Share of its speed that a job loses, beside the predicted loss, if it shares all its "
    "Aggregators; pMaster measures that and reacts.",
)
@pool_option(
    "--loss-limit",
    type=click.FloatRange(min=0, min_open=True, max=1),
    default=LOSS_LIMIT,
    metavar="X",
    help="LossLimit: the share of its speed that no job may lose.",
)
@pool_option(
    "--queue-loss-limit",
    "queue_texts",
    multiple=True,
    show_default=False,
    metavar="QUEUE=X",
    help="LossLimit of the jobs of a queue; can be given several times.",
)
@pool_option(
    "--bandwidth",
    metavar="B",
    help="Bandwidth of the link of a server and of an Aggregator, such as 25gbit: no Aggregator "
    "gets more traffic than that.  [default: links are not counted]",
)
@pool_option(
    "--period",
    "period_s",
    type=DurationType(),
    default=600.0,
    metavar="TIME",
    help="Aggregators are consolidated and waiting jobs placed so often.",
)
@pool_option(
    "--on-demand",
    type=click.IntRange(min=0),
    default=ON_DEMAND,
    metavar="N",
    help="Waiting jobs that need more new Aggregators than this get them at once.",
)
@pool_option(
    "--cluster-size",
    type=click.IntRange(min=1),
    default=CLUSTER_SIZE,
    metavar="N",
    help="Aggregators that an Aggregator cluster is filled to.",
)
@pool_option(
    "--measured-iterations",
    type=click.IntRange(min=0),
    default=100,
    metavar="N",
    help="A new job is measured for so many iterations, on Aggregators of its own.",
)
@output_option(
    "--out",
    type=OutFolder(),
    metavar="DIR",
    help="Write pool.png, pool.csv, jobs.csv and summary.json there.",
)
@json_option("Output")
def simulate_pool_command(**flags: Any) -> None:
    """Let the distributed jobs of a log share Aggregators, and compare that with parameter servers
    of each job's own.

    Jobs run from their submission on, for their duration. Those whose model is not AlexNet, VGG19,
    AWD-LM or BERT get one of these, drawn. An Aggregator has the CPUs of a server.

    \b
    Examples:
      motet aggregator simulate --trace tiresias-480 --out pool
      motet aggregator simulate --trace philly.csv.gz --skip 14d --span 70d --out pool
    """
    from motet.interfaces.cli.aggregator.simulation import PoolFlags, show_simulation

    show_simulation(PoolFlags(**flags))
