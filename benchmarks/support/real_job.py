"""A worker that trains a network on scikit-learn's digits, attached to Aggregators.

    python -m support.real_job JSON

On the pool of MOTET_AGGREGATION, or on `servers` of the job's own. It makes the file `ready` and
waits for `begin` before the first iteration. It writes a line per iteration to `out`: when it ended
(Unix time) and how long it took.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import nn

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.pool_agent import join_pool
from motet.torch import attach
from motet.transport import Endpoint
from support.timed_job import RoundRobinRoutes

BATCH = 256


def agent_of(given: dict[str, Any]) -> NumpyAgent:
    if not given["servers"]:
        return join_pool(given["name"], given["rank"], given["workers"], servers=2)
    endpoints = [Endpoint.decode(each) for each in given["servers"]]
    routes = RoundRobinRoutes(given["number"], bytes.fromhex(given["secret"]), endpoints)
    return NumpyAgent(routes, given["rank"], given["workers"])


def main(given: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    inputs, targets = (torch.from_numpy(each) for each in load_digits(return_X_y=True))
    inputs = inputs.float() / 16
    model = nn.Sequential(
        *(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    lines = []
    with attach(model, optimizer, service=agent_of(given), mode="aggregators"):
        Path(given["ready"]).touch()
        while not Path(given["begin"]).exists():
            time.sleep(0.01)
        for step in range(given["steps"]):
            began_s = time.time()
            order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(step))
            rows = order[given["rank"] :: given["workers"]][:BATCH]
            nn.functional.cross_entropy(model(inputs[rows]), targets[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
            lines.append(f"{time.time():.6f} {time.time() - began_s:.6f}\n")
    if given["out"]:
        Path(given["out"]).write_text("".join(lines))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
