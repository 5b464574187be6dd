"""`motet memory simulate`: its options; `simulation` carries it out."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from motet.interfaces.cli.memory.options import ByteSizeType
from motet.interfaces.cli.shell.option_groups import SectionedCommand, SectionOption, json_option
from motet.interfaces.cli.shell.option_types import DurationType
from motet.interfaces.cli.shell.out_folder import OutFolder

cluster_option = partial(click.option, cls=SectionOption, section="Cluster", show_default=True)
load_option = partial(click.option, cls=SectionOption, section="Containers", show_default=True)
output_option = partial(click.option, cls=SectionOption, section="Output")


@click.command(
    "simulate", cls=SectionedCommand, short_help="Compare rules of lending on many machines."
)
@cluster_option(
    "--machines", type=click.IntRange(3, 10_000), default=1000, metavar="N", help="All lend."
)
@cluster_option(
    "--memory",
    "memory_bytes",
    type=ByteSizeType(),
    default="64G",
    metavar="SIZE",
    help="Of each machine.",
)
@cluster_option(
    "--slab", "slab_bytes", type=ByteSizeType(), default="1G", metavar="SIZE", help="Unit of loans."
)
@cluster_option(
    "--head-room",
    "head_room_bytes",
    type=ByteSizeType(),
    metavar="SIZE",
    help="Memory that stays free on each machine.  [default: an eighth of it]",
)
@load_option(
    "--containers",
    "containers_per_machine",
    type=click.FloatRange(min=0, min_open=True, max=100),
    default=2.8125,
    metavar="X",
    help="Per machine on average, each on a machine at random.",
)
@load_option(
    "--working-set",
    "working_set_bytes",
    type=ByteSizeType(),
    default="10G",
    metavar="SIZE",
    help="Of a container on average; they are uniform within half of it. The limits of 50, 30 and "
    "20 % of them are 100, 75 and 50 % of that.",
)
@load_option(
    "--lasts",
    "lasts_s",
    type=DurationType(),
    default=600.0,
    metavar="TIME",
    help="Mean time until another container, on another machine, replaces one.",
)
@load_option(
    "--grows",
    "grows_s",
    type=DurationType(),
    default=60.0,
    metavar="TIME",
    help="Until a container uses its working set.",
)
@load_option(
    "--kept",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="X",
    help="Share of the memory of containers that page which has a copy on the device, too. The "
    "kernel keeps such copies of pages until they are written; the chapter's utilisation follows "
    "with 0.65.",
)
@load_option(
    "--base",
    "base_bytes",
    type=ByteSizeType(),
    default="2G",
    metavar="SIZE",
    help="Used on each machine without containers.",
)
@load_option("--time", "time_s", type=DurationType(), default=300.0, metavar="TIME")
@load_option(
    "--seed", type=click.IntRange(min=0), default=0, metavar="K", help="Of all that is drawn."
)
@output_option(
    "--out",
    type=OutFolder(),
    metavar="DIR",
    help="Write balance.png, machines.csv and summary.json there.",
)
@json_option("Output")
def simulate_memory_command(**flags: Any) -> None:
    """Let machines with containers lend each other memory, with the code of lenders and devices for
    head room, placement and eviction.

    Two choices and batch eviction are compared with one choice, with lenders at random, and with
    eviction at random. Balance and utilisation are means of the second half of the time.

    \b
    Examples:
      motet memory simulate --machines 32
      motet memory simulate --machines 1000 --out balance
    """
    from motet.interfaces.cli.memory.simulation import MemoryFlags, show_lending

    show_lending(MemoryFlags(**flags))
