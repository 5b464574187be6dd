"""The closed form for equal machines agrees with the cost model for every number of workers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motet.cruise.search.homogeneous import homogeneous_epochs
from motet.cruise.search.problem import RoleMode
from motet.estimate.epoch_cost import Configuration, Fleet, Profile, epoch_s, even_shares

PROFILE = Profile(10_000, 300, 4e6, data_blocks=37, model_blocks=22)
FLEET = Fleet.uniform(9, 2e-4, 3e7)


def even(workers: int, mode: RoleMode) -> Configuration:
    """The first machines work; the last serve, or the same ones."""
    servers = workers if mode is RoleMode.BOTH else FLEET.size - workers
    data = even_shares(PROFILE.data_blocks, workers) + (0,) * (FLEET.size - workers)
    model = even_shares(PROFILE.model_blocks, servers)
    idle = (0,) * (FLEET.size - servers)
    return Configuration(data, model + idle if mode is RoleMode.BOTH else idle + model)


@pytest.mark.parametrize("is_batch_global", [True, False])
def test_every_number_of_workers_agrees_with_the_cost_model(is_batch_global: bool) -> None:
    profile = replace(PROFILE, is_batch_global=is_batch_global)
    workers, epochs_s = homogeneous_epochs(profile, FLEET, RoleMode.SEPARATE)
    expected_s = [epoch_s(profile, FLEET, even(n, RoleMode.SEPARATE)) for n in workers.tolist()]
    np.testing.assert_allclose(epochs_s, expected_s)
    assert workers.tolist() == list(range(1, 9))


@pytest.mark.parametrize("is_batch_global", [True, False])
def test_with_both_roles_it_is_exact_unless_most_data_meet_most_of_the_model(
    is_batch_global: bool,
) -> None:
    profile = replace(PROFILE, is_batch_global=is_batch_global)
    workers, epochs_s = homogeneous_epochs(profile, FLEET, RoleMode.BOTH)
    expected_s = np.array(
        [epoch_s(profile, FLEET, even(n, RoleMode.BOTH)) for n in workers.tolist()]
    )
    # Of three machines, only one has 13 of the data blocks, and the same one 8 of the model blocks.
    is_exact = workers != 3
    np.testing.assert_allclose(epochs_s[is_exact], expected_s[is_exact])
    assert (epochs_s >= expected_s * (1 - 1e-12)).all()
    assert workers.tolist() == list(range(1, 10))


def test_there_are_no_more_workers_than_data_blocks() -> None:
    workers, _ = homogeneous_epochs(replace(PROFILE, data_blocks=3), FLEET, RoleMode.SEPARATE)
    assert workers.tolist() == [1, 2, 3]
