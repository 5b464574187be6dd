"""A profile and a fleet as numbers: counts by type and links between types."""

from __future__ import annotations

import numpy as np
import pytest

from motet.cruise.search.problem import RoleMode, SearchProblem, link_seconds, server_counts
from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, exchange_s

PROFILE = Profile(1_000, 100, 8e6, data_blocks=12, model_blocks=8)
KINDS = (MachineType("fast", 3, 1e-3), MachineType("slow", 4, 2e-3))
FLEET = Fleet(KINDS, ((2e6, 1e6), (1e6, 5e5)))
WORKERS = np.array([2, 1])


@pytest.mark.parametrize(
    ("mode", "servers"), [(RoleMode.SEPARATE, [1, 3]), (RoleMode.BOTH, [2, 1])]
)
def test_machines_that_do_not_work_serve_or_those_that_do(
    mode: RoleMode, servers: list[int]
) -> None:
    problem = SearchProblem.of(PROFILE, FLEET, mode)
    assert server_counts(problem, WORKERS).tolist() == servers


def test_links_agree_with_the_cost_model() -> None:
    problem = SearchProblem.of(PROFILE, FLEET, RoleMode.SEPARATE)
    links = link_seconds(problem, WORKERS, np.array([1, 3]))
    # All of the model on the slow servers, two blocks or three on each.
    on_slow = Configuration((6, 6, 0, 0, 0, 0, 0), (0, 0, 0, 0, 3, 3, 2))
    three_workers = Configuration((4, 4, 0, 4, 0, 0, 0), on_slow.model_blocks)
    fast_s = exchange_s(PROFILE, FLEET, three_workers)[0]
    assert fast_s == pytest.approx(max(links.shared[0, 1] * 3 * 3 / 8, links.own[0, 1]))


def test_a_server_with_one_block_is_a_lower_bound_of_its_link() -> None:
    problem = SearchProblem.of(PROFILE, FLEET, RoleMode.SEPARATE)
    links = link_seconds(problem, WORKERS, np.array([1, 3]))
    assert links.least[0, 0] == pytest.approx(links.shared[0, 0] / 8)
    assert links.least[0, 1] == pytest.approx(links.shared[0, 1] * 3 / 8)


def test_with_both_roles_the_own_part_of_the_model_crosses_no_link() -> None:
    problem = SearchProblem.of(PROFILE, FLEET, RoleMode.BOTH)
    links = link_seconds(problem, np.array([2, 0]), np.array([2, 0]))
    assert links.own[0, 0] == pytest.approx(8e6 / 2e6 / 2)
    assert links.shared[0, 0] == pytest.approx(8e6 / 2e6 / 2)
    alone = link_seconds(problem, np.array([1, 0]), np.array([1, 0]))
    assert (alone.own[0, 0], alone.shared[0, 0]) == (0, 0)


def test_types_without_servers_have_no_links() -> None:
    problem = SearchProblem.of(PROFILE, FLEET, RoleMode.SEPARATE)
    links = link_seconds(problem, np.array([3, 1]), np.array([0, 3]))
    assert not links.shared[:, 0].any()
    assert not links.own[:, 0].any()


def test_one_machine_cannot_have_two_separate_roles() -> None:
    with pytest.raises(BadInput, match="a worker and a server need 2"):
        SearchProblem.of(PROFILE, Fleet.uniform(1, 1.0, 1.0), RoleMode.SEPARATE)
