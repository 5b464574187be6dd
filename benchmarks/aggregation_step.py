"""A training step with Aggregators against gloo's all-reduce and a local optimizer, in one run.

Two worker processes send random gradients of the shapes of a model. With Aggregators, two of them
run the optimizer; with gloo, each worker runs its own. Both take turns, since other programs make
both longer: a ratio is the median of those of the turns. In a third part, all tensors of a model of
100 MB move between two Aggregators while a worker, which waits as if it computed, trains: the stall
is the longest iteration during the move minus the median of its neighbours. A complete run writes
the record.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection as Pipe

import numpy as np
import torch

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.transport import Endpoint
from support.aggregation_pool import WORKERS, Pool, beside_gloo, ms, timed
from support.figures import Figure, report
from support.records import report_and_keep

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
STEPS_FACTOR = {"100 small": 20}
"""A step of a millisecond is repeated more often."""
MOST_OF_GLOO = 1.05
STEPS_PER_MOVE = 50


def gradients(shapes: Shapes, rank: int) -> list[np.ndarray]:
    random = np.random.default_rng(rank)
    return [random.standard_normal(shape, np.float32) for shape in shapes]


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


def compare(model: str, steps: int, aggregators: int, turns: int) -> list[Figure]:
    steps *= STEPS_FACTOR.get(model, 1)
    found = [
        beside_gloo(with_gloo, with_aggregators, MODELS[model], steps, aggregators)
        for _ in range(turns)
    ]
    name = f"{model}, {aggregators} Aggregator{'s' * (aggregators > 1)}"
    steps_s = [(it.own_s, it.gloo_s) for it in found]
    cpu_s = [(it.own_cpu_s, it.gloo_cpu_s) for it in found]
    return [
        Figure(f"{name}: step", *medians(steps_s), MOST_OF_GLOO, at_least=False),
        Figure(f"  least and most of {turns} turns", *extremes(steps_s)),
        Figure(f"{name}: CPU of a step", *medians(cpu_s)),
        Figure(f"  least and most of {turns} turns", *extremes(cpu_s)),
    ]


def medians(seconds: Sequence[tuple[float, float]]) -> tuple[str, str, float]:
    """Of what both took, and of the ratios."""
    own, gloo = (statistics.median(each) for each in zip(*seconds, strict=True))
    return ms(own), ms(gloo), statistics.median(own / gloo for own, gloo in seconds)


def extremes(seconds: Sequence[tuple[float, float]]) -> tuple[str, str]:
    """Of the ratios."""
    ratios = [own / gloo for own, gloo in seconds]
    return f"{min(ratios):.2f}x", f"{max(ratios):.2f}x"


def stall(shapes: Shapes, name: str, compute_s: float, steps: int) -> list[Figure]:
    """One worker, timed waits for its computation; there and back several times. The replicas are
    on a third Aggregator and stay there, so that each move copies everything."""
    with ExitStack() as stack:
        pool = Pool(3, stack)
        agent = NumpyAgent(FixedRoutes(1, pool.secret, pool.endpoints[:1]), 0, 1)
        stack.callback(agent.close)
        own = [agent.empty(shape, np.float32) for shape in shapes]
        values = [agent.empty(shape, np.float32) for shape in shapes]
        for each in (*own, *values):
            each[...] = 1e-3
        specs = [TensorSpec(str(n), shape) for n, shape in enumerate(shapes)]
        agent.initialise(specs, OptimizerSpec("sgd", (OPTIONS,)), values)
        every = range(len(shapes))
        pool.controls[0].replicate(1, every, pool.endpoints[2].encode())
        durations: list[float] = []
        gc.collect()
        gc.freeze()  # A collection of this process takes as long as a quarter of a step.
        moves: list[tuple[int, int]] = []
        mover: threading.Thread | None = None
        at = 0

        def move(source: int) -> None:
            began = len(durations)
            pool.controls[source].move(1, every, pool.endpoints[1 - source].encode())
            moves.append((began, len(durations)))

        for step in range(steps):
            if step % STEPS_PER_MOVE == STEPS_PER_MOVE // 2:
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
    return stall_figures(name, durations, moves)


def stall_figures(
    name: str, durations: Sequence[float], moves: Sequence[tuple[int, int]]
) -> list[Figure]:
    """Of each move the longest iteration, and of all iterations within moves and without."""
    stalls, within = [], []
    for began, ended in moves:
        around = durations[max(began - 8, 3) : began] + durations[ended + 1 : ended + 9]
        usual = statistics.median(around)
        excess = [each - usual for each in durations[began : ended + 1]]
        stalls.append(max(excess))
        within += excess
    moving = {n for began, ended in moves for n in range(began, ended + 1)}
    usual = statistics.median(durations)
    without = [each - usual for n, each in enumerate(durations) if n > 3 and n not in moving]
    return [
        Figure(
            f"move of {name} and its momentum: stall, median",
            ms(statistics.median(stalls)),
            f"largest of {len(moves)}: {ms(max(stalls))}",
            statistics.median(stalls) / 0.010,
            1.0,
            at_least=False,
        ),
        Figure(f"  an iteration of {name}: median", ms(usual)),
        Figure("  an iteration in a move: median", ms(p(within, 50)), ms(p(without, 50))),
        Figure("  ... 95 %; others", ms(p(within, 95)), ms(p(without, 95))),
        Figure("  iterations that a move takes", f"{len(within) / len(moves):.1f}"),
    ]


def p(values: Sequence[float], percent: int) -> float:
    return float(np.percentile(values, percent))


def main() -> None:
    """All parts, or one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--aggregators", type=int, default=2)
    parser.add_argument("--skip-move", action="store_true")
    options = parser.parse_args()
    figures: list[Figure] = []
    for model in MODELS if options.model == "all" else [options.model]:
        figures += compare(model, options.steps, options.aggregators, options.turns)
    if not options.skip_move:
        figures += stall(((1 << 18,),) * 100, "100 x 1 MB", 0.25, 9 * STEPS_PER_MOVE)
        figures += stall(((1 << 21,),) * 12 + ((1 << 20,),), "12 x 8 MB", 0.25, 5 * STEPS_PER_MOVE)
    title = "Aggregation of one job (2 workers)"
    if options.model == "all" and not options.skip_move:
        report_and_keep("aggregation_step", title, figures)
    else:
        report("aggregation_step", title, figures, plot=False)


if __name__ == "__main__":
    main()
