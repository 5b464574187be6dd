"""A PostgreSQL that dies fifteen times below the journal: the server ends, jobs run on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kill_rounds import SERVER_OPTIONS, check, submit_some
from live_server import LiveServer
from live_trainings import FINAL
from private_postgresql import PrivatePostgresql, private_postgresql

KILLS, JOBS, STEPS = 15, 20, 200

pytestmark = [pytest.mark.soak_live, pytest.mark.cluster, pytest.mark.timeout(3600)]


@pytest.fixture
def database() -> Iterator[PrivatePostgresql]:
    with private_postgresql() as found:
        yield found


@pytest.fixture
def url(database: PrivatePostgresql) -> str:
    found: str = database.database("journal")
    return found


@pytest.fixture
def server(url: str, tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "2x2", "--database", url, *SERVER_OPTIONS)
    yield found
    found.kill_everything()


def test_what_was_acknowledged_is_there_when_the_database_is_back(
    database: PrivatePostgresql, server: LiveServer, url: str
) -> None:
    draw, client = random.Random(1), server.start()
    accepted: dict[str, int] = {}
    left = [(f"j{number}", draw.randint(1, 3)) for number in range(JOBS)]
    for _ in range(KILLS):
        submit_some(client, left, accepted, draw.randint(1, 2), STEPS)
        database.kill()
        assert server.process is not None
        assert server.process.wait(timeout=200) == 1
        database.start()
        client = server.start()
    while left:
        submit_some(client, left, accepted, draw.randint(1, 2), STEPS)
    for job in accepted:
        while client.wait(job, 30.0)["state"] not in FINAL:
            pass
    check(server, client, accepted, STEPS, journal=url)
