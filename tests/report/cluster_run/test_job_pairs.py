"""Completion times of the same jobs in two runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.report.cluster_run.job_pairs import concatenate_pairs, pair_jobs
from simulated_runs import NOTHING, RUN

OTHER = replace(RUN, ids=("d", "x", "a", "y"), jct_s=np.array([1.0, 2, 3, 4]))


def test_jobs_are_paired_by_id_in_the_order_of_the_first_run() -> None:
    pairs = pair_jobs(RUN, OTHER)

    assert pairs.ids == ("a", "d")
    assert pairs.before_s.tolist() == [800, 5000]
    assert pairs.after_s.tolist() == [3, 1]
    assert pairs.bins.tolist() == RUN.bins[[0, 3]].tolist()


def test_a_run_without_finished_jobs_has_no_pairs() -> None:
    assert pair_jobs(RUN, NOTHING).ids == ()
    assert pair_jobs(NOTHING, RUN).before_s.shape == (0,)


def test_pairs_of_several_seeds_follow_each_other() -> None:
    pairs = concatenate_pairs([pair_jobs(RUN, OTHER), pair_jobs(OTHER, RUN)])

    assert pairs.ids == ("a", "d", "d", "a")
    assert pairs.before_s.tolist() == [800, 5000, 1, 3]
    assert concatenate_pairs([]).ids == ()
