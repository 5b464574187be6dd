"""What a placement and a partner cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.model_profile import profile_of
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import FULL_SPEED, SECOND_US
from motet.estimate.exchange import Gang
from motet.sim.profiles import MeasuredSpeeds, bundled_profiles, open_profiles
from motet.sim.speeds.profiled import ProfiledSpeeds
from motet.sim.speeds.speed_model import SameEverywhere, Slowdown

VGG19, RESNET50 = 0, 1
SIZES_MB = (548.1, 527.8, 506.8, 235.9, 230.2, 170.4, 97.7, 162.9, 91.0, 26.7)
"""Of the models of Tiresias' table 3."""

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
    assert 2 * SPEEDS.shared(VGG19, [VGG19], spread(4)) == pytest.approx(1.9)
    assert 2 * SPEEDS.shared(RESNET50, [RESNET50], spread(4)) < 1.1


def test_a_preemption_has_the_cost_of_the_profile_or_the_setting() -> None:
    assert 57 * SECOND_US < SPEEDS.resume_cost_us(RESNET50, 8) < SPEEDS.resume_cost_us(VGG19, 8)
    assert SPEEDS.resume_cost_us(VGG19, 8) < 62 * SECOND_US
    assert ProfiledSpeeds(np.full(1, 4), [], 7).resume_cost_us(UNKNOWN, 8) == 7


RACKS = np.repeat([0, 1, 2], 5)


def in_racks(model: int, *machines: int) -> float:
    models = [profile_of("vgg19"), profile_of("ResNet-50")]
    speeds = ProfiledSpeeds(np.full(15, 4), models, None, RACKS)
    return FULL_SPEED / speeds.speed(model, Placement(machines, (4,) * len(machines)))


@pytest.mark.parametrize("model", [VGG19, RESNET50, UNKNOWN])
def test_racks_apart_are_slower_than_machines_of_one_rack(model: int) -> None:
    assert in_racks(model, 0, 1) == 1
    assert in_racks(model, 0, 5) > 1.05
    assert in_racks(model, 0, 5, 10) > in_racks(model, 0, 1, 5) > in_racks(model, 0, 1, 2)


def test_a_gang_larger_than_a_rack_is_as_close_as_can_be_if_it_fills_one() -> None:
    assert in_racks(VGG19, *range(6)) == 1
    assert in_racks(VGG19, 0, 1, 2, 5, 6, 7) > 1


def test_one_rack_is_as_no_racks() -> None:
    models = [profile_of("vgg19")]
    named = ProfiledSpeeds(np.full(15, 4), models, None, np.full(15, 7))
    for counts in [(4,), (4, 4), (2, 2, 2, 2), (1, 3)]:
        assert named.speed(0, spread(*counts)) == SPEEDS.speed(VGG19, spread(*counts))


LM, VGG16 = 0, 1
NAMES = ["LM (batch size 80)", "VGG16"]


def on(*types: str) -> ProfiledSpeeds:
    models = [profile_of(name) for name in NAMES]
    measured = MeasuredSpeeds(bundled_profiles(), NAMES, types)
    return ProfiledSpeeds(np.full(len(types), 4), models, None, None, measured)


def test_machines_of_one_type_or_of_none_run_at_full_speed() -> None:
    for types in (["K80"] * 4, ["gpu"] * 4, ["big", "small"] * 2):
        assert on(*types).speed(LM, Placement((1,), (4,))) == FULL_SPEED


def test_a_gang_on_mixed_types_runs_at_the_slowest_ones_speed() -> None:
    speeds = on("V100", "K80", "K80")
    mixed, slow = Placement((0, 1), (4, 4)), Placement((1, 2), (4, 4))
    assert speeds.speed(LM, mixed) == speeds.speed(LM, slow)
    assert speeds.speed(LM, slow) == round(FULL_SPEED * 28.29 / 231.2)


def test_a_gang_spread_over_a_known_type_is_as_slow_as_was_measured() -> None:
    speeds = on(*["P100"] * 8)
    alone, halves = Placement((0, 1, 2, 3), (1, 1, 1, 1)), Placement((0, 1), (2, 2))
    assert speeds.speed(LM, alone) == round(FULL_SPEED * 26.68 / 55.0)
    assert speeds.speed(LM, alone) < speeds.speed(LM, halves) < FULL_SPEED


def test_idle_time_and_restarts_are_as_measured_for_a_gang_of_that_size() -> None:
    names = ["bert", "VGG16"]
    measured = MeasuredSpeeds(bundled_profiles(), names, ["gpu"] * 8)
    models = [profile_of(name) for name in names]
    speeds = ProfiledSpeeds(np.full(8, 4), models, None, None, measured)
    assert speeds.resume_cost_us(0, 4) == 10 * SECOND_US
    assert speeds.shared(VGG16, [VGG16], spread(1)) < speeds.shared(VGG16, [VGG16], spread(4, 4))


def test_the_exchange_with_servers_depends_on_placement_not_skew() -> None:
    gang = Gang(4, 4, 1, 1)
    for model in (VGG19, RESNET50):
        found = [SPEEDS.slowdown(model, spread(*counts), gang) for counts in [(4, 4), (1,) * 8]]
        assert found == [Slowdown(exchanging=0.5), Slowdown(exchanging=1.0)]


def test_jobs_without_servers_communicate_by_skew() -> None:
    found = SPEEDS.slowdown(VGG19, spread(2, 2), Gang(4, 0, 1, 0))
    assert found.communicating == pytest.approx(slowdown(VGG19, 2, 2), rel=1e-4)
    assert (found.computing, found.exchanging) == (1.0, 1.0)


def test_racks_make_all_of_a_jobs_messages_slower() -> None:
    speeds = ProfiledSpeeds(np.full(15, 4), [profile_of("vgg19")], None, RACKS)
    far = Placement((0, 5), (2, 2))
    found = speeds.slowdown(0, far, Gang(2, 2, 1, 1))
    alone = SPEEDS.slowdown(VGG19, far, Gang(4, 0, 1, 0)).communicating
    both = speeds.slowdown(0, far, Gang(4, 0, 1, 0)).communicating
    assert found.communicating == pytest.approx(1 + both - alone)
    assert found.exchanging == 0.5


def test_where_machines_do_not_matter_exchanging_takes_as_long_as_measured() -> None:
    assert SameEverywhere().slowdown(0, spread(4, 4), Gang(4, 4, 1, 1)) == Slowdown()


def test_a_model_without_a_known_restart_costs_the_median_of_the_known_ones(
    tmp_path: Path,
) -> None:
    """Sixteen models are known: six were measured at 4 to 46 s, ten published at 60 s and more.
    With three more of 100 s the median is a longer one of the published."""
    rows = "".join(f"{name},100\n" for name in "ABC")
    (tmp_path / "mine.csv").write_text(f"model,restart_s\n{rows}", "utf-8")
    cluster, names = ClusterSpec.uniform(1, 4), ["NobodyKnows"]
    costs_s = []
    for table in (bundled_profiles(), open_profiles(tmp_path / "mine.csv")):
        models = [table.profile(name) for name in names]
        measured = MeasuredSpeeds.of(table, names, cluster)
        speeds = ProfiledSpeeds(cluster.gpus, models, None, measured=measured)
        costs_s.append(speeds.resume_cost_us(0, 1) / SECOND_US)
    published = sorted(60 + size_mb / 600 for size_mb in SIZES_MB)
    assert costs_s[0] == pytest.approx((published[1] + published[2]) / 2, abs=1e-6)
    assert costs_s[1] == pytest.approx(published[3], abs=1e-6)
