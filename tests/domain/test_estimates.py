"""Columns that policies read."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Estimates
from policy_snapshots import snapshot


def seen(**known: list[float]) -> Estimates:
    return snapshot(ClusterSpec.of([8]), 5, known=dict(known)).wanted_estimates


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        ({}, [10, 20, 30, np.nan, np.nan]),
        ({"end_confidence": [1, 0.5, 0.49, 0, 1]}, [10, 20, np.nan, np.nan, np.nan]),
    ],
)
def test_an_end_is_certain_if_the_curves_agree_on_it(
    confidence: dict[str, list[float]], expected: list[float]
) -> None:
    found = seen(steps_left=[10, 20, 30, np.inf, np.nan], **confidence)
    np.testing.assert_array_equal(found.certain_steps_left, expected)
