"""`motet server --database postgresql://...`: jobs outlive the database and the server, and a
backup of the database is put in force."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from live_server import LiveServer
from marked_process import run_motet
from private_postgresql import PrivatePostgresql, private_postgresql
from waiting import wait_until
from webhook_receiver import Receiver

FAILED = "prediction_failed"
REFUSED = "motet: error: the journal cannot be written; jobs run on; ask again later\n"
NO_SERVER = "does not answer"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def database() -> Iterator[PrivatePostgresql]:
    with private_postgresql() as found:
        yield found


@pytest.mark.soak
def test_jobs_run_on_while_the_database_is_away(
    database: PrivatePostgresql, tmp_path: Path
) -> None:
    url = database.database("journal")
    server = LiveServer(tmp_path / "state", "--cluster", "1x1", "--database", url)
    go, done = tmp_path / "go", tmp_path / "done"
    script = f"while [ ! -e {go} ]; do sleep 0.05; done; touch {done}"
    spec = {"name": "job", "run": script, "workdir": "/"}
    pool, receiver = ThreadPoolExecutor(1), Receiver()
    try:
        with server.start() as client:
            client.add_webhook(receiver.url, ["job.ended"])
            job = client.submit(spec)["id"]
            wait_until(lambda: client.job(job)["state"] == "RUNNING")
            waits = client.submit(spec)["id"]
            waiting = pool.submit(run_motet, "wait", str(job), "--state-dir", server.folder)
            database.kill()
            go.touch()
            wait_until(done.exists)
            assert server.process is not None
            assert server.process.wait(timeout=100) == 1
            *lost, told = server.said().splitlines()[4:]
            allowed = ("audit_entries_lost", FAILED, "webhook_waits")
            assert all(any(event in line for event in allowed) for line in lost)
            assert sum(FAILED in line for line in lost) <= 1
            assert told.startswith("motet: error: the journal postgresql://postgres@/")
            assert told.endswith("start the server again when the database is usable")
        database.start()
        with server.start() as client:
            assert client.wait(job, 100)["state"] == "SUCCEEDED"
            assert client.wait(waits, 100)["state"] == "SUCCEEDED"
            assert client.job(job)["attempts"] == 1
            wait_until(lambda: len(receiver.messages) >= 2)
            # Its first request came before the failure, during it, or after the server had ended.
            ended = waiting.result()
            told = ended.err == REFUSED or NO_SERVER in ended.err
            assert ended.code == 0 or (ended.code == 5 and told), ended
    finally:
        server.kill_everything()
        pool.shutdown()
        receiver.close()


@pytest.mark.soak
def test_a_database_of_pg_restore_is_put_in_force(
    database: PrivatePostgresql, tmp_path: Path
) -> None:
    """Without that, the next job with the number of a later one would end with its exit record."""
    url, dump = database.database("journal"), tmp_path / "motet.dump"
    server = LiveServer(tmp_path / "state", "--cluster", "1x2", "--database", url)
    spec = {"name": "job", "workdir": "/"}
    try:
        with server.start() as client:
            runs = client.submit({**spec, "run": "sleep 600"})["id"]
            wait_until(lambda: client.job(runs)["state"] == "RUNNING")
            database.tool("pg_dump", "-Fc", "-f", dump, "-d", url)
            server.end()
        with server.start() as client:  # Its epoch is later than that of the dump.
            lost = client.submit({**spec, "run": "echo lost"})["id"]
            assert client.wait(lost, 100)["state"] == "SUCCEEDED"
            server.end()
        database.tool("pg_restore", "--clean", "-d", url, dump)
        with pytest.raises(AssertionError, match=f"attempts/{lost}: the journal does not know"):
            server.start()
        restored = run_motet("server", "restore", "--database", url, "--state-dir", server.folder)
        assert (restored.code, restored.out.partition(";")[0]) == (0, "restored 1 job")
        with server.start() as client:
            again = client.submit({**spec, "run": "echo again"})["id"]
            assert again == lost
            assert client.wait(again, 100)["state"] == "SUCCEEDED"
            assert client.log_part(again, rank=0, attempt=0, offset=0).data == b"again\n"
            assert client.job(runs)["attempts"] == 1
            client.change(runs, "cancel")  # Its shepherd obeys no epoch before the latest.
            assert client.wait(runs, 100)["state"] == "CANCELLED"
    finally:
        server.kill_everything()
