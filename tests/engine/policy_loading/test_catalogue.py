"""Policies are found by name or file, and their parameters are read from text."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.engine.policy_loading.catalogue import built_in_policies, find_policies, make_policy
from motet.policies.tiresias import TiresiasGittins, TiresiasLas
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "longest_waiting.py"


def test_parameters_are_read_as_their_fields_want_them() -> None:
    settings = {"thresholds": "3250,7200", "promote_knob": "8", "within_queue": "first_start"}
    wanted = TiresiasLas((3250.0, 7200.0), 8.0, "first_start")
    assert make_policy("tiresias-las", TiresiasLas, settings) == wanted


def test_a_list_of_numbers_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text("duration\n4\n8\n12\n")
    policy = make_policy("g", TiresiasGittins, {"history": f"@{path}"})
    assert policy == TiresiasGittins(history=(4.0, 8.0, 12.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": "3"}, "did you mean 'thresholds'"),
        ({"promote_knob": "often"}, "tiresias-las: promote_knob=often: give a number"),
        ({"clock_s": "1e-9"}, "^tiresias-las: clock_s=1e-09: give seconds, at least 0.000001"),
        ({"thresholds": "abc"}, "thresholds=abc: give numbers"),
        ({"clock_s": "soon"}, "clock_s=soon: give a number"),
        ({"promote_knob": "-1"}, "above 0"),
        ({"thresholds": "7200,3250"}, "ascending"),
        ({"within_queue": "lifo"}, "unknown value of within_queue of tiresias-las 'lifo'"),
        ({"quantum_s": "nan"}, "quantum_s"),
        ({"thresholds": "@nowhere"}, "tiresias-las: thresholds=@nowhere: the file cannot be read"),
    ],
)
def test_bad_parameters_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_policy("tiresias-las", TiresiasLas, settings)


def test_unknown_policies_name_the_near_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'tiresias-las'"):
        find_policies("tiresias-lass")


def test_a_users_file_is_a_policy_like_any_other() -> None:
    workload = Workload.of(["a", "b"], [0, 0], [4_000_000, 2_000_000], [4, 4])
    experiment = Experiment(str(EXAMPLE), {"slice_s": "1", "preemption_cost": "0"})
    experiment.check()
    outcome = experiment.run(workload, ClusterSpec.parse("1x4"))
    assert outcome.columns["end_us"].tolist() == [6_000_000, 4_000_000]
    assert len(EXAMPLE.read_text().splitlines()) <= 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no policy in it"),
        ("POLICIES = {", "SyntaxError while loading it"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
    ],
)
def test_a_file_without_a_policy_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        find_policies(str(path))


def test_the_built_in_ones_are_there() -> None:
    assert {"fifo", "best-effort", "sf", "srtf", "srsf", "tiresias-las", "yarn-cs"} <= set(
        built_in_policies()
    )
