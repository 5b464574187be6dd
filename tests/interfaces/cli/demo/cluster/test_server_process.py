"""The server of the demo is its own, whatever other one the environment names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.interfaces.cli.demo.cluster.server_process import _own_address, demo_server
from motet.interfaces.server_address import ADDRESS_FILE, TOKEN_FILE, ServerAddress

OWN_URL = "http://127.0.0.1:8080"


@pytest.fixture(autouse=True)
def other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names another server."""
    monkeypatch.setenv("MOTET_TOKEN", "t" * 43)
    monkeypatch.setenv("MOTET_SERVER", "http://127.0.0.1:1")


def test_the_address_is_that_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_text(json.dumps({"url": OWN_URL}))
    (tmp_path / TOKEN_FILE).write_text("own-token\n")
    assert _own_address(tmp_path) == ServerAddress(OWN_URL, "own-token")


@pytest.mark.soak
@pytest.mark.cluster
def test_the_token_of_another_server_does_not_matter(tmp_path: Path) -> None:
    with demo_server(tmp_path / "state", "1x2", "fifo", {}) as client:
        assert [each["slots"] for each in client.machines()] == [2]
