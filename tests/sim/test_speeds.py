"""What a placement and a partner cost."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.model_profile import profile_of
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import SECOND_US
from motet.sim.speeds import FULL_SPEED, ProfiledSpeeds

VGG19, RESNET50 = 0, 1
SPEEDS = ProfiledSpeeds(np.full(15, 4), [profile_of("vgg19"), profile_of("ResNet-50")], None)


def spread(*counts: int) -> Placement:
    return Placement(tuple(range(len(counts))), counts)


def slowdown(model: int, *counts: int) -> float:
    return FULL_SPEED / SPEEDS.speed(model, spread(*counts))


def test_a_gang_as_close_as_can_be_runs_at_full_speed() -> None:
    assert slowdown(VGG19, 4) == 1
    assert slowdown(VGG19, 4, 4) == 1
    assert slowdown(UNKNOWN, 2, 4, 2) == 1


def test_a_skewed_model_on_eight_machines_is_as_slow_as_the_paper_measured() -> None:
    speeds = ProfiledSpeeds(np.full(15, 4), [profile_of("VGG11")], 0)
    measured = FULL_SPEED / speeds.speed(0, spread(*[1] * 8))
    assert measured == pytest.approx(1.67, abs=0.02)


def test_the_more_it_is_torn_apart_the_slower_it_is() -> None:
    torn = [slowdown(VGG19, *counts) for counts in [(4, 4), (4, 3, 1), (3, 3, 2), (2,) * 4]]
    assert torn == sorted(torn)
    assert torn[-1] > 1.3


def test_a_model_without_skew_hardly_minds() -> None:
    assert slowdown(RESNET50, *[1] * 8) < 1.02


def test_two_idle_models_fill_each_others_gaps_and_two_busy_ones_do_not() -> None:
    assert 2 * SPEEDS.shared(VGG19, VGG19) == pytest.approx(1.9)
    assert 2 * SPEEDS.shared(RESNET50, RESNET50) < 1.1


def test_a_preemption_costs_what_the_profile_says_or_what_is_asked() -> None:
    assert SPEEDS.resume_cost_us(VGG19, 8) == 60 * SECOND_US
    assert ProfiledSpeeds(np.full(1, 4), [], 7).resume_cost_us(UNKNOWN, 8) == 7
