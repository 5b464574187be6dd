"""The process that predicts: it ends, and another one is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.interfaces.server.predictions.follower_process import FollowerProcess


@pytest.mark.soak
def test_a_process_that_ends_is_a_failed_round_with_its_time(tmp_path: Path) -> None:
    process = FollowerProcess(str(tmp_path / "no-journal" / "journal.db"), tmp_path)
    found = process.ask(0)
    process.close()
    process.wait()
    assert found.keys() == {"failed", "cpu_s"}
    assert found["failed"] == "the process ended with status 1"
    assert found["cpu_s"] > 0.0
