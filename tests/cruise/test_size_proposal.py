"""The size that a job asks for, by the cost model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.cruise.decision import LEAST_GAIN, SizeProposal
from motet.cruise.search.homogeneous import homogeneous_epochs
from motet.cruise.search.problem import RoleMode
from motet.cruise.size_proposal import SizeBounds, propose_size
from motet.domain.reconfiguration import RoleCounts
from motet.estimate.epoch_cost import Fleet, Profile

PROFILE = Profile(20_000, 500, 2e6, data_blocks=96, model_blocks=48)
BOUNDS = SizeBounds(RoleCounts(1, 1), RoleCounts(6, 2))


def fleet(machines: int, comp_s: float = 2e-4, bandwidth: float = 1e8) -> Fleet:
    return Fleet.uniform(machines, comp_s, bandwidth)


def best_s(found: Fleet, bounds: SizeBounds = BOUNDS) -> float:
    """The shortest epoch with these machines and roles within the bounds."""
    workers, epochs_s = homogeneous_epochs(PROFILE, found, RoleMode.SEPARATE)
    return min(
        float(epoch)
        for count, epoch in zip(workers.tolist(), epochs_s, strict=True)
        if bounds.least.workers <= count <= bounds.most.workers
        and bounds.least.servers <= found.size - count <= bounds.most.servers
    )


def test_a_job_that_computes_asks_for_more_workers() -> None:
    present = fleet(2, bandwidth=1e10)
    proposal = propose_size(PROFILE, present, BOUNDS, best_s(present))
    assert proposal is not None
    assert proposal.roles == RoleCounts(6, 1)
    assert proposal.gain > 0.5


def test_a_job_that_exchanges_most_of_the_time_gives_machines_back() -> None:
    present = fleet(8, comp_s=1e-7, bandwidth=1e6)
    proposal = propose_size(PROFILE, present, BOUNDS, best_s(present))
    assert proposal is not None
    assert proposal.roles.executors < 8
    assert proposal.gain > -LEAST_GAIN


@settings(max_examples=examples(100))
@given(
    machines=st.integers(2, 8),
    comp_s=st.floats(1e-7, 1e-3),
    bandwidth=st.floats(1e5, 1e9),
    overhead_s=st.floats(0, 2),
)
def test_a_job_with_the_size_that_it_asked_for_asks_for_no_other(
    machines: int, comp_s: float, bandwidth: float, overhead_s: float
) -> None:
    present = fleet(machines, comp_s, bandwidth)
    now_s = best_s(present) + overhead_s
    proposal = propose_size(PROFILE, present, BOUNDS, now_s, overhead_s)
    if proposal is None:
        return
    then = fleet(proposal.roles.executors, comp_s, bandwidth)
    assert proposal.then_s == pytest.approx(best_s(then) + overhead_s)
    assert propose_size(PROFILE, then, BOUNDS, proposal.then_s, overhead_s) is None


def test_noise_that_may_be_the_whole_gain_leads_to_no_growth() -> None:
    present = fleet(2)
    assert propose_size(PROFILE, present, BOUNDS, best_s(present), error=0.95) is None


@pytest.mark.parametrize(("epochs_left", "pays_off"), [(9, False), (11, True)])
def test_a_larger_size_has_to_save_more_than_a_restart_takes(
    epochs_left: int, pays_off: bool
) -> None:
    proposal = SizeProposal(RoleCounts(4, 1), 2, now_s=2.0, then_s=1.0)
    assert proposal.pays_off(epochs_left, move_s=10.0) is pays_off


@pytest.mark.parametrize(("epochs_left", "pays_off"), [(19, False), (21, True)])
def test_a_smaller_size_has_to_free_more_than_a_restart_takes(
    epochs_left: int, pays_off: bool
) -> None:
    proposal = SizeProposal(RoleCounts(1, 1), 4, now_s=1.0, then_s=1.0)
    assert proposal.pays_off(epochs_left, move_s=10.0) is pays_off
