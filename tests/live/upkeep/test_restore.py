"""Restoring backups of real servers: what they knew is there, and nothing of later jobs is taken
for that of new ones."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from live_server import LiveServer
from live_trainings import ended
from motet.domain.errors import AuthenticationFailed, BadInput
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.server.state_folder import FolderInUse
from motet.interfaces.server_address import ServerAddress
from motet.live.journal.tables import JournalDamaged
from motet.live.upkeep.restore import MARKER
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "1x1")
    yield found
    found.kill_everything()


def run(server: LiveServer, *words: str) -> str:
    arguments = ["server", *words, "--state-dir", str(server.folder)]
    return (
        CliRunner().invoke(motet, arguments, catch_exceptions=False, standalone_mode=False).output
    )


def submit(client: LiveClient, text: str) -> str:
    job: str = client.submit({"name": "job", "run": text, "workdir": "/"})["id"]
    return job


def wait_for(client: LiveClient, job: str, state: str) -> None:
    wait_until(lambda: client.job(job)["state"] == state)


def log_of(client: LiveClient, job: str) -> bytes:
    return client.log_part(job, rank=0, attempt=0, offset=0)[0]


@pytest.mark.soak
def test_a_restored_server_gives_numbers_of_lost_jobs_again(
    server: LiveServer, tmp_path: Path
) -> None:
    save = (
        'mkdir -p "$MOTET_CHECKPOINT_DIR"; cd "$MOTET_CHECKPOINT_DIR"; cat saved; echo {} > saved'
    )
    with server.start() as client:
        first = submit(client, "echo first")
        ended(client, first)
        client.create_user("bob", "user")
        client.create_token("bob")
        assert "records" in run(server, "backup", str(tmp_path / "backup"))
        lost = submit(client, save.format("lost"))
        assert ended(client, lost)["state"] == "SUCCEEDED"
        with pytest.raises(FolderInUse):
            run(server, "restore", str(tmp_path / "backup"))
        server.end()
    assert "restored 1 job" in run(server, "restore", str(tmp_path / "backup"))
    with server.start() as client:
        assert [each["id"] for each in client.jobs()] == [first]
        assert log_of(client, first) == b"first\n"
        assert [each["user"] for each in client.tokens()] == ["bob"]
        again = submit(client, save.format("again"))
        assert again == lost
        assert ended(client, again)["state"] == "SUCCEEDED"
        assert b"lost" not in log_of(client, again)
    (aside,) = server.folder.glob("before-restore-*")
    assert (aside / "checkpoints" / lost / "saved").read_text() == "lost\n"
    assert (aside / "journal.db").is_file()


def test_a_job_that_runs_is_adopted_after_a_restore(server: LiveServer, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with server.start() as client:
        job = submit(client, f"while [ ! -e {go} ]; do sleep 0.05; done; echo end")
        wait_until(lambda: client.job(job)["state"] == "RUNNING")
        run(server, "backup", str(tmp_path / "backup"))
        server.end()
    run(server, "restore", str(tmp_path / "backup"))
    with server.start() as client:
        assert client.job(job)["state"] == "RUNNING"
        go.touch()
        assert ended(client, job)["attempts"] == 1


def test_processes_that_the_backup_does_not_know_must_end_first(
    server: LiveServer, tmp_path: Path
) -> None:
    with server.start() as client:
        run(server, "backup", str(tmp_path / "backup"))
        job = submit(client, "sleep 600")
        wait_until(lambda: client.job(job)["state"] == "RUNNING")
        server.end()
    before = (server.folder / "journal.db").read_bytes()
    with pytest.raises(BadInput, match="does not know this job, whose processes run"):
        run(server, "restore", str(tmp_path / "backup"))
    assert (server.folder / "journal.db").read_bytes() == before


def test_what_is_no_backup_changes_nothing(server: LiveServer, tmp_path: Path) -> None:
    server.start().__exit__(None, None, None)
    server.end()
    before = (server.folder / "journal.db").read_bytes()
    (tmp_path / "text").write_text("not a journal" * 100)
    (tmp_path / "empty").touch()
    with closing(sqlite3.connect(tmp_path / "other")) as other, other:
        other.execute("CREATE TABLE records (sequence)")
    for name in ("text", "empty", "other"):
        with pytest.raises(BadInput, match=rf"{name}: not a journal of Motet; name a file of"):
            run(server, "restore", str(tmp_path / name))
    run(server, "backup", str(tmp_path / "whole"))
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "damaged").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(JournalDamaged, match=r"cannot be read \(database disk image is malformed"):
        run(server, "restore", str(tmp_path / "damaged"))
    with pytest.raises(BadInput, match="there is no such file"):
        run(server, "restore", str(tmp_path / "nothing"))
    assert (server.folder / "journal.db").read_bytes() == before


@pytest.mark.soak
def test_a_server_does_not_start_on_half_a_restore(server: LiveServer, tmp_path: Path) -> None:
    with server.start() as client:
        ended(client, submit(client, "true"))
        run(server, "backup", str(tmp_path / "backup"))
        server.end()
    (server.folder / MARKER).touch()
    with pytest.raises(AssertionError, match="a restore was interrupted; repeat"):
        server.start()
    run(server, "restore", str(tmp_path / "backup"))
    with server.start() as client:
        assert len([*client.jobs()]) == 1


@pytest.mark.soak
def test_what_was_revoked_after_the_backup_stays_revoked(
    server: LiveServer, tmp_path: Path
) -> None:
    backup = str(tmp_path / "backup")
    with server.start() as client:
        for name in ("ann", "bob", "eve"):
            client.create_user(name, "user")
        texts = [client.create_token(name)["text"] for name in ("ann", "bob", "eve")]
        run(server, "backup", backup)
        client.revoke_user("ann")
        (bobs,) = (each["id"] for each in client.tokens() if each["user"] == "bob")
        client.revoke_token(bobs)
        server.end()
    assert "warning" not in run(server, "restore", backup)
    assert "warning" not in run(server, "restore", backup)
    with server.start() as client:
        assert [is_accepted(client, text) for text in texts] == [False, False, True]
        server.end()
    (server.folder / "journal.db").write_bytes(b"damaged" * 1000)
    assert "were revoked after the backup are valid again" in run(server, "restore", backup)
    with server.start() as client:
        assert [is_accepted(client, text) for text in texts] == [True, True, True]


def is_accepted(client: LiveClient, token: str) -> bool:
    with LiveClient(ServerAddress(client.url, token)) as other:
        try:
            list(other.jobs())
        except AuthenticationFailed:
            return False
        return True


@pytest.mark.soak
def test_a_journal_that_is_elsewhere_is_backed_up_and_restored(tmp_path: Path) -> None:
    journal, backup = tmp_path / "fast" / "jobs.db", tmp_path / "backup"
    options = ("--cluster", "1x1", "--database", str(journal))
    server = LiveServer(tmp_path / "state", *options)
    try:
        with server.start() as client:
            first = submit(client, "echo first")
            ended(client, first)
            run(server, "backup", str(backup), "--database", str(journal))
            ended(client, submit(client, "echo later"))
        server.end()
        assert "restored 1 job" in run(server, "restore", str(backup), "--database", str(journal))
        assert not (server.folder / "journal.db").exists()
        with server.start() as client:
            assert [job["id"] for job in client.jobs()] == [first]
    finally:
        server.kill_everything()


def put_in_place(server: LiveServer, backup: Path) -> None:
    """A copy in place of the journal, as by hand."""
    for suffix in ("-wal", "-shm"):
        (server.folder / f"journal.db{suffix}").unlink(missing_ok=True)
    shutil.copyfile(backup, server.folder / "journal.db")


def test_a_server_does_not_start_on_a_journal_that_does_not_know_its_jobs(
    server: LiveServer, tmp_path: Path
) -> None:
    with server.start() as client:
        first = submit(client, "echo first")
        ended(client, first)
        run(server, "backup", str(tmp_path / "backup"))
        lost = submit(client, "echo lost")
        ended(client, lost)
        server.end()
    put_in_place(server, tmp_path / "backup")
    with pytest.raises(AssertionError, match=f"attempts/{lost}: the journal does not know"):
        server.start()
    told = run(server, "restore")
    assert told.startswith(f"restored 1 job; what was there before is in {server.folder}/before-")
    assert "valid again" in told
    with server.start() as client:
        again = submit(client, "echo again")
        assert again == lost
        assert ended(client, again)["state"] == "SUCCEEDED"
        assert log_of(client, again) == b"again\n"
        server.end()
    assert run(server, "restore").startswith("restored 2 jobs; no job is later")


@pytest.mark.soak
@pytest.mark.parametrize("backed_up", ["RUNNING", "SUSPENDED"])
def test_a_server_does_not_start_on_a_journal_that_does_not_know_an_attempt(
    server: LiveServer, tmp_path: Path, backed_up: str
) -> None:
    with server.start() as client:
        job = submit(client, "sleep 600")
        for state, change in {"RUNNING": "suspend", "SUSPENDED": "resume"}.items():
            wait_for(client, job, state)
            if state == backed_up:
                run(server, "backup", str(tmp_path / "backup"))
            client.change(job, change)
        wait_until((server.folder / "attempts" / job / "2").is_dir)
        client.change(job, "cancel")
        ended(client, job)
        server.end()
    put_in_place(server, tmp_path / "backup")
    with pytest.raises(AssertionError, match=f"attempts/{job}/2: the journal does not know"):
        server.start()
    run(server, "restore")
    (aside,) = server.folder.glob("before-restore-*")
    assert [each.name for each in (aside / "attempts" / job).iterdir()] == ["2"]


def test_without_a_file_and_a_journal_nothing_is_restored(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    with pytest.raises(BadInput, match="there is no journal; name the FILE of a backup"):
        run(server, "restore")


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_journal_in_a_database_server_is_left_to_its_own_tools(
    server: LiveServer, command: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"--database postgresql://\.\.\.: .* pg_dump"):
        run(server, command, str(tmp_path / "backup"), "--database", "postgresql://me:s@a/motet")
