"""Replays of a real server: started by a form, shown, compared, stopped, kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from own_policies import own_policy
from waiting import wait_until

pytestmark = pytest.mark.cluster
ALL = {"period": "all jobs"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Two jobs have ended, one runs."""
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1", "--policy", "fifo") as found:
        with LiveClient(ServerAddress.find(folder=found.folder)) as client:
            for _ in range(2):
                ended(client, client.submit({"run": "true", "name": "short", "workdir": "/"})["id"])
            client.submit({"run": "sleep 1000", "name": "runs", "workdir": "/"})
        yield found


class Browser(httpx.Client):
    """Signed in."""

    def __init__(self, server: LiveServer, token: str = "") -> None:
        address = ServerAddress.find(folder=server.folder)
        super().__init__(base_url=address.url, timeout=600)
        self._own_token = token or address.token

    def __enter__(self) -> Browser:
        super().__enter__()
        self.post("/login", data={"token": self._own_token})
        return self

    def send_form(self, path: str, **values: str) -> httpx.Response:
        origin = str(self.base_url).rstrip("/")
        return self.post(path, data=values, headers={"Origin": origin})

    def replay(self, **values: str) -> str:
        """The address of a replay that was started."""
        answer = self.send_form("/whatif", **{**ALL, **values})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def shows(self, path: str, state: str) -> bool:
        return bool(re.search(rf'class="chip \w+">{state}<', self.get(path).text))


