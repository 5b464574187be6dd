"""When a worker may begin a mini-batch, mode by mode."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.interfaces.training_settings.settings import COMMON
from motet.runtime.core.consistency import (
    DEFAULT_CONSISTENCY,
    Async,
    Bsp,
    Consistency,
    ConsistencyName,
    Ssp,
    consistency_of,
)
from motet.runtime.core.options import TrainOptions

FINISHED = {0: 5, 1: 3}
APPLIED = np.array([4, 5])


@pytest.mark.parametrize(
    ("mode", "first_refused"),
    [(Bsp(), 5), (Ssp(0), 4), (Ssp(2), 6), (Async(), None)],
)
def test_a_pull_is_refused_from_the_mini_batch_on_that_the_mode_forbids(
    mode: Consistency, first_refused: int | None
) -> None:
    refused = [clock for clock in range(20) if not mode.may_pull(clock, APPLIED, FINISHED)]
    assert refused == ([] if first_refused is None else list(range(first_refused, 20)))


def test_a_pull_of_no_blocks_and_of_no_workers_is_never_refused() -> None:
    for mode in (Bsp(), Ssp(0), Async()):
        assert mode.may_pull(7, np.empty(0, np.int64), {})


@pytest.mark.parametrize("name", get_args(ConsistencyName))
def test_every_name_of_an_option_makes_its_mode(name: ConsistencyName) -> None:
    assert consistency_of(name).name == name


def test_every_mode_has_a_name_that_an_option_can_take() -> None:
    names = [mode.name for mode in Consistency.__subclasses__()]
    assert sorted(names) == sorted(get_args(ConsistencyName))


def test_without_a_name_the_mode_is_the_default_or_ssp_for_a_staleness() -> None:
    assert consistency_of() == DEFAULT_CONSISTENCY == TrainOptions(1, 1, 1, 1).consistency
    assert COMMON["consistency"].default == DEFAULT_CONSISTENCY.name
    assert consistency_of(None, 3) == Ssp(3)
    with pytest.raises(BadInput, match="staleness=-1"):
        consistency_of(None, -1)


def test_only_the_sum_over_all_workers_makes_mini_batches_of_the_whole_job() -> None:
    assert [mode.name for mode in (Bsp(), Ssp(1), Async()) if mode.is_lockstep] == ["bsp"]


def test_a_staleness_belongs_to_ssp() -> None:
    assert consistency_of("ssp", 3) == Ssp(3)
    with pytest.raises(BadInput, match="staleness=3 with consistency=bsp: staleness belongs to"):
        consistency_of("bsp", 3)
    with pytest.raises(BadInput, match="staleness=-1: must be 0 or more"):
        consistency_of("ssp", -1)
