"""The REST interface of a real server: jobs, errors, and who is refused."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from live_server import LiveServer
from live_trainings import ended
from motet.domain.errors import BadInput
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOB = {"name": "job", "run": "echo hello", "workdir": "/"}
SECRET_VARIABLES = ("MOTET_TOKEN", "MOTET_DATABASE_URL", "RAY_AUTH_TOKEN", "PGPASSWORD")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path_factory.mktemp("server") / "state", "--cluster", "1x2")
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in SECRET_VARIABLES:
                patch.setenv(name, "a secret")
            found.start()
        yield found
    finally:
        found.kill_everything()


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


@pytest.fixture
def http(server: LiveServer) -> Iterator[httpx.Client]:
    """A client with the right token."""
    address = ServerAddress.find(folder=server.folder)
    headers = {"Authorization": f"Bearer {address.token}"}
    with httpx.Client(base_url=address.url + "/api/v1", headers=headers, verify=NO_TLS) as found:
        yield found


def test_a_job_from_submission_to_its_log(client: LiveClient) -> None:
    job = client.submit({**JOB, "run": "echo hello from $RANK", "processes": 2})
    done = ended(client, job["id"])
    assert (done["state"], done["attempt_list"][0]["placement"]) == ("SUCCEEDED", {"m0": 2})
    found = client.log_part(job["id"], rank=1, attempt=0, offset=0)
    assert found == (b"hello from 1\n", 13, True, 1, 13)
    data = client.log_part(job["id"], rank=1, attempt=1, offset=6).data
    assert data == b"from 1\n"


def test_a_repeated_request_returns_the_job_although_its_file_is_gone(
    client: LiveClient, tmp_path: Path
) -> None:
    data = tmp_path / "points.csv"
    data.write_text("a,b,label\n1,2,x\n2,1,y\n")
    spec = {"name": "t", "app": "mlr", "data": str(data), "workdir": str(tmp_path)}
    first = client.submit(spec, key="training-of-a-file")
    data.unlink()

    assert client.submit(spec, key="training-of-a-file")["id"] == first["id"]
    with pytest.raises(BadInput, match="no such file"):
        client.submit(spec, key="another-key")
    client.change(first["id"], "cancel")


def test_jobs_come_in_pages(client: LiveClient, http: httpx.Client) -> None:
    ids = [client.submit(JOB)["id"] for _ in range(3)]
    first = http.get("/jobs", params={"limit": 1, "after": int(ids[0]) - 1}).json()
    assert [job["id"] for job in first["jobs"]] == ids[:1]
    assert first["next"] == ids[0]
    assert [job["id"] for job in client.jobs()][-3:] == ids


def test_a_filter_by_state(client: LiveClient) -> None:
    job = client.submit({**JOB, "run": "exit 1"})
    ended(client, job["id"])
    assert job["id"] in {each["id"] for each in client.jobs(("FAILED",))}
    assert {each["state"] for each in client.jobs(("FAILED",))} == {"FAILED"}


def test_the_environment_of_a_job_has_no_secrets(client: LiveClient) -> None:
    job = client.submit({**JOB, "run": "env", "envs": {"OWN": "value"}})
    ended(client, job["id"])
    data = client.log_part(job["id"], rank=0, attempt=0, offset=0).data
    variables = dict(line.split("=", 1) for line in data.decode().splitlines() if "=" in line)
    assert variables["OWN"] == "value"
    assert variables["MOTET_JOB_ID"] == job["id"]
    assert variables.keys() & {*SECRET_VARIABLES} == set()
    assert b"a secret" not in data


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("POST", "/jobs", {}, 422, "name is missing"),
        ("POST", "/jobs", {**JOB, "proceses": 2}, 422, "did you mean processes"),
        ("POST", "/jobs", {**JOB, "processes": 3}, 422, "the cluster has 2 slots"),
        ("POST", "/jobs", [1], 422, "give a section with names and values"),
        ("GET", "/jobs/999999", None, 404, "there is no job 999999"),
        ("GET", "/jobs/../../etc/passwd", None, 404, ""),
        ("GET", "/jobs/x", None, 422, "number: 'x'; give a whole number"),
        ("GET", "/jobs/1/logs?rank=7", None, 422, "has processes 0 to 1"),
        ("GET", "/jobs/1/logs?attempt=7", None, 404, "has had 1 attempt"),
        ("GET", "/jobs/1/logs?rank=-1", None, 422, "rank"),
        ("GET", "/jobs/1/logs?rank=../../token", None, 422, "rank"),
        ("POST", "/jobs/999999/cancel", None, 404, "there is no job"),
        ("POST", "/jobs/1/explode", None, 422, "verb"),
        ("GET", "/jobs?state=BUSY", None, 422, "state"),
        ("GET", "/jobs?limit=100000", None, 422, "limit"),
    ],
)
def test_a_bad_request_is_one_clear_problem(
    client: LiveClient,
    http: httpx.Client,
    method: str,
    path: str,
    body: Any,
    status: int,
    detail: str,
) -> None:
    client.submit(JOB)
    answer = http.request(method, path, json=body)
    assert answer.status_code == status
    assert re.search(detail, answer.json()["detail"])


@pytest.mark.parametrize("path", ["/jobs", "/jobs/1", "/jobs/1/logs", "/nothing"])
@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer", "Basic {token}", "{token}"])
def test_strangers_are_refused(server: LiveServer, path: str, header: str | None) -> None:
    address = ServerAddress.find(folder=server.folder)
    headers = {} if header is None else {"Authorization": header.format(token=address.token)}
    answer = httpx.get(f"{address.url}/api/v1{path}", headers=headers, verify=NO_TLS)
    assert answer.status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example"])
def test_requests_under_another_host_name_are_refused(http: httpx.Client, host: str) -> None:
    assert http.get("/jobs", headers={"Host": host}).status_code == 421


def test_an_oversized_body_is_refused(http: httpx.Client) -> None:
    answer = http.post("/jobs", content=b"x" * (5 << 20))
    assert answer.status_code == 413


def test_a_stranger_may_send_no_more_than_a_form(http: httpx.Client) -> None:
    forms = {size: b"token=" + b"x" * (size - 6) for size in (16 << 10, (16 << 10) + 1)}
    login = http.base_url.join("/login")
    answers = [
        httpx.post(login, content=form, timeout=100, verify=NO_TLS) for form in forms.values()
    ]
    assert [each.status_code for each in answers] == [401, 413]


def test_token_and_journal_are_private(server: LiveServer) -> None:
    for path in (server.folder, server.folder / "token"):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("has_own_journal", [False, True])
def test_a_second_server_on_the_same_state_is_refused(
    server: LiveServer, tmp_path: Path, has_own_journal: bool
) -> None:
    before = (server.folder / "server.json").read_text()
    journal = ["--database", str(tmp_path / "own.db")] if has_own_journal else []
    other = LiveServer(server.folder, "--cluster", "1x2", *journal)
    with pytest.raises(AssertionError, match="another motet server uses this folder"):
        other.start(keeps_address=True)
    assert (server.folder / "server.json").read_text() == before


def test_jobs_survive_a_restart_of_the_server(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        flag = tmp_path / "go"
        client = server.start()
        run = f"echo $$; while [ ! -e {flag} ]; do sleep 0.05; done; echo end"
        job = client.submit({**JOB, "run": run})
        wait_until(lambda: client.job(job["id"])["state"] == "RUNNING")
        assert server.end() == 143
        assert server.said().endswith("1 job runs on; the next server adopts it: start it again\n")
        client = server.start()
        assert client.job(job["id"])["state"] == "RUNNING"
        flag.touch()
        done = ended(client, job["id"])
        assert (done["state"], done["attempts"]) == ("SUCCEEDED", 1)
        log = client.log_part(job["id"], rank=0, attempt=0, offset=0).data
        assert len(log.splitlines()) == 2
    finally:
        server.kill_everything()


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    server = LiveServer(tmp_path, "--cluster", "1x1")
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(AssertionError, match="lets other users read the server's token"):
        server.start()


def test_the_address_file_names_the_server(server: LiveServer) -> None:
    found = json.loads((server.folder / "server.json").read_text())
    assert server.process is not None
    assert found["pid"] == server.process.pid
    assert found["machine"] == socket.gethostname()


def test_a_job_that_waits_is_explained(client: LiveClient) -> None:
    holder = client.submit({**JOB, "run": "sleep 600", "processes": 2})
    waits = client.submit(JOB)
    found = client.explain(waits["id"])
    client.change(holder["id"], "cancel")
    assert (found["state"], found["reason"]) == ("PENDING", "InsufficientSlots")
    assert found["message"].startswith("needs 1 slot, none was free")
    (chapter,) = found["chapters"]
    assert chapter["sentence"].startswith("has waited ")
    assert chapter["from"] == found["submitted"] == waits["submitted_at"]
    assert (chapter["to"], found["ended"]) == (None, None)
    assert chapter["blockers"] == [{"job": holder["id"], "gpus": 2}]
    assert ended(client, waits["id"])["state"] == "SUCCEEDED"
    done = client.explain(waits["id"])
    assert [each["kind"] for each in done["chapters"]] == ["wait", "run", "moment"]
    assert done["chapters"][1]["to"] == done["ended"] == client.job(waits["id"])["ended_at"]


def test_an_unknown_query_parameter_is_an_error(http: httpx.Client) -> None:
    answer = http.get("/jobs", params={"quue": "default"})
    assert answer.status_code == 422
    assert "unknown query parameter 'quue'; did you mean 'queue'" in answer.json()["detail"]
    assert http.get("/health", params={"x": "1"}).status_code == 422
    assert http.get("/jobs", params={"queue": "default"}).status_code == 200
