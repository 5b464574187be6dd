"""Options under headings in `--help`, and the option `--json`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

OTHER = "Help"


class DescribedArgument(click.Argument):
    """A positional argument with a description in the help."""

    def __init__(self, *args: Any, describe: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = "Argument"
        self._describe = describe

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Name and description."""
        return self.make_metavar(ctx), self._describe


class SectionOption(click.Option):
    """An option listed under the heading `section`."""

    def __init__(self, *args: Any, section: str = OTHER, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help lists options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options of each section, in order of first occurrence."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                title = getattr(parameter, "section", OTHER)
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def json_option(section: str = OTHER) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--json` and `-o json`, the parameter `as_json`; `--json -o table` is an error."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapped(*args: Any, as_json: bool, output: str | None, **others: Any) -> Any:
            if as_json and output == "table":
                raise click.UsageError("--json -o table: give one of the two")
            return command(*args, as_json=as_json or output == "json", **others)

        json_flag = click.option(
            "--json",
            "as_json",
            is_flag=True,
            cls=SectionOption,
            section=section,
            help="Print one JSON document on stdout and nothing else.",
        )
        output_choice = click.option(
            "-o",
            "--output",
            type=click.Choice(["table", "json"]),
            cls=SectionOption,
            section=section,
            help="What to print on stdout; '-o json' is '--json'.",
        )
        return json_flag(output_choice(wrapped))

    return decorate
