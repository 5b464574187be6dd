"""`motet trace`: look at logs of jobs, convert them, make new ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import (
    DescribedArgument,
    SectionedCommand,
    SectionOption,
    json_option,
)
from motet.interfaces.cli.shell.out_folder import OutFolder
from motet.sim.known_names import FORMAT_NAMES

if TYPE_CHECKING:
    from motet.domain.cluster import ClusterSpec
    from motet.sim.traces import Trace

path_type = click.Path(path_type=Path)
input_option = partial(click.option, cls=SectionOption, section="Input")
output_option = partial(click.option, cls=SectionOption, section="Output")
recipe_option = partial(click.option, cls=SectionOption, section="Workload")


def complete_format(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of trace formats for the shell."""
    return [name for name in FORMAT_NAMES if name.startswith(incomplete)]


format_option = input_option(
    "--format",
    "format_name",
    metavar="F",
    shell_complete=complete_format,
    help=f"{', '.join(FORMAT_NAMES[:-1])} or {FORMAT_NAMES[-1]}; recognised from the content if "
    "not given.",
)
skip_option = input_option(
    "--skip-bad-rows", is_flag=True, help="Leave bad rows out instead of refusing them."
)
overwrite_option = output_option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
throughputs_option = input_option(
    "--throughputs",
    type=path_type,
    metavar="CSV",
    help="Gavel traces: isolated steps per second of every type of job.",
)


target_argument = click.argument(
    "target",
    metavar="OUT",
    cls=DescribedArgument,
    type=path_type,
    describe="The CSV to write; gzipped if it ends in .gz, '-' is stdout.",
)


@click.group("trace", cls=HelpfulGroup, short_help="Describe, convert and generate logs of jobs.")
def trace() -> None:
    """Look at logs of jobs, convert them to Motet's CSV, or make new ones.

    \b
    Examples:
      motet trace describe philly.csv.gz --cluster 60x8 --out picture
      motet trace convert jobs.swf jobs.csv
      motet trace generate jobs.csv --seed 1
    """


