"""A real training on a real server proposes its size; the engine grants it, and it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from live_server import LiveServer, running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from self_sized_training import SELF_SIZED
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOB = {**SELF_SIZED, "epochs": 100_000}


@pytest.fixture
def server(tmp_path: Any) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "1x4") as found:
        yield found


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_training_grows_to_the_size_that_it_proposes(server: LiveServer) -> None:
    client = LiveClient(ServerAddress.find(folder=server.folder))
    job = client.submit(JOB)["id"]

    def found() -> dict[str, Any]:
        answer: dict[str, Any] = client.job(job)
        return answer

    wait_until(lambda: len(found()["attempt_list"]) > 1)
    wait_until(lambda: found()["attempt_list"][1]["running_at"])
    first, second = found()["attempt_list"][:2]
    assert (first["workers"], first["servers"], first["stop_cause"]) == (1, 1, "resized")
    assert second["workers"] > 1
    assert first["ended_at"] <= second["running_at"]
    epochs_done = found()["progress"]["epochs_done"]
    wait_until(lambda: found()["progress"]["epochs_done"] > epochs_done)
    sentences = [each["sentence"] for each in client.explain(job)["chapters"]]
    assert any(each.startswith("Cruise proposed") for each in sentences)
    assert any("resized from 1 worker and 1 server to" in each for each in sentences)
    client.change(job, "cancel")
