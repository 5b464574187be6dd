"""The pages of a real server: who sees them, what they show, what their buttons do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from live_server import LiveServer
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from motet.live.jobs.job_state import JobState
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path_factory.mktemp("server") / "state", "--cluster", "2x2")
    try:
        found.start()
        yield found
    finally:
        found.kill_everything()


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


@pytest.fixture
def stranger(server: LiveServer) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=ServerAddress.find(folder=server.folder).url, verify=NO_TLS
    ) as found:
        yield found


@pytest.fixture
def browser(server: LiveServer, stranger: httpx.Client) -> httpx.Client:
    """Signed in."""
    token = ServerAddress.find(folder=server.folder).token
    answer = stranger.post("/login", data={"token": token, "next": "/jobs"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    assert re.search("HttpOnly.*SameSite=strict", answer.headers["set-cookie"])
    return stranger


def submit(client: LiveClient, name: str = "job", run: str = "sleep 1000", **more: object) -> str:
    job: str = client.submit({"name": name, "run": run, "workdir": "/", **more})["id"]
    return job


def post(browser: httpx.Client, path: str, origin: str | None = None) -> httpx.Response:
    """As a form of a page of this server, or of another site."""
    own = str(browser.base_url).rstrip("/")
    return browser.post(path, headers={"Origin": origin or own, "Referer": f"{own}/jobs?page=1"})


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/jobs",
        "/jobs/1",
        "/machines",
        "/aggregators",
        "/memory",
        "/queues",
        "/timeline",
        "/decisions",
        "/events",
    ],
)
def test_a_stranger_is_asked_for_the_token(stranger: httpx.Client, path: str) -> None:
    answer = stranger.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")
    assert stranger.post("/jobs/1/cancel").status_code == 401


def test_jobs_that_are_held_are_explained_by_page_and_api(
    browser: httpx.Client, client: LiveClient
) -> None:
    first = submit(client, "first")
    held = submit(client, "held", after=first)
    sentence = f"until job {first} has succeeded"
    assert sentence in browser.get(f"/jobs/{held}").text
    assert client.explain(held)["chapters"][0]["sentence"].endswith(sentence)
    client.change(first, "cancel")
    page = browser.get(f"/jobs/{held}").text
    assert f"cancelled: it waits for job {first} to succeed, which is CANCELLED" in page


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [("/nope", 404, "Not Found"), ("/jobs/abc", 422, "give a whole number")],
)
def test_an_address_that_leads_nowhere_is_a_page_for_browsers(
    browser: httpx.Client, path: str, status: int, told: str
) -> None:
    page = browser.get(path, headers={"Accept": "text/html,application/xhtml+xml"})
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert told in page.text
    assert "That did not work" in page.text
    assert "hx-get" not in page.text  # The next change would bring the same error.
    assert browser.get(path).headers["content-type"] == "application/problem+json"


def test_a_wrong_token_opens_nothing(stranger: httpx.Client) -> None:
    answer = stranger.post("/login", data={"token": "wrong"})
    assert answer.status_code == 401
    assert "token is wrong" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("place", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_signing_in_leads_to_no_other_site(
    server: LiveServer, stranger: httpx.Client, place: str
) -> None:
    token = ServerAddress.find(folder=server.folder).token
    answer = stranger.post("/login", data={"token": token, "next": place})
    assert answer.headers["location"] == "/"


def test_who_signs_out_is_asked_again(browser: httpx.Client) -> None:
    assert browser.get("/").status_code == 200
    assert post(browser, "/logout").status_code == 303
    assert browser.get("/").status_code == 303


def test_a_cookie_is_no_key_to_the_api(browser: httpx.Client) -> None:
    assert browser.get("/api/v1/jobs").status_code == 401


def test_a_button_cancels_and_leads_back(browser: httpx.Client, client: LiveClient) -> None:
    job = submit(client)
    answer = post(browser, f"/jobs/{job}/cancel")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?page=1")
    assert ended(client, job)["state"] == "CANCELLED"


def test_a_job_can_be_suspended_and_resumed(browser: httpx.Client, client: LiveClient) -> None:
    job = submit(client)
    post(browser, f"/jobs/{job}/suspend")
    assert client.job(job)["state"] == "SUSPENDED"
    assert f'action="/jobs/{job}/resume"' in browser.get(f"/jobs/{job}").text
    post(browser, f"/jobs/{job}/resume")
    assert client.job(job)["state"] != "SUSPENDED"
    client.change(job, "cancel")


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_page_of_another_site_changes_nothing(
    browser: httpx.Client, client: LiveClient, origin: str
) -> None:
    job = submit(client)
    assert post(browser, f"/jobs/{job}/cancel", origin).status_code == 403
    without = browser.post(f"/jobs/{job}/cancel")
    assert without.status_code == 403
    assert client.job(job)["state"] != "CANCELLED"
    client.change(job, "cancel")


def test_what_users_write_is_text(browser: httpx.Client, client: LiveClient) -> None:
    job = submit(client, run=f"echo '{EVIL}'; echo '\033[31mred'", envs={"NAME": EVIL})
    assert ended(client, job)["state"] == "SUCCEEDED"
    page = browser.get(f"/jobs/{job}").text
    assert EVIL not in page
    assert "&lt;img src=x onerror=alert(1)&gt;\nred" in page
    assert EVIL not in browser.get("/jobs", params={"name": EVIL}).text


def test_pages_allow_no_script_but_their_own(browser: httpx.Client) -> None:
    for path in ("/", "/jobs", "/login"):
        policy = browser.get(path).headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy
        assert "form-action 'self'; frame-ancestors 'none'; base-uri 'none'" in policy
        headers = browser.get(path).headers
        assert (headers["x-content-type-options"], headers["cache-control"]) == (
            "nosniff",
            "no-store",
        )
        assert not re.search(r"<script(?! src=)|\son\w+=|style=", browser.get(path).text)


def test_the_history_of_a_job_tells_failures_and_changes_of_the_policy(
    browser: httpx.Client, client: LiveClient
) -> None:
    job = submit(client, run="python -c 'import torhc'", retry={"max_attempts": 3})
    assert ended(client, job)["state"] == "FAILED"
    attempts, history = browser.get(f"/jobs/{job}").text.split("<h2>History</h2>")
    assert re.search("failed: <span .*>the process exited with status 1: Module.*torhc", attempts)
    history = history.split("</ol>")[0]
    assert "attempt 1 failed (import_error): " in history
    assert "torhc" in history
    waits = submit(client, processes=4)
    settings = {"min_runtime": "1"}
    client.choose_policy("fifo", settings)
    assert "the policy was changed to fifo (min_runtime=1)" in browser.get(f"/jobs/{waits}").text
    client.choose_policy("fifo", {})
    client.change(waits, "cancel")


def test_the_list_is_filtered_and_paged(browser: httpx.Client, client: LiveClient) -> None:
    client.create_queue("held", {})
    client.set_queue_mode("held", "hold")
    for number in range(60):
        client.change(submit(client, f"paged-{number:03}", queue="held"), "cancel")
    page = browser.get("/jobs?name=paged-&state=CANCELLED&sort=name&order=asc").text
    names = re.findall(r">(paged-\d+)<", page)
    assert names == [f"paged-{number:03}" for number in range(50)]
    assert "Page 1 of 2" in page
    last = browser.get("/jobs?name=paged-&sort=name&order=asc&page=-1").text
    assert re.findall(r">(paged-\d+)<", last) == [f"paged-{number:03}" for number in range(50, 60)]
    assert "No job matches" in browser.get("/jobs?name=paged-&state=FAILED").text


def test_pages_show_slots_and_attempts(browser: httpx.Client, client: LiveClient) -> None:
    job = submit(client, name="wide", processes=3)
    wait_until(lambda: client.job(job)["state"] == JobState.RUNNING)
    machines = browser.get("/machines").text
    drawn = re.findall(rf'href="/jobs/{job}"[^>]*><title>.*?</a>', machines, re.S)
    assert sum(each.count("<rect") for each in drawn) == 3
    assert re.search(rf'<p class="on">.*</svg> {job}</a>', machines)
    assert f'aria-label="attempts of job {job}' in browser.get("/timeline?minutes=10").text
    assert "<b>1</b>" in browser.get("/").text
    waits = submit(client, processes=4)
    assert "Why it waits:" in browser.get(f"/jobs/{waits}").text
    for each in (job, waits):
        client.change(each, "cancel")


def test_a_drained_machine_says_why(browser: httpx.Client, client: LiveClient) -> None:
    client.drain_machine("m1", f"new disk {EVIL}")
    page = browser.get("/machines").text
    assert "drained: new disk &lt;img" in page
    assert " of 2 slots are free" in page
    client.resume_machine("m1")
    assert "drained" not in browser.get("/machines").text


def test_decisions_say_what_changed_and_who_waits(
    browser: httpx.Client, client: LiveClient
) -> None:
    job = submit(client, name="decided", processes=3)
    wait_until(lambda: client.job(job)["state"] == JobState.RUNNING)
    waits = submit(client, name="undecided", processes=4)
    latest, before = _rounds(browser.get("/decisions").text)[:2]
    assert f'<a href="/jobs/{waits}">{waits} undecided</a> needs 4 slots' in latest
    assert "1 job has a new reason to wait" in latest
    assert f'<a href="/jobs/{job}">{job} decided</a> started on ' in before
    assert browser.get("/decisions?page=99999").status_code == 200
    for each in (job, waits):
        client.change(each, "cancel")


def _rounds(page: str) -> list[str]:
    return page.split('<section class="round">')[1:]


@pytest.mark.parametrize(("path", "status"), [("/jobs/99999", 404), ("/jobs/x", 422), ("/x", 404)])
def test_what_does_not_exist_is_an_error(browser: httpx.Client, path: str, status: int) -> None:
    assert browser.get(path).status_code == status


def test_a_server_with_an_open_stream_ends(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        server.start()
        address = ServerAddress.find(folder=server.folder)
        with httpx.Client(base_url=address.url, timeout=100, verify=NO_TLS) as http:
            http.post("/login", data={"token": address.token})
            with http.stream("GET", "/events") as stream:
                lines = stream.iter_lines()
                assert next(lines) == "retry: 2000"
                assert server.end() == 143
    finally:
        server.kill_everything()


def test_a_program_that_looks_whether_the_server_answers_may_ask_for_the_head_alone(
    stranger: httpx.Client,
) -> None:
    answer = stranger.head("/login")
    assert (answer.status_code, answer.text) == (200, "")


def test_an_array_is_a_row_of_the_list_that_opens(
    browser: httpx.Client, client: LiveClient
) -> None:
    array = submit(client, "grid", "exit 0", array="3-5%1")
    wait_until(lambda: client.job(array)["state"] == "SUCCEEDED")
    (first, *_, last) = [job["id"] for job in client.jobs(array=array)]
    rows = browser.get("/jobs?name=grid").text
    assert "3 SUCCEEDED" in rows
    assert f'href="/jobs/{first}"' not in rows
    opened = browser.get(f"/jobs/{array}", follow_redirects=True)
    assert str(opened.url).endswith(f"/jobs?array={array}")
    assert "grid[3]" in opened.text
    assert f'href="/jobs/{last}"' in opened.text
    assert browser.get(f"/jobs/{last}").status_code == 200
    for page in ("/jobs?array=" + array, "/timeline", "/decisions", f"/jobs/{last}"):
        text = browser.get(page).text
        assert "grid[5]" in text, page
        assert "grid[5][5]" not in text


def test_buttons_hold_and_resume_a_queue(browser: httpx.Client, client: LiveClient) -> None:
    client.create_queue("held-here", {"guarantee": 1, "borrow": 1})
    assert 'action="/queues/held-here/hold"' in browser.get("/queues").text
    assert post(browser, "/queues/held-here/hold").status_code == 303
    assert client.queue("held-here")["mode"] == "held"
    assert post(browser, "/queues/held-here/resume").status_code == 303
    assert client.queue("held-here")["mode"] == "open"
    assert post(browser, "/queues/held-here/burn").status_code == 404
    assert post(browser, "/queues/nobody/hold").status_code == 409
    assert post(browser, "/queues/held-here/hold", "https://evil.example").status_code == 403
    client.delete_queue("held-here")


def test_a_log_is_read_on_from_where_a_page_ended(
    server: LiveServer, client: LiveClient, browser: httpx.Client
) -> None:
    job = submit(client, run="echo one; printf 'tw\\303'; sleep 1000")
    path = server.folder / "attempts" / job / "1" / "rank-0" / "log"
    wait_until(lambda: path.exists() and path.stat().st_size == 7)
    page = browser.get(f"/jobs/{job}").text
    assert re.search(r'data-next="4"><span>one\n</span><span>tw.</span>', page)
    place = f"/jobs/{job}/attempts/1/log/0"
    with path.open("ab") as file:
        file.write(b"\xbc\nthree")
    part = browser.get(place, params={"offset": 4}).json()
    assert (part["done"], part["open"], part["next"]) == ("twü\n", "three", 9)
    with path.open("ab") as file:
        file.write(b"\n" + b"line\n" * 100_000)
    part = browser.get(place, params={"offset": 9}).json()
    begin = re.match(rf"\[([0-9,]+) bytes: motet logs {job}\]\nline\n", part["done"])
    assert begin is not None
    shown = len(part["done"]) - part["done"].index("\n") - 1
    assert int(begin[1].replace(",", "")) + shown == 500_006
    assert not part["is_behind"]
    client.change(job, "cancel")
    wait_until(lambda: client.job(job)["attempt_list"][0]["phase"] == "ended")
    assert browser.get(place, params={"offset": part["next"]}).json()["is_complete"]


def test_logs_are_for_those_who_may_use_the_job(
    server: LiveServer, client: LiveClient, stranger: httpx.Client
) -> None:
    job = submit(client, run="true")
    ended(client, job)
    place = f"/jobs/{job}/attempts/1/log/0?offset=0"
    assert stranger.get(place).status_code == 303
    client.create_user("eve", "user")
    token = client.create_token("eve")["text"]
    assert stranger.post("/login", data={"token": token, "next": "/"}).status_code == 303
    assert stranger.get(place).status_code == 403
    assert "pre class" not in stranger.get(f"/jobs/{job}").text


@pytest.mark.parametrize(
    ("path", "status"),
    [("attempts/9/log/0?offset=0", 404), ("attempts/1/log/9?offset=0", 404), ("?rank=9", 404)],
)
def test_a_log_that_does_not_exist_is_not_found(
    client: LiveClient, browser: httpx.Client, path: str, status: int
) -> None:
    job = submit(client, run="true")
    ended(client, job)
    assert browser.get(f"/jobs/{job}/{path}".replace("/?", "?")).status_code == status
