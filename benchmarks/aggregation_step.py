"""A training step with Aggregators against gloo's all-reduce and a local optimizer, in one run.

Two worker processes send random gradients of the shapes of a model. With Aggregators, two of them
run the optimizer; with gloo, each worker runs its own. In a third part, all tensors of a model of
100 MB move between two Aggregators while a worker, which waits as if it computed, trains: the stall
is the longest iteration during the move minus the median of its neighbours.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import numpy as np
import torch

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.aggregation.control.aggregator_process import AggregatorProcess
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.transport import Endpoint, new_secret, write_secret
from support.figures import Figure, report

Shapes = tuple[tuple[int, ...], ...]
ALEXNET_CONVOLUTIONS: Shapes = (
    *((64, 3, 11, 11), (64,), (192, 64, 5, 5), (192,), (384, 192, 3, 3), (384,)),
    *((256, 384, 3, 3), (256,), (256, 256, 3, 3), (256,)),
)
ALEXNET_LAYERS: Shapes = (*((4096, 9216), (4096,), (4096, 4096), (4096,), (1000, 4096), (1000,)),)
MODELS: dict[str, Shapes] = {
    "AlexNet": (*ALEXNET_CONVOLUTIONS, *ALEXNET_LAYERS),
    "25 MB": ((1000, 2048), (1000,), (512, 512, 3, 3), (512,), *((256, 256, 3, 3), (256,)) * 3),
    "100 small": ((64, 64), (64,)) * 50,
}
"""AlexNet: 236 MB, in 16 tensors (17 in the seed's Table 4.2)."""
OPTIONS = {"lr": 0.01, "momentum": 0.9}
WORKERS = 2
QUOTA_BYTES = 8 << 30


def gradients(shapes: Shapes, rank: int) -> list[np.ndarray]:
    random = np.random.default_rng(rank)
    return [random.standard_normal(shape, np.float32) for shape in shapes]


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def with_gloo(rank: int, shapes: Shapes, steps: int, port: int, pipe: Pipe) -> None:
    """Flat buckets of about 25 MB, as DistributedDataParallel makes them."""
    from torch import distributed

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=WORKERS)
    parameters = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
    optimizer = torch.optim.SGD(parameters, **OPTIONS)
    own = [torch.from_numpy(g) for g in gradients(shapes, rank)]
    for parameter in parameters:
        parameter.grad = torch.empty_like(parameter)
    buckets = bucketed(own)

    def step() -> None:
        flat = [torch.cat([own[n].view(-1) for n in bucket]) for bucket in buckets]
        works = [distributed.all_reduce(each.div_(WORKERS), async_op=True) for each in flat]
        for bucket, each, work in zip(buckets, flat, works, strict=True):
            work.wait()
            parts = each.split([own[n].numel() for n in bucket])
            for n, part in zip(bucket, parts, strict=True):
                parameters[n].grad.copy_(part.view_as(own[n]))
        optimizer.step()

    pipe.send(timed(step, steps))


def bucketed(tensors: Sequence[torch.Tensor]) -> list[list[int]]:
    buckets: list[list[int]] = [[]]
    size = 0
    for number in reversed(range(len(tensors))):
        if size > 25 << 20:
            buckets.append([])
            size = 0
        buckets[-1].append(number)
        size += 4 * tensors[number].numel()
    return buckets


def with_aggregators(
    rank: int, shapes: Shapes, steps: int, secret: bytes, endpoints: list[Endpoint], pipe: Pipe
) -> None:
    """Gradients and values lie in memory that the Aggregators access, as `attach` arranges it."""
    agent = NumpyAgent(FixedRoutes(1, secret, endpoints), rank, WORKERS)
    own, values = [], []
    for gradient in gradients(shapes, rank):
        own.append(agent.empty(gradient.shape, np.float32))
        own[-1][...] = gradient
        values.append(agent.empty(gradient.shape, np.float32))
        values[-1][...] = 0
    specs = [TensorSpec(str(n), shape) for n, shape in enumerate(shapes)]
    agent.initialise(specs, OptimizerSpec("sgd", (OPTIONS,)), values)

    def step() -> None:
        for tensor in reversed(range(len(shapes))):
            agent.push(tensor, own[tensor])
        agent.finish_step([OPTIONS])
        for pending in [agent.pull(n, into) for n, into in enumerate(values)]:
            pending.wait()

    pipe.send(timed(step, steps))
    agent.close()


def timed(step: Callable[[], None], steps: int) -> tuple[float, float]:
    """Median seconds of a step, and CPU seconds of a step."""
    for _ in range(3):
        step()
    seconds = []
    began_cpu_s = cpu_s()
    for _ in range(steps):
        began_s = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - began_s)
    return statistics.median(seconds), (cpu_s() - began_cpu_s) / steps


