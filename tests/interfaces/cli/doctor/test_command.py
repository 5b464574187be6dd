"""`motet doctor` against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live_server import LiveServer
from marked_process import run_motet

pytestmark = pytest.mark.cluster


def test_a_server_is_examined(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x2")
    try:
        server.start()
        well = run_motet("doctor", "--state-dir", server.folder, "--json")
        assert (well.code, well.err) == (0, "")
        subjects = {each["subject"]: each["verdict"] for each in json.loads(well.out)["checks"]}
        assert set(subjects.values()) == {"ok"}
        assert {"server", "token", "version", "clock", "machines"} <= set(subjects)
        (server.folder / "token").chmod(0o644)
        ill = run_motet("doctor", "--state-dir", server.folder)
        assert ill.code == 1
        assert "chmod 600" in ill.out.replace("\n", " ")
    finally:
        server.kill_everything()
