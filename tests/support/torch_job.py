"""A DistributedDataParallel job over gloo: counts its steps, and ends after as many as it is told.

    python torch_job.py STEPS [HELD_AT ...]

At the step that is given for its attempt it waits, with collective calls going on, to be stopped.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as distributed

from motet.torch import TorchCheckpoint


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(steps: int, *held_at: int) -> None:
    torch.manual_seed(0)
    distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    checkpoint = TorchCheckpoint(model=model, optimizer=optimizer)
    attempt = int(os.environ["MOTET_ATTEMPT_NUMBER"])
    done = checkpoint.load()
    say(f"from {done}")
    for step in range(done, steps):
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        shard = inputs[distributed.get_rank() :: distributed.get_world_size()]
        optimizer.zero_grad()
        (model(shard).squeeze() - shard.sum(dim=1)).square().mean().backward()
        optimizer.step()
        checkpoint.step_done(step + 1, every=5)
        if [step + 1] == [*held_at[attempt - 1 : attempt]]:
            say("held")
            while True:
                checkpoint.step_done(step + 1)
                time.sleep(0.05)
    weights = [value.flatten().tolist() for value in model.state_dict().values()]
    if distributed.get_rank() == 0:
        Path(os.environ["RESULT"]).write_text(repr(weights))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
