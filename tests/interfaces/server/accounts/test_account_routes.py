"""Users of a real server: what each role may do, whose jobs they reach, and what is audited."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.domain.errors import AuthenticationFailed, BadInput, NotFound
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOB = {
    "name": "job",
    "run": "echo pr1vate; sleep 600",
    "workdir": "/",
    "envs": {"KEY": "k3y-value"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x2") as found:
        yield found


@pytest.fixture
def owner(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


@pytest.fixture
def client_of(server: LiveServer, owner: LiveClient) -> Iterator[Callable[[str, str], LiveClient]]:
    """A client with a token of a new user."""
    made: list[tuple[str, LiveClient]] = []

    def create(name: str, role: str) -> LiveClient:
        owner.create_user(name, role)
        text = owner.create_token(name)["text"]
        made.append((name, LiveClient(ServerAddress(url_of(server), text))))
        return made[-1][1]

    yield create
    for name, client in made:
        client.__exit__(None, None, None)
        owner.revoke_user(name)


def url_of(server: LiveServer) -> str:
    return ServerAddress.find(folder=server.folder).url


def log_of(client: LiveClient, job: str) -> bytes:
    return client.log_part(job, rank=0, attempt=0, offset=0)[0]


def test_the_user_of_a_job_is_that_of_the_token(
    owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    bob = client_of("bob", "user")
    job = bob.submit(JOB)
    assert job["user"] == "bob"
    with pytest.raises(BadInput, match="user"):
        bob.submit({**JOB, "user": "eve"})
    wait_until(lambda: log_of(bob, job["id"]) == b"pr1vate\n")
    assert bob.change(job["id"], "cancel")["state"] == "CANCELLED"


def test_a_job_of_another_user_is_seen_but_not_touched(
    owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    bob, eve = client_of("bob", "user"), client_of("eve", "user")
    job = bob.submit(JOB)["id"]
    seen = eve.job(job)
    assert (seen["user"], seen["spec"], seen["results"]) == ("bob", None, None)
    assert bob.job(job)["spec"]["envs"] == {"KEY": "k3y-value"}
    forbidden: list[Callable[[], object]] = [
        lambda: eve.change(job, "cancel"),
        lambda: eve.change(job, "suspend"),
        lambda: eve.update(job, {"priority": 9}),
        lambda: log_of(eve, job),
    ]
    for attempt in forbidden:
        with pytest.raises(AuthenticationFailed, match=f"job {job} belongs to bob"):
            attempt()
    assert eve.explain(job)["state"] in ("PENDING", "STARTING", "RUNNING")
    wait_until(lambda: log_of(owner, job) == b"pr1vate\n")
    assert owner.change(job, "cancel")["state"] == "CANCELLED"


def test_a_user_lowers_the_limit_of_a_job_and_an_admin_raises_it(
    owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    bob, eve = client_of("bob", "user"), client_of("eve", "user")
    job = bob.submit({**JOB, "max_duration": "2h"})["id"]
    assert bob.update(job, {"max_duration": "1h"})["max_duration_s"] == 3600
    for longest in ("90m", None):
        with pytest.raises(AuthenticationFailed, match="a max_duration of 1h; users may lower"):
            bob.update(job, {"max_duration": longest})
    with pytest.raises(AuthenticationFailed, match=f"job {job} belongs to bob"):
        eve.update(job, {"max_duration": "1m"})
    with pytest.raises(BadInput, match="max_duration: 'soon': give seconds, or a time as 90s"):
        bob.update(job, {"max_duration": "soon"})
    assert owner.update(job, {"max_duration": 5400})["max_duration_s"] == 5400
    assert owner.update(job, {"priority": 1})["max_duration_s"] == 5400
    assert owner.update(job, {"max_duration": None})["max_duration_s"] is None
    lines = [each for each in owner.audit("", 100) if each["action"].startswith("PATCH")]
    assert {(each["user"], each["status"]) for each in lines} >= {("bob", 200), ("bob", 403)}
    owner.change(job, "cancel")


def test_an_idempotency_key_belongs_to_its_user(
    client_of: Callable[[str, str], LiveClient],
) -> None:
    bob, eve = client_of("bob", "user"), client_of("eve", "user")
    first = bob.submit({**JOB, "run": "true"}, key="k")["id"]
    assert eve.submit({**JOB, "run": "true"}, key="k")["id"] != first
    assert bob.submit({**JOB, "run": "true"}, key="k")["id"] == first


def test_a_viewer_reads_and_changes_nothing(
    server: LiveServer, client_of: Callable[[str, str], LiveClient]
) -> None:
    viewer = client_of("val", "viewer")
    assert viewer.machines()[0]["name"] == "m0"
    assert viewer.policy()["policy"] == "fifo"
    attempts: list[Callable[[], object]] = [
        lambda: viewer.submit(JOB),
        lambda: viewer.choose_policy("fifo", {}),
        lambda: viewer.drain_machine("m0", "x"),
        lambda: viewer.create_queue("q"),
        lambda: viewer.users(),
        lambda: [*viewer.audit("", 1)],
        lambda: viewer.create_token("val"),
    ]
    for attempt in attempts:
        with pytest.raises(AuthenticationFailed, match="val has the role viewer; this needs"):
            attempt()


def test_a_user_does_not_change_the_cluster(
    client_of: Callable[[str, str], LiveClient],
) -> None:
    bob = client_of("bob", "user")
    attempts: list[Callable[[], object]] = [
        lambda: bob.choose_policy("srtf", {}),
        lambda: bob.drain_machine("m0", "x"),
        lambda: bob.create_queue("mine"),
        lambda: bob.create_user("friend", "admin"),
        lambda: bob.create_token("bob", "admin"),
        lambda: bob.revoke_user("bob"),
    ]
    for attempt in attempts:
        with pytest.raises(AuthenticationFailed, match="this needs admin"):
            attempt()


def test_an_admin_may_do_what_the_owner_may(
    owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    admin = client_of("adm", "admin")
    job = owner.submit(JOB)["id"]
    assert admin.change(job, "cancel")["state"] == "CANCELLED"
    admin.create_user("carl", "viewer")
    assert admin.revoke_user("carl")["revoked_at"]


def test_tokens_are_listed_without_their_texts_and_can_be_revoked(
    server: LiveServer, owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    bob = client_of("bob", "user")
    client_of("eve", "user")
    text = owner.create_token("bob", "viewer", "for Prometheus", 30)["text"]
    listed = bob.tokens()
    assert {each["user"] for each in listed} == {"bob"}
    (token,) = [each for each in listed if each["label"] == "for Prometheus"]
    assert (token["role"], token["expires_at"] > token["created_at"]) == ("viewer", True)
    assert not any("text" in each or "digest" in each for each in listed)
    headers = {"Authorization": f"Bearer {text}"}
    assert httpx.get(f"{url_of(server)}/metrics", headers=headers, verify=NO_TLS).status_code == 200
    bob.revoke_token(token["id"])
    assert httpx.get(f"{url_of(server)}/metrics", headers=headers, verify=NO_TLS).status_code == 401
    (others,) = [each["id"] for each in owner.tokens() if each["user"] == "eve"][-1:]
    with pytest.raises(NotFound):
        bob.revoke_token(others)


def test_a_session_of_the_pages_has_the_rights_of_its_token(
    server: LiveServer, owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    client_of("bob", "user")
    token = owner.create_token("bob")
    theirs = owner.submit(JOB)["id"]
    url = url_of(server)
    with httpx.Client(base_url=url, headers={"Origin": url}, verify=NO_TLS) as browser:
        answer = browser.post("/login", data={"token": token["text"], "next": "/"})
        assert answer.status_code == 303
        page = browser.get(f"/jobs/{theirs}").text
        assert "bob" in page
        assert not any(secret in page for secret in ("pr1vate", "k3y-value", "cancel job"))
        assert browser.post(f"/jobs/{theirs}/cancel").status_code == 403
        headers = {"Authorization": f"Bearer {token['text']}"}
        own = httpx.post(f"{url}/api/v1/jobs", json=JOB, headers=headers, verify=NO_TLS).json()[
            "id"
        ]
        page = browser.get(f"/jobs/{own}").text
        assert all(shown in page for shown in ("k3y-value", f"cancel job {own}"))
        assert browser.post(f"/jobs/{own}/cancel").status_code == 303
        owner.revoke_token(token["id"])
        assert browser.get("/jobs").headers["location"].startswith("/login")
    owner.change(theirs, "cancel")


def audited(owner: LiveClient, pattern: str) -> list[dict[str, Any]]:
    """Entries whose request and target match, when there is one."""
    found: list[dict[str, Any]] = []

    def has_one() -> bool:
        entries = owner.audit("", 1000)
        found[:] = [each for each in entries if re.search(pattern, str(each))]
        return bool(found)

    wait_until(has_one)
    return found


def test_changes_and_refusals_are_audited(
    server: LiveServer, owner: LiveClient, client_of: Callable[[str, str], LiveClient]
) -> None:
    bob = client_of("bob", "user")
    job = bob.submit({**JOB, "run": "true"})["id"]
    ended(bob, job)
    (entry,) = audited(owner, rf"'job {job}'")
    assert (entry["user"], entry["role"], entry["source"]) == ("bob", "user", "127.0.0.1")
    assert (entry["action"], entry["status"]) == ("POST /api/v1/jobs", 201)
    with pytest.raises(AuthenticationFailed):
        bob.create_queue("not-allowed")
    assert audited(owner, "POST /api/v1/queues")[0]["status"] == 403
    httpx.get(
        f"{url_of(server)}/api/v1/stranger",
        headers={"Authorization": "Bearer secret-guess"},
        verify=NO_TLS,
    )
    (entry,) = audited(owner, "stranger")
    assert (entry["user"], entry["status"]) == (None, 401)
    entries = [*owner.audit("", 1000)]
    assert not any(each["action"].startswith("GET") and each["status"] < 400 for each in entries)
    assert "secret-guess" not in str(entries)
    assert {each["user"] for each in owner.audit("bob", 1000)} == {"bob"}


def test_strangers_cannot_fill_the_audit_log(server: LiveServer, owner: LiveClient) -> None:
    with httpx.Client(base_url=url_of(server), verify=NO_TLS) as stranger:
        for number in range(250):
            stranger.get(f"/api/v1/flood/{number}")
    owner.create_user("after-the-flood", "viewer")
    audited(owner, "after-the-flood")
    floods = [each for each in owner.audit("", 1000) if "flood/" in each["action"]]
    assert 0 < len(floods) <= 180  # A minute, or two or three on a slow machine.


def test_the_token_of_the_state_folder_stays_valid_after_a_restart(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        with server.start() as owner:
            owner.create_user("bob", "user")
            text = owner.create_token("bob")["text"]
        server.end()
        with server.start() as owner:
            assert [each["name"] for each in owner.users()][1:] == ["bob"]
            with LiveClient(ServerAddress(url_of(server), text)) as bob:
                assert ended(bob, bob.submit({**JOB, "run": "true"})["id"])["user"] == "bob"
    finally:
        server.kill_everything()


def test_a_wait_tells_nothing_once_its_token_is_revoked(
    server: LiveServer, owner: LiveClient
) -> None:
    owner.create_user("watcher", "viewer")
    token = owner.create_token("watcher")
    job = owner.submit(JOB)["id"]
    headers = {"Authorization": f"Bearer {token['text']}"}
    connection = HTTPConnection(url_of(server).removeprefix("http://"))
    with closing(connection):
        connection.request("GET", "/api/v1/me", headers=headers)
        assert connection.getresponse().read()
        connection.request("GET", f"/api/v1/jobs/{job}/wait", headers=headers)
        owner.me()  # What was sent on another connection before has been let in by now.
        owner.revoke_token(token["id"])
        owner.change(job, "cancel")
        answer = connection.getresponse()
        assert (answer.status, b"since the wait began" in answer.read()) == (401, True)
    owner.revoke_user("watcher")


def test_a_stream_ends_when_its_user_is_revoked(server: LiveServer, owner: LiveClient) -> None:
    owner.create_user("leaver", "viewer")
    token = owner.create_token("leaver")["text"]
    headers = {"authorization": f"Bearer {token}"}
    with httpx.stream(
        "GET", url_of(server) + "/api/v1/events", headers=headers, timeout=60, verify=NO_TLS
    ) as got:
        lines = got.iter_lines()
        assert next(lines) == "retry: 2000"
        owner.revoke_user("leaver")
        job = owner.submit({"name": "news", "run": "true", "workdir": "/"})["id"]
        heartbeats = (line for line in lines if line == ": nothing new")
        assert len(list(islice(heartbeats, 5))) < 5  # It ends.
    ended(owner, job)