@pytest.fixture
def browser(server: LiveServer) -> Iterator[Browser]:
    with Browser(server) as found:
        yield found


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A policy that decides only when a file exists."""
    gate = tmp_path / "gate"
    waits = f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    yield str(own_policy(tmp_path, waits, loading="import os, time")), gate
    gate.touch()


def simulations(server: LiveServer) -> list[int]:
    return server.processes_of("motet.interfaces.forecasts")


def test_a_replay_is_shown_at_an_address_of_its_own(browser: Browser) -> None:
    place = browser.replay(policy="best-effort", settings="min_runtime=5")
    wait_until(lambda: browser.shows(place, "DONE"))
    page = browser.get(place).text
    known = "Under best-effort (min_runtime=5) the mean completion time would be"
    assert known in page or "The replay of fifo is off by" in page  # On a loaded machine.
    assert "3 jobs," in page
    assert "figures are of the 2 that have ended by themselves" in page
    assert "1 job not ended yet" in page
    assert page.count("</tr>") >= 8
    assert f'<a href="{place}">best-effort (min_runtime=5)</a>' in browser.get("/whatif").text


@pytest.mark.soak
def test_a_replay_without_ended_jobs_shows_a_sentence_in_place_of_figures(browser: Browser) -> None:
    place = browser.replay(policy="best-effort", moment=datetime.now(UTC).isoformat())
    wait_until(lambda: browser.shows(place, "DONE"))
    page = browser.get(place).text
    assert '<p class="why">No job of this period has ended by itself, so' in page
    assert "figures are of" not in page
    assert "<h2>Completion times</h2>" not in page


def test_a_user_has_one_replay_at_a_time_and_can_stop_it(
    server: LiveServer, browser: Browser, held: tuple[str, Path]
) -> None:
    place = browser.replay(policy=held[0])
    wait_until(lambda: "<b>Progress:</b> simulates /" in browser.get(place).text)
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in browser.get(place).text
    refused = browser.send_form("/whatif", policy="drf", settings="preemptive=false", **ALL)
    assert refused.status_code == 409
    assert "has not ended yet: wait for it, or stop it" in refused.text
    assert "<option selected>drf</option>" in refused.text
    assert len(simulations(server)) == 1
    assert browser.send_form(f"{place}/stop").headers["location"] == place
    wait_until(lambda: not simulations(server))
    assert browser.shows(place, "STOPPED")
    other = browser.replay(policy="drf")
    wait_until(lambda: browser.shows(other, "DONE"))


@pytest.mark.soak
def test_pages_and_jobs_go_on_while_a_replay_runs(
    server: LiveServer, browser: Browser, held: tuple[str, Path]
) -> None:
    place = browser.replay(policy=held[0])
    assert browser.get("/jobs").status_code == 200
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        job = client.submit({"run": "true", "name": "later", "workdir": "/"})["id"]
        client.change(job, "cancel")
    assert browser.shows(place, "RUNNING")
    held[1].touch()
    wait_until(lambda: browser.shows(place, "DONE"))


@pytest.mark.soak
def test_two_replays_are_compared(browser: Browser) -> None:
    first = browser.replay(policy="best-effort")
    wait_until(lambda: browser.shows(first, "DONE"))
    second = browser.replay(policy="drf")
    wait_until(lambda: browser.shows(second, "DONE"))
    page = browser.get(f"{second}?with={first.rpartition('/')[2]}").text
    assert "Under best-effort the mean" in page
    assert "Under drf the mean" in page
    runs = page.split("<h2>Completion times</h2>")[1].split("</table>")[0]
    assert runs.count("<tr>") in (5, 7)  # A head; the runs in force once if they are the same.
    assert browser.get(f"{second}?with=99999").status_code == 200
    assert browser.get(f"{second}?with=x").status_code == 200


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"policy": "fif"}, "did you mean"),
        ({"policy": "tiresias-las", "settings": "thresholds=x"}, "give numbers"),
        ({"policy": "fifo", "settings": "speed=1"}, "speed"),
        ({"policy": "fifo", "period": "", "moment": "soon"}, "moment soon: give 2h"),
    ],
)
def test_a_wrong_form_is_shown_again(browser: Browser, values: dict[str, str], told: str) -> None:
    answer = browser.send_form("/whatif", **{**ALL, **values})
    assert answer.status_code == 422
    assert told in answer.text
    assert 'role="alert"' in answer.text
    assert values.get("settings", "") in answer.text


def test_roles_hold(server: LiveServer, browser: Browser, held: tuple[str, Path]) -> None:
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        tokens = {}
        for name, role in (("vera", "viewer"), ("uwe", "user")):
            client.create_user(name, role)
            tokens[name] = client.create_token(name)["text"]
    with Browser(server, tokens["vera"]) as viewer, Browser(server, tokens["uwe"]) as user:
        assert '<form method="post" action="/whatif"' not in viewer.get("/whatif").text
        assert viewer.send_form("/whatif", policy="fifo", **ALL).status_code == 403
        assert user.send_form("/whatif", policy=held[0], **ALL).status_code == 403
        file = {"policy": "tiresias-las", "settings": "thresholds=@/etc/passwd"}
        assert user.send_form("/whatif", **file, **ALL).status_code == 403


@pytest.mark.soak
def test_a_replay_is_read_by_all_and_deleted_by_its_user(
    server: LiveServer, browser: Browser
) -> None:
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        tokens = {}
        for name, role in (("viola", "viewer"), ("udo", "user")):
            client.create_user(name, role)
            tokens[name] = client.create_token(name)["text"]
    own = browser.replay(policy="fifo")
    with Browser(server, tokens["viola"]) as viewer, Browser(server, tokens["udo"]) as user:
        assert viewer.get(own).status_code == 200
        assert user.send_form(f"{own}/delete").status_code == 403
        theirs = user.replay(policy="fifo")
        wait_until(lambda: user.shows(theirs, "DONE"))
        wait_until(lambda: browser.shows(own, "DONE"))
        assert_compared(browser, own, theirs)
        assert user.send_form(f"{theirs}/delete").headers["location"] == "/whatif"
        assert user.get(theirs).status_code == 404


def assert_compared(browser: Browser, one: str, other: str) -> None:
    """The page of one replay has the runs of both; what is no replay changes nothing."""
    number, second = (place.rpartition("/")[2] for place in (one, other))
    page = browser.get(f"{one}?with={second}").text
    assert f'Beside replay <a href="{other}">{second}</a>' in page
    runs = page.split("<h2>Completion times</h2>")[1].split("</table>")[0]
    assert set(re.findall(r'data-title="Replay">(\d+)<', runs)) >= {number, second}
    assert f'<option value="{second}" selected>' in page
    for unknown in ("x", "99999"):
        answer = browser.get(f"{one}?with={unknown}")
        assert answer.status_code == 200
        assert "Beside replay" not in answer.text


def test_a_page_of_another_site_starts_nothing(browser: Browser) -> None:
    values = {"policy": "fifo", **ALL}
    answer = browser.post("/whatif", data=values, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


@pytest.mark.soak
def test_results_outlive_the_server(tmp_path: Path, held: tuple[str, Path]) -> None:
    with running_server(tmp_path / "state", "--cluster", "1x1", "--policy", "fifo") as server:
        with LiveClient(ServerAddress.find(folder=server.folder)) as client:
            ended(client, client.submit({"run": "true", "name": "a", "workdir": "/"})["id"])
        with Browser(server) as browser:
            place = browser.replay(policy="drf")
            wait_until(lambda: browser.shows(place, "DONE"))
            lost = browser.replay(policy=held[0])
        server.kill()
        wait_until(lambda: not simulations(server))
        server.start()
        with Browser(server) as browser:
            assert "Under drf the mean completion time" in browser.get(place).text
            assert browser.shows(lost, "FAILED")
            assert "the server ended meanwhile" in browser.get(lost).text
