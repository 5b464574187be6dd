"""The architectures have the tensors and sizes of the seed's table 4.2."""

from __future__ import annotations

import pytest

from motet.sim.aggregation.models import MODELS, known_model

TABLE_4_2 = {"AlexNet": (17, 236), "VGG19": (39, 548), "AWD-LM": (14, 396), "BERT": (393, 1278)}
LARGEST_MB = {"AlexNet": 144, "VGG19": 392}
"""Of table 3 of Tiresias (NSDI 2019)."""


def test_numbers_of_tensors_and_sizes_are_those_of_the_table() -> None:
    assert {model.name: len(model.tensors) for model in MODELS} == {
        name: tensors for name, (tensors, _) in TABLE_4_2.items()
    }
    for model in MODELS:
        assert model.size_bytes / 2**20 == pytest.approx(TABLE_4_2[model.name][1], abs=1)


@pytest.mark.parametrize("name", LARGEST_MB)
def test_the_largest_tensor_is_the_one_that_tiresias_lists(name: str) -> None:
    (model,) = (each for each in MODELS if each.name == name)
    assert 4 * max(model.tensors) / 2**20 == pytest.approx(LARGEST_MB[name], abs=1)


def test_models_are_found_in_any_spelling() -> None:
    assert known_model("vgg-19") == known_model("VGG19 (batch size 64)") == 1
    assert known_model("ResNet-50") is None
