"""What `motet logs` says of a job that has written nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from live_server import running_server
from motet.interfaces.cli.commands import motet

pytestmark = pytest.mark.cluster


def test_logs_of_a_job_without_an_attempt_say_so(tmp_path: Path) -> None:
    def run(command: str, *arguments: str) -> tuple[str, str]:
        words = [command, "--state-dir", str(tmp_path / "state"), *arguments]
        result = CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)
        return result.stdout.strip(), result.stderr.strip()

    with running_server(tmp_path / "state", "--cluster", "1x1"):
        first, _ = run("submit", "--", "sleep", "600")
        second, _ = run("submit", "--", "true")
        assert run("logs", second) == ("", f"motet: job {second} has not started: it is PENDING")
        run("cancel", second)
        told = ("", f"motet: job {second} has not started: it is CANCELLED")
        assert run("logs", second) == told
        assert run("logs", "-f", second) == told
        run("cancel", first)
        run("wait", first)
        assert run("logs", first) == ("", "")
