"""Kernels are compiled once for an installation, and before their policy decides."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest

from motet.interfaces.server.kernels.compiled import Kernels
from motet.live.master.intake import ChoosePolicy


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is given to the process that compiles, which is not started; its status is 0."""
    asked: list[str] = []

    def run(command: Any, *, input: str, **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(input)
        status = 2 if "broken" in input else 0
        return subprocess.CompletedProcess(command, status, "why not")

    monkeypatch.setattr(subprocess, "run", run)
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
