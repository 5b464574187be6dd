"""`-o json` is `--json`, as the command line's contract says."""

from __future__ import annotations

from click.testing import CliRunner

from motet.interfaces.cli.commands import motet


def test_both_spellings_print_the_same_document() -> None:
    outputs = [
        CliRunner().invoke(motet, ["app", "describe", "lasso", *spelling]).stdout
        for spelling in (["--json"], ["-o", "json"], ["--output", "json"])
    ]
    assert outputs[0].startswith("{")
    assert outputs[1:] == outputs[:1] * 2