def both_workers(target: Callable[..., None], *arguments: object) -> tuple[float, float]:
    """The slower worker's step; CPU time of both."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(WORKERS)]
    workers = [
        context.Process(target=target, args=(rank, *arguments, pipes[rank][1]))
        for rank in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    found = [pipe.recv() for pipe, _ in pipes]
    for worker in workers:
        worker.join()
    return max(step_s for step_s, _ in found), sum(cpu for _, cpu in found)


class Pool:
    """Aggregators in processes, with job 1 open."""

    def __init__(self, count: int, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pool_secret, self.secret = new_secret(), new_secret()
        write_secret(folder / "secret", pool_secret)
        self.processes = [
            stack.enter_context(AggregatorProcess(folder / "secret")) for _ in range(count)
        ]
        self.endpoints = [process.endpoint for process in self.processes]
        self.controls = [RemoteAggregator(each, pool_secret) for each in self.endpoints]
        for control in self.controls:
            stack.callback(control.close)
            control.open_job(JobAccess(1, "benchmark", self.secret, QUOTA_BYTES))

    def cpu_s(self) -> float:
        ticks = 0
        for process in self.processes:
            fields = (
                Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
            )
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def compare(model: str, steps: int, aggregators: int) -> list[Figure]:
    shapes = MODELS[model]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gloo_s, gloo_cpu_s = both_workers(with_gloo, shapes, steps, port)
    with ExitStack() as stack:
        pool = Pool(aggregators, stack)
        before_s = pool.cpu_s()
        own_s, own_cpu_s = both_workers(
            with_aggregators, shapes, steps, pool.secret, pool.endpoints
        )
        pool_cpu_s = (pool.cpu_s() - before_s) / (steps + 3)
    name = f"{model}, {aggregators} Aggregators"
    total_s = own_cpu_s + pool_cpu_s
    return [
        Figure(f"{name}: step", ms(own_s), ms(gloo_s), own_s / gloo_s),
        Figure(f"{name}: CPU of a step", ms(total_s), ms(gloo_cpu_s), total_s / gloo_cpu_s),
    ]


def stall(megabytes: int, compute_s: float, steps: int) -> list[Figure]:
    """One worker, timed waits for its computation; there and back several times."""
    shapes: Shapes = ((1 << 18,),) * megabytes
    with ExitStack() as stack:
        pool = Pool(2, stack)
        agent = NumpyAgent(FixedRoutes(1, pool.secret, pool.endpoints[:1]), 0, 1)
        stack.callback(agent.close)
        own = [agent.empty(shape, np.float32) for shape in shapes]
        values = [agent.empty(shape, np.float32) for shape in shapes]
        for each in (*own, *values):
            each[...] = 1e-3
        specs = [TensorSpec(str(n), shape) for n, shape in enumerate(shapes)]
        agent.initialise(specs, OptimizerSpec("sgd", (OPTIONS,)), values)
        every = range(len(shapes))
        durations: list[float] = []
        moves: list[tuple[int, int]] = []
        mover: threading.Thread | None = None
        at = 0

        def move(source: int) -> None:
            began = len(durations)
            pool.controls[source].move(1, every, pool.endpoints[1 - source].encode())
            moves.append((began, len(durations)))

        for step in range(steps):
            if step % 20 == 10:
                if mover is not None:
                    mover.join()
                mover = threading.Thread(target=move, args=(at,))
                mover.start()
                at = 1 - at
            began_s = time.perf_counter()
            time.sleep(compute_s)
            for tensor in reversed(every):
                agent.push(tensor, own[tensor])
            agent.finish_step([OPTIONS])
            for pending in [agent.pull(n, into) for n, into in enumerate(values)]:
                pending.wait()
            durations.append(time.perf_counter() - began_s)
        if mover is not None:
            mover.join()
    stalls = []
    for began, ended in moves:
        around = durations[max(began - 8, 3) : began] + durations[ended + 1 : ended + 9]
        stalls.append(max(durations[began : ended + 1]) - statistics.median(around))
    usual = statistics.median(durations)
    noise = sorted(durations)[int(0.95 * len(durations))] - usual
    return [
        Figure(
            f"move of {megabytes} MB and its momentum: stall, median",
            ms(statistics.median(stalls)),
            f"step {ms(usual)}",
            statistics.median(stalls) / 0.010,
            1.0,
            at_least=False,
        ),
        Figure("  largest of the moves", ms(max(stalls)), f"p95 noise {ms(noise)}"),
    ]


def ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def main() -> None:
    """All parts, or one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--aggregators", type=int, default=2)
    parser.add_argument("--skip-move", action="store_true")
    options = parser.parse_args()
    figures: list[Figure] = []
    for model in MODELS if options.model == "all" else [options.model]:
        figures += compare(model, options.steps, options.aggregators)
    if not options.skip_move:
        figures += stall(100, 0.25, 110)
    report("aggregation_step", "Aggregation of one job (2 workers)", figures, plot=False)


if __name__ == "__main__":
    main()
