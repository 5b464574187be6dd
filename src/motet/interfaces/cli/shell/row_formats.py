"""Lists in the formats that `-o` chooses: a table, JSON, YAML or CSV."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

ROW_FORMATS = ("table", "json", "yaml", "csv")


def rows_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `-o FORMAT` and `--json`, the parameter `row_format`; both with another format is an
    error."""

    @wraps(command)
    def wrapped(*args: Any, as_json: bool, output: str | None, **others: Any) -> Any:
        if as_json and output not in (None, "json"):
            raise click.UsageError(f"--json -o {output}: give one of the two")
        row_format = "json" if as_json else output or "table"
        return command(*args, row_format=row_format, **others)

    json_flag = click.option("--json", "as_json", is_flag=True, help="The same as '-o json'.")
    choice = click.option(
        "-o", "--output", type=click.Choice(ROW_FORMATS), help="What to print. Default: table."
    )
    return json_flag(choice(wrapped))


def show_rows(
    key: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    row_format: str,
    table: Callable[[Sequence[Mapping[str, Any]]], RenderableType],
) -> None:
    """Print rows in any format; see `print_rows`."""
    from motet.interfaces.cli.shell.streams.results import print_result

    if row_format == "table":
        print_result(table(rows))
    else:
        print_rows(key, rows, columns, row_format)


def print_rows(
    key: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], row_format: str
) -> None:
    """Print rows in a format other than a table. `key`: their name in JSON and YAML. `columns`: of
    CSV; values with parts are JSON there."""
    from motet.interfaces.cli.shell.streams.results import print_json

    match row_format:
        case "json":
            print_json({key: rows})
        case "yaml":
            sys.stdout.write(_yaml({key: rows}))
        case _:
            sys.stdout.write(
                csv_lines([columns, *([row[name] for name in columns] for row in rows)])
            )


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """Lines of CSV; values with parts are JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([*map(_cell, row)] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    import json

    return json.dumps(value) if isinstance(value, dict | list) else value
