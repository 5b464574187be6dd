"""Whoever writes a policy is told what is wrong with it, and where."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, MotetError
from motet.engine.policy_loading.catalogue import find_policies
from motet.interfaces.simulation_pool import run_all
from motet.interfaces.simulation_runs import Scenario, SimulationTask
from motet.sim.experiment import Experiment
from own_policies import FAULT_LINE, own_policy
from small_traces import QUEUE_OF_THREE, scenario_of, workload_of

SCENARIO = scenario_of(QUEUE_OF_THREE, 2)
DECIDE = r"mine.py:16 in decide: "


def failure_of(path: Path | str, processes: int = 1) -> str:
    with pytest.raises(MotetError) as raised:
        run_all([SimulationTask(Experiment(str(path)), SCENARIO)] * processes, processes)
    return str(raised.value)


@pytest.mark.parametrize(
    ("deciding", "said"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("snapshot.jobz", "AttributeError: 'Snapshot' object has no attribute 'jobz'"),
        ("import sys; sys.exit(7)", "SystemExit: 7"),
    ],
)
def test_an_error_names_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deciding: str, said: str
) -> None:
    own_policy(tmp_path, deciding)
    monkeypatch.chdir(tmp_path)
    wanted = f"mine.py:{FAULT_LINE} in decide: {said}"
    assert failure_of("./mine.py") == wanted
    assert failure_of(tmp_path / ".." / tmp_path.name / "mine.py") == wanted


@pytest.mark.parametrize(
    ("deciding", "said"),
    [
        ("return None", "at 0 s: it returned None; return a motet.domain.decision.Decision"),
        ("gpus = gpus[:-1]", "at 0 s: gpus has 1 rows for 2 jobs; give one for each"),
        ("gpus = list(gpus)", "at 0 s: gpus must be a NumPy array of whole numbers, not list"),
        ("gpus = gpus * 0.5", "whole numbers, not one of float64"),
        ("gpus = gpus // 2", "at 0 s, job j0: 1 of its 2 GPUs allocated; a rigid job gets all"),
        ("gpus = gpus - 9", "at 0 s, job j0: -7 of its 2 GPUs allocated"),
        ("gpus = jobs.gpus", "at 0 s: 4 GPUs allocated of 2"),
        ("reasons = None", "at 0 s: reasons must be Reasons, not None"),
        ("reasons.code[1] = 99", "at 0 s, job j1: reasons.code=99; it is one of"),
        (
            "return Decision(gpus, reasons, recheck_at_us=snapshot.now_us)",
            "at 0 s: recheck_at_us=0 is not after now_us=0",
        ),
        ("return Decision(gpus, reasons, recheck_at_us=1.5)", "recheck_at_us=1.5 is no whole"),
        (
            "return Decision(gpus, reasons, memory={'other': gpus})",
            "memory['other'] is none of its memory_columns",
        ),
        (
            "return Decision(gpus, reasons, memory={'seen': gpus[:1]})",
            "memory['seen'] has 1 rows for 2 jobs",
        ),
        (
            "return Decision(gpus, reasons, {0: Placement((7,), (2,))})",
            "at 0 s, job j0: places: machines (7,); there are 1, from 0",
        ),
        (
            "return Decision(gpus, reasons, {0: Placement((0,), (1,))})",
            "at 0 s, job j0: places: (1,) GPUs on machines (0,), but gpus is 2",
        ),
        (
            "return Decision(jobs.gpus * 1, reasons, group=np.array([0, 0, 0])[: len(jobs)])"
            " if snapshot.now_us else Decision(gpus, reasons)",
            "at 10 s, job j2: group=0: only jobs of equally many GPUs can share them",
        ),
    ],
)
def test_a_wrong_decision_names_the_policy_the_time_and_the_job(
    tmp_path: Path, deciding: str, said: str
) -> None:
    message = failure_of(own_policy(tmp_path, deciding))
    assert re.search(DECIDE, message)
    assert said in message


@pytest.mark.soak
def test_an_error_in_a_worker_process_has_the_same_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_policy(tmp_path, "import sys; sys.exit(7)")
    monkeypatch.chdir(tmp_path)
    assert failure_of("mine.py", processes=2) == f"mine.py:{FAULT_LINE} in decide: SystemExit: 7"


def test_held_gpus_cannot_be_assigned(tmp_path: Path) -> None:
    both = "{0: Placement((0,), (2,)), 1: Placement((0,), (2,))}"
    mine = own_policy(tmp_path, f"return Decision(np.array([2, 2]), reasons, {both})")
    workload = workload_of([(0, 9, 2), (0, 9, 2)])
    crowded = Scenario(workload, "0" * 64, ClusterSpec.uniform(2, 2))
    with pytest.raises(MotetError, match="job j1: places: 2 GPUs on machine 0, which has 0 free"):
        run_all([SimulationTask(Experiment(str(mine)), crowded)])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("@dataclass(frozen=True)", "", "is no dataclass; write @dataclass(frozen=True) above"),
        ("def decide", "def decides", "has no decide(self, snapshot)"),
        ("Mine}", "Mine()}", "give a class, not an object"),
        ('"mine":', '"../../escaped":', "names a policy '../../escaped'; give a letter"),
        ('"mine":', "7:", "names a policy 7; give a letter"),
        ("import numpy as np", "import sys; sys.exit(7)", "mine.py:4 in <module>: SystemExit: 7"),
        ("import numpy as np", "1 / 0", "mine.py:4 in <module>: ZeroDivisionError"),
    ],
)
def test_a_file_that_is_no_policy_is_told_what_it_lacks(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    mine = own_policy(tmp_path)
    mine.write_text(mine.read_text().replace(old, new))
    with pytest.raises(BadInput, match=re.escape(said)):
        find_policies(str(mine))


@pytest.mark.parametrize("takes", ["self", "snapshot, self, other", "self, *, snapshot"])
def test_a_decide_that_takes_no_snapshot_is_told_what_to_write(tmp_path: Path, takes: str) -> None:
    mine = own_policy(tmp_path)
    mine.write_text(mine.read_text().replace("def decide(self, snapshot)", f"def decide({takes})"))
    said = f"decide({takes}) cannot be called with a snapshot; write def decide(self, snapshot)"
    with pytest.raises(BadInput, match=re.escape(said)) as raised:
        find_policies(str(mine))
    assert re.search(r"mine\.py:\d+ in decide", str(raised.value))


@pytest.mark.parametrize("takes", ["self, snapshot, more=1", "self, *others", "me, seen"])
def test_a_decide_that_takes_more_if_it_is_given_is_a_policy(tmp_path: Path, takes: str) -> None:
    mine = own_policy(tmp_path)
    mine.write_text(mine.read_text().replace("def decide(self, snapshot)", f"def decide({takes})"))
    assert "mine" in find_policies(str(mine))


def test_a_parameter_without_a_default_must_be_given(tmp_path: Path) -> None:
    mine = own_policy(tmp_path)
    mine.write_text(mine.read_text().replace("    memory_", "    slice_s: float\n    memory_"))
    with pytest.raises(BadInput, match="mine has no default for slice_s; give --set slice_s=VALUE"):
        Experiment(str(mine)).check()


def test_a_constructor_that_fails_names_its_line(tmp_path: Path) -> None:
    mine = own_policy(tmp_path)
    failing = "    def __post_init__(self):\n        1 / 0\n\n    def decide"
    mine.write_text(mine.read_text().replace("    def decide", failing))
    with pytest.raises(MotetError, match=r"mine.py:17 in __post_init__: ZeroDivisionError"):
        Experiment(str(mine)).check()


def test_annotations_may_be_text(tmp_path: Path) -> None:
    mine = own_policy(tmp_path)
    mine.write_text("from __future__ import annotations\n" + mine.read_text())
    (result,) = run_all([SimulationTask(Experiment(str(mine)), SCENARIO)])
    assert result.summary["finished"] == 3


def test_files_of_one_name_in_two_folders_are_two_policies(tmp_path: Path) -> None:
    found = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        found.append(find_policies(str(own_policy(tmp_path / folder)))["mine"])
    one, other = (sys.modules[policy.__module__].__file__ for policy in found)
    assert one != other
