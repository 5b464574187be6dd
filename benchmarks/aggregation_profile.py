"""Where the time of a training step goes, over gloo and with `attach`: a table for each process.

The models and steps are those of `aggregation_training.py`, and one of 100 small tensors. Worker 0
and the Aggregators look at the stacks of their threads every millisecond (lines with the functions
in which each thread was, whether it computed or waited there); then worker 0 repeats the steps
under PyTorch's profiler, which tells the operations, and the copies to and from a GPU. Times of
profiled steps are longer than those of `aggregation_training.py`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection as Pipe
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from aggregation_training import MODELS, OPTIONS, Work
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.aggregation.aggregator.aggregator import Aggregator
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.torch import attach
from motet.transport import Endpoint, new_secret
from support.aggregation_pool import QUOTA_BYTES, WORKERS, both_workers, ms
from support.wall_samples import WallSamples

WAYS: dict[str, dict[str, Any] | None] = {
    "DDP over gloo": None,
    "attach, averaged": {"mode": "averaged"},
    "attach, on Aggregators": {"mode": "aggregators"},
}
WARM_UP_STEPS = 5
ROWS = 12
WIDTH = 60


def profiled(step: Callable[[], None], rank: int, steps: int, device: str) -> str:
    """The tables of worker 0. All workers take the same steps."""
    for _ in range(WARM_UP_STEPS):
        step()
    samples = WallSamples()
    began_s = time.perf_counter()
    with ExitStack() as stack:
        if rank == 0:
            stack.enter_context(samples)
        for _ in range(steps):
            step()
    step_s = (time.perf_counter() - began_s) / steps
    if rank:
        for _ in range(steps):
            step()
        return ""
    found = [f"worker 0: {ms(step_s)} for a step", *samples.lines(steps)]
    return "\n".join([*found, *_operations(step, steps, device)])


def _operations(step: Callable[[], None], steps: int, device: str) -> list[str]:
    """PyTorch's own tables, for all steps together."""
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as found:
        for _ in range(steps):
            step()
    averages = found.key_averages()
    orders = ["self_cpu_time_total"] + ["self_device_time_total"] * (device == "cuda")
    return [
        f"worker 0, {steps} steps, by {order}:\n"
        + averages.table(sort_by=order, row_limit=ROWS, max_name_column_width=WIDTH)
        for order in orders
    ]


def over_gloo(rank: int, work: Work, steps: int, meeting: str, pipe: Pipe) -> None:
    """DistributedDataParallel."""
    from torch import distributed

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=WORKERS)
    model, optimizer = work.made()
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    pipe.send(profiled(work.step(wrapped, optimizer), rank, steps, work.device))
    distributed.destroy_process_group()


def attached(
    rank: int,
    work: Work,
    steps: int,
    options: dict[str, Any],
    secret: bytes,
    endpoints: Sequence[Endpoint],
    pipe: Pipe,
) -> None:
    """With `attach`."""
    model, optimizer = work.made()
    agent = NumpyAgent(FixedRoutes(1, secret, endpoints), rank, WORKERS)
    with attach(model, optimizer, service=agent, **options):
        pipe.send(profiled(work.step(model, optimizer), rank, steps, work.device))


def aggregator(pool_secret: bytes, pipe: Pipe) -> None:
    """A process that samples its own threads from when the pipe says so until it says so again."""
    served = Aggregator(pool_secret)
    pipe.send(served.endpoint)
    steps = pipe.recv()
    with WallSamples() as samples:
        cpu_s = time.process_time()
        pipe.recv()
        cpu_s = time.process_time() - cpu_s
    pipe.send(
        "\n".join(
            [
                f"CPU time {ms(cpu_s / steps)} of a step, in {samples.total_s:.1f} s",
                *samples.lines(steps),
            ]
        )
    )
    served.close()


def with_aggregators(work: Work, steps: int, options: dict[str, Any], count: int) -> list[str]:
    """The tables of worker 0 and of Aggregator 0; the latter with the start of the job, and for all
    steps of the workers."""
    context = multiprocessing.get_context("spawn")
    pool_secret, secret = new_secret(), new_secret()
    pipes = [context.Pipe() for _ in range(count)]
    processes = [context.Process(target=aggregator, args=(pool_secret, end)) for _, end in pipes]
    for each in processes:
        each.start()
    endpoints = [pipe.recv() for pipe, _ in pipes]
    for endpoint in endpoints:
        control = RemoteAggregator(endpoint, pool_secret)
        control.open_job(JobAccess(1, "profile", secret, QUOTA_BYTES))
        control.close()
    for pipe, _ in pipes:
        pipe.send(2 * steps + WARM_UP_STEPS)
    tables = both_workers(attached, work, steps, options, secret, endpoints)
    for pipe, _ in pipes:
        pipe.send(None)
    served = [pipe.recv() for pipe, _ in pipes]
    for each in processes:
        each.join()
    return [str(tables[0]), f"Aggregator 0: {served[0]}"]


def over_all_reduce(work: Work, steps: int) -> list[str]:
    """The table of worker 0."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return [str(both_workers(over_gloo, work, steps, f"{folder}/meeting")[0])]


def main() -> None:
    """All ways for one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=[*MODELS], default="transformer")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--aggregators", type=int, default=2)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device")
    work = Work(options.model, options.batch, options.device)
    for way, given in WAYS.items():
        print(f"\n=== {options.model}, {OPTIONS}, {way}", flush=True)
        if given is None:
            tables = over_all_reduce(work, options.steps)
        else:
            tables = with_aggregators(work, options.steps, given, options.aggregators)
        print("\n".join(tables), flush=True)


if __name__ == "__main__":
    main()
