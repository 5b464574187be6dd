from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from motet.domain.errors import BadInput
from motet.torch import attach
from motet.torch.discovery import job_of_environment, service_of_environment


@pytest.mark.parametrize(
    ("environment", "job"),
    [
        ({"MOTET_JOB": "mine", "MOTET_RUN_ID": "r", "MASTER_PORT": "1"}, "mine"),
        ({"MOTET_RUN_ID": "r7", "MOTET_ATTEMPT_NUMBER": "2", "MASTER_PORT": "1"}, "r7.2"),
        ({"MASTER_ADDR": "a", "MASTER_PORT": "29500"}, "torchrun-a:29500.0"),
        (
            {"MASTER_ADDR": "a", "MASTER_PORT": "29500", "TORCHELASTIC_RESTART_COUNT": "3"},
            "torchrun-a:29500.3",
        ),
    ],
)
def test_the_processes_of_a_job_find_the_same_name(environment: dict[str, str], job: str) -> None:
    assert job_of_environment(environment) == job


def test_without_a_pool_there_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTET_AGGREGATION", raising=False)
    with pytest.raises(BadInput, match="MOTET_AGGREGATION is not set"):
        service_of_environment()


def test_a_loss_limit_is_of_the_pool_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def joined(job: str, rank: int, workers: int, *, loss_limit: float | None) -> None:
        asked.append((job, rank, workers, loss_limit))

    monkeypatch.setattr("motet.aggregation.agent.pool_agent.join_pool", joined)
    for name, value in {"MOTET_AGGREGATION": "/pool.json", "RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    service_of_environment(job="mine", loss_limit=0.05)
    assert asked == [("mine", 1, 2, 0.05)]
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    service: Any = object()
    with pytest.raises(BadInput, match="leave out service, or loss_limit"):
        attach(model, optimizer, service=service, loss_limit=0.05)


def test_a_worker_that_joins_an_elastic_job_tells_how_many_began_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []

    def joined(job: str, rank: int, workers: int, *, loss_limit: float | None) -> None:
        asked.append((rank, workers))

    monkeypatch.setattr("motet.aggregation.agent.pool_agent.join_pool", joined)
    environment = {"RANK": "4", "WORLD_SIZE": "5", "MOTET_FIRST_WORLD_SIZE": "2"}
    for name, value in {"MOTET_AGGREGATION": "/pool.json", **environment}.items():
        monkeypatch.setenv(name, value)
    service_of_environment()
    assert asked == [(4, 2)]


def test_a_process_without_a_name_is_a_job_of_its_own() -> None:
    assert job_of_environment({}) == f"process-{os.getpid()}"
