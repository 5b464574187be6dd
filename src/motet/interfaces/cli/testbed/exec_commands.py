"""`motet testbed exec` and `run`: commands on a host, and on the front."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.testbed.options import name_option, open_testbed

if TYPE_CHECKING:
    from motet.testbed.testbed import Testbed

COMMAND_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command("exec", context_settings=COMMAND_CONTEXT, short_help="Run a command on a host.")
@name_option
@click.argument("host")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
def exec_command(host: str, command: tuple[str, ...], name: str) -> None:
    """Run COMMAND on HOST, under its limits, in this folder and with these files.

    The exit code is the command's.

    \b
    Examples:
      motet testbed exec m0 -- ip -stats link
      motet testbed exec front -- ip addr
    """
    if command[0] == "--name" and len(command) > 2:
        name, command = command[1], command[2:]
    _replace_process(open_testbed(name), host, command)


@click.command("run", context_settings=COMMAND_CONTEXT, short_help="Run a command on the front.")
@name_option
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
def front_command(command: tuple[str, ...], name: str) -> None:
    """Run COMMAND on the front; 'motet train' joins the testbed's Ray cluster there.

    The exit code is the command's.

    \b
    Example:
      motet testbed run -- motet train nmf --data u.data --machines 4 --workers 3 --servers 1
    """
    from motet.testbed.hosts import FRONT

    _replace_process(open_testbed(name), FRONT, command)


def _replace_process(bed: Testbed, host: str, command: tuple[str, ...]) -> None:
    """Replace this process by the command."""
    if command[0] == "--" and len(command) > 1:  # click keeps it after another argument
        command = command[1:]
    arguments, environment = bed.entering(host, command)
    os.execvpe(arguments[0], arguments, environment)
