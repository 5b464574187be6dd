"""Trainings whose tensors travel through copies that end late, as those of a GPU."""

from __future__ import annotations

import pytest
import torch

import torch_staging
from motet.domain.errors import BadInput
from motet.torch.staging.devices import staging_of
from torch_training import Training, differences, train_attached
from torch_workers import WorkerProcesses

MOMENTUM = {"lr": 0.1, "momentum": 0.9}
CNN = Training(model="cnn", options=MOMENTUM)
CLIPPED = Training(clip=0.1, accumulate=2)
PIPES = pytest.mark.parametrize("pair", ["aggregators"], indirect=True)


@PIPES
@pytest.mark.parametrize(
    ("training", "mode", "options"),
    [
        (CNN, "auto", {}),
        (CNN, "aggregators", {"overlap": True}),
        (CNN, "aggregators", {"compression": "bfloat16"}),
        (CLIPPED, "averaged", {"compression": "bfloat16"}),
        (CLIPPED, "averaged", {"is_synced": False}),
        (Training(accumulate=3), "aggregators", {}),
        pytest.param(
            Training(model="transformer", optimizer="AdamW", options={"lr": 0.01}),
            "auto",
            {},
            marks=pytest.mark.soak,
        ),
    ],
    ids=lambda value: getattr(value, "model", str(value)),
)
def test_trainings_through_copies_are_equal_to_the_bit(
    pair: WorkerProcesses, training: Training, mode: str, options: dict[str, object]
) -> None:
    direct = pair.run(train_attached, training, mode, **options)
    staged = pair.run(torch_staging.train_staged, training, mode, **options)
    for one, other in zip(direct, staged, strict=True):
        assert differences(vars(one), vars(other)) == []


@PIPES
def test_a_model_is_called_twice_before_one_backward(pair: WorkerProcesses) -> None:
    """Autograd has saved the buffers of the first call when the second one receives them."""
    direct = pair.run(torch_staging.two_passes, is_staged=False)
    staged = pair.run(torch_staging.two_passes, is_staged=True)
    assert differences(direct, staged) == []


def test_a_tensor_that_cannot_travel_is_an_error_with_the_remedy() -> None:
    with pytest.raises(BadInput, match=r"a tensor is on meta; .*move the model by \.cpu\(\)"):
        staging_of(torch.device("meta"))
