"""Checkpoints of PyTorch jobs on a live cluster: saved before a preemption, loaded after it.

    checkpoint = TorchCheckpoint(model=model, optimizer=optimizer)
    for step in range(checkpoint.load(), steps):
        ...  # One step of training.
        checkpoint.step_done(step + 1, every=100)

With `torch.distributed` every process calls all three in the same steps.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

FOLDER_VARIABLE = "MOTET_CHECKPOINT_DIR"
_STEP, _PARTS = "step", "parts"


class Stateful(Protocol):
    """A model, an optimizer, a scheduler, a scaler."""

    def state_dict(self) -> Mapping[str, Any]:
        """Everything that it needs to continue."""

    def load_state_dict(self, state: Any) -> Any:
        """Continue from a state."""


class TorchCheckpoint:
    """The latest checkpoint of a job. The first process of the group writes it; without
    `torch.distributed`, the one whose RANK is 0."""

    def __init__(
        self,
        *,
        folder: str | os.PathLike[str] | None = None,
        preempt_signal: int = signal.SIGTERM,
        **parts: Stateful,
    ) -> None:
        """`folder`: None: that of the job, MOTET_CHECKPOINT_DIR; all machines share it.

        `preempt_signal`: as in the job file. `parts`: what is saved, by name.
        """
        self._folder = Path(folder or os.environ[FOLDER_VARIABLE])
        self._path = self._folder / "checkpoint.pt"
        self._parts = parts
        self._is_stopping = False
        signal.signal(preempt_signal, self._stop)

    def load(self) -> int:
        """Load the checkpoint, if there is one. Returns the number of steps that are done."""
        if not self._path.exists():
            return 0
        import torch

        found = torch.load(self._path, map_location="cpu", weights_only=True)
        for name, part in self._parts.items():
            part.load_state_dict(found[_PARTS][name])
        return int(found[_STEP])

    def step_done(self, step: int, every: int = 0) -> None:
        """Save after every so many steps (0: never), and when the job is to stop: then end with
        status 0. `step`: the number of steps that are done."""
        is_stopping = self._is_any_stopping()
        if is_stopping or (every and step % every == 0):
            self.save(step)
        if is_stopping:
            raise SystemExit(0)

    def save(self, step: int) -> None:
        """Write the checkpoint; a process that is killed meanwhile leaves the one before."""
        if _rank() == 0:
            self._write(step)
        from torch import distributed

        if distributed.is_initialized():
            distributed.barrier()

    def _write(self, step: int) -> None:
        import torch

        self._folder.mkdir(parents=True, exist_ok=True)
        states = {name: part.state_dict() for name, part in self._parts.items()}
        new = self._path.with_suffix(".new")
        with open(new, "wb") as file:
            torch.save({_STEP: step, _PARTS: states}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        with suppress(OSError):  # Some shared file systems cannot do it for a folder.
            _sync_folder(self._folder)

    def _is_any_stopping(self) -> bool:
        """The signal reaches the processes in different steps; all of them stop in the same one."""
        import torch
        from torch import distributed

        if not distributed.is_initialized():
            return self._is_stopping
        on = "cuda" if distributed.get_backend() == "nccl" else "cpu"
        flag = torch.tensor([int(self._is_stopping)], device=on)
        distributed.all_reduce(flag, op=distributed.ReduceOp.MAX)
        return bool(flag.item())

    def _stop(self, number: int, frame: object) -> None:
        del number, frame
        self._is_stopping = True


def _rank() -> int:
    from torch import distributed

    if distributed.is_initialized():
        return int(distributed.get_rank())
    return int(os.environ.get("RANK", "0"))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
