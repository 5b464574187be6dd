"""Values of users that would mean something else in SQL, headers, paths and YAML."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from soak_cases import others_in_soak

pytestmark = pytest.mark.cluster

SQL = (
    "' OR '1'='1",
    "x'; DROP TABLE jobs; --",
    '" OR ""="',
    "%' UNION SELECT token FROM tokens --",
    "1) OR 1=1 --",
    "\\'; DELETE FROM users; --",
)
TRAVERSALS = (
    "/static/../../../../../../etc/passwd",
    "/static/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/static/%2e%2e/%2e%2e/serve.py",
    "/static/....//....//serve.py",
    "/static//etc/passwd",
    "/static/..%5c..%5cserve.py",
    "/jobs/..%2f..%2ftoken",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        with LiveClient(ServerAddress.find(folder=folder)) as client:
            ended(client, client.submit({"name": "job", "run": "echo hello", "workdir": "/"})["id"])
        yield found


@pytest.fixture
def browser(server: LiveServer) -> Iterator[httpx.Client]:
    """Signed in."""
    address = ServerAddress.find(folder=server.folder)
    with httpx.Client(
        base_url=address.url, headers={"Origin": address.url}, verify=NO_TLS
    ) as found:
        assert found.post("/login", data={"token": address.token}).status_code == 303
        yield found


@pytest.fixture
def api(server: LiveServer) -> Iterator[httpx.Client]:
    address = ServerAddress.find(folder=server.folder)
    headers = {"Authorization": f"Bearer {address.token}"}
    with httpx.Client(base_url=address.url + "/api/v1", headers=headers, verify=NO_TLS) as found:
        yield found


@pytest.mark.parametrize("text", others_in_soak(SQL, SQL[:3]))
@pytest.mark.parametrize("field", ["name", "queue", "user", "sort", "order", "page", "state"])
def test_sql_in_a_filter_is_text(browser: httpx.Client, field: str, text: str) -> None:
    usual = browser.get("/jobs")
    answer = browser.get("/jobs", params={field: text})
    assert answer.status_code == 200
    is_filter = field in ("name", "queue", "user")
    assert ("/jobs/1" in answer.text) is not is_filter
    assert browser.get("/jobs").text == usual.text


@pytest.mark.parametrize("text", others_in_soak(SQL, SQL[:2]))
def test_sql_in_the_api_is_text(server: LiveServer, api: httpx.Client, text: str) -> None:
    before = api.get("/users").json()
    assert api.get("/audit", params={"user": text}).json()["entries"] == []
    for body in ({"name": text}, {"name": text, "role": "user"}, {"user": text}):
        for path in ("/users", "/queues", "/tokens"):
            assert api.post(path, json=body).status_code in (404, 422)
    for path in ("/users/", "/tokens/"):
        assert api.request("DELETE", path + text.replace("/", "")).status_code == 404
    keyed = {"Idempotency-Key": text}
    body = {"name": "job", "run": "true", "workdir": "/"}
    first, again = (api.post("/jobs", json=body, headers=keyed).json() for _ in range(2))
    assert first["id"] == again["id"]
    assert api.get("/users").json() == before
    tables = sqlite3.connect(server.folder / "journal.db").execute("SELECT name FROM sqlite_master")
    assert {"records", "journal", "users", "tokens", "audit"} <= {name for (name,) in tables}


@pytest.mark.parametrize("path", TRAVERSALS)
def test_paths_do_not_leave_their_folder(
    server: LiveServer, browser: httpx.Client, path: str
) -> None:
    answer = browser.send(
        browser.build_request("GET", browser.base_url.copy_with(raw_path=path.encode()))
    )
    assert answer.status_code in (303, 404, 422)
    token = ServerAddress.find(folder=server.folder).token
    assert not any(secret in answer.text for secret in ("root:", token, "uvicorn"))


@pytest.mark.parametrize("value", ["../../../token", "%2e%2e%2ftoken", "1/../../../../token", "-1"])
@pytest.mark.parametrize("field", ["rank", "attempt"])
def test_names_of_logs_are_numbers(
    server: LiveServer, api: httpx.Client, browser: httpx.Client, field: str, value: str
) -> None:
    token = ServerAddress.find(folder=server.folder).token
    assert api.get("/jobs/1/logs", params={field: value}).status_code == 422
    page = browser.get("/jobs/1", params={field: value})
    assert page.status_code == 200
    assert token not in page.text


@pytest.mark.parametrize(
    "text", ["/jobs\r\nSet-Cookie: a=b", "/jobs%0d%0aX: y", "/\r\n\r\n<script>"]
)
def test_a_place_to_return_to_makes_no_header(
    server: LiveServer, browser: httpx.Client, text: str
) -> None:
    token = ServerAddress.find(folder=server.folder).token
    answer = browser.post("/login", data={"token": token, "next": text})
    assert answer.status_code == 303
    assert {"x", "a"} & {name.lower() for name in answer.headers} == set()
    assert len(answer.headers.get_list("set-cookie")) == 1
    assert "\n" not in answer.headers["location"]


def test_a_job_is_json_and_never_yaml(api: httpx.Client, tmp_path: Path) -> None:
    """YAML can make objects, and a few lines of it a billion strings."""
    mark = tmp_path / "mark"
    bomb = "a: &a [x, x]\n" + "".join(f"k{n}: &k{n} [*a, *a]\n" for n in range(30))
    for body in (f"!!python/object/apply:os.system ['touch {mark}']", bomb):
        for kind in ("application/yaml", "application/json", "text/plain"):
            answer = api.post("/jobs", content=body, headers={"Content-Type": kind})
            assert answer.status_code in (400, 415, 422)
            assert len(answer.content) < 1000
    text = json.dumps({"name": "job", "run": f"!!python/object/apply:os.system ['touch {mark}']"})
    answer = api.post("/jobs", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422  # No workdir; nothing was evaluated on the way.
    assert not mark.exists()


@pytest.mark.parametrize(
    "query",
    [
        "/audit?before=9e99",
        "/audit?before=99999999999999999999",
        "/jobs/1/logs?offset=9223372036854775807",
    ],
)
def test_a_huge_number_is_a_bad_request(api: httpx.Client, query: str) -> None:
    """SQLite and files have 64 bits."""
    assert api.get(query).status_code == 422


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.nip.io", "localhost.evil.example"])
@pytest.mark.parametrize("path", ["/", "/login", "/metrics", "/api/v1/jobs", "/static/motet.js"])
def test_a_name_of_another_site_opens_no_path(
    api: httpx.Client, browser: httpx.Client, host: str, path: str
) -> None:
    """DNS rebinding: a browser reaches this server under the name of a site that it visits."""
    for client in (api, browser):
        url = browser.base_url.copy_with(path=path)
        assert client.get(url, headers={"Host": host}).status_code == 421
