"""`motet doctor`: checks what a live cluster needs."""

from __future__ import annotations

from pathlib import Path

import click

from motet.domain.errors import ExitCode
from motet.interfaces.cli.live.connection import server_option, state_option
from motet.interfaces.cli.shell.option_groups import json_option


@click.command("doctor", short_help="Check server, ports, tokens, versions, clocks, machines.")
@server_option
@state_option
@json_option()
def doctor_command(server: str | None, state_folder: Path | None, as_json: bool) -> int:
    """Check what the live cluster needs, and say what to do where something is wrong.

    Exit status: 0 all is well or only warnings, 1 something is wrong.
    """
    from dataclasses import asdict

    from rich.table import Table
    from rich.text import Text

    from motet.interfaces.cli.doctor.checks import all_checks
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.interfaces.cli.shell.streams.visible import visible_text

    found = all_checks(server, state_folder)
    is_wrong = any(each.verdict == "wrong" for each in found)
    if as_json:
        print_json({"checks": [asdict(each) for each in found], "is_wrong": is_wrong})
    else:
        styles = {"ok": "green", "warning": "yellow", "wrong": "bold red"}
        table = Table(box=None, show_header=False, pad_edge=False)
        for each in found:
            table.add_row(
                Text(each.verdict, style=styles[each.verdict]),
                each.subject,
                Text(visible_text(each.message)),
            )
        print_result(table)
    return ExitCode.FAILED if is_wrong else ExitCode.OK
