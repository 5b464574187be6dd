"""The server of the demo is its own, whatever other one the environment names."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.interfaces.cli.demo.cluster.server_process import demo_server


@pytest.mark.soak
@pytest.mark.cluster
def test_the_token_of_another_server_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "t" * 43)
    monkeypatch.setenv("MOTET_SERVER", "http://127.0.0.1:1")
    with demo_server(tmp_path / "state", "1x2", "fifo", {}) as client:
        assert [each["slots"] for each in client.machines()] == [2]
