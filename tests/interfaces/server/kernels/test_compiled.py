"""Kernels are compiled once for an installation, and before their policy decides."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from motet.interfaces.server.kernels.compiled import Kernels
from motet.live.master.intake import ChoosePolicy


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The policies of processes that compile, which are not started; their status is 0."""
    asked: list[str] = []

    def compiled(
        kernels: Kernels, policy: str, settings: Mapping[str, str], folder: Path
    ) -> tuple[int, str]:
        del kernels, settings, folder
        asked.append(policy)
        return (2 if policy == "broken" else 0), "why not"

    monkeypatch.setattr(Kernels, "_compile", compiled)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return asked


def test_a_policy_is_compiled_once(compilations: list[str]) -> None:
    told: list[str] = []
    for _ in range(2):
        Kernels(told.append).prepare(ChoosePolicy("fifo"))
    assert told == ["fifo"]
    assert len(compilations) == 1
    Kernels(told.append).prepare(ChoosePolicy("srtf"))
    assert told == ["fifo", "srtf"]


def test_a_policy_file_is_compiled_again_after_a_change(
    compilations: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    for text in ("POLICIES = {}", "POLICIES = {'mine': 1}"):
        path.write_text(text)
        for _ in range(2):
            Kernels().prepare(ChoosePolicy(str(path)))
    assert len(compilations) == 2


def test_what_cannot_be_compiled_is_logged_and_tried_again(
    compilations: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            Kernels().prepare(ChoosePolicy("broken"))
    assert [record.message for record in caplog.records] == ["kernels_not_compiled"] * 2
    assert len(compilations) == 2


@pytest.mark.soak
def test_ctrl_c_during_a_compilation_ends_it_without_a_traceback_or_files(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    caches = {"TMPDIR": str(temporary), "NUMBA_CACHE_DIR": str(tmp_path / "caches")}
    command = [sys.executable, "-m", "motet.interfaces.cli", "server", "--port", "0"]
    with subprocess.Popen(
        [*command, "--state-dir", str(tmp_path / "state")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **caches},
        start_new_session=True,
    ) as server:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("compile ")
        os.killpg(server.pid, signal.SIGINT)  # As a terminal does.
        assert server.stderr.read().strip() == ""
    assert server.returncode == 130
    assert not list(temporary.iterdir())
