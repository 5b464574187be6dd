"""Trainings on Aggregators against DistributedDataParallel over gloo: losses, parameters, state."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from soak_cases import others_in_soak
from torch_training import Training, differences, train_attached, train_over_ddp
from torch_workers import WorkerProcesses

MOMENTUM = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}
TRAININGS = {
    "sgd": Training(),
    "momentum": Training(options=MOMENTUM, has_two_groups=True, is_scheduled=True),
    "adam": Training(optimizer="Adam", options={"lr": 0.01, "amsgrad": True}),
    "adamw": Training(optimizer="AdamW", options={"lr": 0.01}, is_scheduled=True),
    "cnn": Training(model="cnn", options=MOMENTUM),
    "transformer": Training(model="transformer", optimizer="AdamW", options={"lr": 0.01}),
    "autocast": Training(is_autocast=True),
    "clipped": Training(clip=0.1),
    "scaled": Training(is_scaled=True, clip=0.5),
    "rmsprop": Training(optimizer="RMSprop", options={"lr": 0.01}),
}
ACCUMULATED = Training(accumulate=3)
STAYS_IN_THE_WORKERS = {"clipped", "scaled", "rmsprop"}


def _differences(one: Any, other: Any, tolerance: float = 0.0) -> list[str]:
    return differences(
        (one.losses, one.model, one.optimizer),
        (other.losses, other.model, other.optimizer),
        tolerance=tolerance,
    )


MODES = "auto", "averaged", "aggregators"


@pytest.mark.parametrize(
    ("name", "mode"),
    others_in_soak(
        itertools.product(TRAININGS, MODES),
        [
            *((name, mode) for name in ("sgd", "adamw") for mode in MODES),
            *((name, "auto") for name in TRAININGS if name not in ("sgd", "adamw")),
        ],
    ),
)
def test_two_workers_train_as_with_ddp_to_the_bit(
    pair: WorkerProcesses, name: str, mode: str
) -> None:
    if mode == "aggregators" and name in STAYS_IN_THE_WORKERS:
        pytest.skip("refused; see test_attachment")
    over_ddp = pair.run(train_over_ddp, TRAININGS[name])
    attached = pair.run(train_attached, TRAININGS[name], mode)
    for one, other in zip(over_ddp, attached, strict=True):
        assert _differences(one, other) == []
        stays = mode == "averaged" or name in STAYS_IN_THE_WORKERS
        assert other.mode == ("averaged" if stays else "aggregators")


@pytest.mark.parametrize(
    ("mode", "is_synced", "is_ddp_synced"),
    [("averaged", True, True), ("averaged", False, False), ("aggregators", True, False)],
)
def test_accumulated_gradients_are_those_of_ddp_to_the_bit(
    pair: WorkerProcesses, mode: str, is_synced: bool, is_ddp_synced: bool
) -> None:
    """Aggregators that run the optimizer average once per step, as DDP does with no_sync()."""
    over_ddp = pair.run(train_over_ddp, ACCUMULATED, is_synced=is_ddp_synced)
    attached = pair.run(train_attached, ACCUMULATED, mode, is_synced=is_synced)
    for one, other in zip(over_ddp, attached, strict=True):
        assert _differences(one, other) == []


def test_accumulation_may_begin_in_the_workers_and_go_on_on_the_aggregators(
    pair: WorkerProcesses,
) -> None:
    over_ddp = pair.run(train_over_ddp, ACCUMULATED)
    attached = pair.run(train_attached, ACCUMULATED, "auto")
    for one, other in zip(over_ddp, attached, strict=True):
        assert other.mode == "aggregators"
        assert _differences(one, other, tolerance=1e-5) == []


@pytest.mark.soak
def test_one_worker_and_four_train_as_with_ddp(one_or_four: WorkerProcesses) -> None:
    """Gloo adds four gradients in another order. (Adam would divide the differences of gradients
    near zero, as those of the keys' bias, by their own size.)"""
    tolerance = 0.0 if one_or_four.workers == 1 else 1e-5
    for model in ("mlp", "cnn", "transformer"):
        training = Training(model=model, options=MOMENTUM)
        over_ddp = one_or_four.run(train_over_ddp, training)
        attached = one_or_four.run(train_attached, training)
        for one, other in zip(over_ddp, attached, strict=True):
            assert _differences(one, other, tolerance) == []


@pytest.mark.parametrize("mode", ["auto", "aggregators"])
@pytest.mark.parametrize("name", others_in_soak(["cnn", "transformer"], ["cnn"]))
def test_values_that_arrive_during_the_forward_pass_train_as_with_ddp_to_the_bit(
    pair: WorkerProcesses, name: str, mode: str
) -> None:
    over_ddp = pair.run(train_over_ddp, TRAININGS[name])
    attached = pair.run(train_attached, TRAININGS[name], mode, overlap=True)
    for one, other in zip(over_ddp, attached, strict=True):
        assert other.mode == "aggregators"
        assert _differences(one, other) == []


ON_AGGREGATORS = pytest.mark.parametrize("pair", ["aggregators"], indirect=True)
"""The reference of Aggregators takes no compressed gradients."""


@ON_AGGREGATORS
def test_compressed_gradients_are_rounded_and_nothing_else_is(pair: WorkerProcesses) -> None:
    training = TRAININGS["momentum"]
    rounded = pair.run(train_over_ddp, training, is_halved=True)
    attached = pair.run(train_attached, training, "aggregators", compression="bfloat16")
    exact = pair.run(train_over_ddp, training)
    for one, other, third in zip(rounded, attached, exact, strict=True):
        assert _differences(one, other) == []
        assert _differences(third, other) != []


@ON_AGGREGATORS
def test_compressed_means_are_equal_in_all_workers(pair: WorkerProcesses) -> None:
    attached = pair.run(train_attached, TRAININGS["clipped"], "auto", compression="bfloat16")
    first, second = attached
    assert first.mode == "averaged"
    assert differences(first.model, second.model) == []
    exact = pair.run(train_over_ddp, TRAININGS["clipped"])
    assert differences(exact[0].model, first.model) != []
    assert differences(exact[0].model, first.model, tolerance=0.02) == []
