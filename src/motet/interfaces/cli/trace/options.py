"""Options and arguments that several `motet trace` commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from motet.interfaces.cli.shell.log_options import input_option
from motet.interfaces.cli.shell.option_groups import DescribedArgument, SectionOption
from motet.sim.known_names import FORMAT_NAMES

path_type = click.Path(path_type=Path)
output_option = partial(click.option, cls=SectionOption, section="Output")


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
throughputs_option = input_option(
    "--throughputs",
    type=path_type,
    metavar="CSV",
    help="Gavel traces: isolated steps per second of every type of job.",
)
overwrite_option = output_option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
target_argument = click.argument(
    "target",
    metavar="OUT",
    cls=DescribedArgument,
    type=path_type,
    describe="The CSV to write; gzipped if it ends in .gz, '-' is stdout.",
)
