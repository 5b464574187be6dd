"""The command of the demo: ends after an epoch when it is asked to, and continues there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from motet.interfaces.demo_jobs import digits_network


def environment(folder: Path) -> dict[str, str]:
    return {"RANK": "0", "WORLD_SIZE": "2", "MOTET_CHECKPOINT_DIR": str(folder)}


def started(folder: Path, epochs: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", digits_network.__name__, "--epochs", str(epochs)],
        env={**os.environ, **environment(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.soak
def test_a_stopped_network_continues_with_the_epoch_after(tmp_path: Path) -> None:
    process = started(tmp_path, 100_000)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("epoch 1/100000 ")
    process.send_signal(signal.SIGTERM)
    # `communicate` would leave out the lines that `readline` has buffered.
    done = 1 + len(process.stdout.readlines())
    assert process.wait() == 0

    out, _ = started(tmp_path, done + 1).communicate(timeout=120)

    assert out.startswith(f"epoch {done + 1}/{done + 1} ")
    assert len(out.splitlines()) == 1


def trained_here(
    folder: Path, epochs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The lines that the command prints in this process."""
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["digits_network", "--epochs", str(epochs)])
    before = signal.getsignal(signal.SIGTERM)
    try:
        digits_network.train_on_digits()
    finally:
        signal.signal(signal.SIGTERM, before)
    return capsys.readouterr().out.splitlines()


def test_the_same_network_comes_of_two_attempts_as_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = trained_here(tmp_path / "whole", 3, monkeypatch, capsys)
    first = trained_here(tmp_path / "parts", 2, monkeypatch, capsys)
    second = trained_here(tmp_path / "parts", 3, monkeypatch, capsys)

    assert [whole[-1]] == second
    assert len(first) == 2
