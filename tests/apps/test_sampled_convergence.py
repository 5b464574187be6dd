"""A sampler has converged when its mean loss stops falling, whatever single epochs do."""

from __future__ import annotations

import numpy as np
import pytest

from motet.apps.lda import LDA
from motet.apps.sampled_convergence import DEFAULT_TOL, has_settled
from motet.datasets import open_dataset


def test_too_few_epochs_have_not_settled() -> None:
    assert not has_settled([5.0] * 19, 0.1)
    assert has_settled([5.0] * 20, 0.1)


def test_the_bound_is_relative_to_the_earlier_mean() -> None:
    losses = [200.0] * 10 + [198.0] * 10
    assert not has_settled(losses, 0.0099)
    assert has_settled(losses, 0.0101)
    assert has_settled([-loss for loss in losses], 0.001)


def test_only_the_last_two_windows_count() -> None:
    assert has_settled([100.0, 50.0, 3.0, 3.0, 3.0, 3.0], 0.01, window=2)


def test_noise_between_epochs_neither_ends_nor_prolongs_training() -> None:
    noise = np.tile([0.05, -0.05], 10)
    assert not has_settled((np.linspace(10, 9, 20) + noise).tolist(), 0.01)
    assert has_settled((np.full(20, 9.0) + noise).tolist(), 0.01)


@pytest.mark.slow
def test_lda_settles_near_the_loss_of_twice_as_many_sweeps() -> None:
    corpus = open_dataset("pydoc", kind="corpus")
    losses = LDA(topics=20, epochs=220).fit(corpus).loss_curve_.tolist()
    met = next(n for n in range(len(losses)) if has_settled(losses[:n], DEFAULT_TOL))
    assert 40 < met < 110
    assert losses[met - 1] < 1.01 * losses[2 * met - 1]
