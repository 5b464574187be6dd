"""A job that is driven by a tuner: where it ends, and how often it changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.cruise.decision import TuningReason
from motet.cruise.machine_state import MachineState
from motet.domain.reconfiguration import Delete, RoleCounts
from motet.estimate.epoch_cost import Profile
from simulated_job import SimulatedJob, even_states

PROFILE = Profile(20_000, 500, 2e6, data_blocks=96, model_blocks=48)
MACHINES = range(8)


def job(
    workers: int = 1, servers: int = 7, profile: Profile = PROFILE, **changes: Any
) -> SimulatedJob:
    fields: dict[str, Any] = {"comp_s": dict.fromkeys(MACHINES, 2e-4), "bandwidth": 1e8, **changes}
    states = even_states(list(fields["comp_s"]), workers, servers, profile)
    return SimulatedJob(profile, states=states, **fields)


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 10**6),
    noise=st.floats(0, 0.5),
    workers=st.integers(1, 7),
    comp_s=st.floats(1e-5, 1e-3),
    bandwidth=st.floats(1e6, 1e9),
)
def test_from_any_start_it_ends_near_the_optimum_and_stays_there(
    seed: int, noise: float, workers: int, comp_s: float, bandwidth: float
) -> None:
    driven = job(
        workers,
        8 - workers,
        comp_s=dict.fromkeys(MACHINES, comp_s),
        bandwidth=bandwidth,
        noise=noise,
        seed=seed,
    )
    changes = driven.live(looks=30)
    assert len(changes) <= 3
    if noise < 0.1:
        assert driven.epoch_s() <= driven.best_s() / 0.94


def test_a_decision_predicts_the_later_measurement() -> None:
    driven = job(noise=0.1, overhead_s=lambda workers, servers: 0.01)
    change = driven.live(looks=3)[-1]
    assert change.predicted_s == pytest.approx(driven.epoch_s(), rel=0.05)
    assert change.measured_s is not None
    assert change.gain == pytest.approx(1 - change.predicted_s / change.measured_s, abs=0.02)


@pytest.mark.parametrize("batch_size", [20_000, 10_000, 500])
def test_fast_workers_do_not_make_an_epoch_look_shorter_than_it_is(batch_size: int) -> None:
    comp_s = {**dict.fromkeys(MACHINES[:2], 1e-4), **dict.fromkeys(MACHINES[2:], 4e-4)}
    driven = job(5, 3, replace(PROFILE, batch_size=batch_size), comp_s=comp_s)
    took_s = driven.epoch_s()
    (change,) = driven.live(looks=1)
    assert change.measured_s == pytest.approx(took_s, rel=0.01)


def test_without_a_warm_up_nothing_is_decided() -> None:
    driven = job()
    driven.run(5)
    decision = driven.look()
    assert (decision.reason, decision.plan) == (TuningReason.WARMING_UP, None)
    assert decision.before == decision.after == RoleCounts(1, 7)


def test_a_slow_machine_gets_less_data_or_serves() -> None:
    driven = job(5, 3, noise=0.05)
    driven.live(looks=5)
    slowed = driven.workers[0]
    before = {state.machine: len(state.data_blocks) for state in driven.states}
    driven.comp_s[slowed] *= 4
    hurt_s = driven.epoch_s()
    driven.live(looks=8)
    after = {state.machine: len(state.data_blocks) for state in driven.states}
    assert after.get(slowed, 0) <= before[slowed] / 2
    assert driven.epoch_s() < 0.7 * hurt_s
    assert driven.epoch_s() <= driven.best_s() / 0.94


def test_a_slow_machine_that_serves_is_not_taken_for_a_normal_one() -> None:
    driven = job(7, 1, comp_s=dict.fromkeys(MACHINES, 2e-4), bandwidth=2e7)
    driven.comp_s[0] = 2e-3
    driven.live(looks=20)
    assert driven.epoch_s() <= driven.best_s() / 0.94
    assert len([decision for decision in driven.decisions if decision.plan]) <= 4


def test_machines_that_appear_are_used() -> None:
    few = dict.fromkeys(MACHINES[:4], 0.0002)
    driven = job(3, 1, comp_s=few)
    driven.live(looks=5)
    before_s = driven.epoch_s()
    driven.comp_s |= dict.fromkeys(MACHINES[4:], 2e-4)
    assert driven.live(looks=4)
    assert driven.epoch_s() < 0.7 * before_s


@pytest.mark.parametrize("batches", [0, 20])
@pytest.mark.parametrize("leaving", [[0], [7], [0, 7]])
def test_machines_that_are_reclaimed_are_emptied_at_once(leaving: list[int], batches: int) -> None:
    driven = job(7, 1)
    driven.run(batches)
    driven.look()
    driven.leaving = set(leaving)
    decision = driven.look()
    assert decision.reason is TuningReason.DRAIN
    assert not {state.machine for state in driven.states} & driven.leaving
    assert driven.configuration.worker_count >= 1
    assert sum(driven.configuration.model_blocks) == PROFILE.model_blocks


@pytest.mark.parametrize("batches", [0, 20])
def test_an_executor_without_blocks_on_a_reclaimed_machine_ends_and_nothing_else_changes(
    batches: int,
) -> None:
    driven = job(6, 1, comp_s=dict.fromkeys(MACHINES[:7], 2e-4))
    driven.run(batches)
    driven.look()
    before = list(driven.states)
    driven.comp_s[7] = 2e-4
    driven.states.append(MachineState(7, None, empty_roles=("worker",)))
    driven.leaving = {7}
    decision = driven.look()
    assert (decision.reason, decision.predicted_s) == (TuningReason.DRAIN, None)
    assert decision.plan is not None
    assert decision.plan.operations == (Delete(7),)
    assert driven.states == before


def test_with_one_machine_left_it_works_and_serves() -> None:
    driven = job(1, 1, comp_s={0: 1e-4, 1: 1e-4})
    driven.leaving = {0}
    driven.look()
    assert [(s.machine, bool(s.data_blocks), bool(s.model_blocks)) for s in driven.states] == [
        (1, True, True)
    ]


def test_a_single_machine_that_nothing_is_exchanged_with_is_measured_and_kept() -> None:
    driven = job(1, 1, comp_s={0: 1e-4, 1: 1e-4})
    driven.leaving = {0}
    driven.look()
    del driven.comp_s[0]
    driven.leaving = set()
    assert driven.live(looks=3) == []
    assert driven.decisions[-1].reason is TuningReason.TOO_LITTLE_GAIN


def test_where_all_machines_leave_nothing_is_decided() -> None:
    driven = job(1, 1, comp_s={0: 1e-4, 1: 1e-4})
    driven.leaving = {0, 1}
    assert driven.look().plan is None


def test_after_a_loss_the_rest_is_reconfigured_without_a_warm_up() -> None:
    driven = job(6, 2, bandwidth=3e7)
    driven.live(looks=4)
    lost = driven.workers[:3]
    for name in lost:
        del driven.comp_s[name]
    # The runtime goes on with what is left, somehow.
    driven.states = even_states(list(driven.comp_s), 1, 4, PROFILE)
    driven.tuner.restart(driven.workers)
    assert driven.look().reason is TuningReason.RECOVER
    assert driven.epoch_s() <= driven.best_s() * 1.001


def test_after_a_wrong_prediction_the_job_returns_and_stays() -> None:
    # Many workers cost what no cost model knows.
    driven = job(2, 6, overhead_s=lambda workers, servers: 1.0 if workers > 2 else 0.0)
    changes = driven.live(looks=20)
    assert [change.reason for change in changes] == [TuningReason.GAIN, TuningReason.BACK]
    assert driven.configuration.server_count == 6


def test_a_well_configured_job_is_not_changed() -> None:
    driven = job(noise=0.1)
    driven.live(looks=10)
    assert driven.live(looks=10) == []
    assert driven.decisions[-1].reason is TuningReason.TOO_LITTLE_GAIN


SPARSE = replace(PROFILE, touched=tuple((1 / n, n**-0.7) for n in (96, 48, 24, 12, 6, 3, 1)))


@pytest.mark.parametrize("workers", [1, 3, 7])
@pytest.mark.parametrize("slow", [2e-4, 6e-4])
def test_where_bytes_depend_on_shares_predictions_are_as_good(workers: int, slow: float) -> None:
    comp_s = {**dict.fromkeys(MACHINES[:6], 2e-4), **dict.fromkeys(MACHINES[6:], slow)}
    kinds = {name: "slow" if name in MACHINES[6:] else "fast" for name in MACHINES}
    driven = job(workers, 8 - workers, SPARSE, comp_s=comp_s, kinds=kinds, bandwidth=3e7)
    changes = driven.live(looks=12)
    assert driven.epoch_s() <= driven.best_s() / 0.94
    if slow == 2e-4 and changes:
        assert changes[0].predicted_s is not None
        assert driven.epoch_s() == pytest.approx(changes[-1].predicted_s, rel=0.01)
