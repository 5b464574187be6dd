"""Users cancel and suspend jobs, machines come and go, while a simulation runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.domain.events import Drained, MachineCame, MachineLeft
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US, SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.fifo import Fifo
from motet.policies.shortest import ShortestRemainingTime
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.interventions import Interventions, TimedEvent
from motet.sim.workload.workload import Workload

ONE = ClusterSpec.of([4])
TWO = ClusterSpec.of([4, 4])
FIRST_COME = Fifo()


def at(second: int | None) -> int:
    return NEVER_US if second is None else second * SECOND_US


def run(
    rows: list[tuple[int, int, int]],
    cluster: ClusterSpec = ONE,
    *,
    cancel: dict[int, int] | None = None,
    suspend: dict[int, tuple[int, int | None]] | None = None,
    timeline: list[TimedEvent] | None = None,
    log: DecisionLog | None = None,
    cost_s: int = 0,
    policy: Policy = FIRST_COME,
) -> Outcome:
    """Jobs of (submit, duration, GPUs) in seconds."""
    numbers = range(len(rows))
    moves = Interventions.of(
        [at((cancel or {}).get(number)) for number in numbers],
        [at((suspend or {}).get(number, (None, None))[0]) for number in numbers],
        [at((suspend or {}).get(number, (None, None))[1]) for number in numbers],
    )
    workload = Workload.of(
        [str(number) for number in numbers],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        interventions=moves,
    )
    speeds, planner = SameEverywhere(cost_s * SECOND_US), ConsolidatingPlanner()
    return Simulation(
        workload, cluster, policy, planner, speeds, journal=log, timeline=timeline or []
    ).run()


def ends_s(outcome: Outcome) -> list[int | None]:
    ends = outcome.columns["end_us"].tolist()
    return [None if end_us == UNKNOWN else end_us // SECOND_US for end_us in ends]


def test_a_cancelled_job_leaves_its_gpus_to_the_next() -> None:
    outcome = run([(0, 100, 4), (0, 10, 4)], cancel={0: 30})
    assert ends_s(outcome) == [None, 40]
    assert outcome.columns["cancel_us"].tolist() == [30 * SECOND_US, UNKNOWN]
    assert outcome.columns["executed_us"].tolist() == [30 * SECOND_US, 10 * SECOND_US]


def test_a_job_that_waits_can_be_cancelled_even_as_it_arrives() -> None:
    outcome = run([(0, 100, 4), (5, 10, 4), (6, 10, 4)], cancel={1: 5, 2: 50})
    assert ends_s(outcome) == [100, None, None]


def test_a_job_that_is_cancelled_as_it_arrives_has_counts_and_times_of_zero() -> None:
    outcome = run([(0, 100, 4)], cancel={0: 0})
    columns = {name: column.item() for name, column in outcome.columns.items()}
    instants = {name: columns.pop(name) for name in ("start_us", "end_us", "cancel_us")}
    assert instants == {"start_us": UNKNOWN, "end_us": UNKNOWN, "cancel_us": 0}
    assert set(columns.values()) == {0}


def test_interventions_in_finished_jobs_have_no_effect() -> None:
    outcome = run([(0, 10, 4)], cancel={0: 10}, suspend={0: (10, 20)})
    assert ends_s(outcome) == [10]


def test_a_suspended_job_keeps_its_progress_and_continues_later() -> None:
    outcome = run([(0, 100, 4), (0, 10, 4)], suspend={0: (30, 60)}, cost_s=2)
    assert ends_s(outcome) == [132, 40]
    assert outcome.columns["waiting_us"].tolist() == [0, 30 * SECOND_US]
    assert outcome.columns["preemptions"].tolist() == [0, 0]


def test_a_job_that_is_never_resumed_is_suspended_at_the_end() -> None:
    outcome = run([(0, 100, 4), (0, 10, 4)], suspend={0: (30, None)})
    assert ends_s(outcome) == [None, 40]
    assert outcome.is_suspended.tolist() == [True, False]


def test_a_job_that_is_suspended_as_it_arrives_has_all_of_its_work_left() -> None:
    outcome = run([(0, 1000, 4)], suspend={0: (0, 50)})
    assert ends_s(outcome) == [1050]
    assert outcome.columns["executed_us"].tolist() == [1000 * SECOND_US]


def test_jobs_of_a_leaving_machine_wait_for_other_machines() -> None:
    timeline: list[TimedEvent] = [(at(30), MachineLeft(0)), (at(80), MachineCame(0))]
    log = DecisionLog()
    outcome = run([(0, 100, 4)], timeline=timeline, log=log)
    assert ends_s(outcome) == [150]
    events = [(entry.time_us // SECOND_US, entry.event) for entry in log]
    assert events == [
        (0, "start"),
        (30, "evict"),
        (30, "machines_drained"),
        (80, "resume"),
        (150, "finish"),
    ]


def test_jobs_of_a_machine_that_drains_go_on_and_no_others_come() -> None:
    timeline: list[TimedEvent] = [(at(5), Drained(0))]
    outcome = run([(0, 100, 4), (0, 10, 4), (6, 10, 4), (7, 10, 4)], TWO, timeline=timeline)
    assert ends_s(outcome) == [100, 10, 20, 30]


def test_a_short_job_takes_the_gpus_of_a_machine_that_takes_jobs() -> None:
    timeline: list[TimedEvent] = [(at(5), Drained(1))]
    rows = [(0, 100, 4), (1, 100, 4), (6, 3, 2)]
    outcome = run(rows, TWO, timeline=timeline, policy=ShortestRemainingTime())
    assert ends_s(outcome) == [103, 101, 9]
    assert outcome.columns["preemptions"].tolist() == [1, 0, 0]


def test_a_simulation_ends_despite_a_job_that_can_never_run() -> None:
    outcome = run([(0, 100, 4)], timeline=[(at(30), MachineLeft(0))])
    assert ends_s(outcome) == [None]


# -- the file --------------------------------------------------------------------------------------


def events_in(tmp_path: Path, *rows: str) -> list[TimedEvent]:
    path = tmp_path / "machines.csv"
    path.write_text("\n".join(["time,machine,event", *rows]) + "\n")
    return read_machine_events(path, TWO)


def test_machine_events_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    assert events_in(tmp_path, "7.5,m1,leaves", "5,m1,drains", "9,m1,comes") == [
        (5_000_000, Drained(1)),
        (7_500_000, MachineLeft(1)),
        (9_000_000, MachineCame(1)),
    ]


def test_a_machine_whose_first_event_is_comes_is_absent_before(tmp_path: Path) -> None:
    events = events_in(tmp_path, "5,m0,comes")
    assert [event for _, event in events] == [MachineLeft(0), MachineCame(0)]
    outcome = run([(0, 10, 4), (0, 10, 4)], TWO, timeline=events)
    assert ends_s(outcome) == [10, 15]


@pytest.mark.parametrize(
    ("row", "error", "said"),
    [
        ("5,m7,leaves", BadInput, "no machine 'm7'; the first of its 2 is called 'm0'"),
        ("5,m0,explodes", UnknownName, "explodes"),
        ("soon,m0,leaves", BadInput, "'soon' is not a number of seconds"),
        ("-1,m0,leaves", BadInput, "a trace's clock starts at 0"),
        ("5,m0,leaves\n6,m0,leaves", BadInput, "m0 leaves, but at 5 s it leaves already"),
        ("5,m0,leaves\n6,m0,drains", BadInput, "after that it comes"),
        ("5,m0", BadInput, "machines.csv:2: 2 cells under 3 columns"),
    ],
)
def test_events_that_cannot_be_are_one_clear_error(
    tmp_path: Path, row: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        events_in(tmp_path, row)
