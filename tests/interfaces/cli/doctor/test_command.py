"""`motet doctor` against a real server."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from live_server import LiveServer
from marked_process import run_motet
from motet.interfaces.server_address import ServerAddress

pytestmark = pytest.mark.cluster


def test_a_server_is_examined(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x2")
    try:
        server.start()
        well = run_motet("doctor", "--state-dir", server.folder, "--json")
        assert (well.code, well.err) == (0, "")
        subjects = {each["subject"]: each["verdict"] for each in json.loads(well.out)["checks"]}
        assert set(subjects.values()) == {"ok"}
        parts = {"server", "server port", "state folder", "token", "version", "clock", "machines"}
        assert parts <= set(subjects)
        (server.folder / "token").chmod(0o644)
        ill = run_motet("doctor", "--state-dir", server.folder)
        assert ill.code == 1
        assert "chmod 600" in ill.out.replace("\n", " ")
    finally:
        server.kill_everything()


def test_a_server_that_is_gone_and_its_port_are_told(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        server.start()
        port = urlsplit(ServerAddress.find(folder=server.folder).url).port
        server.end()
        gone = run_motet("doctor", "--state-dir", server.folder, "--json")
        assert gone.code == 1
        assert wrong(gone.out) == [
            {
                "subject": "server port",
                "verdict": "wrong",
                "message": f"127.0.0.1:{port}: nothing listens there; start the server with "
                "'motet server'",
            }
        ]
        with socket.create_server(("127.0.0.1", port or 0)):
            taken = run_motet("doctor", "--state-dir", server.folder, "--json")
        assert f"process {os.getpid()}" in wrong(taken.out)[0]["message"]
    finally:
        server.kill_everything()


def test_a_token_that_the_server_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        server.start()
        monkeypatch.setenv("MOTET_TOKEN", "of-nobody")
        refused = run_motet("doctor", "--state-dir", server.folder, "--json")
        assert refused.code == 1
        (found,) = wrong(refused.out)
        assert found["subject"] == "token"
        assert "motet token create NAME" in found["message"]
    finally:
        server.kill_everything()


def wrong(output: str) -> list[dict[str, str]]:
    return [each for each in json.loads(output)["checks"] if each["verdict"] == "wrong"]
