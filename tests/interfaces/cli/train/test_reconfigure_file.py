"""`--reconfigure FILE`: what it may say, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Delete, Move, Switch
from motet.interfaces.cli.train.reconfigure_file import check_changes, read_plan_file
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_plan
from motet.runtime.elastic.role_placement import RolePlacement

LAYOUT = JobLayout.even(RolePlacement((0, 1), (3, 4)), model_blocks=16, data_blocks=12)


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text)
    return path


def layouts(path: Path, epochs: int = 10) -> list[JobLayout]:
    return check_changes(read_plan_file(path, 5, epochs), LAYOUT, 5)


def test_counts_lead_to_so_many_workers_and_servers(tmp_path: Path) -> None:
    path = written(tmp_path, "- {at_epoch: 3, workers: 3, servers: 1}\n- {at_epoch: 5, workers: 1}")
    after = [(len(each.workers), len(each.servers)) for each in layouts(path)]
    assert after == [(2, 2), (3, 1), (1, 1)]


def test_operations_are_taken_as_they_stand(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
- at_s: 1.5
  predicted_gain: 0.2
  operations:
    - {add: 2, role: worker}
    - {move: 2, of: data, from: 0, to: 2}
    - {move: [0, 1], of: model, from: 3, to: 4}
    - {switch: 1, role: server}
    - {delete: 4}
""",
    )
    (change,) = read_plan_file(path, 5, 10)
    timed = change.timed(lambda: range(5))
    assert (timed.at_s, timed.predicted_gain) == (1.5, 0.2)
    assert timed.make_plan(LAYOUT).operations == (
        Add(2, "worker"),
        Move("data", (8, 10), 0, 2),
        Move("model", (0, 1), 3, 4),
        Switch(1, "server"),
        Delete(4),
    )


def test_counts_are_reached_on_the_machines_that_are_there_then(tmp_path: Path) -> None:
    (change,) = read_plan_file(written(tmp_path, "- {at_epoch: 3, workers: 4}"), 5, 10)
    timed = change.timed(lambda: [0, 3, 4, 7, 9])  # 1 and 2 are lost
    now = LAYOUT.replaced(1, 7)
    then = layout_after_plan(now, timed.make_plan(now), [0, 7, 9])
    assert (then.workers, then.servers) == ((0, 3, 7, 9), (3, 4))


def test_counts_for_which_too_few_machines_are_left_are_refused_in_their_moment(
    tmp_path: Path,
) -> None:
    (change,) = read_plan_file(written(tmp_path, "- {at_epoch: 3, workers: 4}"), 5, 10)
    timed = change.timed(lambda: [0, 3, 4])
    with pytest.raises(BadInput, match=r"plan.yaml:1: workers: 4 need .*, the job has 3$"):
        timed.make_plan(LAYOUT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workers: 3", "must be a list of changes, for example"),
        ("", "must be a list of changes"),
        ("- 3", "item 1 is 3; write it as 'name: value' pairs"),
        ("- {workers: 3}", r"plan.yaml:1: give the time, at_epoch or at_s"),
        ("- {at_epoch: 1, at_s: 2, workers: 3}", "give the time"),
        ("- {at_epoch: 1}", "give either workers and servers, or operations"),
        ("- {at_epoch: x, workers: 3}", "at_epoch is 'x'; give a whole number from 0"),
        ("- {at_s: -1, workers: 3}", "at_s is -1; give seconds from 0"),
        ("- {at_epoch: 1, worker: 3}", "'worker' is unknown here; use at_epoch, at_s, workers"),
        ("- {at_epoch: 1, workers: 0}", "workers is 0; give a whole number from 1"),
        ("- {at_epoch: 1, workers: 6}", "the job has 5; raise --machines"),
        ("- {at_epoch: 10, workers: 3}", "training ends after 10 epoch.*raise --epochs"),
        ("- {at_epoch: 4, workers: 3}\n- {at_epoch: 3, workers: 1}", "plan.yaml:2: comes before"),
        ("- {at_epoch: 4, workers: 3}\n- {at_s: 3, workers: 1}", "for all of them, not both"),
        ("- {at_epoch: 1, operations: []}", "operations must be a list of add, delete, switch"),
        ("- at_epoch: 1\n  operations:\n  - {add: 2}", "plan.yaml:3: role is None; use worker or"),
        ("- at_epoch: 1\n  operations:\n  - {delete: 2, add: 1}", "one of add, delete, switch and"),
        ("- at_epoch: 1\n  operations:\n  - {delete: 2}", "plan.yaml:3: executor 2 has no role"),
        (
            "- at_epoch: 1\n  operations:\n  - {move: 9, of: data, from: 0, to: 1}",
            r"plan.yaml:3: executor 0 has 6 data block\(s\), 9 cannot move",
        ),
        ("- at_epoch: [1", "plan.yaml:[12]: no YAML"),
        ("- at_epoch: 1\n  workers: 1\n  workers: 2", "plan.yaml:3: 'workers' is given twice"),
    ],
)
def test_errors_name_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        layouts(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"absent.yaml: cannot be read \(No such file"):
        read_plan_file(tmp_path / "absent.yaml", 5, 10)
