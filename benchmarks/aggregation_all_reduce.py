"""All-reduce by Aggregators (the backend `motet` of torch.distributed) against gloo, in one run.

Two processes add arrays of several sizes; gloo has the same two processes and no Aggregator.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.connection import Connection as Pipe

import torch

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.transport import Endpoint
from support.aggregation_pool import WORKERS, beside_gloo, ms, timed
from support.figures import Figure, report

SIZES = {"4 KB": 1 << 10, "256 KB": 1 << 16, "1 MB": 1 << 18, "25 MB": 25 << 18, "100 MB": 25 << 20}


def with_gloo(rank: int, elements: int, steps: int, port: int, pipe: Pipe) -> None:
    """All processes of a group."""
    from torch import distributed

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=WORKERS)
    array = torch.randn(elements)
    pipe.send(timed(lambda: distributed.all_reduce(array.div_(WORKERS)), steps))


def with_motet(
    rank: int, elements: int, steps: int, secret: bytes, endpoints: list[Endpoint], pipe: Pipe
) -> None:
    """The process group that `init_process_group("motet")` makes."""
    from motet.torch.distributed.process_group import MotetProcessGroup

    torch.set_num_threads(1)
    agent = NumpyAgent(FixedRoutes(1, secret, endpoints), rank, WORKERS)
    group = MotetProcessGroup(agent, rank, WORKERS, timedelta(seconds=60))
    array = torch.randn(elements)
    pipe.send(timed(lambda: group.allreduce([array.div_(WORKERS)]).wait(), steps))
    group.shutdown()


def compare(name: str, elements: int, steps: int, aggregators: int) -> Sequence[Figure]:
    it = beside_gloo(with_gloo, with_motet, elements, steps, aggregators)
    time = ms(it.own_s), ms(it.gloo_s), it.own_s / it.gloo_s
    cpu = ms(it.own_cpu_s), ms(it.gloo_cpu_s), it.own_cpu_s / it.gloo_cpu_s
    return (
        Figure(f"{name}: all-reduce", *time, 1.0, at_least=False),
        Figure("  CPU, all processes", *cpu),
    )


def main() -> None:
    """All sizes, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=[*SIZES, "all"], default="all")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--aggregators", type=int, default=2)
    options = parser.parse_args()
    figures: list[Figure] = []
    for name in SIZES if options.size == "all" else [options.size]:
        figures += compare(name, SIZES[name], options.steps, options.aggregators)
    report("aggregation_all_reduce", "All-reduce by Aggregators", figures, plot=False)


if __name__ == "__main__":
    main()
