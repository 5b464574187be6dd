"""Webhooks of a real server, told to a real receiver."""

from __future__ import annotations

import base64
import hashlib
import hmac
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until
from webhook_receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with running_server(tmp_path_factory.mktemp("server") / "state", "--cluster", "1x1") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found
        for each in found.webhooks():
            found.remove_webhook(each["id"])


def run_job(client: LiveClient, name: str = "job") -> str:
    job: str = client.submit({"name": name, "run": "true", "workdir": "/"})["id"]
    ended(client, job)
    return job


def is_signed(headers: dict[str, str], body: bytes, secret: str) -> bool:
    """As a receiver checks it."""
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{digest}"


LIFE = ["job.submitted", "attempt.started", "attempt.ended", "job.ended"]


def test_a_receiver_is_told_what_happens_signed_and_in_order(
    client: LiveClient, receiver: Receiver
) -> None:
    run_job(client, "earlier")
    added = client.add_webhook(receiver.url)
    job = run_job(client)
    wait_until(lambda: len(receiver.messages) >= 4)
    assert receiver.kinds() == LIFE
    assert {data["job"]["id"] for _, _, data in receiver.told()} == {job}
    assert receiver.told()[-1][2] == {
        "job": {
            "id": job,
            "name": "job",
            "user": client.job(job)["user"],
            "kind": "command",
            "array": None,
        },
        "state": "SUCCEEDED",
        "failure": None,
        "reason": "",
    }
    assert all(is_signed(*message, added["secret"]) for message in receiver.messages)
    wait_until(lambda: client.webhooks()[0]["delivered_at"] is not None)
    assert "secret" not in client.webhooks()[0]


def test_only_wanted_events_are_told(client: LiveClient, receiver: Receiver) -> None:
    client.add_webhook(receiver.url, ["job.ended"])
    run_job(client)
    run_job(client)
    wait_until(lambda: len(receiver.messages) >= 2)
    assert receiver.kinds() == ["job.ended"] * 2


@pytest.mark.parametrize("status", [500, pytest.param(302, marks=pytest.mark.soak)])
def test_a_refused_message_comes_again_before_all_others(
    client: LiveClient, receiver: Receiver, status: int
) -> None:
    receiver.answers = [status]
    client.add_webhook(receiver.url)
    run_job(client)
    wait_until(lambda: len(receiver.messages) >= 5)
    numbers = [number for number, _, _ in receiver.told()]
    assert receiver.kinds() == [LIFE[0], *LIFE]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 4


def test_a_killed_server_tells_what_was_not_delivered(tmp_path: Path, receiver: Receiver) -> None:
    with running_server(tmp_path / "state", "--cluster", "1x1") as server:
        with LiveClient(ServerAddress.find(folder=server.folder)) as client:
            client.add_webhook(receiver.url)
            receiver.answers = [503] * 1000
            run_job(client)
            wait_until(lambda: receiver.messages and client.webhooks()[0]["problem"] is not None)
            assert client.webhooks()[0]["problem"] == "the receiver answered 503"
        server.kill()
        receiver.messages.clear()
        receiver.answers.clear()
        with server.start() as again:
            wait_until(lambda: len(receiver.messages) >= 4)
            assert receiver.kinds() == LIFE
            wait_until(lambda: again.webhooks()[0]["problem"] is None)


def test_a_receiver_that_is_gone_is_removed(client: LiveClient, receiver: Receiver) -> None:
    added = client.add_webhook(receiver.url)
    receiver.answers = [410]
    run_job(client)
    wait_until(lambda: not client.webhooks())
    removed = "webhook removed: its receiver answered 410 Gone"
    wait_until(lambda: any(each["action"] == removed for each in client.audit("", 100)))
    entry = next(each for each in client.audit("", 100) if each["action"] == removed)
    assert (entry["user"], entry["target"]) == (None, f"webhook {added['id']}")


def test_a_removed_webhook_is_told_nothing(client: LiveClient, receiver: Receiver) -> None:
    first = client.add_webhook(receiver.url)["id"]
    client.remove_webhook(first)
    client.add_webhook(receiver.url, ["job.ended"])
    run_job(client)
    wait_until(lambda: receiver.messages)
    assert receiver.kinds() == ["job.ended"]


def test_a_test_message_is_sent_once(client: LiveClient, receiver: Receiver) -> None:
    added = client.add_webhook(receiver.url)
    assert client.send_test_message(added["id"])["problem"] is None
    receiver.answers = [404]
    problem = client.send_test_message(added["id"])["problem"]
    assert problem == "the receiver answered 404"
    assert receiver.kinds() == ["webhook.test"] * 2
    assert is_signed(*receiver.messages[0], added["secret"])
    nobody = client.add_webhook("http://127.0.0.1:9/hook")
    assert "ConnectError" in client.send_test_message(nobody["id"])["problem"]


def test_a_lost_secret_is_told(server: LiveServer, client: LiveClient, receiver: Receiver) -> None:
    added = client.add_webhook(receiver.url)
    (server.folder / "webhook-secrets" / added["id"]).unlink()
    run_job(client)
    wait_until(lambda: client.webhooks()[0]["problem"] is not None)
    assert "its secret is not in the state folder" in client.webhooks()[0]["problem"]
    assert (
        "its secret is not in the state folder" in client.send_test_message(added["id"])["problem"]
    )
    assert receiver.messages == []


def test_a_host_that_nothing_can_be_called_is_a_problem_of_its_webhook(tmp_path: Path) -> None:
    """Of a database that another version wrote; a new webhook of that kind is refused."""
    state = tmp_path / "state"
    with (
        running_server(state, "--cluster", "1x1") as server,
        LiveClient(ServerAddress.find(folder=server.folder)) as client,
        closing(sqlite3.connect(state / "journal.db")) as connection,
    ):
        added = client.add_webhook("http://receiver.invalid/")
        connection.execute("UPDATE webhooks SET url = 'http://a..b/'")
        connection.commit()
        assert "ConnectError" in client.send_test_message(added["id"])["problem"]
