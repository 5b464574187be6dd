"""A PyTorch worker that finds out in its first steps where its optimizer runs, and can be joined.

    python joining_torch_program.py FOLDER [--changes-gradients]

Each step has eight calls of `backward`, each of which is a round of the job. Rank 0 makes the first
one and waits for FOLDER/go. Once FOLDER/end is there, it writes the step to end after. Workers
write their steps into FOLDER/steps-RANK and their last parameters into FOLDER/values-RANK.pt.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from motet.torch import attach
from pool_program import replace
from waiting import wait_until

BACKWARDS = 8


def main(folder: Path, *options: str) -> None:
    rank, last = int(os.environ["RANK"]), folder / "last"
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    with attach(model, optimizer) as attachment:
        while not (last.exists() and attachment.steps_done >= int(last.read_text())):
            for number in range(BACKWARDS):
                draw = torch.Generator().manual_seed(1000 * attachment.steps_done + 8 * rank)
                inputs = torch.randn(4, 8, generator=draw) + number
                (model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
                if rank == 0 and not attachment.steps_done > 1:
                    wait_until((folder / "go").exists)
            if "--changes-gradients" in options:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()
            replace(folder / f"steps-{rank}", str(attachment.steps_done))
            if rank == 0 and (folder / "end").exists() and not last.exists():
                replace(last, str(attachment.steps_done + 2))  # No worker is a step ahead.
    torch.save(model.state_dict(), folder / f"values-{rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
