"""A disk that is full below the journal: the server ends, jobs run on, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kill_rounds import SERVER_OPTIONS, await_steps, check, submit_some
from live_server import LiveServer
from live_trainings import FINAL
from motet.domain.errors import MotetError
from motet.interfaces.client import LiveClient
from small_disk import SmallDisk, small_disk

TIMES, JOBS, STEPS = 5, 12, 200
DISK_KB, MORE_KB = 4_000, 2_000

pytestmark = [pytest.mark.soak_live, pytest.mark.cluster, pytest.mark.timeout(3600)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", DISK_KB) as made:
        yield made


@pytest.fixture
def server(disk: SmallDisk, tmp_path: Path) -> Iterator[LiveServer]:
    """The journal alone is on the small disk: job folders have room."""
    database = f"{disk.path}/journal.db"
    options = ("--cluster", "2x2", "--database", database, *SERVER_OPTIONS)
    found = LiveServer(tmp_path / "state", *options)
    yield found
    found.kill_everything()


def test_what_was_acknowledged_is_there_when_the_disk_has_room_again(
    disk: SmallDisk, server: LiveServer
) -> None:
    draw, client = random.Random(2), server.start()
    accepted: dict[str, int] = {}
    left = [(f"j{number}", draw.randint(1, 3)) for number in range(JOBS)]
    for time in range(1, TIMES + 1):
        submit_some(client, left, accepted, draw.randint(2, 3), STEPS)
        await_steps(server, client, draw.randint(0, 100))
        disk.fill()
        fill_journal(client)
        assert server.process is not None
        assert server.process.wait(timeout=200) != 0
        assert "Traceback" not in server.said()
        disk.enlarge(DISK_KB + time * MORE_KB)
        client = server.start()
    while left:
        submit_some(client, left, accepted, len(left), STEPS)
    jobs = {job["id"]: job["name"] for job in client.jobs()}
    assert {name for name in jobs.values() if name != "filler"} == {f"j{n}" for n in range(JOBS)}
    for job in jobs:
        while client.wait(job, 30.0)["state"] not in FINAL:
            pass
    fillers = {job: 1 for job, name in jobs.items() if name == "filler"}
    check(server, client, {**accepted, **fillers}, STEPS, journal=f"{disk.path}/journal.db")


def fill_journal(client: LiveClient) -> None:
    """Changes until the server ends, by these or by what jobs report meanwhile."""
    name, settings = "tiresias-las", {"quantum_s": "1"}
    try:
        while True:
            for threshold in (3200, 3201):
                client.choose_policy(name, {**settings, "thresholds": str(threshold)})
    except MotetError:
        return
