"""Harmony in the simulator: groups, baselines, jobs that cannot be grouped, waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.errors import BadInput
from motet.domain.estimates import Overlap
from motet.domain.events import Drained, MachineCame, MachineLeft
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.harmony import Harmony
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from subtask_workloads import SubtaskRow, subtask_workload

GIB = 2**30
MACHINES = ClusterSpec.of([1] * 5, memory_bytes=32 * GIB)
POLICIES: dict[str, dict[str, Any]] = {
    "harmony": {},
    "paper": {"search": "paper"},
    "use": {"objective": "use"},
    "even ends": {"even_ends": 0.05},
    "asynchronous": {"async_efficiency": 0.9},
    "without reloading": {"reloading": False},
    "isolated": {"grouping": "isolated", "reloading": False},
    "naive": {"grouping": "naive", "naive_groups": 2, "reloading": False},
}


def every_policy(*fast: str) -> pytest.MarkDecorator:
    """`make test` runs the `fast` ones."""
    assert POLICIES.keys() >= {*fast}
    cases = [
        pytest.param(settings_, id=name, marks=() if name in fast else pytest.mark.soak)
        for name, settings_ in POLICIES.items()
    ]
    return pytest.mark.parametrize("settings_", cases)


@st.composite
def _rows(draw: Any) -> SubtaskRow:
    submit_s, steps = draw(st.integers(0, 200)), draw(st.integers(1, 20))
    if draw(st.integers(0, 4)) == 0:
        workers = draw(st.integers(1, 5))
        return SubtaskRow(submit_s, steps, None, 0.0, workers=workers, most_workers=workers + 2)
    comp_s, comm_s = draw(st.floats(0.1, 100.0)), draw(st.floats(0.0, 20.0))
    size = draw(st.sampled_from([0, 5 * GIB, 40 * GIB, 90 * GIB]))
    row = SubtaskRow(submit_s, steps, comp_s, comm_s, size, draw(st.integers(0, 20)) * GIB)
    return row._replace(overlap=draw(st.sampled_from(Overlap)), async_efficiency=0.8)


workloads = st.lists(_rows(), min_size=1, max_size=10)


class Watched(Policy):
    """A policy, with every snapshot and decision checked."""

    wants_estimates: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.memory_columns = policy.memory_columns
        self.codes: set[int] = set()
        self.spilled = 0.0

    def decide(self, snapshot: Snapshot) -> Decision:
        decision, again = self._policy.decide(snapshot), self._policy.decide(snapshot)
        assert decision.used_gpus <= snapshot.gpu_count
        np.testing.assert_array_equal(decision.gpus, again.gpus)
        assert decision.places == again.places
        np.testing.assert_array_equal(decision.reasons.code != Wait.RUNS, decision.gpus == 0)
        self.codes |= {*decision.reasons.code.tolist()}
        if decision.spill is not None and len(decision.spill):
            self.spilled = max(self.spilled, float(decision.spill.max()))
        return decision


class ChangedLater(Watched):
    """Other parameters after the first decision that lets a job train asynchronously, without the
    memory until then: whether the jobs of later decisions do."""

    def __init__(self, policy: Policy, later: Policy) -> None:
        super().__init__(policy)
        self._later = later
        self.asynchronous: list[bool] = []

    def decide(self, snapshot: Snapshot) -> Decision:
        if snapshot.jobs.is_asynchronous.any():
            size, self._policy = len(snapshot.jobs), self._later
            columns = self._later.memory_columns.items()
            blank = {name: np.full(size, value) for name, value in columns}
            decision = super().decide(replace(snapshot, memory=blank))
            assert decision.asynchronous is not None
            self.asynchronous.append(bool(decision.asynchronous.any()))
            return decision
        return super().decide(snapshot)


class SwitchesSeen(Watched):
    """Remembers in how many microseconds it decides again after it lets running jobs train another
    way."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.rechecks_us: list[int] = []

    def decide(self, snapshot: Snapshot) -> Decision:
        decision, jobs = super().decide(snapshot), snapshot.jobs
        if decision.asynchronous is not None:
            runs_on = (jobs.held_gpus > 0) & (decision.gpus > 0)
            if (runs_on & (decision.asynchronous != (jobs.is_asynchronous == 1))).any():
                self.rechecks_us.append(decision.recheck_at_us - snapshot.now_us)
        return decision


