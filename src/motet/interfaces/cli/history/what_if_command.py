"""`motet whatif`: the journal of the live cluster replayed under another policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.live.connection import server_option, state_option
from motet.interfaces.cli.live.policy_option import complete_live_policy
from motet.interfaces.cli.shell.option_groups import json_option


@click.command("whatif", short_help="Replay the live cluster's jobs under another policy.")
@click.option(
    "--policy",
    required=True,
    metavar="P",
    shell_complete=complete_live_policy,
    help="A name, or ./mine.py.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="K=V", help="A parameter of the policy; repeatable."
)
@click.option(
    "--since",
    metavar="TIME",
    help="Begin then, with the jobs of that time: 2h, 7d, or 2026-12-01T08:00. Default: all jobs.",
)
@click.option(
    "--journal",
    metavar="FILE|URL",
    help="Read this journal, or a copy of one, instead of asking a server.",
)
@server_option
@state_option
@json_option()
def what_if_command(
    policy: str,
    settings: tuple[str, ...],
    since: str | None,
    journal: str | None,
    server: str | None,
    state_folder: Path | None,
    as_json: bool,
) -> None:
    """Simulate the jobs of the live cluster under policy P, with the run times that were measured.

    The simulator replays submissions, cancellations, changes of jobs and machines. It first replays
    the policy in force: the difference to what was measured is the error to expect.

    \b
    Examples:
      motet whatif --policy tiresias-las
      motet whatif --policy srtf --since 7d --json
      motet whatif --policy ./mine.py --set patience_s=60 --journal copy.db
    """
    from motet.interfaces.api_access.given_moments import past_moment
    from motet.interfaces.cli.history.what_if_screen import what_if_screen
    from motet.interfaces.cli.live.policy_option import policy_and_settings
    from motet.interfaces.cli.shell.streams.busy_line import busy_line
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    if journal is not None and (server is not None or state_folder is not None):
        raise BadInput("--journal is read here; leave out --server and --state-dir")
    chosen = policy_and_settings(policy, settings)
    begin = None
    if since is not None:
        begin = past_moment("--since", since, datetime.now().astimezone())
    with busy_line("replaying the journal (the first time, the simulator is compiled)"):
        if journal is None:
            report = _asked(server, state_folder, *chosen, begin)
        else:
            report = _read(journal, *chosen, begin)
    if as_json:
        print_json(report)
    else:
        print_result(what_if_screen(report))


def _asked(
    server: str | None,
    state_folder: Path | None,
    policy: str,
    settings: Mapping[str, str],
    begin: datetime | None,
) -> dict[str, Any]:
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress

    with LiveClient(ServerAddress.find(server, state_folder)) as client:
        return client.what_if(policy, settings, begin.isoformat() if begin else None)


def _read(
    journal: str, policy: str, settings: Mapping[str, str], begin: datetime | None
) -> dict[str, Any]:
    from motet.interfaces.forecasts.followed_journal import FollowedJournal
    from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if

    since_us = None if begin is None else round(begin.timestamp() * 1e6)
    followed = FollowedJournal(journal)
    try:
        return what_if(followed, WhatIfQuestion(policy, settings, since_us))
    finally:
        followed.close()
