"""`motet policy show` and `set`: the policy of the live cluster."""

from __future__ import annotations

from threading import Timer
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.live.policy_option import complete_live_policy
from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


_TELL_AFTER_S = 2.0
_COMPILES = "the server compiles policy {}, once after an installation; the one before decides"


@click.command("show", short_help="Show the policy of the live cluster.")
@json_option()
@with_client
def show_policy_command(client: LiveClient, as_json: bool) -> None:
    """Show the policy of the live cluster and its parameters."""
    _print(client.policy(), as_json=as_json)


@click.command("set", short_help="Change the policy of the live cluster.")
@click.argument("policy", metavar="P", shell_complete=complete_live_policy)
@click.option(
    "--set", "settings", multiple=True, metavar="K=V", help="A parameter of the policy; repeatable."
)
@json_option()
@with_client
def set_policy_command(
    client: LiveClient, policy: str, settings: tuple[str, ...], as_json: bool
) -> None:
    """Put policy P (a name, or ./mine.py) in force on the live cluster.

    Parameters that are not given have their defaults. Jobs keep their place: running ones are
    preempted only if the new policy decides so.
    """
    from motet.interfaces.cli.live.policy_option import policy_and_settings

    chosen = policy_and_settings(policy, settings)
    note = Timer(_TELL_AFTER_S, click.echo, [_COMPILES.format(policy)], {"err": True})
    note.daemon = True
    note.start()
    try:
        found = client.choose_policy(*chosen)
    finally:
        note.cancel()
    _print(found, as_json=as_json)


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    from motet.interfaces.cli.live.screens import policy_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    if as_json:
        print_json(found)
    else:
        print_result(policy_screen(found))
