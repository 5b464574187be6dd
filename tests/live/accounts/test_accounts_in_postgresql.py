"""Users, tokens and the audit log in PostgreSQL, whose types are stricter than SQLite's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from motet.live.accounts.account_store import AccountStore
from motet.live.accounts.audit_log import AuditEntry, AuditLog
from motet.live.accounts.roles import Caller, UserRole
from motet.live.journal.store import JournalStore
from private_postgresql import PrivatePostgresql, private_postgresql

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgresql]:
    with private_postgresql() as found:
        yield found


@pytest.fixture
def url(server: PrivatePostgresql) -> Iterator[str]:
    """Of a journal that is open, as that of a server."""
    found = server.database(uuid.uuid4().hex)
    with JournalStore(found):
        yield found


def test_users_and_tokens_survive_a_restart(url: str) -> None:
    store = AccountStore("ann", "secret")
    store.open(url)
    store.create_user("bob", UserRole.USER, "ann")
    token, text = store.create_token("bob", None, "é", 3650, "ann")
    store.create_user("eve", UserRole.USER, "ann")
    _, gone = store.create_token("eve", None, "", None, "ann")
    store.revoke_user("eve")
    store.close()
    again = AccountStore("ann", "secret")
    again.open(url)
    assert again.caller_of(text) == Caller("bob", UserRole.USER, token.id)
    assert again.caller_of(gone) is None
    assert [each.label for each in again.tokens("bob")] == ["é"]
    again.close()


@pytest.mark.soak
def test_entries_of_the_longest_values_are_kept(url: str) -> None:
    longest = AuditEntry(2**62, "u" * 63, "admin", "t" * 8, "s" * 45, "é" * 200, "x" * 200, 599)
    log = AuditLog()
    log.open(url)
    for _ in range(3):
        log.record(longest)
    log.close()
    log = AuditLog()
    log.open(url)
    assert [each for _, each in log.entries(None, 10)] == [longest] * 3
    first = log.entries(None, 1)[0][0]
    assert len(log.entries(first, 10)) == 2
    assert log.forget_before(2**62) == 0
    log.close()
