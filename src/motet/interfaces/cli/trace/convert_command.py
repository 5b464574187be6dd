"""`motet trace convert`: a trace in any known format as Motet's CSV."""

from __future__ import annotations

from pathlib import Path

import click

from motet.interfaces.cli.shell.log_options import (
    columns_option,
    encoding_option,
    time_format_option,
    timezone_option,
)
from motet.interfaces.cli.shell.option_groups import DescribedArgument, SectionedCommand
from motet.interfaces.cli.trace.options import (
    format_option,
    overwrite_option,
    path_type,
    skip_option,
    target_argument,
    throughputs_option,
)


@click.command("convert", cls=SectionedCommand, short_help="Write a trace as Motet's CSV.")
@click.argument("source", metavar="IN", cls=DescribedArgument, type=path_type, describe="A trace.")
@target_argument
@format_option
@skip_option
@throughputs_option
@columns_option
@timezone_option
@time_format_option
@encoding_option
@overwrite_option
def convert_command(
    source: Path,
    target: Path,
    format_name: str | None,
    skip_bad_rows: bool,
    throughputs: Path | None,
    column_texts: tuple[str, ...],
    timezone: str | None,
    time_format: str | None,
    encoding: str | None,
    overwrite: bool,
) -> None:
    """Write the jobs of IN to OUT as Motet's CSV, sorted, exact to the microsecond."""
    from motet.interfaces.cli.trace.output_file import (
        print_trace_notices,
        require_free_file,
        write_trace_csv,
    )
    from motet.sim.traces import read_trace
    from motet.sim.traces.options import parse_columns
    from motet.sim.traces.writing import motet_csv

    require_free_file(target, overwrite=overwrite, source=source)
    trace = read_trace(
        source,
        format_name,
        skip_bad_rows,
        throughputs=throughputs,
        columns=parse_columns(column_texts),
        timezone=timezone,
        time_format=time_format,
        encoding=encoding,
    )
    print_trace_notices(trace)
    write_trace_csv(target, motet_csv(trace.workload, trace.more), len(trace.workload))
