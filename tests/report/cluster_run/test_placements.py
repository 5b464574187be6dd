"""Rows of placements: subsets and shared GPUs."""

from __future__ import annotations

import numpy as np

from motet.report.cluster_run.placements import NO_PARTNER, Placements, held_until

PLACEMENTS = Placements(
    machine_names=("m0", "m1"),
    machine_gpus=np.array([4, 4]),
    job=np.array([0, 1, 2]),
    machine=np.array([0, 0, 1]),
    gpus=np.array([2, 2, 4]),
    start_s=np.array([0.0, 0.0, 10.0]),
    end_s=np.array([10.0, 10.0, 20.0]),
    partner=np.array([1, 0, NO_PARTNER]),
    sharers=np.array([2, 2, 1]),
    job_gpus=np.array([2, 2, 4]),
)


def test_shared_gpus_count_half_for_each_of_the_two_jobs() -> None:
    assert PLACEMENTS.taken_gpus.tolist() == [1, 1, 4]
    assert PLACEMENTS.first_sharer.tolist() == [0, 0, 2]


def test_rows_within_a_time_span_overlap_it() -> None:
    assert PLACEMENTS.within(0, 10).job.tolist() == [0, 1]
    assert PLACEMENTS.within(9.9, 10.1).job.tolist() == [0, 1, 2]
    assert len(PLACEMENTS.within(20, 30)) == 0


def test_a_subset_keeps_the_machines() -> None:
    subset = PLACEMENTS.of([2])

    assert (len(subset), subset.machine_names) == (1, ("m0", "m1"))
    assert subset.job_gpus.tolist() == [4]


def test_held_gpu_seconds_grow_with_the_gpus_in_use() -> None:
    times_s = np.array([0.0, 5.0, 10.0, 15.0, 100.0])

    assert held_until(PLACEMENTS, times_s).tolist() == [0, 10, 20, 40, 60]
