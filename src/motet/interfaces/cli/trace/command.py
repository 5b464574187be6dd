"""`motet trace`: describes, converts and generates logs of jobs."""

from __future__ import annotations

import click

from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.trace.convert_command import convert_command
from motet.interfaces.cli.trace.describe_command import describe_command
from motet.interfaces.cli.trace.generate_command import generate_command


@click.group("trace", cls=HelpfulGroup, short_help="Describe, convert and generate logs of jobs.")
def trace_group() -> None:
    """Describe logs of jobs, convert them to Motet's CSV, or generate new ones.

    \b
    Examples:
      motet trace describe philly.csv.gz --cluster 60x8 --out picture
      motet trace convert jobs.swf jobs.csv
      motet trace generate jobs.csv --seed 1
    """


for command in (convert_command, describe_command, generate_command):
    trace_group.add_command(command)
