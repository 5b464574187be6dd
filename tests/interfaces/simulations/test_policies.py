"""The argument `policy`: names, files, classes, objects, lists and dictionaries of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from motet import BadInput, load_policy, simulate
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.policies.fifo import Fifo
from motet.policies.tiresias import TiresiasLas
from small_traces import QUEUE_OF_THREE, workload_of, write_trace


@dataclass(frozen=True)
class Reversed(Fifo):
    """A policy of a test."""

    limit: int = 3


class Incomplete(Policy):
    """Neither a dataclass nor with a decision."""


@dataclass(frozen=True)
class Failing(Policy):
    """A policy with an error."""

    def decide(self, snapshot: Snapshot) -> Decision:
        """Raises KeyError."""
        raise KeyError("nothing")


def ends(policy: Any, **settings: Any) -> dict[str, list[float]]:
    result = simulate(workload_of(QUEUE_OF_THREE), "1x2", policy, placement="count", **settings)
    return result.jobs.groupby("policy", sort=False)["end_time"].apply(list).to_dict()


def test_a_name_a_class_an_object_and_a_file_give_the_same_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from motet.policies.fifo import Fifo\nPOLICIES = {'mine': Fifo}\n", encoding="utf-8"
    )
    named = ends("fifo")
    assert ends(Fifo) == ends(Fifo()) == ends(load_policy("fifo")) == named
    assert ends(file) == ends(str(file)) == {"mine": named["fifo"]}


def test_an_object_keeps_its_parameters() -> None:
    policy = load_policy("tiresias-las", thresholds=(10, 50))
    assert policy == TiresiasLas(thresholds=(10.0, 50.0))
    result = simulate(workload_of(QUEUE_OF_THREE), "1x2", [policy, "tiresias-gittins"])
    assert result.policies == ["tiresias-las", "tiresias-gittins"]
    assert result.runs[0].params["thresholds"] == (10.0, 50.0)


def test_a_class_gets_the_settings_and_an_object_does_not() -> None:
    result = simulate(workload_of(QUEUE_OF_THREE), "1x2", [TiresiasLas, "fifo"], promote_knob=4)
    assert result.runs[0].params["promote_knob"] == 4
    with pytest.raises(BadInput, match="unknown parameter of tiresias-las 'promote_knob'"):
        simulate(workload_of(QUEUE_OF_THREE), "1x2", TiresiasLas(), promote_knob=4)


def test_a_dictionary_labels_variants_of_one_policy() -> None:
    variants = {f"k={knob}": load_policy("tiresias-las", promote_knob=knob) for knob in (1, 8)}
    result = simulate(workload_of(QUEUE_OF_THREE), "1x2", {**variants, "in order": "fifo"})
    assert result.policies == ["k=1", "k=8", "in order"]
    assert [run.params.get("promote_knob") for run in result.runs] == [1, 8, None]


def test_all_built_in_policies_have_one_word() -> None:
    result = simulate(workload_of(QUEUE_OF_THREE), "1x2", "all")
    assert result.policies == list(built_in_policies())


@pytest.mark.soak
def test_a_class_of_a_script_has_its_own_name_and_simulates_in_other_processes() -> None:
    result = simulate(workload_of(QUEUE_OF_THREE), "1x2", [Reversed, Fifo()], processes=2, limit=7)
    assert result.policies == ["Reversed", "fifo"]
    assert result.runs[0].params["limit"] == 7


@pytest.mark.soak
def test_a_class_of_the_main_program_simulates_in_other_processes(tmp_path: Path) -> None:
    write_trace(tmp_path / "three.csv", QUEUE_OF_THREE)
    script = tmp_path / "script.py"
    script.write_text(
        "from dataclasses import dataclass\n"
        "import motet\n"
        "from motet.policies.fifo import Fifo\n"
        "@dataclass(frozen=True)\n"
        "class Mine(Fifo):\n"
        "    pass\n"
        "if __name__ == '__main__':\n"
        "    result = motet.simulate('three.csv', '1x2', [Mine, 'srtf'], processes=2)\n"
        "    print(result)\n",
        encoding="utf-8",
    )
    command = [sys.executable, str(script)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.stdout == "<SimulatedRuns: Mine, srtf on 1x2; 6 of 6 jobs finished>\n"


def test_an_error_of_a_policy_names_its_line() -> None:
    with pytest.raises(Exception, match=r"test_policies.py:\d+ in decide: KeyError: 'nothing'"):
        ends(Failing)


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ([], "policy=[]: no policy; give a name"),
        (3, "policy=3: give a name ('fifo'), 'all', a file"),
        (int, "policy=<class 'int'>: give a name"),
        (["fifo", 3], "policy=3: give a name"),
        ("fifo,srtf", "give several policies as a list"),
        (["fifo", Fifo()], "fifo is given twice; give a dictionary"),
        ({"": "fifo"}, "the label '' of a policy is no text"),
        ({3: "fifo"}, "the label 3 of a policy is no text"),
        (Incomplete, "Incomplete: not a policy to run"),
        ("fifoo", "unknown policy 'fifoo'; did you mean 'fifo'?"),
        ("./nowhere.py", "nowhere.py: no such file"),
    ],
)
def test_what_is_no_policy_is_one_clear_error(policy: Any, complaint: str) -> None:
    with pytest.raises(BadInput) as raised:
        simulate(workload_of(QUEUE_OF_THREE), "1x2", policy)
    assert complaint in str(raised.value)
    assert len(str(raised.value)) < 500


def test_a_policy_that_does_not_exist_cannot_be_loaded() -> None:
    with pytest.raises(BadInput, match="policy=3: give a name"):
        load_policy(3)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="unknown parameter of fifo 'knob'"):
        load_policy("fifo", knob=3)


def test_an_option_of_the_trace_is_no_parameter_of_a_policy() -> None:
    remedy = r"columns: .*motet.load_trace\(path, columns=...\), or rename those of a DataFrame$"
    with pytest.raises(BadInput, match=remedy):
        simulate(workload_of(QUEUE_OF_THREE), "1x2", columns={"num_gpus": "GPUs"})
