"""`motet trace describe`: statistics and a figure of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.shell.log_options import (
    columns_option,
    encoding_option,
    input_option,
    time_format_option,
    timezone_option,
)
from motet.interfaces.cli.shell.option_groups import (
    DescribedArgument,
    SectionedCommand,
    json_option,
)
from motet.interfaces.cli.shell.out_folder import OutFolder
from motet.interfaces.cli.trace.options import (
    format_option,
    output_option,
    path_type,
    skip_option,
    throughputs_option,
)
from motet.sim.known_names import WORKLOAD_NAMES

if TYPE_CHECKING:
    from motet.domain.cluster import ClusterSpec
    from motet.sim.traces import Trace


@click.command("describe", cls=SectionedCommand, short_help="Show statistics of a trace.")
@click.argument(
    "file",
    cls=DescribedArgument,
    type=path_type,
    describe=f"A log of jobs, or a workload that is drawn: {', '.join(WORKLOAD_NAMES)}.",
)
@format_option
@skip_option
@throughputs_option
@columns_option
@timezone_option
@time_format_option
@encoding_option
@input_option(
    "--cluster",
    "cluster_spec",
    metavar="SPEC",
    help="Compare what jobs ask for with this cluster: 15x4, or a .csv or .yaml file.",
)
@input_option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="K",
    help="Seed of a workload that is drawn.",
)
@output_option(
    "--out", type=OutFolder(), metavar="DIR", help="Write trace.png and trace.json there."
)
@json_option("Output")
def describe_command(
    file: Path,
    format_name: str | None,
    skip_bad_rows: bool,
    throughputs: Path | None,
    column_texts: tuple[str, ...],
    timezone: str | None,
    time_format: str | None,
    encoding: str | None,
    cluster_spec: str | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show number, sizes, durations and arrivals of the jobs in FILE.

    \b
    Examples:
      motet trace describe jobs.csv --cluster 15x4
      motet trace describe slaq-160 --seed 3
    """
    from rich.console import Group
    from rich.text import Text

    from motet.interfaces.cli.shell.streams.results import print_result
    from motet.interfaces.cli.shell.trace_input import TraceFlags, traces
    from motet.interfaces.cli.trace.output_file import print_trace_notices
    from motet.interfaces.cli.trace.policy_uses import policy_use_page, policy_uses
    from motet.interfaces.cli.trace.screen import trace_document, trace_table
    from motet.report.rendering.folder import Folder
    from motet.report.rendering.json_text import to_json
    from motet.sim.cluster_file import open_cluster
    from motet.sim.traces.summary import summarise

    cluster = open_cluster(cluster_spec) if cluster_spec else None
    folder = Folder(out) if out else None
    told = format_name, throughputs, column_texts, timezone, encoding, time_format
    flags = TraceFlags(file, *told, skip_bad_rows)
    trace = traces(flags, cluster.gpu_count if cluster else None, [seed])[seed]
    summary = summarise(trace, (cluster.size, cluster.gpu_count) if cluster else None)
    document = trace_document(file, trace, summary)
    uses = policy_uses(trace.workload)
    document["policies"] = [use.document() for use in uses]
    if folder:
        folder.write("trace.png", lambda path: _save_figure(file, trace, cluster, path))
        folder.write_json("trace.json", document)
    print_trace_notices(trace)
    if as_json:
        click.echo(to_json(document), nl=False)
        return
    print_result(Group(trace_table(file, trace, summary), Text(), policy_use_page(uses)))


def _save_figure(file: Path, trace: Trace, cluster: ClusterSpec | None, path: Path) -> None:
    from motet.domain.units import SECOND_US
    from motet.report.figures.traces import TraceColumns, save_trace_plot
    from motet.sim.traces.summary import demand

    jobs = trace.workload
    at_us, busy = demand(jobs)
    columns = TraceColumns(
        f"{file.name}: {len(jobs):,} jobs",
        gpus=jobs.gpus,
        submit_s=jobs.submit_us / SECOND_US,
        duration_s=jobs.duration_us / SECOND_US,
        demand_at_s=at_us / SECOND_US,
        demand_gpus=busy,
        cluster_gpus=cluster.gpu_count if cluster else None,
    )
    save_trace_plot(columns, path)
