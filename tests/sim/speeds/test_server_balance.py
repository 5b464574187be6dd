"""A job exchanges its model as fast as the server that holds most of it."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_workloads import Row, elastic_workload
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import UnknownName
from motet.sim.experiment import Experiment
from motet.sim.generate.elastic import OPTIMUS_MODELS
from motet.sim.speeds.model_tensors import tensor_sizes
from motet.sim.speeds.server_balance import DIVISIONS, division_named, imbalance_of
from motet.sim.workload.workload import Workload

TENSORS = {"ResNet-50": 157, "ResNext-110": 338, "CNN-rand": 9, "RNN-LSTM": 11, "KAGGLE": 16}


@pytest.mark.parametrize("model", OPTIMUS_MODELS, ids=lambda model: model.name)
def test_a_model_has_the_papers_number_of_parameters(model: object) -> None:
    sizes = tensor_sizes(model.name)  # type: ignore[attr-defined]
    assert sizes is not None
    millions = model.million_parameters  # type: ignore[attr-defined]
    assert sum(sizes) / 1e6 == pytest.approx(millions, rel=0.03)


@pytest.mark.parametrize(("model", "count"), TENSORS.items())
def test_a_model_has_as_many_tensors_as_its_program(model: str, count: int) -> None:
    assert len(tensor_sizes(model) or ()) == count


def test_resnet_50_has_exactly_the_published_parameters() -> None:
    """25,557,032 of version 1 (PyTorch's), whose normalisations come after the convolutions: of 64
    and 26,496 channels. Before them they are of 3 (the data), 64 and 22,656, and 2,048 at the end.
    """
    after = 64 + 3 * (64 + 64 + 256) + 256 + 4 * (128 + 128 + 512) + 512
    after += 6 * (256 + 256 + 1024) + 1024 + 3 * (512 + 512 + 2048) + 2048
    before = 3 + 64 + (64 + 2 * 256) + 3 * 2 * 64 + (256 + 3 * 512) + 4 * 2 * 128
    before += (512 + 5 * 1024) + 6 * 2 * 256 + (1024 + 2 * 2048) + 3 * 2 * 512 + 2048
    assert sum(tensor_sizes("resnet50") or ()) == 25_557_032 - 2 * after + 2 * before


def jobs(*models: str) -> Workload:
    speed = (0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
    plain = elastic_workload([Row(0, 10, 2, 2, 2, 2, 1, 2, speed)] * len(models))
    return Workload.of(
        plain.ids, plain.submit_us, plain.duration_us, plain.gpus, models=models, work=plain.work
    )


def test_a_model_that_is_not_known_is_balanced() -> None:
    imbalance = imbalance_of(jobs("mine", "KAGGLE"), division_named("mxnet"))
    assert imbalance(0, 7) == imbalance(1, 0) == imbalance(1, 1) == 1.0
    assert imbalance(1, 8) > 3


@pytest.mark.parametrize("name", DIVISIONS)
def test_exchanging_takes_longer_by_the_imbalance(name: str) -> None:
    """Ten steps of a second, on machines of their own."""
    workload = jobs("KAGGLE")
    experiment = Experiment("fifo", {"server_balance": name})
    end_us = experiment.run(workload, ClusterSpec.uniform(4, 1)).columns["end_us"][0]
    expected = imbalance_of(workload, division_named(name))(0, 2)
    assert end_us == pytest.approx(10e6 * expected, abs=1)
    assert (name == "mxnet") == (expected > 1.9)


def test_the_setting_is_on_record_where_it_is_not_the_default() -> None:
    assert "server_balance" not in Experiment("fifo").parameters()
    assert Experiment("fifo", {"server_balance": "paa"}).parameters()["server_balance"] == "paa"


def test_an_unknown_division_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"server_balance.*even.*mxnet.*paa"):
        Experiment("fifo", {"server_balance": "random"}).check()


def test_every_division_gives_the_mix_a_factor_of_at_least_one() -> None:
    names = [model.name for model in OPTIMUS_MODELS]
    for name in DIVISIONS:
        imbalance = imbalance_of(jobs(*names), division_named(name))
        factors = [imbalance(job, p) for job in range(len(names)) for p in range(1, 17)]
        assert np.min(factors) >= 1.0
