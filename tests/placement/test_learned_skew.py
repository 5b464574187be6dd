"""The limit is learned from how fast spread gangs ran, and from nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.model_profile import profile_of
from motet.domain.snapshot import UNKNOWN, Placement
from motet.placement.learned_skew import LearnedSkewPlanner
from motet.placement.planners import ConsolidatingPlanner

VGG19, RESNET50, GOOGLENET = range(3)
MODELS = [profile_of(name) for name in ("VGG19", "ResNet50", "GoogLeNet")]
TOGETHER, SPREAD = Placement((0, 1), (4, 4)), Placement((0, 1, 2), (4, 3, 1))


def planner(cluster: ClusterSpec | None = None) -> LearnedSkewPlanner:
    machines = cluster or ClusterSpec.uniform(4, 4)
    return LearnedSkewPlanner(MODELS, machines, ConsolidatingPlanner(), 0.3)


def test_a_spread_gang_counts_once_there_is_a_consolidated_one_to_compare_with() -> None:
    learner = planner()
    for model, rate in [(VGG19, 6_000), (RESNET50, 9_900)]:
        learner.observe(model, SPREAD, rate)
    assert learner.pack_limit == 0.3
    for model in (VGG19, RESNET50):
        learner.observe(model, TOGETHER, 10_000)
    assert learner.pack_limit == pytest.approx((MODELS[VGG19].skew + MODELS[RESNET50].skew) / 2)


def test_the_learned_limit_changes_which_models_are_consolidated() -> None:
    learner, free = planner(), np.array([2, 4, 4, 1])
    assert learner.place(free, 4, GOOGLENET).machines == (0, 1, 3)
    for model, rate in [(VGG19, 6_000), (GOOGLENET, 8_000), (RESNET50, 10_000)]:
        learner.observe(model, TOGETHER, 10_000)
        learner.observe(model, SPREAD, rate)
    assert learner.place(free, 4, GOOGLENET).machines == (1,)
    assert learner.place(free, 4, RESNET50).machines == (0, 1, 3)


def test_slower_gpus_are_not_taken_for_harm_by_spreading() -> None:
    learner = planner(ClusterSpec.of([4] * 4, types=["V100", "V100", "K80", "K80"]))
    learner.observe(VGG19, Placement((0, 1), (4, 4)), 10_000)
    learner.observe(VGG19, Placement((2, 3), (4, 4)), 1_000)
    learner.observe(RESNET50, Placement((0, 1), (4, 4)), 10_000)
    learner.observe(RESNET50, Placement((0, 2), (4, 4)), 1_000)
    learner.observe(RESNET50, Placement((0, 1, 2), (3, 3, 2)), 1_000)
    assert learner.pack_limit == 0.3


def test_to_cross_racks_needlessly_is_to_be_spread() -> None:
    learner = planner(ClusterSpec.of([4] * 4, rack=[0, 0, 1, 1]))
    for model, rate in [(VGG19, 6_000), (RESNET50, 10_000)]:
        learner.observe(model, Placement((0, 1), (4, 4)), 10_000)
        learner.observe(model, Placement((1, 2), (4, 4)), rate)
    assert learner.pack_limit > 0.3


def test_single_gpus_and_unknown_models_teach_nothing() -> None:
    learner = planner()
    learner.observe(UNKNOWN, TOGETHER, 10_000)
    learner.observe(UNKNOWN, SPREAD, 1)
    learner.observe(VGG19, Placement((0,), (1,)), 10_000)
    assert learner.pack_limit == 0.3
