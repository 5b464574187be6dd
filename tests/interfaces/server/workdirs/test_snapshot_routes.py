"""Snapshots of a real server: sent, refused, run, kept over attempts, and forgotten."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from live_server import LiveServer, running_server
from motet import Client
from motet.domain.errors import AuthenticationFailed, BadInput
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from motet.live.workdirs.store import LARGEST_UPLOAD_BYTES
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with running_server(tmp_path_factory.mktemp("server") / "state", "--cluster", "1x2") as found:
        yield found


@pytest.fixture
def live(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    with Client(state_dir=server.folder) as found:
        yield found


@pytest.fixture
def http(server: LiveServer) -> Iterator[httpx.Client]:
    address = ServerAddress.find(folder=server.folder)
    headers = {"Authorization": f"Bearer {address.token}"}
    with httpx.Client(base_url=address.url + "/api/v1", headers=headers, verify=NO_TLS) as found:
        yield found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "say.py").write_text("print('first')")
    (folder / "run.log").write_text("")
    (folder / ".gitignore").write_text("*.log\n")
    return folder


def test_a_job_runs_the_files_of_its_submission(client: Client, project: Path) -> None:
    wait = f"while [ ! -e {project}/go ]; do sleep 0.05; done"
    job = client.submit(
        run=f"{wait}; python3 say.py; ls; echo $MOTET_SUBMIT_DIR", workdir=project, snapshot=True
    )
    (project / "say.py").write_text("print('second')")
    (project / "go").touch()
    assert client.wait(job).has_succeeded
    assert client.logs(job) == f"first\nsay.py\n{project}\n"


def test_attempts_of_a_job_share_a_copy_and_jobs_do_not(
    client: Client, server: LiveServer, project: Path
) -> None:
    add = "echo x >> out; cat out; [ $MOTET_ATTEMPT_NUMBER = 2 ] || exec sleep 1000"
    jobs = [client.submit(run=add, workdir=project, snapshot=True) for _ in range(2)]
    for job in jobs:
        wait_until(lambda job=job: _runs(client, job) and client.logs(job) == "x\n")
        client.suspend(job)
        wait_until(lambda job=job: client.job(job).state == "SUSPENDED")
        client.resume(job)
        assert client.wait(job).has_succeeded
        assert client.logs(job) == "x\nx\n"
    assert not (project / "out").exists()
    assert len([*(server.folder / "snapshots").glob("*.tar")]) >= 1
    assert (server.folder / "workdirs" / str(jobs[0].id) / "out").read_text() == "x\nx\n"


def _runs(client: Client, job: Any) -> bool:
    return client.job(job).state == "RUNNING"


def test_the_same_files_are_sent_once(
    client: Client, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    send = LiveClient.send_snapshot
    monkeypatch.setattr(
        LiveClient, "send_snapshot", lambda *given: (sent.append(given[1]), send(*given))
    )
    (project / "only.here").touch()
    for _ in range(2):
        client.submit(run="true", workdir=project, snapshot=True)
    assert len(sent) == 1


@pytest.mark.soak
def test_a_training_reads_data_and_program_from_the_snapshot(
    client: Client, server: LiveServer, project: Path
) -> None:
    (project / "rows.csv").write_text("x,y\n" + "".join(f"{n},{n % 2}\n" for n in range(40)))
    values = {"app": "mlr", "target": "y", "epochs": 2, "workdir": project, "snapshot": True}
    job = client.submit(data="rows.csv", **values)
    (project / "rows.csv").unlink()
    assert client.wait(job).has_succeeded, client.logs(job)
    (project / "rows.log").write_text("x,y\n1,2\n")
    with pytest.raises(BadInput, match=r"rows\.log: not in the snapshot of .*project; check"):
        client.submit(data="rows.log", **values)


def test_a_job_whose_archive_is_gone_says_so(
    client: Client, server: LiveServer, project: Path
) -> None:
    other = client.submit(run="exec sleep 1000", processes=2, workdir=project)
    wait_until(lambda: _runs(client, other))
    (project / "for.this.job").touch()
    job = client.submit(run="true", workdir=project, snapshot=True)
    for each in (server.folder / "snapshots").iterdir():
        each.unlink()
    client.cancel(other)
    wait_until(lambda: len(client.job(job).attempts) >= 1)
    told = server.folder / "attempts" / str(job.id) / "1" / "rank-0" / "log"
    wait_until(told.exists)
    assert "the files of the snapshot cannot be copied: " in told.read_text()
    client.cancel(job)


def _status_of_announced(http: httpx.Client, place: str, size: int) -> int:
    """The answer to a request whose body is not sent."""
    connection = HTTPConnection(http.base_url.host, http.base_url.port, timeout=60)
    connection.putrequest("PUT", f"/api/v1{place}")
    connection.putheader("Authorization", http.headers["Authorization"])
    connection.putheader("Content-Length", str(size))
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_archives_are_refused(http: httpx.Client, live: LiveClient) -> None:
    name = hashlib.sha256(b"x").hexdigest()
    place = f"/snapshots/{name}"
    assert http.get(place).status_code == 404
    assert http.put(place, content=b"y").json()["detail"].startswith("the archive was changed")
    assert "no tar file" in http.put(place, content=b"x").json()["detail"]
    assert _status_of_announced(http, place, LARGEST_UPLOAD_BYTES + 1) == 413
    for odd in ("/snapshots/..%2fjournal", "/snapshots/ABC", f"/snapshots/{name}.tar"):
        assert http.put(odd, content=b"x").status_code in (404, 422)
    job = {"name": "job", "run": "true", "workdir": "/"}
    for given in (True, name):
        with pytest.raises(BadInput, match="snapshot: send the archive first"):
            live.submit({**job, "snapshot": given})
    live.create_user("val", "viewer")
    viewer = live.create_token("val")["text"]
    address = ServerAddress(live.url, viewer)
    with LiveClient(address) as client, pytest.raises(AuthenticationFailed):
        client.send_snapshot(name, io.BytesIO(b"x"), 1)
