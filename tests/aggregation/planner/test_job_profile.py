"""Profiles that no Aggregator could serve are refused; tensors have an order."""

from __future__ import annotations

import pytest

from aggregation_cases import profile
from motet.domain.errors import BadInput


@pytest.mark.parametrize(
    ("iteration_ns", "tensor_ns", "servers", "message"),
    [
        (0, [1], 1, "iteration_ns is 0; it must be positive"),
        (5, [], 1, "tensor_ns is empty"),
        (5, [1, 6], 1, r"tensor_ns\[1\] is 6; it must be above 0 and at most iteration_ns=5"),
        (5, [0], 1, r"tensor_ns\[0\] is 0"),
        (5, [1], 0, "servers is 0"),
    ],
)
def test_what_cannot_be_served_is_refused(
    iteration_ns: int, tensor_ns: list[int], servers: int, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        profile(iteration_ns, *tensor_ns, servers=servers)


@pytest.mark.parametrize("loss_limit", [0.0, 1.1, float("nan")])
def test_a_limit_that_is_not_a_share_is_refused(loss_limit: float) -> None:
    with pytest.raises(BadInput, match=r"loss_limit is .*; it must be above 0 and at most 1"):
        profile(5, 1, loss_limit=loss_limit)


@pytest.mark.parametrize(
    ("link_ns", "message"),
    [
        ([1], "link_ns has 1 entries for 2 tensors"),
        ([1, 6], r"link_ns\[1\] is 6; it must be at least 0 and at most iteration_ns=5"),
        ([-1, 0], r"link_ns\[0\] is -1"),
    ],
)
def test_what_no_link_could_transfer_is_refused(link_ns: list[int], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        profile(5, 1, 1, link_ns=link_ns)


def test_the_longer_one_of_cpu_time_and_time_on_the_link_counts() -> None:
    job = profile(9, 1, 2, 3, link_ns=[4, 2, 0])
    assert job.longest_first.tolist() == [0, 2, 1]
    assert (job.work_ns, job.need_ns) == (6, 6)
    assert profile(9, 1, 2, link_ns=[4, 2]).need_ns == 6
    assert profile(9, 1, 2).need_ns == 3


def test_equal_tensors_are_taken_by_number() -> None:
    assert profile(9, 3, 5, 3, 5).longest_first.tolist() == [1, 3, 0, 2]
