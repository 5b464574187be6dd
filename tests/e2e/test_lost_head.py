"""A Ray cluster whose control processes are killed ends the command with the right remedy.

Ray itself ends the process after a minute, with a message of its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from marked_process import motet_process


@pytest.mark.cluster
@pytest.mark.soak
@pytest.mark.parametrize(
    ("process", "told"),
    [("gcs_server", "Ray's GCS at"), ("raylet", "the raylet of this node at")],
)
def test_a_killed_control_process_ends_the_run_which_can_be_resumed(
    process: str, told: str, tmp_path: Path
) -> None:
    running = motet_process(
        *("train", "nmf", "--data", "digits-ratings", "--epochs", "1000000", "--ray"),
        *("--machines", "1", "--workers", "1", "--servers", "1"),
        *("--set", "tol=0", "--out", tmp_path, "--checkpoint-every", "1"),
    )
    running.wait_until(lambda: (tmp_path / "checkpoints").exists() and _epochs(tmp_path) > 3)
    descendants = psutil.Process(running.process.pid).children(recursive=True)
    for each in [each for each in descendants if process in each.name()]:
        each.kill()
    _, err = running.process.communicate(timeout=100)
    assert running.process.returncode == 1
    assert err.splitlines()[-1].startswith(f"motet: error: {told}")
    remedy = "continue with --resume (with --address, start the cluster first)"
    assert err.splitlines()[-1].endswith(remedy)
    assert running.descendants() == {}
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["state"] == "failed"
    assert len(record["loss"]) >= 3


def _epochs(folder: Path) -> int:
    losses = folder / "loss.csv"
    return len(losses.read_text().splitlines()) if losses.exists() else 0
