"""`motet server --database postgresql://...`: jobs outlive the database and the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from live_server import LiveServer
from private_postgresql import PrivatePostgresql, private_postgresql
from waiting import wait_until

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def database() -> Iterator[PrivatePostgresql]:
    with private_postgresql() as found:
        yield found


def test_jobs_run_on_while_the_database_is_away(
    database: PrivatePostgresql, tmp_path: Path
) -> None:
    url = database.database("journal")
    server = LiveServer(tmp_path / "state", "--cluster", "1x1", "--database", url)
    go, done = tmp_path / "go", tmp_path / "done"
    script = f"while [ ! -e {go} ]; do sleep 0.05; done; touch {done}"
    spec = {"name": "job", "run": script, "workdir": "/"}
    try:
        with server.start() as client:
            job = client.submit(spec)["id"]
            wait_until(lambda: client.job(job)["state"] == "RUNNING")
            waits = client.submit(spec)["id"]
            database.kill()
            go.touch()
            wait_until(done.exists)
            assert server.process is not None
            assert server.process.wait(timeout=100) == 1
            *lost, told = server.said().splitlines()[4:]
            assert all("audit_entries_lost" in line for line in lost)
            assert told.startswith("motet: error: the journal postgresql://postgres@/")
            assert told.endswith("start the server again when the database is usable")
        database.start()
        with server.start() as client:
            assert client.wait(job, 100)["state"] == "SUCCEEDED"
            assert client.wait(waits, 100)["state"] == "SUCCEEDED"
            assert client.job(job)["attempts"] == 1
    finally:
        server.kill_everything()
