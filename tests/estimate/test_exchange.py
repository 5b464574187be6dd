"""How long workers and servers exchange a model, by who is where."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.estimate.exchange import WITHIN_A_MACHINE, Gang, Share, exchange_factor, gang_shares

some = st.integers(1, 12)
placements = st.lists(st.integers(1, 6), min_size=1, max_size=8)


def even(workers: int, servers: int, machines: int) -> list[Share]:
    """As equal as can be: a machine that has a worker more has no server more, if possible."""
    return [
        Share(
            workers // machines + (machine < workers % machines),
            servers // machines + ((machine - workers) % machines < servers % machines),
        )
        for machine in range(machines)
    ]


def divisions(workers: int, servers: int, room: int, machines: int) -> Iterator[list[Share]]:
    """Every way to have them on so many machines, each with so much room."""
    of_one = [Share(w, p) for w, p in product(range(room + 1), repeat=2) if w + p <= room]
    for shares in product(of_one, repeat=machines):
        sums = (sum(share.workers for share in shares), sum(share.servers for share in shares))
        if sums == (workers, servers):
            yield list(shares)


def test_two_servers_and_four_workers_by_hand() -> None:
    servers_apart = [Share(0, 2), Share(2, 0), Share(2, 0)]
    on_three = [Share(2, 1), Share(1, 1), Share(1, 0)]
    on_two = [Share(2, 1), Share(2, 1)]
    found = [exchange_factor(each) for each in (servers_apart, on_three, on_two)]
    assert found == [4 / 4, 3 / 4, 2 / 4]


@given(workers=some, servers=some)
def test_with_a_machine_each_it_takes_as_long_as_measured(workers: int, servers: int) -> None:
    assert exchange_factor([Share(1, 0)] * workers + [Share(0, 1)] * servers) == 1.0


@given(workers=some, servers=some)
def test_on_one_machine_nothing_crosses_a_link(workers: int, servers: int) -> None:
    assert exchange_factor([Share(workers, servers)]) == WITHIN_A_MACHINE


@given(counts=placements, servers=some, server_gpus=st.integers(0, 2))
def test_wherever_they_are_it_takes_no_longer_than_apart(
    counts: list[int], servers: int, server_gpus: int
) -> None:
    workers = sum(counts) - servers * server_gpus
    if workers > 0:
        found = exchange_factor(gang_shares(counts, Gang(workers, servers, 1, server_gpus)))
        assert WITHIN_A_MACHINE <= found <= 1.0


@given(workers=some, servers=some)
def test_fewer_machines_are_never_worse_if_shares_are_even(workers: int, servers: int) -> None:
    factors = [
        exchange_factor(even(workers, servers, machines))
        for machines in range(1, workers + servers + 1)
        if workers % machines == servers % machines == 0
    ]
    assert factors == sorted(factors)


@pytest.mark.parametrize("room", [2, 3, 4])
@pytest.mark.parametrize("machines", [1, 2, 3])
def test_equal_shares_on_the_fewest_machines_are_the_best_of_all(room: int, machines: int) -> None:
    """Optimus' theorem 1, by brute force: of all divisions over up to one machine more."""
    for workers in range(1, room):
        servers = room - workers
        whole = workers * machines, servers * machines
        best = min(
            exchange_factor([share for share in shares if any(share)])
            for shares in divisions(*whole, room, min(machines + 1, 3))
        )
        assert exchange_factor(even(*whole, machines)) == best


@given(workers=some, servers=some, machines=st.integers(1, 8))
def test_roles_are_dealt_as_optimus_spreads_them(workers: int, servers: int, machines: int) -> None:
    wanted = even(workers, servers, min(machines, workers + servers))
    counts = [int(sum(share)) for share in wanted]
    dealt = gang_shares(counts, Gang(workers, servers, 1, 1))
    assert sum(share.servers for share in dealt) == servers
    assert [int(sum(share)) for share in dealt] == counts
    assert exchange_factor(dealt) <= exchange_factor(wanted)


def test_servers_without_gpus_go_with_the_workers() -> None:
    assert gang_shares([4, 2], Gang(3, 3, 2, 0)) == [Share(2, 2), Share(1, 1)]


def test_what_lies_on_two_machines_counts_in_parts() -> None:
    assert gang_shares([3, 3], Gang(3, 1, 1, 3)) == [Share(0, 1), Share(3, 0)]
    assert gang_shares([2, 2, 2], Gang(3, 1, 1, 3)) == [Share(1, 1 / 3)] * 3
    assert gang_shares([1, 3], Gang(1, 1, 3, 1)) == [Share(1 / 3, 0), Share(2 / 3, 1)]
