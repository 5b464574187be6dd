"""The command of the demo: ends after an epoch when it is asked to, and continues there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from motet.interfaces.demo_jobs import digits_network


def started(folder: Path, epochs: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", digits_network.__name__, "--epochs", str(epochs)],
        env={**os.environ, "RANK": "0", "WORLD_SIZE": "2", "MOTET_CHECKPOINT_DIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_stopped_network_continues_with_the_epoch_after(tmp_path: Path) -> None:
    process = started(tmp_path, 100_000)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("epoch 1/100000 ")
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    done = 1 + len(rest.splitlines())

    out, _ = started(tmp_path, done + 1).communicate(timeout=120)

    assert out.startswith(f"epoch {done + 1}/{done + 1} ")
    assert len(out.splitlines()) == 1


def test_the_same_network_comes_of_two_attempts_as_of_one(tmp_path: Path) -> None:
    whole, _ = started(tmp_path / "whole", 3).communicate(timeout=120)
    first, _ = started(tmp_path / "parts", 2).communicate(timeout=120)
    second, _ = started(tmp_path / "parts", 3).communicate(timeout=120)

    assert whole.splitlines()[-1] == second.splitlines()[-1]
    assert len(first.splitlines()) == 2
