"""Balance of hand-made memory use."""

from __future__ import annotations

import numpy as np
import pytest

from motet.sim.remote_memory.summary import balance


def test_ratios_are_means_over_time_and_utilisation_of_all_memory() -> None:
    used = np.array([[10, 20, 40], [30, 30, 30]])
    found = balance(used, 100)
    assert found.utilisation == pytest.approx(160 / 600)
    assert found.max_median == pytest.approx((2 + 1) / 2)
    assert found.max_min == pytest.approx((4 + 1) / 2)
    assert found.p99_median == pytest.approx((1.98 + 1) / 2)
