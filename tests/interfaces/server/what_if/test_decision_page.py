"""The page of one decision of a real server, and its replay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from live_server import LiveServer, running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A job runs, another one waits."""
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1", "--policy", "fifo") as found:
        with LiveClient(ServerAddress.find(folder=found.folder)) as client:
            for name in ("runs", "waits"):
                spec = {"run": "sleep 1000", "name": name, "workdir": "/"}
                job = client.submit(spec)["id"]
            wait_until(lambda: client.job(job)["reason"])
        yield found


@contextmanager
def signed_in(server: LiveServer, token: str) -> Iterator[httpx.Client]:
    url = ServerAddress.find(folder=server.folder).url
    with httpx.Client(base_url=url, timeout=600, headers={"Origin": url}, verify=NO_TLS) as client:
        client.post("/login", data={"token": token})
        yield client


@pytest.fixture
def browser(server: LiveServer) -> Iterator[httpx.Client]:
    with signed_in(server, ServerAddress.find(folder=server.folder).token) as found:
        yield found


def rounds(browser: httpx.Client) -> list[str]:
    """Addresses of the decisions, the latest first."""
    return re.findall(r'href="(/decisions/\d+)"', browser.get("/decisions").text)


@pytest.mark.soak
def test_a_decision_is_replayed_from_its_page(browser: httpx.Client) -> None:
    place = rounds(browser)[-1]
    before = browser.get(place).text
    assert "runs</a> started on m0" in before
    assert "Same decision" not in before
    answer = browser.post(f"{place}/replay")
    assert (answer.status_code, answer.headers["location"]) == (303, place)
    page = browser.get(place).text
    assert "<b>Same decision:</b>" in page
    assert page.count("<li>start job 1 on m0 (1 slot)</li>") == 2
    assert "<li>job 1 submitted</li>" in page


def test_a_wait_is_a_decision_too(browser: httpx.Client) -> None:
    place = rounds(browser)[0]
    browser.post(f"{place}/replay")
    page = browser.get(place).text
    assert "waits</a> needs 1 slot" in page
    assert "<b>Same decision:</b>" in page
    assert "The jobs that the policy saw" in page


@pytest.mark.parametrize(("path", "status"), [("/decisions/1", 404), ("/decisions/x", 422)])
def test_a_decision_that_is_not_there(browser: httpx.Client, path: str, status: int) -> None:
    assert browser.get(path).status_code == status
    assert browser.post(f"{path}/replay").status_code == status


def test_a_viewer_sees_decisions_and_replays_none(server: LiveServer) -> None:
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        client.create_user("vera", "viewer")
        token = client.create_token("vera")["text"]
    with signed_in(server, token) as viewer:
        place = rounds(viewer)[0]
        assert viewer.get(place).status_code == 200
        assert viewer.post(f"{place}/replay").status_code == 403
