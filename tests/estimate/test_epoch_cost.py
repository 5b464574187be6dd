"""The cost model against epochs worked out by hand."""

from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import (
    Configuration,
    Fleet,
    MachineType,
    Profile,
    epoch_s,
    exchange_s,
    worker_epochs_s,
)

FLEET = Fleet.uniform(4, 1e-3, 1e6)
"""A millisecond per instance, a megabyte per second."""


def profile(is_batch_global: bool = True, batch_size: int = 100) -> Profile:
    return Profile(1_000, batch_size, 6e5, 10, 6, is_batch_global)


def test_two_workers_share_the_links_of_two_servers() -> None:
    # Each server sends 0.3 MB to both workers: 0.6 s, as long as a worker needs for 0.6 MB.
    configuration = Configuration((5, 5, 0, 0), (0, 0, 3, 3))
    assert exchange_s(profile(), FLEET, configuration)[:2] == pytest.approx([0.6, 0.6])
    assert epoch_s(profile(), FLEET, configuration) == pytest.approx(0.5 + 10 * 0.6)


def test_an_overloaded_server_delays_every_worker() -> None:
    configuration = Configuration((5, 5, 0, 0), (0, 0, 5, 1))
    assert epoch_s(profile(), FLEET, configuration) == pytest.approx(0.5 + 10 * 2 * 0.5)


def test_with_a_batch_per_worker_there_are_fewer_mini_batches() -> None:
    configuration = Configuration((5, 5, 0, 0), (0, 0, 3, 3))
    assert epoch_s(profile(False), FLEET, configuration) == pytest.approx(0.5 + 5 * 0.6)


def test_part_of_a_mini_batch_costs_a_whole_exchange() -> None:
    configuration = Configuration((5, 5, 0, 0), (0, 0, 3, 3))
    assert epoch_s(profile(False, 300), FLEET, configuration) == pytest.approx(0.5 + 2 * 0.6)


def test_each_pair_of_types_has_its_own_bandwidth() -> None:
    kinds = (MachineType("a", 1, 1e-3), MachineType("b", 2, 2e-3))
    fleet = Fleet(kinds, ((1e6, 2e6), (3e6, 4e6)))
    configuration = Configuration((6, 4, 0), (0, 0, 6))
    assert worker_epochs_s(profile(), fleet, configuration) == pytest.approx(
        [0.6 + 10 * 2 * 0.3, 0.8 + 10 * 2 * 0.15, 0]
    )


def test_what_a_machine_exchanges_with_itself_crosses_no_link() -> None:
    configuration = Configuration((5, 5, 0, 0), (3, 3, 0, 0))
    assert epoch_s(profile(), FLEET, configuration) == pytest.approx(0.5 + 10 * 0.3)
    alone = Configuration((10, 0, 0, 0), (6, 0, 0, 0))
    assert epoch_s(profile(), FLEET, alone) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("data", "model", "said"),
    [
        ((5, 4, 0, 0), (0, 0, 3, 3), "9 data blocks are placed; there are 10"),
        ((5, 5, 0, 0), (0, 0, 3, 4), "7 model blocks are placed; there are 6"),
        ((5, 5, 0), (0, 0, 6), "data blocks of 3 machines; there are 4"),
    ],
)
def test_blocks_that_are_missing_or_doubled_are_refused(
    data: tuple[int, ...], model: tuple[int, ...], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        epoch_s(profile(), FLEET, Configuration(data, model))


def test_quantities_without_meaning_are_refused() -> None:
    with pytest.raises(BadInput, match="instances=0: must be at least 1"):
        Profile(0, 1, 1.0, 1, 1)
    with pytest.raises(BadInput, match=r"comp_s_per_instance of slow=0\.0: must be above 0"):
        MachineType("slow", 1, 0.0)
    with pytest.raises(BadInput, match="bandwidth=0: must be above 0 bytes/s"):
        Fleet.uniform(2, 1.0, 0)
    with pytest.raises(BadInput, match="2 types of machines need 2 rows of 2"):
        Fleet((MachineType("a", 1, 1.0), MachineType("b", 1, 1.0)), ((1.0,),))
