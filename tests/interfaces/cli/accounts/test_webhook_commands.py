"""`motet webhook` against a real server and a real receiver."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from live_server import LiveServer, running_server
from motet.domain.errors import NotFound
from motet.interfaces.cli.commands import motet
from webhook_receiver import Receiver

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        yield found


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def run(server: LiveServer, verb: str, *words: str) -> Result:
    arguments = ["webhook", verb, "--state-dir", str(server.folder), *words]
    return CliRunner(env={"COLUMNS": "200"}).invoke(
        motet, arguments, catch_exceptions=False, standalone_mode=False
    )


def test_a_webhook_is_added_listed_tested_and_removed(
    server: LiveServer, receiver: Receiver
) -> None:
    added = run(server, "add", receiver.url, "--event", "job.ended")
    number, secret = added.stdout.split()
    assert secret.startswith("whsec_")
    assert added.stderr == f"next     motet webhook test {number}\n"
    assert receiver.url in run(server, "list").stdout
    (listed,) = json.loads(run(server, "list", "--json").stdout)["webhooks"]
    assert (listed["id"], listed["url"], listed["events"]) == (number, receiver.url, ["job.ended"])

    tested = run(server, "test", number)
    assert (tested.stdout, tested.return_value) == (f"{number}  received\n", 0)
    assert len(receiver.messages) == 1

    assert run(server, "remove", number).stdout == f"{number}  removed\n"
    assert json.loads(run(server, "list", "--json").stdout) == {"webhooks": []}


def test_a_message_that_is_not_received_is_an_exit_status_of_1(
    server: LiveServer, receiver: Receiver
) -> None:
    number = run(server, "add", receiver.url).stdout.split()[0]
    receiver.answers = [500]
    tested = run(server, "test", number)
    assert tested.return_value == 1
    assert tested.stdout.startswith(f"{number}  ")
    assert "500" in tested.stdout


@pytest.mark.parametrize("verb", ["test", "remove"])
def test_an_unknown_webhook_is_not_found(server: LiveServer, verb: str) -> None:
    with pytest.raises(NotFound, match="99"):
        run(server, verb, "99")
