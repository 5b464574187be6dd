"""When more workers pay: against the curve, and against one machine alone."""

from __future__ import annotations

import numpy as np
import pytest

from motet.cruise.search.problem import RoleMode
from motet.cruise.search.solver import CostCurve, best_configuration, cost_curve
from motet.cruise.search.worker_gain import WorkerGain
from motet.estimate.epoch_cost import Fleet, Profile
from motet.report.training.plan_summary import gain_text


def gain(comp_s: float, bandwidth: float, machines: int = 12) -> WorkerGain:
    profile = Profile(1_000, 100, 1e6, data_blocks=96, model_blocks=64)
    fleet = Fleet.uniform(machines, comp_s, bandwidth)
    return WorkerGain.of(profile, fleet, cost_curve(profile, fleet, RoleMode.SEPARATE))


def test_the_number_is_that_of_the_best_configuration() -> None:
    profile, fleet = Profile(1_000, 100, 1e6, 96, 64), Fleet.uniform(12, 0.02, 20e6)
    found = gain(0.02, 20e6)

    assert found.alone_s == pytest.approx(20.0)
    assert found.up_to == best_configuration(profile, fleet).configuration.worker_count
    assert found.pays
    assert 1 < found.nearly <= found.up_to < 12
    assert gain_text(found).startswith(f"More workers pay up to {found.up_to}: ")


def test_on_a_slow_network_one_machine_alone_is_fastest() -> None:
    found = gain(1e-5, 1e6)

    assert (found.up_to, found.pays, found.alone_s) == (1, False, pytest.approx(0.01))
    assert gain_text(found).startswith("More workers do not pay: one machine alone takes 10 ms")


def test_it_is_read_from_the_curve() -> None:
    profile, fleet = Profile(1_000, 100, 1e6, 96, 64), Fleet.uniform(4, 0.01, 1e9)
    curve = CostCurve(np.array([1, 2, 3]), np.array([10.1, 4.2, 4.0]))

    assert WorkerGain.of(profile, fleet, curve) == WorkerGain(10.0, 3, 4.0, None, 2)
    assert gain_text(WorkerGain.of(profile, fleet, curve)) == (
        "More workers pay up to 3: 4.0 s per epoch instead of 10 s on one machine alone, 2.5 times "
        "as fast. 2 workers nearly suffice: at most a tenth slower."
    )
