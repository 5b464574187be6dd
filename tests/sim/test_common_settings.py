"""Texts of the common settings become planners, speeds and costs, or one clear error."""

from __future__ import annotations

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, MotetError, UnknownName
from motet.placement.ilp import IlpPlanner
from motet.placement.learned_skew import LearnedSkewPlanner
from motet.placement.planners import (
    ConsolidatingPlanner,
    CountPlanner,
    FragmentPlanner,
    RandomPlanner,
    SkewPlanner,
    SpreadPlanner,
)
from motet.placement.racks import RackPlanner
from motet.policies.fifo import Fifo
from motet.policies.gandiva import Gandiva
from motet.sim.common_settings import COMMON_SETTINGS, PLACEMENTS, CommonSettings
from motet.sim.speeds.profiled import ProfiledRestarts, ProfiledSpeeds
from motet.sim.speeds.speed_model import SameEverywhere

CLUSTER = ClusterSpec.uniform(2, 4)
PLANNERS = {
    "consolidate": ConsolidatingPlanner,
    "count": CountPlanner,
    "fragments": FragmentPlanner,
    "ilp": IlpPlanner,
    "random": RandomPlanner,
    "skew": SkewPlanner,
    "spread": SpreadPlanner,
}


def settings_of(**texts: str) -> CommonSettings:
    return CommonSettings.of(texts, Fifo, seed=3)


def speeds_of(**texts: str) -> object:
    common = settings_of(**texts)
    return common.speeds(CLUSTER, (), (), common.profiles())


def test_every_placement_has_a_planner() -> None:
    assert set(PLANNERS) == set(PLACEMENTS)
    for name, kind in PLANNERS.items():
        assert type(settings_of(placement=name).planner(CLUSTER, ())) is kind


def test_a_learned_pack_limit_has_a_planner_of_its_own() -> None:
    common = settings_of(placement="skew", pack_limit="auto")
    assert type(common.planner(CLUSTER, ())) is LearnedSkewPlanner


def test_consolidation_prefers_a_rack_only_where_there_are_several() -> None:
    two_racks = ClusterSpec.of([4, 4], rack=[0, 1])
    assert type(settings_of().planner(CLUSTER, ())) is ConsolidatingPlanner
    assert type(settings_of().planner(two_racks, ())) is RackPlanner


def test_the_default_placement_is_that_of_the_policy() -> None:
    assert CommonSettings.of({}, Gandiva, 0).placement == Gandiva.placement
    assert CommonSettings.of({"placement": "count"}, Gandiva, 0).placement == "count"


def test_settings_of_the_policy_are_left_out() -> None:
    assert set(settings_of(thresholds="3200").texts) == set(COMMON_SETTINGS)


def test_speeds_follow_placement_and_costs() -> None:
    assert type(speeds_of(placement="count", preemption_cost="3")) is SameEverywhere
    assert type(speeds_of(placement="count", preemption_cost="profile")) is ProfiledRestarts
    assert type(speeds_of(placement="consolidate")) is ProfiledSpeeds


def test_the_record_shows_rare_settings_only_if_they_were_changed() -> None:
    assert "slow_machines" not in settings_of().recorded()
    assert settings_of(slow_machines="0.1,60,2").recorded()["slow_machines"] == "0.1,60,2"


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ({"placement": "nearby"}, UnknownName, "placement"),
        ({"pack_limit": "2"}, BadInput, "pack_limit=2: give a skew, 0 to 1, or auto"),
        ({"preemption_cost": "-1"}, BadInput, "preemption_cost=-1: give profile or seconds"),
        ({"rescale_cost": "x"}, BadInput, "rescale_cost=x: give profile, preemption or seconds"),
        ({"slow_machines": "often"}, BadInput, "slow_machines"),
        ({"min_runtime": "-1"}, BadInput, "min_runtime=-1: give seconds from 0 to"),
        ({"preemptions_per_hour": "0"}, BadInput, "preemptions_per_hour=0: give a number above 0"),
        ({"preemptions_per_hour": "nan"}, BadInput, "preemptions_per_hour=nan: give a number"),
        ({"preemptions_per_hour": "x"}, BadInput, "preemptions_per_hour=x: give a number above 0"),
        ({"server_balance": "odd"}, MotetError, "odd"),
    ],
)
def test_a_value_that_no_run_can_use_is_refused(
    texts: dict[str, str], error: type[MotetError], message: str
) -> None:
    with pytest.raises(error, match=message):
        settings_of(**texts).check()
