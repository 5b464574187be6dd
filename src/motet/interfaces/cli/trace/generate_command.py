"""`motet trace generate`: a workload drawn from a seed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from motet.interfaces.cli.shell.option_groups import SectionedCommand, SectionOption
from motet.interfaces.cli.trace.options import overwrite_option, target_argument

recipe_option = partial(click.option, cls=SectionOption, section="Workload")


@click.command("generate", cls=SectionedCommand, short_help="Generate a trace from a seed.")
@target_argument
@recipe_option(
    "--jobs",
    type=int,
    metavar="N",
    help="Number of jobs (of themis-100: searches); if not given, the number in the name of the "
    "mix (of helios-year: a million), else 480.",
)
@recipe_option(
    "--mix",
    default="tiresias-480",
    show_default=True,
    metavar="NAME|GPUS:WEIGHT,...",
    help="Sizes of jobs in GPUs; tiresias-480 is Tiresias' testbed workload, "
    "helios-year a million jobs in the published shape of Helios' clusters, slaq-160 and "
    "optimus-50 are elastic jobs with loss curves, after those papers, themis-100 "
    "searches by successive halving, harmony-80 (and its 60 jobs with most COMP or COMM, "
    "harmony-60-comp, harmony-60-comm) jobs that may share machines.",
)
@recipe_option(
    "--arrivals",
    metavar="KIND",
    help="poisson:MEAN_S, bursty:MEAN_S,CV (CV: deviation over mean of the gaps; 4 if not given) "
    "or every:S; if not given poisson:30, or as the named mix has it.",
)
@recipe_option(
    "--durations",
    metavar="KIND",
    help="bins (Tiresias' short and long jobs; if not given), loguniform:LOW_S,HIGH_S, "
    "lognormal:MEDIAN_S,SIGMA[,MOST_S], empirical:FILE (a trace, or a number of seconds per "
    "line) or service:FILE (the same in GPU-seconds).",
)
@recipe_option(
    "--demands",
    metavar="per-gpu:CPUS,CPUS,GB,GB",
    help="CPUs and gigabytes of memory that a job asks for per GPU, log-uniform from the first "
    "number to the second; none if not given.",
)
@recipe_option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="K",
    help="The same seed gives the same bytes.",
)
@overwrite_option
def generate_command(
    target: Path,
    jobs: int | None,
    mix: str,
    arrivals: str | None,
    durations: str | None,
    demands: str | None,
    seed: int,
    overwrite: bool,
) -> None:
    """Generate a workload and write it to OUT as Motet's CSV.

    \b
    Examples:
      motet trace generate jobs.csv
      motet trace generate jobs.csv --jobs 5000 --mix 1:80,4:15,8:5 --arrivals bursty:20,6
      motet trace generate jobs.csv --durations lognormal:600,1.5 --seed 3
      motet trace generate jobs.csv --demands per-gpu:1,8,4,64
      motet trace generate elastic.csv --mix slaq-160
    """
    import numpy as np

    from motet.interfaces.cli.trace.output_file import require_free_file, write_trace_csv
    from motet.sim import generate as workloads
    from motet.sim.traces.writing import motet_csv

    require_free_file(target, overwrite=overwrite)
    recipe = workloads.parse_recipe(mix, jobs, arrivals, durations, demands)
    drawn = workloads.draw(recipe, np.random.default_rng(seed))
    write_trace_csv(target, motet_csv(drawn), len(drawn))
