"""Options of `motet server` for the memory that its cluster lends."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lend-slab", "1M"], "--lend-slab: of the memory that is lent; give --lend-memory"),
        (["--lend-quota", "1G"], "--lend-quota: of the memory that is lent"),
        (["--lend-memory", "1M"], "--lend-memory 1048576: at least one slab of 67108864 bytes"),
        (["--lend-memory", "--lend-quota", "1M"], "--lend-quota 1048576: at least one slab"),
        (["--lend-memory", "--lend-slab", "1000"], "--lend-slab of 1000 bytes: give a multiple"),
    ],
)
def test_wrong_sizes_are_refused_before_the_server_starts(options: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        CliRunner().invoke(motet, ["server", *options], catch_exceptions=False)


def test_a_text_that_is_no_size_is_an_error_of_usage() -> None:
    result = CliRunner().invoke(motet, ["server", "--lend-memory", "much"])
    assert result.exit_code == 2
    assert "--lend-memory" in result.output
