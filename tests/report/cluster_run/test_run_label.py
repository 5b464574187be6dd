"""Labels of runs."""

from __future__ import annotations

from typing import Any

from motet.report.cluster_run.run_label import Sweep, run_label, sweep_of, swept_parameters


def run(policy: str, value: str | None, parameter: str = "knob") -> dict[str, Any]:
    sweep = {} if value is None else {"sweep": {"parameter": parameter, "value": value}}
    return {"policy": policy, **sweep}


def test_the_label_has_the_value_of_a_swept_parameter() -> None:
    runs = [run("fifo", None), run("las", "8"), run("las", "")]

    assert list(map(run_label, runs)) == ["fifo", "las knob=8", "las knob=none"]


def test_a_run_outside_of_sweeps_has_no_sweep() -> None:
    assert sweep_of(run("fifo", None)) is None
    assert sweep_of(run("las", "8")) == Sweep("knob", "8")


def test_a_parameter_with_a_single_value_is_no_sweep() -> None:
    runs = [run("las", "1"), run("las", "2"), run("las", "2", "other"), run("fifo", None)]

    assert swept_parameters(runs) == ["knob"]
