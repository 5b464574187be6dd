from __future__ import annotations

import pytest

import torch_collectives
from soak_cases import others_in_soak
from torch_training import Training, differences
from torch_workers import WorkerProcesses

TRAININGS = [
    Training(options={"lr": 0.1, "momentum": 0.9}, clip=0.5),
    Training(model="cnn"),
    Training(model="transformer", optimizer="AdamW", options={"lr": 0.01}),
]


@pytest.mark.parametrize(
    "training", others_in_soak(TRAININGS, TRAININGS[:2]), ids=lambda training: training.model
)
def test_ddp_trains_as_over_gloo_to_the_bit(pair: WorkerProcesses, training: Training) -> None:
    over_gloo = pair.run(torch_collectives.train_over, "gloo", training)
    over_motet = pair.run(torch_collectives.train_over, "motet", training)
    for one, other in zip(over_gloo, over_motet, strict=True):
        assert differences(vars(one), vars(other)) == []


def test_operations_have_the_results_of_gloo(pair: WorkerProcesses) -> None:
    assert pair.run(torch_collectives.compare_with_gloo) == [[], []]


def test_what_is_not_supported_is_a_clear_error(pair: WorkerProcesses) -> None:
    names = ["send", "recv", "all_to_all", "scatter", "all_reduce with "]
    for messages in pair.run(torch_collectives.refused):
        assert len(messages) == len(names)
        for message, name in zip(messages, names, strict=True):
            assert f"the backend motet has no {name}" in message
            assert "gloo" in message
