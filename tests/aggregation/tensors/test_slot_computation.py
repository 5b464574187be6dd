"""Many tensors computed at once get the bits of torch.optim on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from motet.aggregation.tensors.gradient_memory import PushedBatch
from motet.aggregation.tensors.slot_computation import Computation, apply, sum_up
from motet.aggregation.tensors.step_gradients import StepEnd, WorkerGradient
from motet.aggregation.tensors.tensor_slot import SlotWork, TensorSlot
from motet.aggregation.wire.tensor_spec import OptimizerKind, OptimizerSpec, TensorSpec

SIZES = (1, 7, 16, 33, 255, 256, 1000)
CASES: dict[str, tuple[OptimizerKind, Any, list[dict[str, Any]]]] = {
    "sgd": ("sgd", torch.optim.SGD, [{"lr": 0.1}, {"lr": 0.01, "weight_decay": 0.1}]),
    "momentum": (
        "sgd",
        torch.optim.SGD,
        [
            {"lr": 0.1, "momentum": 0.9, "nesterov": True},
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "maximize": True, "weight_decay": 0.1},
        ],
    ),
    "adam": (
        "adam",
        torch.optim.Adam,
        [{"lr": 0.1, "amsgrad": True}, {"lr": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.99)}],
    ),
    "adamw": (
        "adamw",
        torch.optim.AdamW,
        [{"lr": 0.1}, {"lr": 0.01, "weight_decay": 0.1, "maximize": True}],
    ),
}


def _step(
    slots: list[TensorSlot],
    step: int,
    gradients: Mapping[tuple[int, int], torch.Tensor],
    groups: Any,
) -> None:
    """Every worker pushes what it has, and ends the step."""
    ranks = range(3)
    computations = []
    for slot in slots:
        end = StepEnd(True, groups[slot.spec.group])
        for rank in ranks:
            found = gradients.get((rank, slot.number))
            if found is not None:
                slot.push(rank, step, WorkerGradient(1, found, lambda: None))
            slot.finish(rank, step, 0 if found is None else 1, end)
        work = slot.next_work(tuple(ranks), is_mean_wanted=False)
        assert work is not None
        computations.append(Computation(slot, work))
    sum_up(computations)
    apply(computations)
    for slot, work in computations:
        slot.complete(work)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", CASES)
def test_values_and_states_are_those_of_torch_to_the_bit(case: str, dtype: torch.dtype) -> None:
    kind, make, groups = CASES[case]
    random = torch.Generator().manual_seed(1)
    name = str(dtype).removeprefix("torch.")
    first = [torch.randn(size, generator=random, dtype=dtype) for size in SIZES]
    parameters = [torch.nn.Parameter(value.clone()) for value in first]
    optimizer = make(
        [{"params": parameters[n::2], **options} for n, options in enumerate(groups)], foreach=False
    )
    slots = [
        TensorSlot(n, TensorSpec(str(n), (size,), name, n % 2), OptimizerSpec(kind, tuple(groups)))
        for n, size in enumerate(SIZES)
    ]
    for slot, value in zip(slots, first, strict=True):
        slot.put(value.numpy(), 0)
    for step in range(1, 6):
        gradients = {
            (rank, n): torch.randn(size, generator=random, dtype=dtype)
            for rank in range(3)
            for n, size in enumerate(SIZES)
            if (rank + n + step) % 4 and not n == step == 2  # Some workers push some tensors.
        }
        for number, parameter in enumerate(parameters):
            pushed = [gradients[rank, number] for rank in range(3) if (rank, number) in gradients]
            parameter.grad = torch.stack([sum(pushed[1:], pushed[0])])[0] / 3 if pushed else None
        changed = [{**options, "lr": options["lr"] / step} for options in groups]
        for group, options in zip(optimizer.param_groups, changed, strict=True):
            group["lr"] = options["lr"]
        optimizer.step()
        _step(slots, step, gradients, changed)
    for slot, parameter in zip(slots, parameters, strict=True):
        assert np.array_equal(slot.value_array(), parameter.detach().numpy())
        expected = {n: v.numpy() for n, v in optimizer.state[parameter].items() if v is not None}
        found = slot.state()
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[each], expected[each]) for each in expected)


def pushed(
    slots: Sequence[TensorSlot], order: Sequence[int], gradients: Sequence[torch.Tensor], rank: int
) -> None:
    """In one message, with the tensors in this order."""
    whole = torch.cat([gradients[n] for n in order]).numpy()
    batch = PushedBatch(whole.view(np.uint8).data, order, [slots[n].spec for n in order])
    for number, part in zip(order, batch.parts, strict=True):
        slots[number].push(rank, 1, WorkerGradient(1, part, lambda: None, batch))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("orders", "count"),
    [
        ([(2, 0, 1)] * 3, 1),
        ([(2, 0, 1), (0, 1, 2), (2, 0, 1)], 3),
        ([(2, 0, 1)] * 2, 1),
        ([(2, 0, 1, 3)] * 3, 3),
    ],
    ids=["of all workers", "in two orders", "of two of three workers", "with a tensor more"],
)
def test_messages_with_the_same_tensors_are_added_up_as_a_whole(
    orders: list[tuple[int, ...]], count: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each of their tensors is; the means are the same to the bit."""
    random = torch.Generator().manual_seed(2)
    specs = [TensorSpec(str(n), (size,), dtype) for n, size in enumerate((7, 33, 100, 5))]
    slots = [TensorSlot(n, spec, OptimizerSpec("sgd", ({},))) for n, spec in enumerate(specs)]
    ranks = range(3)
    sent = [
        [torch.randn(slot.spec.shape, generator=random, dtype=slot.torch_dtype) for slot in slots]
        for _ in orders
    ]
    for slot in slots:
        slot.put(np.zeros(slot.spec.shape, dtype), 0)
    for rank, (order, gradients) in enumerate(zip(orders, sent, strict=True)):
        pushed(slots, order, gradients, rank)
    works = []
    for slot in slots[:3]:
        for rank in ranks:
            slot.finish(rank, 1, int(rank < len(orders)), StepEnd(True, {}))
        works.append(slot.next_work(tuple(ranks), is_mean_wanted=False))
    added: list[int] = []
    add = torch._foreach_add

    def noted(first: Any, second: Any) -> Any:
        added.append(len(first))
        return add(first, second)

    monkeypatch.setattr(torch, "_foreach_add", noted)
    means = sum_up([Computation(s, w) for s, w in zip(slots, works, strict=False) if w is not None])
    assert added == [count]
    for number, mean in enumerate(means):
        first, *others = (gradients[number] for gradients in sent)
        total = first.clone()
        for other in others:
            total += other
        assert mean is not None
        assert torch.equal(mean, total / 3)


def test_ends_of_steps_whose_means_are_known_are_no_sums() -> None:
    slots = [TensorSlot(n, TensorSpec(str(n), (3,)), OptimizerSpec("none", ({},))) for n in (0, 1)]
    works = [SlotWork(slot.number, 1, False, StepEnd(False), (0,)) for slot in slots]
    computations = [Computation(s, w) for s, w in zip(slots, works, strict=True)]
    assert sum_up(computations) == [None, None]
