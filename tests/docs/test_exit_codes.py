"""The table of exit codes in the reference is that of the code."""

from __future__ import annotations

from motet.domain.errors import ExitCode
from source_tree import SOURCE


def test_the_reference_shows_the_table_of_exit_codes() -> None:
    page = (SOURCE.parents[1] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    rows = "".join(f"| {code.value} | {code.meaning} |\n" for code in ExitCode)
    assert f"| code | meaning |\n|---|---|\n{rows}\n" in page


def test_numbers_are_those_that_scripts_know() -> None:
    """Changing one breaks users' scripts."""
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 4, 5, 124, 129, 130, 141, 143]
