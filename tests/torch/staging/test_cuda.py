"""Programs on a GPU train on Aggregators as over gloo."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_cuda
from torch_training import Training, differences
from torch_workers import WorkerProcesses

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.parametrize("pair", ["aggregators"], indirect=True),
]
EXACT = {"lr": 0.125, "momentum": 0.5}
"""Powers of two: with and without fused multiplication and addition results are the same."""
TRAININGS = {
    "mlp": Training(device="cuda", options=EXACT),
    "cnn": Training(device="cuda", model="cnn", options=EXACT),
    "transformer": Training(device="cuda", model="transformer", options=EXACT),
    "autocast": Training(device="cuda", is_autocast=True, options=EXACT),
    "adamw": Training(device="cuda", optimizer="AdamW", options={"lr": 0.01}),
    "clipped": Training(device="cuda", clip=0.1),
    "scaled": Training(device="cuda", is_scaled=True, clip=0.5),
    "fused": Training(device="cuda", optimizer="Adam", options={"lr": 0.01, "fused": True}),
}
STAYS_IN_THE_WORKERS = {"clipped", "scaled", "fused"}
ROUNDED = {"adamw"}
"""The kernels of a GPU round the steps of Adam otherwise than those of a CPU."""


def _compare(
    pair: WorkerProcesses, training: Training, mode: str, tolerance: float = 0.0, **options: Any
) -> list[str]:
    """Where a training differs from the one over gloo; its mode comes last."""
    over_gloo = pair.run(torch_cuda.over_ddp, training)
    found = pair.run(torch_cuda.attached, training, mode, **options)
    for one, other in zip(over_gloo, found, strict=True):
        one["mode"] = other["mode"]
    return [*differences(over_gloo, found, tolerance=tolerance), found[0]["mode"]]


@pytest.mark.parametrize("name", TRAININGS)
def test_averaged_gradients_train_as_with_ddp_to_the_bit(pair: WorkerProcesses, name: str) -> None:
    assert _compare(pair, TRAININGS[name], "averaged") == ["averaged"]


@pytest.mark.parametrize("name", TRAININGS)
def test_the_optimizer_moves_to_the_aggregators(pair: WorkerProcesses, name: str) -> None:
    expected = "averaged" if name in STAYS_IN_THE_WORKERS else "aggregators"
    tolerance = 1e-4 if name in ROUNDED else 0.0
    assert _compare(pair, TRAININGS[name], "auto", tolerance) == [expected]


@pytest.mark.parametrize("name", ["cnn", "transformer"])
def test_values_that_arrive_during_the_forward_pass(pair: WorkerProcesses, name: str) -> None:
    assert _compare(pair, TRAININGS[name], "aggregators", overlap=True) == ["aggregators"]


@pytest.mark.parametrize("mode", ["averaged", "aggregators"])
def test_accumulated_gradients(pair: WorkerProcesses, mode: str) -> None:
    training = Training(device="cuda", accumulate=3, options=EXACT)
    over_gloo = pair.run(torch_cuda.over_ddp, training, is_synced=False)
    found = pair.run(torch_cuda.attached, training, mode, is_synced=mode == "aggregators")
    for one, other in zip(over_gloo, found, strict=True):
        assert differences(one, {**other, "mode": ""}) == []


def test_compressed_gradients_are_rounded_and_nothing_else_is(pair: WorkerProcesses) -> None:
    rounded = pair.run(torch_cuda.over_ddp, TRAININGS["mlp"], is_halved=True)
    found = pair.run(torch_cuda.attached, TRAININGS["mlp"], "aggregators", compression="bfloat16")
    for one, other in zip(rounded, found, strict=True):
        assert differences(one, {**other, "mode": ""}) == []


def test_the_state_of_the_optimizer_is_on_the_devices_of_torch_optim(
    pair: WorkerProcesses,
) -> None:
    over_gloo = pair.run(torch_cuda.over_ddp, TRAININGS["adamw"])
    found = pair.run(torch_cuda.attached, TRAININGS["adamw"], "aggregators")
    for one, other in zip(over_gloo, found, strict=True):
        assert one["devices"] == other["devices"]
        assert other["devices"]["exp_avg"] == "cuda"


def test_memory_that_is_shared_is_registered_until_it_is_deleted(pair: WorkerProcesses) -> None:
    assert pair.run(torch_cuda.registrations) == [[True, False, True]] * 2


@pytest.mark.parametrize("mode", ["averaged", "aggregators"])
def test_parameters_on_two_devices(pair: WorkerProcesses, mode: str) -> None:
    expected = pair.run(torch_cuda.on_two_devices, "gloo", mode)
    assert differences(expected, pair.run(torch_cuda.on_two_devices, "motet", mode)) == []


@pytest.mark.parametrize("mode", ["averaged", "aggregators"])
def test_a_loaded_checkpoint_goes_on_where_it_was_saved(pair: WorkerProcesses, mode: str) -> None:
    found = pair.run(torch_cuda.checkpointed, mode)
    for each in found:
        assert each["losses"] == each["expected"]
    assert differences(found[0]["model"], found[1]["model"]) == []
