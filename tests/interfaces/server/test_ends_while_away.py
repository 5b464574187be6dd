"""A job that ends while the server is down ended then, not when the next server hears of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from attempt_files import attempt_file
from live_server import LiveServer
from waiting import wait_until

AWAY_S = 4.0
"""The views agree within a second, so that this is far off."""

pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "1x2")
    yield found
    found.kill_everything()


def test_every_view_tells_the_end_of_the_processes(server: LiveServer, tmp_path: Path) -> None:
    client, go_on = server.start(), tmp_path / "go_on"
    run = f"until test -e {go_on}; do sleep 0.05; done"
    values = {"name": "adopted", "run": run, "processes": 2, "workdir": str(tmp_path)}
    job = str(client.submit(values)["id"])
    wait_until(lambda: client.job(job)["state"] == "RUNNING")
    server.kill()
    wait_until(lambda: not server.launchers())
    go_on.touch()

    def exits() -> list[dict[str, Any]]:
        found = (attempt_file(server.folder, int(job), 1, rank, "exit.json") for rank in range(2))
        return [each for each in found if each is not None]

    wait_until(lambda: len(exits()) == 2)
    ended_s = max(each["ended_at"] for each in exits())
    wait_until(lambda: time.time() > ended_s + AWAY_S)

    client = server.start()
    wait_until(lambda: client.job(job)["state"] == "SUCCEEDED")
    found = client.job(job)
    (attempt,) = found["attempt_list"]
    begun_s = unix_s(attempt["requested_at"])
    told = client.explain(job)
    ends = [each["from"] for each in told["chapters"] if each["event"] == "finish"]
    for end in (found["ended_at"], attempt["ended_at"], told["ended"], *ends):
        assert unix_s(end) == pytest.approx(ended_s, abs=1)
    running_s = unix_s(attempt["running_at"])
    assert found["ran_s"] == pytest.approx(ended_s - running_s, abs=1)

    header, line = client.accounting()
    record = dict(zip(header.split("|"), line.split("|"), strict=True))
    assert unix_s(f"{record['End']}Z") == pytest.approx(ended_s, abs=1.5)
    assert int(record["ElapsedRaw"]) == pytest.approx(ended_s - begun_s, abs=1.5)
    (usage,) = client.usage()["rows"]
    assert usage["slot_hours"] * 3600 == pytest.approx(2 * (ended_s - begun_s), abs=2)


def unix_s(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