@trace.command("describe", cls=SectionedCommand, short_help="Show what is in a trace.")
@click.argument("file", cls=DescribedArgument, type=path_type, describe="A log of jobs.")
@format_option
@skip_option
@throughputs_option
@input_option(
    "--cluster",
    "cluster_spec",
    metavar="SPEC",
    help="Compare what jobs ask for with this cluster: 15x4, or a .csv or .yaml file.",
)
@output_option(
    "--out", type=OutFolder(), metavar="DIR", help="Write trace.png and trace.json there."
)
@json_option("Output")
def describe(
    file: Path,
    format_name: str | None,
    skip_bad_rows: bool,
    throughputs: Path | None,
    cluster_spec: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show how many jobs FILE holds, how large and long they are, and how they arrive."""
    from motet.interfaces.cli.shell.results import print_result
    from motet.interfaces.cli.trace.screen import trace_document, trace_table
    from motet.report.rendering.folder import Folder
    from motet.report.rendering.json_text import to_json
    from motet.sim.cluster_file import open_cluster
    from motet.sim.traces import read_trace
    from motet.sim.traces.summary import summarise

    cluster = open_cluster(cluster_spec) if cluster_spec else None
    folder = Folder(out) if out else None
    largest = cluster.gpu_count if cluster else None
    found = read_trace(file, format_name, skip_bad_rows, largest, throughputs)
    summary = summarise(found, (cluster.size, cluster.gpu_count) if cluster else None)
    document = trace_document(file, found, summary)
    if folder:
        folder.write("trace.png", lambda path: _save_picture(file, found, cluster, path))
        folder.write_json("trace.json", document)
    _tell(found)
    if as_json:
        click.echo(to_json(document), nl=False)
        return
    print_result(trace_table(file, found, summary))


@trace.command("convert", cls=SectionedCommand, short_help="Write a trace as Motet's CSV.")
@click.argument("source", metavar="IN", cls=DescribedArgument, type=path_type, describe="A trace.")
@target_argument
@format_option
@skip_option
@throughputs_option
@overwrite_option
def convert(
    source: Path,
    target: Path,
    format_name: str | None,
    skip_bad_rows: bool,
    throughputs: Path | None,
    overwrite: bool,
) -> None:
    """Write the jobs of IN to OUT as Motet's CSV, sorted, exact to the microsecond."""
    from motet.sim.traces import read_trace
    from motet.sim.traces.writing import motet_csv

    _check_free(target, overwrite=overwrite, source=source)
    found = read_trace(source, format_name, skip_bad_rows, throughputs=throughputs)
    _tell(found)
    _write(target, motet_csv(found.workload, found.more), len(found.workload))


@trace.command("generate", cls=SectionedCommand, short_help="Make up a trace, from a seed.")
@target_argument
@recipe_option(
    "--jobs",
    type=int,
    metavar="N",
    help="How many jobs (of themis-100: searches); if not given as many as the mix has in its "
    "name, else 480.",
)
@recipe_option(
    "--mix",
    default="tiresias-480",
    show_default=True,
    metavar="NAME|GPUS:WEIGHT,...",
    help="How many jobs ask for how many GPUs; tiresias-480 is Tiresias' testbed workload, "
    "slaq-160 and optimus-50 are elastic jobs with loss curves, after those papers, themis-100 "
    "searches by successive halving.",
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
    "lognormal:MEDIAN_S,SIGMA, empirical:FILE (a trace, or a number of seconds per line) or "
    "service:FILE (the same in GPU-seconds).",
)
@recipe_option(
    "--demands",
    metavar="per-gpu:CPUS,CPUS,GB,GB",
    help="CPUs and gigabytes of memory that go with every GPU, log-uniform from the first number "
    "to the second; none if not given.",
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
def generate(
    target: Path,
    jobs: int | None,
    mix: str,
    arrivals: str | None,
    durations: str | None,
    demands: str | None,
    seed: int,
    overwrite: bool,
) -> None:
    """Make up a workload and write it to OUT as Motet's CSV.

    \b
    Examples:
      motet trace generate jobs.csv
      motet trace generate jobs.csv --jobs 5000 --mix 1:80,4:15,8:5 --arrivals bursty:20,6
      motet trace generate jobs.csv --durations lognormal:600,1.5 --seed 3
      motet trace generate jobs.csv --demands per-gpu:1,8,4,64
      motet trace generate elastic.csv --mix slaq-160
    """
    import numpy as np

    from motet.sim import generate as workloads
    from motet.sim.traces.writing import motet_csv

    _check_free(target, overwrite=overwrite)
    recipe = workloads.parse_recipe(mix, jobs, arrivals, durations, demands)
    drawn = workloads.draw(recipe, np.random.default_rng(seed))
    _write(target, motet_csv(drawn), len(drawn))


def _tell(found: Trace) -> None:
    for notice in found.notices:
        click.echo(notice, err=True)


def _check_free(target: Path, *, overwrite: bool, source: Path | None = None) -> None:
    """Raises BadInput where a file would be lost. A device or a pipe can be written to."""
    from motet.domain.errors import BadInput

    if not target.is_file() or str(target) == "-":
        return
    if source is not None and source.exists() and source.samefile(target):
        raise BadInput(f"{target}: is the file that is read; name another one to write")
    if not overwrite:
        raise BadInput(f"{target}: exists already; name another file, or add --overwrite")


def _write(target: Path, text: str, jobs: int) -> None:
    from motet.sim.traces.writing import write_text

    if str(target) == "-":
        click.echo(text, nl=False)
        return
    write_text(target, text)
    click.echo(f"{jobs:,} jobs written to {target}", err=True)


def _save_picture(file: Path, found: Trace, cluster: ClusterSpec | None, path: Path) -> None:
    from motet.domain.units import SECOND_US
    from motet.report.figures.traces import TracePicture, save_trace_plot
    from motet.sim.traces.summary import demand

    jobs = found.workload
    at_us, busy = demand(jobs)
    columns: dict[str, Any] = {
        "gpus": jobs.gpus,
        "submit_s": jobs.submit_us / SECOND_US,
        "duration_s": jobs.duration_us / SECOND_US,
        "demand_at_s": at_us / SECOND_US,
        "demand_gpus": busy,
    }
    limit = cluster.gpu_count if cluster else None
    save_trace_plot(
        TracePicture(f"{file.name}: {len(jobs):,} jobs", **columns, cluster_gpus=limit), path
    )
