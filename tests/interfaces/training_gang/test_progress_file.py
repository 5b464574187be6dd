"""What a training tells the master: every epoch once, at most a line per second."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from motet.domain.reconfiguration import RoleCounts
from motet.interfaces.training_gang.progress_file import ProgressFile
from motet.live.launcher.messages import SizeWish
from motet.live.launcher.rank_files import ProgressLines, RankFiles
from motet.runtime.autotune.instructions import ProposeSize
from motet.runtime.core.reporting.reports import EpochReport, Recovery


def report(number: int, loss: float) -> EpochReport:
    return EpochReport(number, loss, {}, 1.0, 1.0, 0.0, 0.0, 0, 0, 100)


class Told:
    """A progress file with a clock that a test sets."""

    def __init__(self, folder: Path) -> None:
        self.path, self.now_s, self.woken = folder / "progress.jsonl", 0.0, 0
        self.begin()

    def begin(self, *losses: float, machines: int = 0, overlaps: bool = False) -> None:
        """Begin training after epochs with these losses."""
        earlier = [report(number, loss) for number, loss in enumerate(losses)]
        more = {"machines": machines, "overlaps": overlaps}
        self.file = ProgressFile(self.path, self._wake, earlier, lambda: self.now_s, **more)
        self.file.started(100, 8)

    def epoch(self, number: int, loss: float, passed_s: float) -> None:
        self.now_s += passed_s
        self.file.epoch_done(report(number, loss))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def _wake(self) -> None:
        self.woken += 1


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def test_the_first_epoch_is_told_at_once_and_later_ones_every_second(told: Told) -> None:
    for number, loss in enumerate([4.0, 3.0, 2.0, 1.0]):
        told.epoch(number, loss, passed_s=0.5)
    assert told.lines == [
        {"steps_done": 1.0, "points": [[1.0, 4.0]], "steps_per_s": 2.0},
        {"steps_done": 3.0, "points": [[2.0, 3.0], [3.0, 2.0]], "steps_per_s": 2.0},
    ]
    assert told.woken == 2


def test_proposals_are_told_at_once_and_numbered(told: Told) -> None:
    told.epoch(0, 4.0, passed_s=0.5)
    for workers in (3, 2):
        told.file.propose(ProposeSize(RoleCounts(workers, 1), 0.25))
    assert told.lines[1:] == [
        {"wish": {"number": 1, "workers": 3, "servers": 1, "gain": 0.25}},
        {"wish": {"number": 2, "workers": 2, "servers": 1, "gain": 0.25}},
    ]
    assert told.woken == 3
    files = RankFiles(told.path.parent)
    found, offset = files.progress(0)
    assert ([each["steps_done"] for each in found.steps], found.wish) == (
        [1.0],
        SizeWish(2, 2, 1, 0.25),
    )
    assert files.progress(offset) == (ProgressLines([]), offset)


def test_the_end_tells_the_rest(told: Told) -> None:
    told.epoch(0, 4.0, passed_s=0.5)
    told.epoch(1, 3.0, passed_s=0.5)
    told.file.tell()
    told.file.tell()
    assert [line["steps_done"] for line in told.lines] == [1.0, 2.0]


def test_a_resumed_training_tells_what_it_resumes_and_counts_new_epochs_as_its_speed(
    told: Told,
) -> None:
    told.begin(4.0, 3.0)
    told.epoch(2, 2.0, passed_s=2.0)
    assert told.lines == [
        {"steps_done": 2.0, "points": [[1.0, 4.0], [2.0, 3.0]], "steps_per_s": None},
        {"steps_done": 3.0, "points": [[3.0, 2.0]], "steps_per_s": 0.5},
    ]


def test_epochs_after_a_recovery_are_told_again(told: Told) -> None:
    for number in range(4):
        told.epoch(number, 4.0 - number, passed_s=0.3)
    told.file.recovering(Recovery(4, 2, "an executor died"))
    told.file.started(100, 8)
    told.epoch(2, 2.0, passed_s=2.0)
    assert told.lines[-1] == {"steps_done": 3.0, "points": [[3.0, 2.0]], "steps_per_s": 0.5}
    assert [step for line in told.lines for step, _ in line["points"]] == [1, 2, 3, 4, 3]


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_left_out(told: Told, loss: float) -> None:
    told.epoch(0, loss, passed_s=1.0)
    assert told.lines == [{"steps_done": 1.0, "points": [], "steps_per_s": 1.0}]


def test_each_iteration_has_its_part_of_the_evaluation(told: Told) -> None:
    told.begin(5.0, machines=3)
    told.now_s += 2.0
    times = {"comp_s": 0.5, "comm_s": 0.4, "batch_s": (0.5, 0.5)}
    evaluation = {"evaluation_comp_s": 0.3, "evaluation_comm_s": 0.2, "cycle_s": 1.8}
    told.file.epoch_done(replace(report(1, 4.0), **times, **evaluation))
    whole = [pytest.approx(each) for each in (0.4, 0.3, 0.9)]
    assert told.lines[-1]["subtasks"][:4] == [3, *whole]


def test_a_training_whose_comm_runs_beside_comp_says_so(told: Told) -> None:
    for overlaps in (False, True):
        told.begin(5.0, machines=3, overlaps=overlaps)
        told.now_s += 2.0
        told.file.epoch_done(replace(report(1, 4.0), comp_s=0.5, comm_s=0.4, batch_s=(0.5,)))
    found = RankFiles(told.path.parent).progress(0)[0]
    measured = [each["subtasks"] for each in found.steps if each["subtasks"] is not None]
    assert [each.overlaps for each in measured] == [False, True]


def test_a_training_that_may_share_its_machines_tells_comp_and_comm_of_an_iteration(
    told: Told,
) -> None:
    told.begin(5.0, machines=3)
    for epoch, comp_s in ((1, 0.5), (2, 0.2), (3, 0.7)):
        told.now_s += 0.6
        times = {"comp_s": comp_s, "comm_s": 0.4, "batch_s": (0.1, 0.2), "cycle_s": 0.3}
        times |= {"cpu_s": 0.6}
        times |= {"memory_bytes": 1000 * epoch, "least_memory_bytes": 700}
        told.file.epoch_done(replace(report(epoch, 4.0), **times))
    assert [line.get("subtasks") for line in told.lines] == [
        None,
        [3, 0.25, 0.2, pytest.approx(0.15), 1000, 700, pytest.approx(0.05)],
        [3, pytest.approx(0.225), 0.2, pytest.approx(0.15), 3000, 700, pytest.approx(0.075)],
    ]
