"""The time axis of a real server: what ran, what is predicted, and what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from live_server import LiveServer, running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.server.web.timeline.timeline_page import waiting_words
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x2", "--policy", "fifo") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    """Its jobs end with the test."""
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found
        jobs = found.jobs(("PENDING", "STARTING", "RUNNING"))
        for job in jobs:
            found.change(job["id"], "cancel")
        wait_until(lambda: all(found.job(job["id"])["ended_at"] for job in jobs))


@pytest.fixture
def page(server: LiveServer) -> Iterator[httpx.Client]:
    address = ServerAddress.find(folder=server.folder)
    with httpx.Client(base_url=address.url, timeout=600, verify=NO_TLS) as found:
        found.post("/login", data={"token": address.token})
        yield found


def submit(client: LiveClient, name: str, **more: object) -> str:
    spec = {"name": name, "run": "sleep 1000", "workdir": "/", **more}
    job: str = client.submit(spec)["id"]
    return job


def lane(page: httpx.Client, job: str, minutes: int = 60) -> str:
    """The drawing of a job; empty: it is not on the axis."""
    text = page.get(f"/timeline?minutes={minutes}").text
    found = re.search(
        rf'<svg class="lane"[^>]*aria-label="attempts of job {job}\b.*?</svg>', text, re.S
    )
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("waiting", "unknown", "words"),
    [
        (0, 0, ""),
        (1, 0, "1 more job waits"),
        (1, 1, "1 more job waits; when it will start is unknown"),
        (1234, 1234, "1,234 more jobs wait; when they will start is unknown"),
        (3, 1, "3 more jobs wait; the start of one of them is unknown"),
        (3, 2, "3 more jobs wait; the starts of 2 of them are unknown"),
    ],
)
def test_waits_beside_the_axis_are_told_in_a_sentence(
    waiting: int, unknown: int, words: str
) -> None:
    assert waiting_words(waiting, unknown) == words


@pytest.mark.soak
def test_a_known_future_is_hatched(client: LiveClient, page: httpx.Client) -> None:
    runs = submit(client, "runs", duration_s=300, processes=2)
    waits = submit(client, "waits", duration_s=300)
    wait_until(lambda: "url(#likely" in lane(page, waits))
    assert re.search(r"; expected start \d\d:\d\d:\d\d.*; expected end \d\d:", lane(page, waits))
    drawn = lane(page, runs)
    assert "url(#sure" in drawn
    assert "expected start" not in drawn
    table = page.get("/timeline").text.split("Expected starts and ends as a table")[1]
    assert re.search(rf'href="/jobs/{waits}">.*?PENDING.*?<td>\d\d:\d\d', table, re.S)
    assert "<td>runs</td>" in table


def test_a_job_that_runs_alone_has_an_expected_end(client: LiveClient, page: httpx.Client) -> None:
    """Predictions are made for who looks, though nothing waits."""
    runs = submit(client, "alone", duration_s=300)
    wait_until(lambda: "url(#sure" in lane(page, runs, 10))
    assert "expected end" in lane(page, runs, 10)


def test_an_unknown_future_is_not_drawn(client: LiveClient, page: httpx.Client) -> None:
    runs = submit(client, "endless", processes=2)
    waits = submit(client, "after", duration_s=300)
    wait_until(
        lambda: "1 more job waits; when it will start is unknown." in page.get("/timeline").text
    )
    assert "url(#" not in lane(page, runs)
    assert "expected end unknown" in lane(page, runs)
    assert lane(page, waits) == ""
