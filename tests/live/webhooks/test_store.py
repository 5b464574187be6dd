"""Webhooks in the database, and their secrets beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.live.webhooks.events import KINDS
from motet.live.webhooks.store import MOST_WEBHOOKS, WebhookStore

URL = "https://hooks.example/motet"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WebhookStore]:
    found = WebhookStore(tmp_path / "secrets")
    found.open(str(tmp_path / "journal.db"))
    yield found
    found.close()


def test_a_webhook_is_there_until_it_is_removed(store: WebhookStore, tmp_path: Path) -> None:
    added, secret = store.add(URL, ["job.ended", "job.ended"], "ann", 7)
    store.read(added.id, 9, 1234)
    store.failed(added.id, "x" * 1000)
    (found,) = store.all()
    assert (found.url, found.kinds, found.created_by) == (URL, ("job.ended",), "ann")
    assert (found.read_to, found.delivered_us, found.problem) == (9, 1234, "x" * 300)
    assert store.secret(added.id) == secret
    assert (tmp_path / "secrets" / added.id).stat().st_mode & 0o077 == 0
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    store.remove(added.id)
    assert store.all() == []
    with pytest.raises(FileNotFoundError):
        store.secret(added.id)
    with pytest.raises(NotFound, match="no webhook"):
        store.remove(added.id)


def test_a_delivery_ends_a_problem_and_an_empty_page_does_not(store: WebhookStore) -> None:
    added, _ = store.add(URL, [], "ann", 0)
    store.failed(added.id, "refused")
    store.read(added.id, 5, None)
    assert store.find(added.id).problem == "refused"
    store.read(added.id, 6, 99)
    assert store.find(added.id).problem == ""
    assert store.find(added.id).kinds == KINDS


@pytest.mark.parametrize(
    "url",
    ["", "hooks.example", "ftp://a/b", "http://", "http:///path", "https://a b/", "http://a:0/",
     "http://a:99999/", "http://[::1/", "http://a..b/", "http://" + "x" * 64 + ".example/",
     "https://a/\n", "https://a/" + "x" * 2000],
)  # fmt: skip
def test_what_is_no_url_is_refused(store: WebhookStore, url: str) -> None:
    with pytest.raises(BadInput, match="write http://HOST/PATH or https://HOST/PATH"):
        store.add(url, [], "ann", 0)
    assert store.all() == []


def test_unknown_events_and_too_many_webhooks_are_refused(store: WebhookStore) -> None:
    with pytest.raises(UnknownName, match=r"job\.end"):
        store.add(URL, ["job.end"], "ann", 0)
    for _ in range(MOST_WEBHOOKS):
        store.add(URL, [], "ann", 0)
    with pytest.raises(BadInput, match="remove one first"):
        store.add(URL, [], "ann", 0)


@pytest.mark.parametrize("number", ["../journal.db", "", "0123456", "0123456789", "ABCDEF01"])
def test_a_number_of_a_restored_database_names_no_other_file(
    store: WebhookStore, tmp_path: Path, number: str
) -> None:
    added, _ = store.add(URL, [], "ann", 0)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.execute("UPDATE webhooks SET id = ? WHERE id = ?", (number, added.id))
        connection.commit()
    (tmp_path / "secrets" / "0123456").write_text("no secret of ours")
    with pytest.raises(FileNotFoundError):
        store.secret(number)
    store.remove(number)
    assert store.all() == []
    assert (tmp_path / "journal.db").exists()
    assert (tmp_path / "secrets" / "0123456").exists()
