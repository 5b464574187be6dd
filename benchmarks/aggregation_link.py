"""Training on Aggregators over a slow link: overlap, the order of values, compression.

Two workers reach an Aggregator over links of their own. The computation of a layer is a timed wait,
so that two cores suffice; gradients and values are real. "last first": values are requested in the
reverse of the order in which the forward pass uses them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any

import torch
from torch import nn

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.torch import attach
from motet.torch.overlap.incoming_values import IncomingValues
from motet.transport import Endpoint
from support.aggregation_pool import WARM_UP_STEPS, Pool, both_workers, ms, timed
from support.figures import Figure, report
from support.slow_link import SlowLink


@dataclass(frozen=True)
class Setting:
    """Layers of `width` x `width`; seconds of a layer forward and backward."""

    layers: int
    width: int
    forward_s: float
    backward_s: float
    megabytes_per_s: float


class Wait(torch.autograd.Function):
    """Takes time, forward and backward, and changes nothing."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, forward_s: float, backward_s: float) -> torch.Tensor:
        ctx.backward_s = backward_s
        time.sleep(forward_s)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        time.sleep(ctx.backward_s)
        return gradients[0], None, None


class Layer(nn.Module):
    """A product and a wait."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.linear = nn.Linear(setting.width, setting.width)
        self.setting = setting

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        waited = Wait.apply(self.linear(value), self.setting.forward_s, self.setting.backward_s)
        assert isinstance(waited, torch.Tensor)
        return waited


def train(
    rank: int,
    setting: Setting,
    options: Mapping[str, Any],
    is_reversed: bool,
    steps: int,
    secret: bytes,
    links: list[Endpoint],
    pipe: Pipe,
) -> None:
    torch.set_num_threads(1)
    if is_reversed:
        IncomingValues.settle = reversed_order  # type: ignore[method-assign]
    model = nn.Sequential(*(Layer(setting) for _ in range(setting.layers)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    agent = NumpyAgent(FixedRoutes(1, secret, [links[rank]]), rank, 2)
    inputs = torch.ones(1, setting.width)
    with attach(model, optimizer, service=agent, mode="aggregators", **options):

        def step() -> None:
            optimizer.zero_grad()
            model(inputs).sum().backward()
            optimizer.step()

        pipe.send(timed(step, steps))


_settle = IncomingValues.settle


def reversed_order(values: IncomingValues) -> None:
    _settle(values)
    values._order.sort(key=lambda slot: -slot.number)
    values._service.prioritise([slot.number for slot in values._order])


def measure(
    setting: Setting, options: Mapping[str, Any], steps: int, *, is_reversed: bool = False
) -> tuple[float, float, float]:
    """Seconds of a step; megabytes of a worker to the Aggregator and back."""
    with ExitStack() as stack:
        pool = Pool(1, stack)
        rate = setting.megabytes_per_s * 1e6
        links = [stack.enter_context(SlowLink(pool.endpoints[0], rate)) for _ in range(2)]
        endpoints = [link.endpoint for link in links]
        found = both_workers(train, setting, options, is_reversed, steps, pool.secret, endpoints)
        up, down = links[0].sent_bytes()
    per_step = 1e6 * (steps + WARM_UP_STEPS)
    return max(step_s for step_s, _ in found), up / per_step, down / per_step


def main() -> None:
    """All variants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--megabytes-per-s", type=float, default=125.0)
    given = parser.parse_args()
    setting = Setting(8, 1024, 0.02, 0.04, given.megabytes_per_s)
    variants: dict[str, tuple[dict[str, Any], bool]] = {
        "step() waits for all values": ({}, False),
        "overlap": ({"overlap": True}, False),
        "overlap, last layers first": ({"overlap": True}, True),
        "bfloat16": ({"compression": "bfloat16"}, False),
        "overlap and bfloat16": ({"overlap": True, "compression": "bfloat16"}, False),
    }
    figures: list[Figure] = []
    plain_s = 0.0
    for name, (options, is_reversed) in variants.items():
        step_s, up, down = measure(setting, options, given.steps, is_reversed=is_reversed)
        plain_s = plain_s or step_s
        figures.append(Figure(name, ms(step_s), f"{up:.1f}/{down:.1f} MB", step_s / plain_s))
    report("aggregation_link", f"A link of {given.megabytes_per_s:g} MB/s", figures, plot=False)


if __name__ == "__main__":
    main()
