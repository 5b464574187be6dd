"""`--set` of a training run: parameters of the application and of the run."""

from __future__ import annotations

import pytest

from motet.apps import load_application
from motet.domain.errors import BadInput
from motet.interfaces.training_settings.settings import (
    COMMON,
    NOT_SETTABLE,
    read_training_settings,
    settable_parameters,
)
from motet.runtime.core.consistency import Bsp, Ssp

LASSO = load_application("lasso")


def test_a_run_has_the_parameters_of_its_application_and_common_ones() -> None:
    names = settable_parameters(LASSO)

    assert "l1" in names
    assert set(COMMON) < set(names)
    assert not set(NOT_SETTABLE) & set(names)


def test_values_go_to_the_application_or_to_the_run() -> None:
    settings = read_training_settings(LASSO, ["l1=0.5", "checkpoint_every=3"])

    assert settings.app.get_params()["l1"] == 0.5
    assert (settings.checkpoint_every, settings.consistency) == (3, Bsp())


def test_a_staleness_selects_ssp() -> None:
    assert read_training_settings(LASSO, ["staleness=2"]).consistency == Ssp(2)
    assert read_training_settings(LASSO, ["staleness=0"]).consistency == Bsp()


@pytest.mark.parametrize("consistency", ["bsp", "async"])
def test_a_staleness_with_another_consistency_is_refused(consistency: str) -> None:
    with pytest.raises(BadInput, match="staleness belongs to ssp"):
        read_training_settings(LASSO, ["staleness=2", f"consistency={consistency}"])


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown parameter of lasso 'l3'"):
        read_training_settings(LASSO, ["l3=1"])
