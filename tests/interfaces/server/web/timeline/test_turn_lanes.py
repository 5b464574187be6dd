"""Where the page of machines draws the subtasks of jobs that share them."""

from __future__ import annotations

from pathlib import Path

from motet.interfaces.server.web.timeline.turn_lanes import LaneBar, lanes_of_machines
from motet.live.master.requests import Workplace
from motet.runtime.arbiter.holding_log import Holding, HoldingLog
from motet.runtime.core.subtask import SubtaskKind


def test_lanes_are_those_of_machines_with_a_record(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, {})
    (tmp_path / "arbiters").mkdir()
    log = HoldingLog(workplace.arbiter("m1"))
    log.add(Holding(1_000_000, 1_250_000, SubtaskKind.COMP, "10"))
    log.add(Holding(1_500_000, 2_000_000, SubtaskKind.PULL, "3"))
    (found,) = lanes_of_machines(workplace, ["m0", "m1"], {"3": "fit", "10": "topics"})
    assert (found.machine, found.period_ms) == ("m1", 1000)
    assert found.jobs == (("3", 3, "fit"), ("10", 2, "topics"))
    assert [(each.resource, each.use) for each in found.lanes] == [("CPU", 25), ("network", 50)]
    assert found.lanes[0].bars == (LaneBar(0.0, 25.0, 2, "job 10: COMP 250.0 ms"),)
    assert found.lanes[1].bars == (LaneBar(50.0, 50.0, 3, "job 3: PULL 500.0 ms"),)
