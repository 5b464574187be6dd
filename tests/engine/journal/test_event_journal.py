"""The events of a run are all that its decisions depend on."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload, rows_on
from event_journal import EventJournal, read_journal, replay
from example_count import examples
from motet.domain.actions import Action
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.events import Drained, Event, MachineCame, MachineLeft
from motet.domain.policy import Policy
from motet.domain.snapshot import Queues, Snapshot
from motet.domain.units import NEVER_US, SECOND_US
from motet.engine.measurements.fitters import fitted_measurements
from motet.engine.measurements.machine_monitor import MachineMonitor
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.simulation import Simulation
from motet.sim.replay.slow_machines import PaceChange
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.interventions import Interventions, TimedEvent
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak

CLUSTER = ClusterSpec.of([4, 4, 2])


class Transcript:
    """Decisions as text, to the last digit."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        reasons = decision.reasons
        columns = {
            "numbers": snapshot.jobs.number,
            "gpus": decision.gpus,
            "code": reasons.code,
            "free": reasons.free_gpus,
            "position": reasons.position,
            **{name: getattr(decision, name) for name in ("workers", "servers", "share", "group")},
            **decision.memory,
        }
        shown = {name: None if it is None else it.tolist() for name, it in columns.items()}
        measure = None if reasons.measure is None else reasons.measure.tolist()
        places = dict(decision.places)
        self.lines.append(
            repr((now_us, shown, measure, places, decision.recheck_at_us, list(actions)))
        )


class Both:
    """Two journals in one."""

    def __init__(self, *journals: Any) -> None:
        self._journals = journals

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        for journal in self._journals:
            journal.received(now_us, events)

    def decided(self, *told: Any) -> None:
        for journal in self._journals:
            journal.decided(*told)


def machines() -> st.SearchStrategy[list[TimedEvent]]:
    """One machine drains, leaves and comes again, the last of them early enough for all jobs."""
    times = st.lists(st.integers(0, 40), min_size=3, max_size=3).map(sorted)

    def events(drawn: tuple[int, list[int]]) -> list[TimedEvent]:
        machine, (drain, leave, come) = drawn
        return [
            (drain * SECOND_US, Drained(machine)),
            (leave * SECOND_US, MachineLeft(machine)),
            (come * SECOND_US, MachineCame(machine)),
        ]

    return st.just([]) | st.tuples(st.integers(0, CLUSTER.size - 1), times).map(events)


@st.composite
def interventions(draw: Any, rows: list[Row]) -> Interventions:
    """Some jobs are cancelled, some suspended and resumed, at or after their submission."""

    def later(after_us: list[int], least_s: int) -> list[int]:
        wait = st.none() | st.integers(least_s, 30)
        waits = draw(st.lists(wait, min_size=len(rows), max_size=len(rows)))
        return [
            NEVER_US if wait_s is None or base_us == NEVER_US else base_us + wait_s * SECOND_US
            for wait_s, base_us in zip(waits, after_us, strict=True)
        ]

    submit_us = [row.submit_s * SECOND_US for row in rows]
    suspend_us = later(submit_us, 0)
    return Interventions.of(later(submit_us, 0), suspend_us, later(suspend_us, 1))


@st.composite
def scenarios(draw: Any) -> tuple[Workload, list[TimedEvent], list[PaceChange]]:
    rows: list[Row] = draw(rows_on(CLUSTER.gpu_count, most=8))
    pace = st.builds(
        PaceChange,
        st.integers(0, 40).map(lambda second: second * SECOND_US),
        st.integers(0, CLUSTER.size - 1),
        st.sampled_from([1.0, 3.0]),
    )
    paces = sorted(draw(st.lists(pace, max_size=4)))
    users = draw(interventions(rows))
    return elastic_workload(rows, interventions=users), draw(machines()), paces


def measurements_for(policy: Any) -> Any:
    return fitted_measurements() if policy.wants_estimates else None


def simulation(
    policy: Policy,
    scenario: tuple[Workload, list[TimedEvent], list[PaceChange]],
    journal: Any = None,
    cost_us: int = SECOND_US,
) -> Simulation:
    workload, timeline, paces = scenario
    return Simulation(
        workload,
        CLUSTER,
        policy,
        ConsolidatingPlanner(),
        SameEverywhere(cost_us),
        journal=journal,
        measurements=measurements_for(policy),
        paces=MachinePaces(iter(paces)),
        timeline=timeline,
    )


def fresh_engine(policy: Any, journal: Any, *, watches_machines: bool) -> Engine:
    state = ClusterState(CLUSTER, policy.memory_columns, {}, Queues())
    return Engine(
        policy,
        ConsolidatingPlanner(),
        state,
        journal,
        measurements=measurements_for(policy),
        monitor=MachineMonitor(CLUSTER.size) if watches_machines else None,
    )


def policies() -> Mapping[str, Any]:
    return built_in_policies()


FEW = ("tiresias-las", "themis", "gandiva", "harmony", "slaq", "yarn-cs")
FEWER = ("tiresias-las", "themis", "harmony")


@pytest.mark.parametrize("name", others_in_soak(policies(), FEW))
@settings(max_examples=examples(60))
@given(scenario=scenarios())
def test_folding_the_journal_of_a_run_gives_the_same_decisions(name: str, scenario: Any) -> None:
    policy = policies()[name]
    written, transcript = io.StringIO(), Transcript()
    simulation(policy(), scenario, Both(EventJournal(written), transcript)).run()
    again = Transcript()
    engine = fresh_engine(policy(), again, watches_machines=bool(scenario[2]))
    replay(engine, read_journal(written.getvalue().splitlines()))
    assert again.lines == transcript.lines


@pytest.mark.parametrize("name", others_in_soak(policies(), FEWER))
@settings(max_examples=examples(60))
@given(scenario=scenarios(), stop_s=st.integers(0, 80))
def test_a_simulation_goes_on_from_any_instant(name: str, scenario: Any, stop_s: int) -> None:
    policy = policies()[name]
    whole = simulation(policy(), scenario).run()
    first = simulation(policy(), scenario)
    first.run(until_us=stop_s * SECOND_US)
    captured = first.capture()
    first.run()
    then = simulation(policy(), scenario)
    then.restore(captured)
    outcome = then.run()
    for name_, column in whole.columns.items():
        assert column.tolist() == outcome.columns[name_].tolist(), name_
    assert whole.waited_us.tolist() == outcome.waited_us.tolist()
    assert whole.times_us.tolist() == outcome.times_us.tolist()
