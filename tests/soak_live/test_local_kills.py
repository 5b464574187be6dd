"""390 kills of servers, launchers, spawners and shepherds of one machine, in rounds of thirty.

Here the launcher is the one without Ray; `test_ray_kills.py` kills the other one as often.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kill_rounds import EPOCHS, KINDS, SERVER_OPTIONS, run_with_kills
from live_server import LiveServer
from live_trainings import undisturbed

WEIGHTS = {"server": 200, "launcher": 60, "spawner": 30, "shepherd": 100}
ROUNDS, KILLS = 13, 30

pytestmark = [pytest.mark.soak_live, pytest.mark.cluster, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def digest() -> str:
    found: str = undisturbed(EPOCHS, 1, 1)["model_sha256"]
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "2x2", *SERVER_OPTIONS)
    yield found
    found.kill_everything()


def kinds_of_round(number: int) -> tuple[str, ...]:
    """All rounds together have the kinds in their numbers."""
    kinds = [kind for kind in KINDS for _ in range(WEIGHTS[kind])]
    random.Random(0).shuffle(kinds)
    return tuple(kinds[number * KILLS : (number + 1) * KILLS])


@pytest.mark.parametrize("number", range(ROUNDS))
def test_kills_lose_no_job_and_start_none_twice(
    server: LiveServer, digest: str, number: int
) -> None:
    kinds = kinds_of_round(number)
    assert len(kinds) == KILLS
    run_with_kills(server, kinds, seed=number, jobs=30, trainings=6, digest=digest)
