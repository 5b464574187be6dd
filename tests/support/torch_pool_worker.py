"""A worker process of a PyTorch program that is attached to the pool of its environment.

    python torch_pool_worker.py FILE

FILE is a pickled `PoolProgram`. The worker says each step that it has ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch

from motet.torch import attach
from torch_curves import Curve, State, state_of
from torch_staging import slow_device


@dataclass(frozen=True)
class PoolProgram:
    """`folder`: of files by which workers and test agree. `dies`: the rank of a worker that kills
    itself in step `dies_in`, before its gradients are complete; `has_pushed`: they are sent.
    `is_staged`: tensors travel through copies that end late, as those of a GPU.
    """

    curve: Curve
    mode: str
    folder: Path
    dies: int = -1
    dies_in: int = 0
    has_pushed: bool = False
    is_staged: bool = False

    @property
    def finish_file(self) -> Path:
        """Made by the test: the training is to end."""
        return self.folder / "finish"

    @property
    def last_file(self) -> Path:
        """Made by rank 0 (or by the other one after its death): the last step."""
        return self.folder / "last"

    def result_file(self, rank: int) -> Path:
        """The losses and the model at the end."""
        return self.folder / f"result{rank}"

    def result(self, rank: int) -> tuple[list[float], State]:
        found: tuple[list[float], State] = torch.load(self.result_file(rank))
        return found


class PoolProcess:
    """A worker process. `steps`: that it has ended. `errors`: the lines of its standard error; on a
    busy machine, messages about what has not come yet are among them.
    """

    def __init__(self, program: PoolProgram, address: Path, rank: int, workers: int) -> None:
        file = program.folder / "program"
        file.write_bytes(pickle.dumps(program))
        self.steps = 0
        environment = {"MOTET_AGGREGATION": str(address), "MOTET_JOB": "curve"}
        environment |= {"RANK": str(rank), "WORLD_SIZE": str(workers), "OMP_NUM_THREADS": "1"}
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(file)],
            env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._read, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether the process has."""
        return self.process.poll() is not None

    def end(self) -> int:
        """Wait for it; its exit status."""
        for thread in self._threads:
            thread.join(300.0)
        return self.process.wait(300.0)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.steps = int(line)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


def main(file: Path) -> None:
    import torch_pool_worker  # The class as others know it.

    program: PoolProgram = pickle.loads(file.read_bytes())
    assert isinstance(program, torch_pool_worker.PoolProgram)
    rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    model = program.curve.initial_model(rank)
    optimizer = program.curve.optimizer_of(model)
    decider = 1 if program.dies == 0 else 0

    def pushed(step: int) -> None:
        if (rank, step) == (program.dies, program.dies_in):
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == decider and program.finish_file.exists() and not program.last_file.exists():
            new = program.last_file.with_suffix(".new")
            new.write_text(str(step + 2))  # The others are in this step, or in the next one.
            new.replace(program.last_file)

    def is_last(step: int) -> bool:
        sys.stdout.write(f"{step}\n")
        sys.stdout.flush()
        if not program.has_pushed and (rank, step + 1) == (program.dies, program.dies_in):
            os.kill(os.getpid(), signal.SIGKILL)
        return program.last_file.exists() and step == int(program.last_file.read_text())

    with slow_device() if program.is_staged else nullcontext():
        attach(model, optimizer, mode=program.mode)  # type: ignore[arg-type]
        losses = program.curve.run(model, optimizer, rank, workers, pushed, is_last)
    torch.save((losses, state_of(model)), program.result_file(rank))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
