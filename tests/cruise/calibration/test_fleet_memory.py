"""Costs of machines that work now, and of machines that worked before."""

from __future__ import annotations

import pytest

from batch_measurements import measurement
from motet.cruise.calibration.averages import MovingAverages
from motet.cruise.calibration.fleet_memory import FleetMemory
from motet.cruise.calibration.fleet_view import FleetView
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.machine_state import MachineState
from motet.estimate.epoch_cost import Configuration, Profile, exchange_s

PROFILE = Profile(1_000, 100, 1e6, data_blocks=4, model_blocks=4)


def candidates(*kinds: str) -> list[CandidateMachine]:
    return [CandidateMachine(number, kind) for number, kind in enumerate(kinds)]


def one_server(*workers: int, server: int) -> list[MachineState]:
    """All data on the workers, all of the model on one server."""
    shares = {worker: range(i, 4, len(workers)) for i, worker in enumerate(workers)}
    states = [MachineState(worker, None, tuple(share)) for worker, share in shares.items()]
    return [*states, MachineState(server, None, (), (0, 1, 2, 3))]


def averages_of(comp_s: dict[int, float], comm_s: float = 0.5) -> MovingAverages:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart(comp_s)
    for machine, seconds in comp_s.items():
        averages.observe(measurement(machine, seconds, comm_s, pulled_bytes=5e5, pushed_bytes=5e5))
    return averages


def calibrated(
    memory: FleetMemory,
    machines: list[CandidateMachine],
    states: list[MachineState],
    averages: MovingAverages,
) -> FleetView:
    view = memory.view(machines, states, averages.comp_s())
    return memory.calibrate(view, PROFILE, averages)[0]


def test_a_view_lists_what_machines_hold_group_by_group() -> None:
    states = one_server(1, 2, server=0)
    view = FleetMemory().view(candidates("a", "b", "a", "b"), states, {})
    assert view.machines == [0, 2, 1, 3]
    assert view.type_of == {0: 0, 2: 0, 1: 1, 3: 1}
    assert view.current == Configuration((0, 2, 2, 0), (4, 0, 0, 0))
    assert [kind.count for kind in view.fleet.types] == [2, 2]


def test_a_new_memory_is_empty_until_something_is_measured() -> None:
    memory = FleetMemory()
    assert memory.is_empty
    calibrated(memory, candidates("a", "a"), one_server(0, server=1), averages_of({0: 0.01}))
    assert not memory.is_empty


def test_the_calibrated_view_takes_as_long_as_was_measured() -> None:
    memory, states = FleetMemory(), one_server(0, 1, server=2)
    averages = averages_of({0: 0.01, 1: 0.01}, comm_s=0.25)
    view = calibrated(memory, candidates("a", "a", "a"), states, averages)
    assert view.fleet.types[0].comp_s_per_instance == pytest.approx(0.01)
    # A push of half the bytes at an idle link is latency, which the fleet leaves out.
    latency_s = 0.25 * 0.5 / (0.5 * 2 + 0.5)
    predicted_s = exchange_s(PROFILE, view.fleet, view.current)[0]
    assert predicted_s == pytest.approx(0.25 - latency_s)


def test_a_machine_that_serves_now_keeps_the_speed_with_which_it_worked() -> None:
    memory, machines = FleetMemory(), candidates("a", "a", "a")
    averages = averages_of({0: 0.01, 1: 0.04})
    calibrated(memory, machines, one_server(0, 1, server=2), averages)
    later = memory.view(machines, one_server(0, 2, server=1), averages_of({0: 0.01}).comp_s())
    assert [group.machines for group in later.groups] == [(0, 2), (1,)]
    assert later.fleet.types[1].comp_s_per_instance == pytest.approx(0.04)


def test_a_machine_that_never_worked_is_taken_for_one_of_its_kind() -> None:
    memory = FleetMemory()
    averages = averages_of({0: 0.01, 1: 0.03})
    machines = candidates("a", "b", "b", "c")
    calibrated(memory, machines, one_server(0, 1, server=2), averages)
    view = memory.view(machines, [], {})
    assert [kind.comp_s_per_instance for kind in view.fleet.types] == pytest.approx(
        [0.01, 0.03, (0.01 * 0.03) ** 0.5]
    )


def test_machines_of_a_kind_have_equal_links_unless_they_differ_a_lot() -> None:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0, 1, 2])
    for machine, comp_s, comm_s in ((0, 0.01, 0.5), (1, 0.01, 0.5), (2, 0.04, 0.6)):
        averages.observe(measurement(machine, comp_s, comm_s))
    machines, states = candidates("a", "a", "a", "a"), one_server(0, 1, 2, server=3)
    near = calibrated(FleetMemory(), machines, states, averages)
    assert len(near.groups) == 2
    assert near.fleet.bandwidths[1, 0] == near.fleet.bandwidths[0, 0]
    averages.observe(measurement(2, 0.04, 1.4))
    far = calibrated(FleetMemory(), machines, states, averages)
    assert far.fleet.bandwidths[1, 0] == pytest.approx(far.fleet.bandwidths[0, 0] / 2)


def exchange_latency(memory: FleetMemory, bytes_and_times: dict[float, float]) -> float:
    """The part of the last exchange that the calibrated fleet leaves out.

    One worker and one server that exchange without a queue.
    """
    machines, states = candidates("a", "a"), one_server(0, server=1)
    left_out = 0.0
    for moved_bytes, took_s in bytes_and_times.items():
        profile = Profile(1_000, 100, moved_bytes, data_blocks=4, model_blocks=4)
        averages = MovingAverages(skipped=0, least=1)
        averages.restart([0])
        averages.observe(measurement(0, 0.01, took_s, pulled_bytes=moved_bytes))
        view = memory.view(machines, states, averages.comp_s())
        view, _ = memory.calibrate(view, profile, averages)
        left_out = took_s - float(exchange_s(profile, view.fleet, view.current)[0])
    return left_out


def test_the_latency_is_where_a_line_through_several_configurations_begins() -> None:
    assert exchange_latency(FleetMemory(), {1e6: 1.1, 2e6: 2.1, 4e6: 4.1}) == pytest.approx(0.1)


@pytest.mark.parametrize("times_s", [{1e6: 1.1}, {1e6: 1.1, 1.2e6: 1.3}, {1e6: 2.0, 2e6: 1.0}])
def test_too_few_or_contradictory_exchanges_give_no_latency(times_s: dict[float, float]) -> None:
    assert exchange_latency(FleetMemory(), times_s) == pytest.approx(0)


def test_forgotten_exchanges_give_no_latency() -> None:
    memory = FleetMemory()
    exchange_latency(memory, {1e6: 1.1, 2e6: 2.1})
    memory.forget_exchanges()
    assert exchange_latency(memory, {4e6: 4.1}) == pytest.approx(0)
