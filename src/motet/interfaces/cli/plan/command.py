"""`motet plan`: its flags; `run` carries it out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from motet.interfaces.cli.shell.option_groups import SectionedCommand, SectionOption, json_option

input_option = partial(click.option, cls=SectionOption, section="Input")
output_option = partial(click.option, cls=SectionOption, section="Output")


@click.command(cls=SectionedCommand, short_help="Find the best configuration of a job.")
@input_option(
    "--profile",
    required=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Folder that 'motet train --out' wrote, or a .yaml or .json file.",
)
@input_option(
    "--machines",
    metavar="N|FILE",
    help="So many machines like the profile's, or a .yaml or .json file of types of machines.  "
    "[default: those of the run]",
)
@input_option(
    "--bandwidth",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MBPS",
    help="Megabits per second between machines.  [default: the profile's]",
)
@input_option(
    "--roles",
    type=click.Choice(["separate", "both"]),
    default="separate",
    show_default=True,
    help="A machine is worker or server, or every machine in use is both.",
)
@output_option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write plan.json and plan.png there.",
)
@json_option("Output")
def plan(**flags: Any) -> None:
    """Find the numbers of workers and servers, and the shares of data and model, with which an
    epoch is predicted to be shortest.

    Nothing is trained: the answer comes from the times and bytes of a finished run.

    \b
    Examples:
      motet train mlr --data digits --machines 3 --workers 2 --out runs/first
      motet plan --profile runs/first --machines 16
      motet plan --profile job.yaml --machines types.yaml --out plans/first
    """
    from motet.interfaces.cli.plan.run import PlanFlags, show_plan

    show_plan(PlanFlags(**flags))