class StartsSeen(Watched):
    """Remembers the usual time of a start after each decision."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.usual_us: list[int] = []

    def decide(self, snapshot: Snapshot) -> Decision:
        decision = super().decide(snapshot)
        if decision.memory:  # There are jobs.
            self.usual_us.append(int(decision.memory["usual_start_up_us"].max()))
        return decision


def run(
    rows: list[SubtaskRow],
    policy: Policy,
    cost_us: int = 0,
    order: list[int] | None = None,
    cluster: ClusterSpec = MACHINES,
    timeline: Any = (),
) -> Outcome:
    return Simulation(
        subtask_workload(rows, order),
        cluster,
        policy,
        ConsolidatingPlanner(),
        SameEverywhere(cost_us),
        timeline=timeline,
    ).run()


@every_policy("harmony", "paper", "even ends", "asynchronous", "isolated")
@settings(max_examples=examples(25))
@given(rows=workloads, cost_us=st.sampled_from([0, 2 * SECOND_US]))
def test_every_job_does_its_steps_and_no_others(
    settings_: dict[str, Any], rows: list[SubtaskRow], cost_us: int
) -> None:
    outcome = run(rows, Watched(Harmony(**settings_)), cost_us)
    assert outcome.is_finished.all()
    done = np.zeros(len(rows))
    np.add.at(done, outcome.trained.job, outcome.trained.last_step - outcome.trained.first_step)
    assert outcome.workload.work is not None
    np.testing.assert_allclose(done, outcome.workload.work.steps, rtol=1e-9)
    waited_us = outcome.waited_us[1:].sum(axis=0)
    np.testing.assert_array_equal(waited_us, outcome.columns["waiting_us"])


@every_policy("harmony", "asynchronous", "isolated", "naive")
@settings(max_examples=examples(25))
@given(rows=workloads)
def test_no_machine_gives_more_gpus_than_it_has(
    settings_: dict[str, Any], rows: list[SubtaskRow]
) -> None:
    holds = run(rows, Harmony(**settings_)).holds
    for start_us in np.unique(holds.start_us).tolist():
        now = (holds.start_us <= start_us) & (start_us < holds.end_us)
        used = np.bincount(holds.machine[now], (holds.gpus / holds.sharers)[now], MACHINES.size)
        assert (used <= 1 + 1e-9).all()


@every_policy("harmony", "paper", "asynchronous")
@settings(max_examples=examples(15))
@given(rows=workloads, data=st.data())
def test_the_order_of_the_input_changes_nothing(
    settings_: dict[str, Any], rows: list[SubtaskRow], data: Any
) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    one = run(rows, Harmony(**settings_))
    other = run(rows, Harmony(**settings_), order=order)
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


@every_policy("harmony", "asynchronous")
@settings(max_examples=examples(25))
@given(rows=workloads, left=st.integers(0, 4), at_s=st.integers(1, 300), drains=st.booleans())
def test_all_jobs_finish_although_a_machine_leaves(
    settings_: dict[str, Any], rows: list[SubtaskRow], left: int, at_s: int, drains: bool
) -> None:
    away = Drained(left) if drains else MachineLeft(left)
    timeline = [(at_s * SECOND_US, away), ((at_s + 500) * SECOND_US, MachineLeft(left))]
    timeline.append(((at_s + 900) * SECOND_US, MachineCame(left)))
    assert run(rows, Harmony(**settings_), timeline=timeline).is_finished.all()


def test_complementary_jobs_share_all_machines() -> None:
    """On two machines COMP 5 + 1, COMM 1 + 5: 6 s for both, 12 s one after the other."""
    rows = [SubtaskRow(0, 1000, 10.0, 1.0), SubtaskRow(0, 1000, 2.0, 5.0)]
    cluster = ClusterSpec.uniform(2, 1)
    outcome = run(rows, Harmony(), cluster=cluster)
    assert outcome.holds.sharers.max() == 2
    end_s = outcome.columns["end_us"].max() / SECOND_US
    assert 6_000 <= end_s <= 6_200
    alone = run(rows, Harmony(grouping="isolated"), cluster=cluster)
    assert alone.holds.sharers.max() == 1


def test_jobs_do_not_share_machines_only_to_use_the_network_more() -> None:
    """On a machine each, COMP 1, COMM 3: 4 s. Together on both machines: 6 s, although the network
    of both is in use all of the time."""
    rows = [SubtaskRow(0, 1000, 1.0, 3.0), SubtaskRow(0, 1000, 1.0, 3.0)]
    ends_s = [
        run(rows, policy, cluster=ClusterSpec.uniform(2, 1)).columns["end_us"].max() / SECOND_US
        for policy in (Harmony(), Harmony(objective="use"))
    ]
    assert ends_s == pytest.approx([4_000, 6_000], rel=0.05)


@pytest.mark.parametrize("long", [(0, 1), (0, 2), (0, 3)])
def test_jobs_that_end_together_share_machines_if_ends_count(long: tuple[int, int]) -> None:
    """Four equal jobs, two of them long: two groups of two have the highest use."""
    rows = [SubtaskRow(0, 400 if job in long else 80, 4.0, 2.0) for job in range(4)]
    holds = run(rows, Harmony(even_ends=0.01), cluster=ClusterSpec.uniform(4, 1)).holds
    first = np.flatnonzero((holds.job == long[0]) & (holds.sharers == 2))[0]
    assert holds.partner[first] == long[1]


SHORT_JOBS = [
    SubtaskRow(0, 3 + (7 * job) % 11, 10.0 + (13 * job) % 40, 1.0 + (5 * job) % 9)
    for job in range(12)
]
START_US = 100 * SECOND_US
"""As long as several iterations of the jobs."""


def restarts_and_makespan_us(policy: Harmony) -> tuple[int, int]:
    outcome = run(SHORT_JOBS, policy, START_US)
    return int(outcome.columns["overhead_us"].sum()) // START_US, int(
        outcome.columns["end_us"].max()
    )


def test_short_jobs_do_not_move_where_starts_take_long() -> None:
    restarts, makespan_us = restarts_and_makespan_us(Harmony())
    free_restarts, free_makespan_us = restarts_and_makespan_us(Harmony(move_weight=0.0))
    assert restarts < free_restarts
    assert makespan_us < free_makespan_us


@pytest.mark.parametrize("cost_us", [0, START_US])
def test_the_time_of_a_start_is_that_of_the_simulation_and_outlives_the_jobs_that_started(
    cost_us: int,
) -> None:
    seen = StartsSeen(Harmony(move_weight=0.0))
    run(SHORT_JOBS, seen, cost_us)
    known = [found for found in seen.usual_us if found != UNKNOWN]
    assert set(known) == {cost_us}
    assert seen.usual_us[-len(known) :] == known


def test_moves_cost_nothing_in_the_algorithms_of_the_source() -> None:
    found = [
        restarts_and_makespan_us(Harmony(search="paper", move_weight=weight))
        for weight in (0.0, 9.0)
    ]
    assert found[0] == found[1]


LONE = SubtaskRow(0, 1000, 12.0, 4.0, overlap=Overlap.PERMITTED, async_efficiency=0.8)
"""On three machines COMP 4 s, COMM 4 s."""


@pytest.mark.parametrize(
    ("row", "efficiency", "step_s"),
    [
        (LONE, 0.0, 8.0),
        (LONE, 0.4, 8.0),  # Twice as many iterations would take as long.
        (LONE, 0.8, 4 / 0.8),
        (LONE._replace(overlap=Overlap.NEVER), 0.8, 8.0),
        (LONE._replace(overlap=Overlap.ALWAYS), 0.8, 4.0),
    ],
)
def test_a_job_alone_overlaps_if_its_user_and_the_policy_do(
    row: SubtaskRow, efficiency: float, step_s: float
) -> None:
    policy = Harmony(async_efficiency=efficiency)
    outcome = run([row], policy, cluster=ClusterSpec.uniform(3, 1))
    assert outcome.columns["end_us"].max() / SECOND_US == pytest.approx(1000 * step_s, rel=0.02)


@pytest.mark.parametrize("later", [{"async_efficiency": 0.8, "move_weight": 2.0}, {}])
def test_a_job_is_asynchronous_until_its_next_start_whatever_parameters_change(
    later: dict[str, float],
) -> None:
    policy = ChangedLater(Harmony(async_efficiency=0.8), Harmony(**later))  # type: ignore[arg-type]
    own = [LONE, SubtaskRow(2_000, 1, None, 0.0)]
    run(own, policy, cluster=ClusterSpec.of([1, 1, 1, 2]))
    assert policy.asynchronous
    assert all(policy.asynchronous)


def modes(policy: Policy, rows: list[SubtaskRow], cost_us: int = 0) -> list[tuple[str, bool]]:
    """The events of the first job on one machine: how it trains from each of them on."""
    log = DecisionLog()
    own, machine = subtask_workload(rows), ClusterSpec.uniform(1, 1)
    speeds = SameEverywhere(cost_us)
    Simulation(own, machine, policy, ConsolidatingPlanner(), speeds, journal=log).run()
    begins = ("start", "resume", "migrate")
    return [(it.event, it.asynchronous) for it in log if it.job == 0 and it.event in begins]


def test_a_job_changes_how_it_trains_on_its_machine_when_others_come_and_go() -> None:
    """Alone 5 instead of 10 s for 0.8 of an iteration; beside the other job 10 s anyway."""
    first = SubtaskRow(0, 1_000, 5.0, 5.0, overlap=Overlap.PERMITTED, async_efficiency=0.8)
    second = SubtaskRow(1_000, 200, 5.0, 5.0)
    there_and_back = [("start", False), ("migrate", True), ("migrate", False), ("migrate", True)]
    policy = Harmony(async_efficiency=0.8)
    assert modes(policy, [first, second]) == there_and_back
    assert modes(policy, [first, second], 100 * SECOND_US) == there_and_back
    # The second job ends before a start would pay.
    long_start = modes(policy, [first, second], 900 * SECOND_US)
    assert long_start == there_and_back[:2]


def test_a_job_that_only_trains_another_way_is_looked_at_again_as_after_other_starts() -> None:
    first = SubtaskRow(0, 1_000, 5.0, 5.0, overlap=Overlap.PERMITTED, async_efficiency=0.8)
    second = SubtaskRow(1_000, 200, 5.0, 5.0)
    policy = SwitchesSeen(Harmony(async_efficiency=0.8, check_s=30.0))
    run([first, second], policy, cluster=ClusterSpec.uniform(1, 1))
    assert len(policy.rechecks_us) == 3
    assert all(0 < each <= 30 * SECOND_US for each in policy.rechecks_us)


def test_jobs_that_fill_each_others_gaps_stay_synchronous() -> None:
    jobs = [SubtaskRow(0, 1000, 10.0, 1.0), SubtaskRow(0, 1000, 2.0, 5.0)]
    rows = [row._replace(overlap=Overlap.PERMITTED, async_efficiency=0.5) for row in jobs]
    ends_us = [
        run(rows, policy, cluster=ClusterSpec.uniform(2, 1)).columns["end_us"].max()
        for policy in (Harmony(), Harmony(async_efficiency=0.95))
    ]
    # Their last iterations are not beside each other.
    assert ends_us[1] == pytest.approx(ends_us[0], rel=0.01)


@pytest.mark.parametrize("efficiency", [-0.1, 1.1, float("nan")])
def test_the_efficiency_of_an_iteration_is_a_part(efficiency: float) -> None:
    with pytest.raises(BadInput, match=r"async_efficiency=.*: give a part, 0 to 1"):
        Harmony(async_efficiency=efficiency)


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan")])
def test_a_move_counts_a_finite_number_of_times(weight: float) -> None:
    with pytest.raises(BadInput, match=r"move_weight=.*: give a number, 0 or more"):
        Harmony(move_weight=weight)


@pytest.mark.parametrize("part", [-0.1, 1.0])
@pytest.mark.parametrize("name", ["fewer_jobs", "even_ends"])
def test_parts_of_the_use_are_below_1(name: str, part: float) -> None:
    with pytest.raises(BadInput, match=f"{name}={part}: give a part, from 0 to below 1"):
        Harmony(**{name: part})  # type: ignore[arg-type]


def test_input_goes_to_disk_where_memory_does_not_suffice() -> None:
    rows = [SubtaskRow(0, 50, 1_000.0, 100.0, 100 * GIB), SubtaskRow(0, 50, 200.0, 200.0, 90 * GIB)]
    policy = Watched(Harmony())
    run(rows, policy)
    assert 0 < policy.spilled <= 1
    policy = Watched(Harmony(reloading=False))
    outcome = run(rows, policy)
    assert policy.spilled == 0
    assert outcome.holds.sharers.max() == 1


def test_jobs_without_times_run_alone_and_the_others_on_what_they_leave() -> None:
    rows = [SubtaskRow(0, 100, None, 0.0, workers=3), SubtaskRow(0, 100, 10.0, 1.0)]
    holds = run(rows, Harmony()).holds
    assert holds.sharers.max() == 1
    assert holds.gpus[(holds.job == 0)].sum() == 3


def test_a_job_that_would_not_raise_the_use_waits_for_that_reason() -> None:
    policy = Watched(Harmony())
    run([SubtaskRow(0, 200, 50.0, 10.0) for _ in range(12)], policy)
    assert int(Wait.NO_GAIN) in policy.codes
