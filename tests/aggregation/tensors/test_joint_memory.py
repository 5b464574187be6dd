"""Small tensors share one memory while they are stepped together, with the bits of each alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from motet.aggregation.tensors import joint_memory
from motet.aggregation.tensors.joint_memory import is_exact, step_together
from motet.aggregation.tensors.tensor_optimizer import DEFAULTS, OptimizerStep, TensorOptimizer
from motet.aggregation.wire.tensor_spec import OptimizerKind, TensorSpec

SIZES = (1, 7, 16, 33, 255, 1000)
KINDS: dict[str, tuple[OptimizerKind, dict[str, Any]]] = {
    "sgd": ("sgd", {"lr": 0.1}),
    "momentum": ("sgd", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}),
    "adam": ("adam", {"lr": 0.1, "amsgrad": True}),
    "adamw": ("adamw", {"lr": 0.1, "weight_decay": 0.1}),
}


def optimizers(kind: OptimizerKind, dtype: str) -> list[TensorOptimizer]:
    random = np.random.default_rng(3)
    return [
        TensorOptimizer(
            kind,
            torch.from_numpy(random.standard_normal(size).astype(dtype)),
            {},
            TensorSpec("", (size,), dtype),
        )
        for size in SIZES
    ]


def gradients(step: int, dtype: str) -> list[torch.Tensor]:
    random = np.random.default_rng((4, step))
    return [torch.from_numpy(random.standard_normal(size).astype(dtype)) for size in SIZES]


def step_all(found: Sequence[TensorOptimizer], step: int) -> None:
    means = gradients(step, "float32")
    step_together([OptimizerStep(o, g, None) for o, g in zip(found, means, strict=True)])


def is_joint(found: Sequence[TensorOptimizer]) -> bool:
    """Whether all values lie in one memory."""
    return len({each.value.untyped_storage().data_ptr() for each in found}) == 1


def same_states(found: Sequence[TensorOptimizer], expected: Sequence[TensorOptimizer]) -> bool:
    for one, other in zip(found, expected, strict=True):
        states = one.state(), other.state()
        assert np.array_equal(one.array, other.array)
        assert states[0].keys() == states[1].keys()
        assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    return True


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", KINDS)
def test_steps_have_the_bits_of_each_tensor_alone(case: str, dtype: str) -> None:
    """Also while others are stepped together, in other orders, and with a state that was loaded."""
    kind, options = KINDS[case]
    together, alone = optimizers(kind, dtype), optimizers(kind, dtype)
    every = range(len(SIZES))
    orders: list[Sequence[int]] = [every] * 3 + [every[:2], every[2:4], every[4:]] + [every] * 3
    orders += [every[1:]] * 3 + [every[::-1]] * 3 + [every] * 3
    for step, order in enumerate(orders):
        if step == 16:
            for found in (together, alone):
                found[2].load({name: each + 1 for name, each in found[2].state().items()})
        steps = [
            [OptimizerStep(found[n], gradients(step, dtype)[n], options) for n in order]
            for found in (together, alone)
        ]
        step_together(steps[0])
        for each in steps[1]:
            step_together([each])
        assert same_states(together, alone)
    assert not is_joint(alone)


def test_tensors_that_are_stepped_together_again_share_their_memory() -> None:
    found = optimizers("sgd", "float32")
    before = [each.array for each in found]
    copies = [each.copy() for each in before]
    for step in range(2):
        assert not is_joint(found)
        step_all(found, step)
    assert is_joint(found)
    assert not any(map(np.array_equal, before, copies))


@pytest.mark.parametrize("case", ["momentum", "adam"])
def test_a_tensor_that_is_left_alone_does_not_keep_the_memory_of_the_others(case: str) -> None:
    kind, options = KINDS[case]
    found = optimizers(kind, "float32")
    for step in range(3):
        means = gradients(step, "float32")
        step_together([OptimizerStep(o, g, options) for o, g in zip(found, means, strict=True)])
    assert is_joint(found)
    last = found[1]
    step_together([OptimizerStep(last, gradients(3, "float32")[1], options)])
    for each in (last.value, *last.tensors.values()):
        assert each.untyped_storage().nbytes() == each.nbytes


def test_a_processor_that_rounds_by_place_gets_no_joint_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joint_memory, "is_exact", lambda kind, dtype: False)
    found = optimizers("sgd", "float32")
    for step in range(4):
        step_all(found, step)
    assert not is_joint(found)


def test_tensors_with_unlike_counts_of_steps_get_none() -> None:
    found = optimizers("adam", "float32")
    step_together([OptimizerStep(found[0], gradients(0, "float32")[0], None)])
    for step in range(1, 5):
        step_all(found, step)
    assert not is_joint(found)


@pytest.mark.parametrize("kind", [kind for kind in DEFAULTS if kind != "none"])
def test_rounding_by_place_is_noticed(kind: OptimizerKind, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_place(steps: Sequence[OptimizerStep], options: Any) -> None:
        for each in steps:
            each.optimizer.value.mul_(1.5)
            each.optimizer.value[4:].mul_(1.5)

    is_exact.cache_clear()
    monkeypatch.setattr(joint_memory, "run_together", by_place)
    assert not is_exact(kind, torch.float32)
    is_exact.cache_clear()
