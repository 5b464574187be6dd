"""Where the secrets of a real server are not: in lists of processes, in its log, on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from live_server import LiveServer, running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until
from webhook_receiver import Receiver

pytestmark = pytest.mark.cluster

JOB = {"name": "job", "run": "sleep 1000", "workdir": "/", "envs": {"KEY": "s3cret-of-a-user"}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "1x1", "--log-format", "json") as found:
        yield found


def command_lines() -> bytes:
    """Of all processes of the machine."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(each.read_bytes())
        except OSError:  # It has ended.
            continue
    return b"\n".join(found)


def files_with(folder: Path, secret: str) -> set[str]:
    """Their paths in the folder."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    }


def test_secrets_are_in_their_files_alone(server: LiveServer) -> None:
    """With a job that runs, a prediction, a webhook, and users that sign in and mistype."""
    address = ServerAddress.find(folder=server.folder)
    receiver = Receiver()
    with LiveClient(address) as owner, httpx.Client(base_url=address.url, verify=NO_TLS) as browser:
        owner.create_user("bob", "user")
        token = owner.create_token("bob")["text"]
        hook = owner.add_webhook(receiver.url)["secret"]
        assert browser.post("/login", data={"token": token, "next": "/"}).status_code == 303
        cookie = browser.cookies["motet_session"]
        browser.post("/login", data={"token": "misspelt-token"})
        browser.get("/api/v1/jobs", headers={"Authorization": "Bearer misspelt-token"})
        job = owner.submit(JOB, key="k3y-of-a-request")["id"]
        owner.submit(JOB)
        wait_until(lambda: owner.job(job)["state"] == "RUNNING")
        owner.dry_run(JOB)
        secrets = [address.token, token, cookie, hook, "misspelt-token", "k3y-of-a-request"]
        shown = command_lines()
        assert [each for each in (*secrets, JOB["envs"]["KEY"]) if each.encode() in shown] == []
        server.end()
    receiver.close()
    said = server.said()
    assert '"event": "attempt_ran"' in said
    assert [each for each in (*secrets, JOB["envs"]["KEY"]) if each in said] == []
    found = [files_with(server.folder, each) for each in secrets[:4]]
    (of_webhook,) = (server.folder / "webhook-secrets").iterdir()
    assert found == [{"token"}, set(), set(), {f"webhook-secrets/{of_webhook.name}"}]
    private = (server.folder, server.folder / "token", of_webhook.parent, of_webhook)
    assert [each.stat().st_mode & 0o077 for each in private] == [0] * 4
