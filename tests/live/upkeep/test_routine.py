"""What the server does once a minute, on the state of a real one."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from motet.live.accounts.audit_log import AuditLog
from motet.live.master.requests import TrainingProgram, Workplace
from motet.live.read_tables.read_tables import ReadTables
from motet.live.upkeep import routine
from motet.live.upkeep.routine import LEAST_FREE_BYTES, Retention, Upkeep
from waiting import wait_until

pytestmark = pytest.mark.cluster

DAY_US = 24 * 3600 * 1_000_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "1x2") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


@pytest.fixture
def audit(server: LiveServer) -> Iterator[AuditLog]:
    found = AuditLog()
    found.open(str(server.folder / "journal.db"))
    yield found
    found.close()


def upkeep(server: LiveServer, audit: AuditLog, retention: Retention) -> Upkeep:
    workplace = Workplace(server.folder, {}, TrainingProgram((), {}), 1.0)
    return Upkeep(retention, workplace, ReadTables(server.folder), audit, ())


def test_files_of_old_jobs_go_and_all_others_stay(
    server: LiveServer, client: LiveClient, audit: AuditLog
) -> None:
    save = 'mkdir -p "$MOTET_CHECKPOINT_DIR"; echo saved > "$MOTET_CHECKPOINT_DIR/file"'
    job = {"name": "job", "workdir": "/"}
    over = client.submit({**job, "run": f"{save}; echo done"})["id"]
    ended(client, over)
    runs = client.submit({**job, "run": f"{save}; echo runs; sleep 600"})["id"]
    wait_until(lambda: client.log_part(runs, rank=0, attempt=0, offset=0)[0] == b"runs\n")
    wait_until(lambda: len([*client.audit("", 10)]) == 2)
    results = server.folder / "results" / over
    results.mkdir(parents=True)
    now_us = time.time_ns() // 1000
    found = upkeep(server, audit, Retention(keep_days=30))
    found.once(now_us + 29 * DAY_US)
    assert client.log_part(over, rank=0, attempt=0, offset=0)[0] == b"done\n"
    found.once(now_us + 31 * DAY_US)
    deleted = b"[this log is no longer in the state folder: deleted by --keep-days or by hand]\n"
    assert client.log_part(over, rank=0, attempt=0, offset=0)[:3] == (deleted, 0, True)
    kept = {
        kind: [each.name for each in (server.folder / kind).iterdir()]
        for kind in ("attempts", "checkpoints", "results")
    }
    assert kept == {"attempts": [runs], "checkpoints": [runs], "results": [over]}
    assert client.job(over)["state"] == "SUCCEEDED"
    assert [*client.audit("", 10)] == []


def test_without_keep_days_everything_stays(
    server: LiveServer, client: LiveClient, audit: AuditLog
) -> None:
    job = client.submit({"name": "job", "run": "echo done", "workdir": "/"})["id"]
    ended(client, job)
    upkeep(server, audit, Retention()).once(time.time_ns() // 1000 + 9999 * DAY_US)
    assert client.log_part(job, rank=0, attempt=0, offset=0)[0] == b"done\n"


def test_the_log_of_a_running_process_is_limited(
    server: LiveServer, client: LiveClient, audit: AuditLog
) -> None:
    run = "head -c 20000000 /dev/zero | tr '\\0' x; echo end; sleep 600"
    job = client.submit({"name": "job", "run": run, "workdir": "/"})["id"]
    log = server.folder / "attempts" / job / "1" / "rank-0" / "log"
    wait_until(lambda: log.exists() and log.stat().st_size == 20_000_004)
    upkeep(server, audit, Retention(log_limit_bytes=4_000_000)).once(0)
    assert log.stat().st_blocks * 512 <= 4_000_000
    assert client.log_part(job, rank=0, attempt=0, offset=20_000_000)[0] == b"end\n"


LIMITED = Retention(log_limit_bytes=4_000_000)
LONG = "head -c 20000000 /dev/zero | tr '\\0' x; echo end"


def taken_bytes(server: LiveServer, job: str) -> int:
    return (server.folder / "attempts" / job / "1" / "rank-0" / "log").stat().st_blocks * 512


def test_the_log_of_a_process_that_ended_before_the_first_look_is_limited(
    server: LiveServer, client: LiveClient, audit: AuditLog
) -> None:
    job = client.submit({"name": "job", "run": LONG, "workdir": "/"})["id"]
    ended(client, job)
    upkeep(server, audit, LIMITED).once(time.time_ns() // 1000 + 9 * DAY_US)
    assert taken_bytes(server, job) <= 4_000_000
    assert client.log_part(job, rank=0, attempt=0, offset=20_000_000)[0] == b"end\n"


@pytest.mark.parametrize("is_another_server", [False, True])
def test_the_log_of_a_process_whose_end_is_heard_of_late_is_limited_once(
    server: LiveServer, client: LiveClient, audit: AuditLog, tmp_path: Path, is_another_server: bool
) -> None:
    """The looks are later than the end by days, as of a server that was down."""
    run = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; {LONG}"
    job = client.submit({"name": "job", "run": run, "workdir": "/"})["id"]
    wait_until(lambda: client.job(job)["state"] == "RUNNING")
    now_us = time.time_ns() // 1000
    found = upkeep(server, audit, LIMITED)
    found.once(now_us + 9 * DAY_US)
    (tmp_path / "go").touch()
    ended(client, job)
    if is_another_server:
        found = upkeep(server, audit, LIMITED)
    found.once(now_us + 10 * DAY_US)
    assert taken_bytes(server, job) <= 4_000_000
    log = server.folder / "attempts" / job / "1" / "rank-0" / "log"
    log.write_bytes(b"x" * 8_000_000)
    found.once(now_us + 11 * DAY_US)
    assert taken_bytes(server, job) >= 8_000_000


def test_a_log_that_cannot_be_shortened_keeps_nothing_else_from_upkeep(
    server: LiveServer, client: LiveClient, audit: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [client.submit({"name": "job", "run": LONG, "workdir": "/"})["id"] for _ in range(2)]
    for job in jobs:
        ended(client, job)
    link = server.folder / "attempts" / jobs[0] / "1" / "rank-0" / "log"
    link.unlink()
    link.symlink_to("/dev/null")
    now_us = time.time_ns() // 1000
    done: list[int] = []
    workplace = Workplace(server.folder, {}, TrainingProgram((), {}), 1.0)
    found = Upkeep(LIMITED, workplace, ReadTables(server.folder), audit, (done.append,))
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        found.once(now_us)
    assert taken_bytes(server, jobs[1]) <= 4_000_000
    assert done == [now_us]
    assert (server.folder / "log-look.json").exists()
    (told,) = caplog.records
    assert told.getMessage() == "log_not_shortened"
    assert told.__dict__["fields"]["file"] == str(link)
    assert "symbolic" in told.__dict__["fields"]["reason"]


def test_a_server_with_a_lower_limit_shortens_logs_of_jobs_long_over(
    server: LiveServer, client: LiveClient, audit: AuditLog
) -> None:
    job = client.submit({"name": "job", "run": LONG, "workdir": "/"})["id"]
    ended(client, job)
    now_us = time.time_ns() // 1000
    upkeep(server, audit, Retention()).once(now_us + 9 * DAY_US)
    assert taken_bytes(server, job) >= 20_000_000
    upkeep(server, audit, LIMITED).once(now_us + 10 * DAY_US)
    assert taken_bytes(server, job) <= 4_000_000


def test_a_look_that_cannot_be_written_is_told_once(
    server: LiveServer, audit: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    found = upkeep(server, audit, LIMITED)
    obstacle = server.folder / "log-look.json"
    obstacle.mkdir()
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        found.once(1)
        found.once(2)
        obstacle.rmdir()
        found.once(3)
        obstacle.unlink()
        obstacle.mkdir()
        found.once(4)
    told = [record.getMessage() for record in caplog.records]
    assert told.count("log_look_unwritten") == 2


def test_a_disk_that_is_almost_full_is_told_once(
    server: LiveServer,
    audit: AuditLog,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = upkeep(server, audit, Retention())
    free = [LEAST_FREE_BYTES - 1]
    usage = SimpleNamespace(disk_usage=lambda path: SimpleNamespace(free=free[0]))
    monkeypatch.setattr(routine, "shutil", usage)
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        for free[0] in (*[LEAST_FREE_BYTES - 1] * 3, LEAST_FREE_BYTES, LEAST_FREE_BYTES - 1):
            found.once(0)
    assert [record.getMessage() for record in caplog.records] == ["disk_almost_full"] * 2


def test_the_disk_of_the_journal_is_watched_too(
    server: LiveServer,
    audit: AuditLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    workplace = Workplace(server.folder, {}, TrainingProgram((), {}), 1.0)
    others = ReadTables(server.folder), audit, ()
    found = Upkeep(Retention(), workplace, *others, journal_folder=tmp_path)
    free = {server.folder: LEAST_FREE_BYTES, tmp_path: LEAST_FREE_BYTES - 1}
    usage = SimpleNamespace(disk_usage=lambda path: SimpleNamespace(free=free[path]))
    monkeypatch.setattr(routine, "shutil", usage)
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        found.once(0)
        free[server.folder] = 0
        found.once(0)
    told = [(record.getMessage(), record.fields["folder"]) for record in caplog.records]
    assert told == [("disk_almost_full", str(each)) for each in (tmp_path, server.folder)]
