"""`motet.explain`: the history of a job from a result or from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from marked_process import run_motet
from motet import explain, simulate
from motet.domain.errors import BadInput, MotetError, NotFound
from motet.interfaces.simulations.runs import SimulatedRuns
from small_traces import QUEUE_OF_THREE, workload_of, write_trace


def runs(policy: Any) -> SimulatedRuns:
    return simulate(workload_of(QUEUE_OF_THREE), "1x2", policy, placement="count")


def test_a_job_waited_ran_and_finished() -> None:
    found = explain(runs("fifo"), "j1")
    chapters = found.chapters
    assert chapters["kind"].tolist() == ["wait", "run", "moment"]
    assert chapters["duration_s"].tolist()[:2] == [100, 50]
    assert found.totals["running_s"] == 50
    assert str(found).startswith("j1 under fifo: 2 GPUs, finished after 2 min 30 s\n")
    assert repr(found) == str(found)
    assert "<table>" in found._repr_html_()


def test_a_result_and_the_folder_of_the_command_give_the_same_story(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "jobs.csv", QUEUE_OF_THREE)
    run_motet(
        *("simulate", "--trace", trace, "--cluster", "1x2", "--policy", "fifo"),
        *("--log-decisions", "--out", tmp_path / "run"),
    )
    from_folder = explain(tmp_path / "run", 1)
    assert explain(simulate(trace, "1x2", "fifo"), 1).document == from_folder.document


def test_a_policy_that_decides_otherwise_is_not_explained(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from motet.policies.fifo import Fifo as P\nPOLICIES = {'mine': P}\n")
    result = runs(file)
    assert explain(result, "j1").totals["running_s"] == 50
    file.write_text(
        "from motet.policies.shortest import SmallestFirst as P\nPOLICIES = {'mine': P}\n"
    )
    with pytest.raises(BadInput, match="mine: simulated again, its jobs ended at other times"):
        explain(result, "j1")


@pytest.mark.parametrize(
    ("result", "job", "kind", "complaint"),
    [
        (["fifo", "srtf"], "j1", BadInput, r"has 2; choose one: result\['fifo'\]"),
        ("fifo", "j9", NotFound, "^fifo: no job 'j9'; its 3 jobs"),
        ("fifo", 1.5, BadInput, "job=1.5: give the id of a job"),
    ],
)
def test_what_cannot_be_explained_is_one_clear_error(
    result: Any, job: Any, kind: type[MotetError], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint):
        explain(runs(result), job)


@pytest.mark.soak
def test_a_folder_without_decisions_names_the_command_that_records_them(tmp_path: Path) -> None:
    runs("fifo").save(tmp_path / "run")
    with pytest.raises(BadInput, match="simulate again with 'motet simulate --log-decisions'"):
        explain(tmp_path / "run", "j1")


def test_other_objects_are_refused() -> None:
    with pytest.raises(BadInput, match="result=3: give a result of simulate, or a folder"):
        explain(3, 1)  # type: ignore[arg-type]
