"""Racks, types of GPU, packing and a learned limit at work in whole simulations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.catalogue import find_policies
from motet.placement.learned_skew import LearnedSkewPlanner
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.experiment import Experiment
from motet.sim.generate import Recipe, generate, parse_arrivals, parse_durations, parse_mix
from motet.sim.profiles import bundled_profiles
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.profiled import ProfiledSpeeds
from motet.sim.workload.workload import Workload

LM = "LM (batch size 80)"


def jobs(*rows: tuple[int, int, int], model: str = "") -> Workload:
    """(submit, duration, GPUs), in seconds."""
    return Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        models=[model] * len(rows),
    )


def ends_s(outcome: Outcome) -> list[float]:
    return (outcome.columns["end_us"] / SECOND_US).tolist()


def run(workload: Workload, cluster: ClusterSpec, policy: str = "fifo", **settings: str) -> Outcome:
    experiment = Experiment(policy, settings)
    experiment.check()
    return experiment.run(workload, cluster)


def tiresias_jobs() -> Workload:
    recipe = Recipe(
        480, parse_mix("tiresias-480"), parse_arrivals("poisson:30"), parse_durations("bins")
    )
    return generate(recipe, np.random.default_rng(0))


@pytest.mark.parametrize("placement", ["consolidate", "skew"])
def test_a_gang_stays_in_one_rack_where_it_can(placement: str) -> None:
    workload = jobs((0, 100, 1), (1, 100, 6), model="VGG19")
    racks = ClusterSpec.of([4, 2, 2, 4], rack=[0, 0, 1, 1])
    assert ends_s(run(workload, racks, placement=placement))[1] == 101


def test_a_gang_that_must_cross_racks_is_slower() -> None:
    workload = jobs((0, 100, 3), (0, 100, 3), (0, 100, 2), model="VGG19")
    one = ends_s(run(workload, ClusterSpec.of([4, 4])))
    two = ends_s(run(workload, ClusterSpec.of([4, 4], rack=[0, 1])))
    assert one[:2] == two[:2] == [100, 100]
    assert 100 < one[2] < two[2]


def test_jobs_on_slower_gpus_take_longer_by_the_measured_factor() -> None:
    workload = jobs((0, 100, 4), (0, 100, 4), model=LM)
    outcome = run(workload, ClusterSpec.of([4, 4], types=["V100", "K80"]))
    assert ends_s(outcome) == pytest.approx([100, 100 * 74.81 / 16.39], rel=1e-3)


def test_a_cluster_of_one_type_reproduces_trace_durations() -> None:
    workload = jobs((0, 100, 4), (0, 100, 4), model=LM)
    assert ends_s(run(workload, ClusterSpec.of([4, 4], types=["K80", "K80"]))) == [100, 100]


def test_gandiva_keeps_a_pair_together_that_gains_on_slow_gpus_too() -> None:
    workload = jobs(*[(0, 600, 1)] * 4, model="ResNet-18 (batch size 16)")
    slow = run(workload, ClusterSpec.of([1, 1], types=["V100", "K80"]), "gandiva")
    assert slow.columns["preemptions"].sum() == 0


def test_gandiva_separates_a_pair_that_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("model,type,gpus,beside,steps_per_s\nA,V100,1,,5\nA,V100,1,A,0\n", "utf-8")
    workload, cluster = jobs((0, 60, 1), (0, 60, 1), model="A"), ClusterSpec.of([1], types=["V100"])
    outcome = run(
        workload, cluster, "gandiva", profiles=str(path), quantum_s="10", preemption_cost="0"
    )
    assert outcome.columns["preemptions"].sum() > 0
    assert ends_s(outcome)[-1] < 135


def test_the_limit_is_learned_between_models_that_mind_and_models_that_do_not() -> None:
    workload, cluster = tiresias_jobs(), ClusterSpec.uniform(15, 4)
    models = tuple(map(bundled_profiles().profile, workload.model_names))
    policy = find_policies("tiresias-las")["tiresias-las"]()
    planner = LearnedSkewPlanner(models, cluster, ConsolidatingPlanner(), prior=1.0)
    speeds = ProfiledSpeeds(cluster.gpus, models, 0)
    Simulation(workload, cluster, policy, planner, speeds).run()
    by_skew = {model.name: model.skew for model in models}
    assert by_skew["GoogLeNet"] < planner.pack_limit < by_skew["AlexNet"]


def test_a_learned_limit_is_as_good_as_the_one_that_we_chose_and_repeatable() -> None:
    workload, cluster = tiresias_jobs(), ClusterSpec.uniform(15, 4)
    learned = [run(workload, cluster, "tiresias-las", pack_limit="auto") for _ in range(2)]
    assert ends_s(learned[0]) == ends_s(learned[1])
    chosen = run(workload, cluster, "tiresias-las")
    assert learned[0].jct_us.mean() == pytest.approx(chosen.jct_us.mean(), rel=0.02)


def test_preemptions_have_the_costs_of_the_profiles() -> None:
    workload = jobs((0, 7200, 4), (3600, 60, 4), model="gpt2")
    outcome = run(workload, ClusterSpec.of([4]), "tiresias-las", preemption_cost="profile")
    assert outcome.columns["overhead_us"].tolist() == [10 * SECOND_US, 0]


@pytest.mark.parametrize("text", ["maybe", "2", "-1"])
def test_a_limit_that_is_no_skew_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="0 to 1, or auto"):
        Experiment("fifo", {"pack_limit": text}).check()


def test_profiles_that_cannot_be_read_are_refused_before_anything_runs() -> None:
    with pytest.raises(BadInput, match=r"nowhere\.csv"):
        Experiment("fifo", {"profiles": "nowhere.csv"}).check()
