"""A PyTorch worker of an elastic live job: it trains until it has to leave, or training ends.

    python elastic_torch_program.py FOLDER

It writes its pid and the steps of the job into FOLDER/worker-RANK after each step. Once FOLDER/end
is there, rank 0 writes the step to end after. A worker that trains until then saves its parameters
as FOLDER/values-RANK.pt, one that has to leave writes FOLDER/left-RANK after its last step.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch

from motet.torch import attach
from pool_program import replace


def main(folder: Path) -> None:
    rank, last = int(os.environ["RANK"]), folder / "last"
    is_leaving: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: is_leaving.append(number))
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with attach(model, optimizer, mode="aggregators") as attachment:
        while not (last.exists() and attachment.steps_done >= int(last.read_text())):
            if is_leaving:
                replace(folder / f"left-{rank}", str(attachment.steps_done))
                return
            draw = torch.Generator().manual_seed(1000 * attachment.steps_done + rank)
            inputs = torch.randn(4, 8, generator=draw)
            (model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            replace(folder / f"worker-{rank}", f"{os.getpid()} {attachment.steps_done}")
            if rank == 0 and (folder / "end").exists() and not last.exists():
                replace(last, str(attachment.steps_done + 2))  # No worker is a step ahead.
    torch.save(model.state_dict(), folder / f"values-{rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
