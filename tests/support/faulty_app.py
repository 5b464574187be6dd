"""An application whose process crashes, is stopped, or computes without end, once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from motet.domain.arrays import Array
from motet.runtime.core.application import Batch, Step, Update
from toy_app import ToyRegression


class Faulty(ToyRegression):
    """The fault is in the middle of a COMP, once a file `go` is in the folder.

    The file `process` then tells which process has it. `memory_group`: the file by which a process
    joins a control group in whose memory it does not fit.
    """

    def __init__(
        self, fault: str = "", folder: str = "", memory_group: str = "", batch_size: int = 20
    ) -> None:
        super().__init__(batch_size=batch_size)
        self.fault = fault
        self.folder = folder
        self.memory_group = memory_group
        self.may_begin = False

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        folder = Path(self.folder)
        if self.may_begin and not (folder / "process").exists():
            (folder / "part").write_text(str(os.getpid()))
            (folder / "part").rename(folder / "process")
            FAULTS[self.fault](self)
        # Not in this COMP, which may have begun while the job was alone, without a token.
        self.may_begin = (folder / "go").exists()
        return super().compute(batch, model, step)


def _exceed_memory(app: Faulty) -> None:
    Path(app.memory_group).write_text(str(os.getpid()))
    kept = []
    while True:
        kept.append(b"x" * (1 << 20))


def _compute_without_end(app: Faulty) -> None:
    del app
    while True:
        pass


FAULTS: Mapping[str, Callable[[Faulty], None]] = {
    "crash": lambda app: os.abort(),
    "out of memory": _exceed_memory,
    "endless loop": _compute_without_end,
    "stopped": lambda app: os.kill(os.getpid(), signal.SIGSTOP),
}
