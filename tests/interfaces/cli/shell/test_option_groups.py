"""Options in sections; `-o json` is `--json`."""

from __future__ import annotations

import click
from click.testing import CliRunner

from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.shell.option_groups import (
    DescribedArgument,
    SectionedCommand,
    SectionOption,
)


def test_both_spellings_print_the_same_document() -> None:
    outputs = [
        CliRunner().invoke(motet, ["app", "describe", "lasso", *spelling]).stdout
        for spelling in (["--json"], ["-o", "json"], ["--output", "json"])
    ]
    assert outputs[0].startswith("{")
    assert outputs[1:] == outputs[:1] * 2


def test_options_are_listed_by_section_in_order_of_first_occurrence() -> None:
    @click.command(cls=SectionedCommand)
    @click.argument("app", cls=DescribedArgument, describe="What to train.")
    @click.option("--data", cls=SectionOption, section="Data", help="Where it is.")
    @click.option("--out", cls=SectionOption, section="Output", help="A folder.")
    @click.option("--format", cls=SectionOption, section="Data", help="Of the file.")
    def train(**_: object) -> None:
        """Train."""

    text = CliRunner().invoke(train, ["--help"]).stdout
    assert "APP  What to train." in text
    lines = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert lines[lines.index("Argument:") :] == [
        *("Argument:", "APP", "Data:", "--data", "--format"),
        *("Output:", "--out", "Help:", "--help"),
    ]
