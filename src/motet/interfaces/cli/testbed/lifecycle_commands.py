"""`motet testbed up`, `down` and `status`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.cli.testbed.options import (
    limit_options,
    name_option,
    open_testbed,
    parse_limits,
)

if TYPE_CHECKING:
    from motet.testbed.hosts import Blueprint


@click.command("up", short_help="Create the hosts and start Ray on them.")
@click.option("--machines", type=int, metavar="N", help="Equal hosts: m0, m1, ...")
@click.option(
    "--types",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Unequal hosts instead: CSV or YAML with name,count,cpus,bandwidth,memory.",
)
@limit_options
@click.option("--no-ray", is_flag=True, help="Create hosts and links only, without Ray.")
@click.option(
    "--object-store",
    default="80mb",
    show_default=True,
    metavar="M",
    help="Size of Ray's object store per host; Motet does not transfer data through it.",
)
@name_option
@json_option()
def up_command(name: str, as_json: bool, **flags: Any) -> None:
    """Create a testbed. After an error or Ctrl-C nothing of it is left.

    \b
    Examples:
      motet testbed up --machines 8 --cpus 0.2 --bandwidth 50mbit
      motet testbed up --types hosts.csv --memory 1gb --name uneven
    """
    from motet.interfaces.cli.shell.process.signals import raise_on_signals
    from motet.interfaces.cli.testbed.screen import show_status, warn_of_scarce_cpus

    blueprint = _blueprint(name, **flags)
    bed = open_testbed(name)
    warn_of_scarce_cpus(blueprint, os.cpu_count() or 1)
    with raise_on_signals():
        bed.up(blueprint)
    show_status(bed, as_json=as_json)


@click.command("down", short_help="Remove a testbed and all that runs on it.")
@name_option
def down_command(name: str) -> None:
    """Remove hosts, processes and files, also after a crash. It is no error if there are none."""
    removal = open_testbed(name).down()
    said = f"removed testbed {name}: {removal.hosts} hosts, {removal.processes} processes"
    if not removal.hosts and not removal.processes:
        said = f"there is no testbed {name!r}, nothing to remove"
    echo_note(said)


@click.command("status", short_help="Show the hosts of a testbed.")
@name_option
@json_option()
def status_command(name: str, as_json: bool) -> None:
    """Show hosts, their limits and usage, and which of them are dead or cut off."""
    from motet.interfaces.cli.testbed.screen import show_status

    show_status(open_testbed(name), as_json=as_json)


def _blueprint(
    name: str,
    machines: int | None,
    types: Path | None,
    no_ray: bool,
    object_store: str,
    **limits: str | None,
) -> Blueprint:
    from motet.domain.errors import BadInput
    from motet.testbed.hosts import Blueprint, check_name, equal_machines, machines_of
    from motet.testbed.quantities import object_store_of
    from motet.testbed.types_file import read_types

    if (machines is None) == (types is None):
        raise BadInput("give either --machines N or --types FILE for the hosts")
    defaults = parse_limits(**limits)
    made = (
        machines_of(read_types(types, defaults))
        if types is not None
        else equal_machines(machines or 0, defaults)
    )
    store = object_store_of(object_store, "--object-store")
    return Blueprint(check_name(name), made, not no_ray, store)
