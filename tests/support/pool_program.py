"""A worker of a live job that trains on the cluster's pool of Aggregators until it may end.

    python pool_program.py FOLDER [STEPS]

It writes its step into FOLDER/steps-RANK, and ends after STEPS steps, or once FOLDER/end is there:
rank 0 then writes the step to end after. The last values are in FOLDER/values-RANK.npy.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from motet.aggregation.agent import OptimizerSpec, join_pool
from pool_training import GROUP, TENSORS, WEIGHTS, gradients


def main(folder: Path, steps: int) -> None:
    rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    values = [np.zeros(WEIGHTS, np.float32), np.zeros(1, np.float32)]
    agent = join_pool("line", rank, workers)
    step, last = agent.initialise(TENSORS, OptimizerSpec("sgd", (GROUP,)), values), folder / "last"
    while step < steps and not (last.exists() and step >= int(last.read_text())):
        step += 1
        for tensor, gradient in enumerate(gradients(values, rank, step)):
            agent.push(tensor, gradient)
        agent.finish_step([GROUP])
        for tensor, value in enumerate(values):
            agent.pull(tensor, value).wait(300.0)
        replace(folder / f"steps-{rank}", str(step))
        if rank == 0 and (folder / "end").exists() and not last.exists():
            replace(last, str(step + 2))  # No worker is a whole step ahead of another.
    agent.close()
    np.save(folder / f"values-{rank}.npy", np.concatenate(values))


def replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(text)
    temporary.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10**9)
