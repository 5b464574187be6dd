"""Finish-time fairness by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.estimate.finish_time import JobWork, ideal_s, left_s, rho

jobs = st.lists(
    st.builds(
        lambda service, least, more: JobWork(service, least, least + more),
        st.floats(1, 1e6),
        st.integers(1, 8),
        st.integers(0, 8),
    ),
    min_size=1,
    max_size=5,
)


def test_the_share_is_divided_among_the_jobs_of_an_experiment() -> None:
    search = [JobWork.gang(1200, 2)] * 4
    assert ideal_s(search, share_gpus=4) == 1200
    assert ideal_s(search, share_gpus=100) == 600
    assert ideal_s(search, share_gpus=0.5) == 9600


def test_an_experiment_is_no_faster_than_its_longest_job() -> None:
    search = [JobWork.elastic(1000, 4), JobWork.elastic(8, 4)]
    assert left_s(search, speed=8) == 250
    assert left_s(search, speed=2) == 504


def test_between_its_widths_an_elastic_job_alternates() -> None:
    """It does 1 on one GPU and 3 on four; so 5/3 on two, and 2 for two jobs on two."""
    job = JobWork(300, 1, 4, (1.0, 0.0, 0.0, 3.0))
    assert ideal_s([job], share_gpus=2) == pytest.approx(300 / (5 / 3))
    assert ideal_s([job, job], share_gpus=2) == pytest.approx(600 / 2)
    assert ideal_s([job], share_gpus=9) == 100
    assert [job.speed(gpus) for gpus in (0, 1, 2, 4, 5)] == [0, 1, 0, 3, 0]


def test_rho_is_one_on_the_own_share() -> None:
    job = [JobWork.elastic(3600, 16)]
    assert rho(0, left_s(job, 6), ideal_s(job, 6)) == 1


def test_rho_counts_what_was_waited_and_how_slow_a_spread_gang_is() -> None:
    job = [JobWork.gang(3600, 6)]
    assert rho(300, left_s(job, 6 / 1.5), ideal_s(job, 6)) == pytest.approx((300 + 900) / 600)


def test_a_job_without_gpus_never_ends_unless_no_work_remains() -> None:
    assert left_s([JobWork.gang(1, 1)], 0) == math.inf
    assert left_s([JobWork.gang(0, 1)], 0) == 0
    assert rho(10, math.inf, 5) == math.inf


@given(jobs, st.floats(0.5, 100), st.floats(1, 3))
def test_more_gpus_never_take_longer(works: list[JobWork], gpus: float, factor: float) -> None:
    assert ideal_s(works, gpus * factor) <= ideal_s(works, gpus) * (1 + 1e-12)
    assert left_s(works, gpus * factor) <= left_s(works, gpus) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JobWork(-1, 1, 1), "service_gpu_s=-1: it must be finite and at least 0"),
        (lambda: JobWork(1, 0, 1), "give 1 <= least <= most"),
        (lambda: JobWork(1, 3, 2), "give 1 <= least <= most"),
        (lambda: JobWork(1, 1, 2, (1.0,)), "1 speeds on 1 to 2 GPUs: give all"),
        (lambda: JobWork(1, 1, 2, (2.0, 1.0)), "none is negative, and the last one is the highest"),
        (lambda: JobWork(1, 1, 2, (-1.0, 1.0)), "none is negative"),
        (lambda: ideal_s([], 0), "share_gpus=0, slowdown=1.0: both must be positive"),
        (lambda: rho(1, 1, 0), "ideal_s=0, elapsed_s=1: the first must be positive"),
    ],
)
def test_invalid_times_are_refused(make: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()  # type: ignore[operator]
