"""Columns of a run that follow from others."""

from __future__ import annotations

import numpy as np
import pytest

from motet.report.cluster_run.record import BINS, rho_of_experiments
from simulated_runs import RUN


def test_bins_have_their_limits_at_4_gpus_and_800_s() -> None:
    """The jobs of RUN have 4, 4, 5 and 8 GPUs and run for 799.9, 800, 10 and 4000 s."""
    assert [BINS[number] for number in RUN.bins] == ["SS", "SL", "LS", "LL"]


@pytest.mark.parametrize(
    ("experiments", "expected"),
    [
        (["", "", "", ""], [1, 2, 1, 3]),
        (["a", "", "a", ""], [1, 2, 3]),
        (["a", "a", "a", "a"], [1]),
    ],
)
def test_an_experiment_counts_once_and_a_job_alone_as_one(
    experiments: list[str], expected: list[float]
) -> None:
    rho = np.array([1.0, 2.0, 1.0, 3.0])

    assert rho_of_experiments(rho, experiments).tolist() == expected
