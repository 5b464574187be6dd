"""Tables of users, tokens and audited requests for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.screens.local_clock import date_and_time_of
from motet.interfaces.cli.shell.streams.visible import visible_text


def users_table(users: Sequence[Mapping[str, Any]]) -> Table:
    """A row per user."""
    rows = (
        (each["name"], each["role"], date_and_time_of(each["created_at"]), _state(each))
        for each in users
    )
    return _table(("NAME", "ROLE", "CREATED", "STATE"), rows)


def tokens_table(tokens: Sequence[Mapping[str, Any]]) -> Table:
    """A row per token."""
    columns = ("ID", "USER", "ROLE", "CREATED", "EXPIRES", "STATE", "LABEL")
    rows = (
        (
            *(each["id"], each["user"], each["role"], date_and_time_of(each["created_at"])),
            *(date_and_time_of(each["expires_at"], "never"), _state(each), each["label"]),
        )
        for each in tokens
    )
    return _table(columns, rows)


def audit_table(entries: Sequence[Mapping[str, Any]]) -> Table:
    """A row per request."""
    rows = (
        (
            *(
                date_and_time_of(each["at"]),
                each["user"] or "-",
                each["source"],
                str(each["status"]),
            ),
            " -> ".join(filter(None, (each["action"], each["target"]))),
        )
        for each in entries
    )
    return _table(("TIME", "USER", "FROM", "STATUS", "REQUEST"), rows)


def webhooks_table(webhooks: Sequence[Mapping[str, Any]]) -> Table:
    """A row per webhook."""
    rows = (
        (
            *(each["id"], each["url"], date_and_time_of(each["delivered_at"], "never")),
            *(each["problem"] or "", " ".join(each["events"])),
        )
        for each in webhooks
    )
    return _table(("ID", "URL", "DELIVERED", "PROBLEM", "EVENTS"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(visible_text(each)) for each in row))
    return table


def _state(each: Mapping[str, Any]) -> str:
    return "revoked" if each["revoked_at"] else ""
