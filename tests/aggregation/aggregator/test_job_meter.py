"""What the next answer of a job is expected to cost."""

from __future__ import annotations

import pytest

from motet.aggregation.aggregator.job_meter import JobMeter


@pytest.mark.parametrize(
    ("size_bytes", "expected_ns"), [(100, 10), (60, 10), (200, 30), (101, 30), (400, 60)]
)
def test_an_answer_of_an_unknown_size_costs_about_as_much_as_others(
    size_bytes: int, expected_ns: int
) -> None:
    costs = JobMeter().answer_costs
    costs.took(100, 10)
    costs.took(200, 30)
    assert costs.expected_ns(size_bytes) == expected_ns


def test_the_first_answer_of_a_job_is_not_taken_for_free() -> None:
    """A copy of 50 MB takes 10 to 50 ms."""
    assert 10e6 <= JobMeter().answer_costs.expected_ns(50 << 20) <= 100e6


def test_cpu_time_of_tensors_computed_together_is_that_of_each_by_its_size() -> None:
    meter = JobMeter()
    meter.computed(1, 400, is_end=True)
    for _ in range(2):
        meter.computed_together((1, 2), (1 << 14, 3 << 14), 600)
    assert meter.tensor_ns == {1: (400 + 2 * 200) // 3, 2: 400}
    assert meter.tensor_ns == {1: (400 + 2 * 200) // 3, 2: 400}
