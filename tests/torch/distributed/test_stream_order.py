"""The backend `motet` with tensors of a GPU."""

from __future__ import annotations

import pytest
import torch

import torch_cuda
from torch_training import Training, differences
from torch_workers import WorkerProcesses

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.parametrize("pair", ["aggregators"], indirect=True),
]


@pytest.mark.parametrize("model", ["mlp", "cnn", "transformer"])
def test_ddp_trains_as_over_gloo_to_the_bit(pair: WorkerProcesses, model: str) -> None:
    training = Training(model=model, device="cuda", options={"lr": 0.1, "momentum": 0.9}, clip=0.5)
    over_gloo = pair.run(torch_cuda.over_backend, "gloo", training)
    over_motet = pair.run(torch_cuda.over_backend, "motet", training)
    assert differences(over_gloo, over_motet) == []


def test_operations_have_the_results_of_gloo_in_the_order_of_streams(pair: WorkerProcesses) -> None:
    assert pair.run(torch_cuda.compare_collectives) == [[], []]
