"""Blocks of a model lie on servers as Optimus and MXNet put them there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.placement.parameter_blocks import Division, balanced_blocks, hashed_blocks
from motet.sim.speeds.model_tensors import tensor_sizes

Divide = Callable[[Sequence[int], int], Division]
blocks = st.lists(st.integers(1, 5_000_000), min_size=1, max_size=60)
some = st.integers(1, 20)


@pytest.mark.parametrize("divide", [balanced_blocks, hashed_blocks])
@given(sizes=blocks, servers=some)
def test_every_parameter_is_on_one_server(divide: Divide, sizes: list[int], servers: int) -> None:
    found = divide(sizes, servers)
    assert len(found.servers) == servers
    held = [0] * len(sizes)
    for pieces in found.servers:
        for piece in pieces:
            assert piece.size > 0
            held[piece.block] += piece.size
    assert held == sizes
    assert 1.0 <= found.imbalance <= servers * (1 + 1e-12)
    assert sum(found.requests) >= len(sizes)


@given(sizes=st.lists(st.integers(1000, 50_000), min_size=1, max_size=60), servers=some)
def test_only_a_last_piece_can_exceed_a_servers_share(sizes: list[int], servers: int) -> None:
    """Without small blocks, a server below the average share has room left."""
    share = -(-sum(sizes) // servers)
    assume(min(sizes) > 0.01 * share)
    for pieces in balanced_blocks(sizes, servers).servers:
        assert sum(piece.size for piece in pieces[:-1]) < share or len(pieces) == 1
        assert max((piece.size for piece in pieces), default=0) <= share


@given(size=st.integers(1, 10**8), servers=some)
def test_one_block_is_cut_into_equal_shares(size: int, servers: int) -> None:
    loads = balanced_blocks([size], servers).loads
    assert max(loads) == -(-size // servers)


def test_small_blocks_go_where_fewest_are_asked_for_whatever_is_there() -> None:
    """Shares of 1,000, so that 10 is small: to one block alone; then to the emptiest of all."""
    found = balanced_blocks([1000, 600, 390, 600, 390, 10, 10], 3)
    assert [[piece.size for piece in pieces] for pieces in found.servers] == [
        [1000, 10],
        [600, 390, 10],
        [600, 390],
    ]


def test_a_block_is_assigned_by_best_fit() -> None:
    found = balanced_blocks([60, 50, 40, 30, 20], 2)
    assert found.loads == [100, 100]
    assert found.imbalance == 1.0


def test_a_block_without_a_fit_is_assigned_to_the_server_with_most_room() -> None:
    """Blocks up to the average share are never cut: of three of two thirds one holds two."""
    assert balanced_blocks([2, 2, 2], 2).loads == [4, 2]
    assert balanced_blocks([2, 2, 2], 2).imbalance == 4 / 3


def test_mxnet_cuts_from_a_million_on_and_hashes_the_others() -> None:
    """9973 = 3 modulo 10: blocks 0 to 3 on servers 0, 3, 6 and 9."""
    found = hashed_blocks([999_999, 7, 1_000_000, 7], 10)
    assert found.loads == [1_099_999, *[100_000] * 2, 100_007, *[100_000] * 5, 100_007]
    assert found.requests == [2, 1, 1, 2, 1, 1, 1, 1, 1, 2]


def test_resnet_50_on_ten_servers_has_the_papers_request_count() -> None:
    """Table 3: 0.1 million parameters apart, 157 requests, one apart; MXNet: 247 requests."""
    sizes = tensor_sizes("ResNet-50")
    assert sizes is not None
    ours, mxnet = balanced_blocks(sizes, 10), hashed_blocks(sizes, 10)
    assert round((max(ours.loads) - min(ours.loads)) / 1e6, 1) == 0.1
    assert (sum(ours.requests), max(ours.requests) - min(ours.requests)) == (157, 1)
    assert sum(mxnet.requests) == 247


def test_the_papers_figures_of_mxnet_are_those_of_blocks_of_one_size_on_one_server() -> None:
    """3.6 million parameters and 43 requests apart: as the authors' program to compare them numbers
    a block by the first of its size. MXNet gives each a number of its own: 1.1 million and 2."""
    sizes = tensor_sizes("ResNet-50")
    assert sizes is not None
    loads, requests = [0.0] * 10, [0] * 10
    for size in sizes:
        on = range(10) if size >= 1e6 else [sizes.index(size) * 9973 % 10]
        for server in on:
            loads[server] += size / len(on)
            requests[server] += 1
    assert round((max(loads) - min(loads)) / 1e6, 1) == 3.6
    assert max(requests) - min(requests) == 43
    mxnet = hashed_blocks(sizes, 10)
    assert round((max(mxnet.loads) - min(mxnet.loads)) / 1e6, 1) == 1.1
    assert max(mxnet.requests) - min(mxnet.requests) == 2
