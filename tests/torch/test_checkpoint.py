"""Checkpoints of programs whose processes are in no group of torch.distributed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from motet.torch import TorchCheckpoint


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """A checkpoint handles the signal of a preemption."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(("rank", "written"), [(None, True), ("0", True), ("1", False)])
def test_the_first_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: str | None, written: bool
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    model = torch.nn.Linear(2, 1)
    checkpoint = TorchCheckpoint(folder=tmp_path / "job", model=model)

    checkpoint.step_done(3, every=3)

    assert (tmp_path / "job").exists() == written
    assert checkpoint.load() == (3 if written else 0)
