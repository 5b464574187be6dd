"""The log of a real server: its events in order, and no token in it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from live_server import LiveServer
from live_trainings import ended
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOB = {"name": "job", "workdir": "/"}
PASSWORD = "a-password-of-the-user"


def events(server: LiveServer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.said().splitlines()]


def names(server: LiveServer) -> list[str]:
    return [each["event"] for each in events(server)]


def test_a_server_logs_its_life_as_json_without_secrets(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1", "--log-format", "json")
    try:
        with server.start() as client:
            spec = {**JOB, "run": f"echo {PASSWORD}; exit 3", "envs": {"PASSWORD": PASSWORD}}
            job = client.submit(spec, key="a-secret-key")["id"]
            assert ended(client, job)["state"] == "FAILED"
            address = ServerAddress.find(folder=server.folder)
            wrong = {"Authorization": f"Bearer {address.token[:-1]}"}
            assert (
                httpx.get(address.url + "/api/v1/jobs", headers=wrong, verify=NO_TLS).status_code
                == 401
            )
            form = {"token": address.token, "next": "/"}
            assert httpx.post(address.url + "/login", data=form, verify=NO_TLS).status_code == 303
            [launcher] = server.launchers()
            os.kill(launcher, signal.SIGKILL)
            wait_until(lambda: "launcher_restarted" in names(server))
            server.end()
        found = events(server)
        kept = [each for each in found if each["event"].startswith(("job_", "attempt_"))]
        assert [(each["event"], each["level"], each["job"]) for each in kept] == [
            ("job_accepted", "info", 1),
            ("attempt_ran", "info", 1),
            ("attempt_over", "warning", 1),
        ]
        assert (kept[-1]["attempt"], kept[-1]["end"]) == (1, "FAILED")
        order = [each["event"] for each in found]
        assert order.index("journal_read") < order.index("server_started")
        assert order[-1] == "server_ended"
        begun = found[order.index("server_started")]
        assert begun["url"] == address.url
        assert Path(begun["token_file"]).read_text().strip() == address.token
        for secret in (address.token, address.token[:-1], PASSWORD, "a-secret-key"):
            assert secret not in server.said()
    finally:
        server.kill_everything()


def test_without_the_option_only_warnings_are_logged(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        with server.start() as client:
            ended(client, client.submit({**JOB, "run": "true"})["id"])
            server.end()
        assert [line.split()[0] for line in server.said().splitlines()] == [
            "server",
            "token",
            "cluster",
            "next",
        ]
    finally:
        server.kill_everything()
