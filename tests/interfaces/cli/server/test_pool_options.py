"""Options of `motet server` for its pool of Aggregators."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.shell.option_types import queue_loss_limits


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loss-limit", "0.2"], "--loss-limit: of the pool of Aggregators; give --aggregators N"),
        (["--queue-loss-limit", "a=0.2"], "--queue-loss-limit: of the pool of Aggregators"),
        (
            ["--bandwidth", "10gbit"],
            "--bandwidth: of the pool of Aggregators; give --aggregators N",
        ),
        (["--aggregators", "2", "--bandwidth", "10"], "--bandwidth: '10' is not a bandwidth"),
        (["--aggregators", "2", "--queue-loss-limit", "a=2"], "give QUEUE=X, a queue and a share"),
        (["--aggregators", "2", "--queue-loss-limit", "0.2"], "give QUEUE=X"),
    ],
)
def test_wrong_limits_are_refused_before_the_server_starts(
    options: list[str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        CliRunner().invoke(motet, ["server", *options], catch_exceptions=False)


def test_limits_of_queues_are_shares() -> None:
    assert queue_loss_limits(["prod=0.02", "a=b=0.5"]) == {"prod": 0.02, "a=b": 0.5}
