"""A PyTorch worker of an elastic live job: it trains until it has to leave, or training ends.

    python elastic_torch_program.py FOLDER

It writes its pid and the steps of the model into FOLDER/worker-RANK after each step. Once
FOLDER/end is there, rank 0 writes the step to end after. A worker that trains until then saves its
parameters as FOLDER/values-RANK.pt, one that has to leave writes FOLDER/left-RANK after its last
step. Rank 0 saves a checkpoint then, from which the next attempt goes on; what an attempt begins
with is in FOLDER/began-ATTEMPT.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from motet.torch import TorchCheckpoint, attach
from pool_program import replace


def main(folder: Path) -> None:
    rank, last = int(os.environ["RANK"]), folder / "last"
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    checkpoint = TorchCheckpoint(model=model, optimizer=optimizer)
    done = checkpoint.load()
    with attach(model, optimizer, mode="aggregators", steps_done=done) as attachment:
        if rank == 0:
            began = folder / f"began-{os.environ['MOTET_ATTEMPT_NUMBER']}"
            replace(began, str(attachment.steps_done))
        while not (last.exists() and attachment.steps_done >= int(last.read_text())):
            draw = torch.Generator().manual_seed(1000 * attachment.steps_done + rank)
            inputs = torch.randn(4, 8, generator=draw)
            (model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            replace(folder / f"worker-{rank}", f"{os.getpid()} {attachment.steps_done}")
            if rank == 0 and (folder / "end").exists() and not last.exists():
                replace(last, str(attachment.steps_done + 2))  # No worker is a step ahead.
            try:
                checkpoint.step_done(attachment.steps_done)
            except SystemExit:
                replace(folder / f"left-{rank}", str(attachment.steps_done))
                raise
    torch.save(model.state_dict(), folder / f"values-{rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
