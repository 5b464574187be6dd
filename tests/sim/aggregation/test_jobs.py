"""Which jobs of a log have servers, and what they need from Aggregators."""

from __future__ import annotations

import numpy as np
import pytest

from motet.aggregation.planner.assignment import assign
from motet.aggregation.planner.pool import AggregatorPool
from motet.domain.errors import UnknownName
from motet.domain.units import SECOND_US
from motet.sim.aggregation.jobs import (
    JobAssumptions,
    TraceWindow,
    aggregation_profile,
    service_jobs,
)
from motet.sim.aggregation.models import MODELS
from service_cases import jobs_of, workload_of

ALEXNET, VGG19, BERT = 0, 1, 3


def test_jobs_of_one_gpu_have_no_servers() -> None:
    jobs = jobs_of([("bert", 0, 10, 1), ("bert", 1, 10, 2), ("bert", 2, 10, 8), ("bert", 3, 10, 9)])
    assert jobs.ids == ("j1", "j2", "j3")
    assert jobs.servers.tolist() == [1, 2, 3]


@pytest.mark.parametrize(("per_worker", "servers"), [(1, 4), (0.5, 2), (0.3, 2), (2, 8)])
def test_servers_follow_from_workers_rounded_up(per_worker: float, servers: int) -> None:
    jobs = jobs_of([("vgg19", 0, 10, 16)], JobAssumptions(servers_per_worker=per_worker))
    assert jobs.servers.tolist() == [servers]


def test_a_window_cuts_the_jobs_that_run_into_it_and_out_of_it() -> None:
    rows = [("bert", 0, 40, 8), ("bert", 50, 10, 8), ("bert", 65, 100, 8), ("bert", 200, 5, 8)]
    window = TraceWindow(30 * SECOND_US, 50 * SECOND_US)
    jobs = service_jobs(workload_of(rows), JobAssumptions(), window, seed=0)
    assert jobs.ids == ("j0", "j1", "j2")
    assert (jobs.arrives_us / SECOND_US).tolist() == [0, 20, 35]
    assert (jobs.ends_us / SECOND_US).tolist() == [10, 30, 50]


def test_models_that_aggregators_do_not_know_are_drawn_for_each_seed() -> None:
    rows = [("VGG-19", 0, 9, 8), *[("resnet50", 0, 9, 8)] * 40, *[("", 0, 9, 8)] * 40]
    drawn = [
        service_jobs(workload_of(rows), JobAssumptions(), TraceWindow(), seed).model.tolist()
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][0] == VGG19
    assert set(drawn[0]) == set(range(len(MODELS)))


def test_the_work_of_an_iteration_grows_with_the_workers_and_their_bytes() -> None:
    for model in (ALEXNET, VGG19, BERT):
        two, four = (aggregation_profile(model, n, n, 1.0, 0.01) for n in (2, 4))
        assert four.work_ns == pytest.approx(2 * two.work_ns, rel=1e-4)
        assert two.work_ns == pytest.approx(2 * 0.01 * MODELS[model].size_bytes, rel=1e-4)
        assert four.iteration_ns == two.iteration_ns


def test_servers_that_cannot_follow_make_the_iteration_longer() -> None:
    alone = aggregation_profile(ALEXNET, 4, 4, 1.0)
    slow = aggregation_profile(ALEXNET, 4, 1, 1.0)
    assert slow.iteration_ns == pytest.approx(slow.work_ns, rel=1e-6)
    assert slow.iteration_ns > alone.iteration_ns


def test_links_transfer_the_gradients_of_all_workers() -> None:
    fast = aggregation_profile(ALEXNET, 4, 2, 1.0, link_bps=100 * 10**9)
    assert fast.link_ns is not None
    seconds = 4 * MODELS[ALEXNET].size_bytes * 8 / 100e9
    assert fast.link_ns.sum() == pytest.approx(seconds * 1e9, rel=1e-6)
    assert fast.iteration_ns == aggregation_profile(ALEXNET, 4, 2, 1.0).iteration_ns


def test_links_that_cannot_follow_make_the_iteration_longer() -> None:
    slow = aggregation_profile(ALEXNET, 4, 1, 1.0, link_bps=10**9)
    assert slow.iteration_ns == slow.need_ns > aggregation_profile(ALEXNET, 4, 1, 1.0).iteration_ns
    found = assign(AggregatorPool(), slow)
    assert found is not None
    assert found.new == 1


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_a_job_that_its_servers_slow_down_fits_on_as_many_aggregators(servers: int) -> None:
    slow = aggregation_profile(ALEXNET, 8, servers, 1.0)
    found = assign(AggregatorPool(), slow)
    assert found is not None
    assert found.new == servers


def test_a_big_tensor_is_cut_into_a_part_for_each_server() -> None:
    whole, cut = (aggregation_profile(VGG19, n, n, 1.0) for n in (1, 3))
    big = sum(size > 1_000_000 for size in MODELS[VGG19].tensors)
    assert whole.tensors == 39
    assert cut.tensors == 39 + 2 * big
    assert np.count_nonzero(cut.tensor_ns == cut.tensor_ns.max()) == 3


def test_iterations_differ_by_the_spread_at_most() -> None:
    jobs = jobs_of([("bert", 0, 9, 8)] * 50, JobAssumptions(spread=0.2))
    scale = np.array([each.iteration_ns for each in jobs.profiles]) / (
        MODELS[BERT].iteration_ms * 1e6
    )
    assert scale.min() >= 0.8
    assert scale.max() <= 1.2
    assert np.ptp(scale) > 0.2


def test_a_queue_may_have_its_own_limit() -> None:
    workload = workload_of([("bert", 0, 9, 8), ("bert", 1, 9, 8)], queues=["prod", "test"])
    assumed = JobAssumptions(queue_limits={"prod": 0.02})
    jobs = service_jobs(workload, assumed, TraceWindow(), seed=0)
    assert [each.loss_limit for each in jobs.profiles] == [0.02, None]
    with pytest.raises(UnknownName, match="unknown queue 'prd'"):
        service_jobs(workload, JobAssumptions(queue_limits={"prd": 0.02}), TraceWindow(), seed=0)
