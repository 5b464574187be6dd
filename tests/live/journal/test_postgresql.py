"""The journal in PostgreSQL: what SQLite guarantees, and a database that ends by itself."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import create_engine

from killed_append import KILLED
from motet.domain.errors import BadInput, ConnectionLost, Unreachable
from motet.live.journal.database import JournalInUse
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.journal.store import JournalLost, JournalStore
from private_postgresql import PrivatePostgresql, private_postgresql

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgresql]:
    with private_postgresql() as found:
        yield found


@pytest.fixture
def url(server: PrivatePostgresql) -> str:
    return server.database(uuid.uuid4().hex)


def record(sequence: int, facts: str = "[]") -> Record:
    return Record(sequence, 1000 * sequence, "[]", facts, "[]", "1.0")


def test_records_come_back_after_the_journal_was_closed(url: str) -> None:
    odd = record(2, '[{"kind": "é\\u0000"}]')
    with JournalStore(url) as store:
        store.append([record(1), odd])
    with opened_when_free(url) as store:
        assert (store.epoch, [*store.records()]) == (2, [record(1), odd])


def test_a_second_master_is_refused_until_the_first_has_ended(url: str) -> None:
    with JournalStore(url), pytest.raises(JournalInUse, match="another motet server"):
        JournalStore(url)
    opened_when_free(url).close()


def test_a_killed_master_leaves_what_it_acknowledged_and_no_lock(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    store = opened_when_free(url)
    assert [each.sequence for each in store.records()] == [*map(int, done.stdout.split())]
    store.close()


def opened_when_free(url: str) -> JournalStore:
    """PostgreSQL notices the end of a client a moment later."""
    while True:
        try:
            return JournalStore(url)
        except JournalInUse:
            continue


@pytest.mark.soak
def test_an_append_to_a_database_that_was_killed_is_one_clear_error(
    server: PrivatePostgresql, url: str
) -> None:
    store = JournalStore(url)
    store.append([record(1)])
    server.kill()
    with pytest.raises(JournalLost, match=r"cannot be written .*jobs keep running"):
        store.append([record(2)])
    with pytest.raises(BadInput, match=r"--database .*cannot be opened"):
        JournalStore(url)
    server.start()
    with JournalStore(url) as again:
        assert [*again.records()] == [record(1)]
        assert again.epoch == 2
    store.close()


def test_reading_from_a_database_that_was_killed_is_no_damage(
    server: PrivatePostgresql, url: str
) -> None:
    with JournalStore(url) as store:
        store.append([record(1)])
    with JournalReader(url) as reader:
        assert [*reader.records()] == [record(1)]
        server.kill()
        with pytest.raises(ConnectionLost, match="has ended the connection"):
            read_until_refused(reader)
    with pytest.raises(Unreachable, match=r"cannot be reached \(.*\); start the database"):
        JournalReader(url)
    server.start()


def read_until_refused(reader: JournalReader) -> None:
    """Children of a killed server live on for a moment."""
    while True:
        assert [*reader.records(2)] == []


def test_every_commit_waits_for_the_disk(server: PrivatePostgresql, url: str) -> None:
    server.run("ALTER SYSTEM SET synchronous_commit TO off")
    server.run("SELECT pg_reload_conf()")
    with JournalStore(url) as store:
        found = store._connection.exec_driver_sql("SHOW synchronous_commit").scalar_one()
    assert found == "on"


def test_tables_of_an_earlier_format_are_copied_before_they_are_written(url: str) -> None:
    with JournalStore(url) as store:
        store.append([record(1), record(2)])
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE records DROP COLUMN decision")
        connection.exec_driver_sql("UPDATE journal SET format_version = 2")
    with JournalReader(url) as reader:
        assert [*reader.records()] == [record(1), record(2)]
    with opened_when_free(url) as store:
        store.append([replace(record(3), decision="null")])
        assert [each.decision for each in store.records()] == [None, None, "null"]
    with engine.begin() as connection:
        copied = "SELECT count(*) FROM records_format_2, journal_format_2"
        assert connection.exec_driver_sql(copied).scalar_one() == 2
    engine.dispose()
