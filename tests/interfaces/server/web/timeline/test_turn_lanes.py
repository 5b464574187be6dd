"""Where the page of machines draws the subtasks of jobs that share them."""

from __future__ import annotations

from pathlib import Path

from motet.interfaces.server.turns.turn_record import with_job_names
from motet.interfaces.server.web.timeline.turn_lanes import (
    LaneBar,
    machine_lanes,
    turns_of_machines,
)
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.runtime.arbiter.holding_log import Holding, HoldingLog
from motet.runtime.core.subtask import SubtaskKind


def test_lanes_are_those_of_machines_with_a_record(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, {})
    (tmp_path / "arbiters").mkdir()
    log = HoldingLog(workplace.arbiter("m1"))
    log.add(Holding(1_000_000, 1_250_000, SubtaskKind.COMP, "10"))
    log.add(Holding(1_500_000, 2_000_000, SubtaskKind.PULL, "3"))
    state = LiveState()
    for number, name in ((3, "fit"), (10, "topics"), (11, "later")):
        spec = job_spec({"name": name, "run": "true", "workdir": "/"})
        state.jobs[number] = LiveJob(number, spec, "ann", 0)
    (turns,) = turns_of_machines(workplace, ["m0", "m1"])
    named = with_job_names(state, turns)
    assert named.names == {"3": "fit", "10": "topics"}
    found = machine_lanes(named)
    assert (found.machine, found.period_ms) == ("m1", 1000)
    assert found.jobs == (("3", 3, "fit"), ("10", 2, "topics"))
    assert [(each.resource, each.use) for each in found.lanes] == [("CPU", 25), ("network", 50)]
    assert found.lanes[0].bars == (LaneBar(0.0, 25.0, 2, "job 10: COMP 250.0 ms"),)
    assert found.lanes[1].bars == (LaneBar(50.0, 50.0, 3, "job 3: PULL 500.0 ms"),)
