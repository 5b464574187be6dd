"""The line below the tables that states what restarts were charged."""

from __future__ import annotations

from typing import Any

import pytest

from motet.report.simulation.restart_notes import restart_notes, restoring_share
from small_traces import result_of


def run(policy: str, cost: str, count: int, mean_s: float) -> dict[str, Any]:
    costs = {"count": count, "mean_s": mean_s, "total_s": count * mean_s, "share": 0.1}
    return {"policy": policy, "params": {"preemption_cost": cost}, "restart_costs": costs}


def test_one_setting_is_one_average_over_all_restarts() -> None:
    (note,) = restart_notes([run("srtf", "profile", 3, 50.0), run("gandiva", "profile", 1, 90.0)])
    assert note == (
        "Charged for each restart (preemption, migration, rescale): 60.0 s on average "
        "(preemption_cost=profile)."
    )


def test_policies_with_other_settings_are_named() -> None:
    (note,) = restart_notes([run("srtf", "profile", 3, 50.0), run("gandiva", "0", 0, 0.0)])
    assert note.endswith(
        "srtf: 50.0 s on average (preemption_cost=profile); gandiva: nothing (preemption_cost=0)."
    )


def test_runs_without_restarts_say_so_and_runs_of_earlier_versions_nothing() -> None:
    (note,) = restart_notes([run("fifo", "profile", 0, 0.0)])
    assert note == "No job was restarted, so nothing was charged (preemption_cost=profile)."
    assert restart_notes([{"policy": "fifo", "params": {"preemption_cost": "0"}}]) == []
    assert restoring_share({"policy": "fifo"}) == 0


def test_restarts_that_cost_nothing_are_counted() -> None:
    """The case of a user: 1 GPU, two jobs that alternate in Tiresias' queues."""
    costs = run("tiresias-las", "0", 0, 0.0)
    (note,) = restart_notes([{**costs, "preemptions": 7, "migrations": 1}])
    assert note == "Nothing was charged for 8 restarts (preemption_cost=0)."


def test_a_policy_that_spends_its_time_in_restarts_gets_a_hint() -> None:
    busy = run("gandiva", "profile", 6664, 60.2)
    busy["restart_costs"]["share"] = 0.49
    busy["params"]["quantum_s"] = "60.0"
    _, note = restart_notes([run("srtf", "profile", 3, 50.0), busy, busy])
    assert note == (
        "gandiva spent 49% of the time on GPUs in 6,664 restarts, as quantum_s is 60.0; decide "
        "less often (--set gandiva.quantum_s=1260), or charge what you measure (--set "
        "gandiva.preemption_cost=SECONDS)."
    )
    del busy["params"]["quantum_s"]
    assert restart_notes([busy])[1].endswith(
        "6,664 restarts; charge what you measure (--set gandiva.preemption_cost=SECONDS)."
    )


@pytest.mark.parametrize(("cost", "mean_s"), [("0", 0.0), ("5", 5.0), ("profile", 60.0)])
def test_a_simulation_is_charged_what_the_setting_says(cost: str, mean_s: float) -> None:
    """The long job gives way to the short one once."""
    result = result_of([(0, 300, 2), (100, 50, 2)], policy="srtf", preemption_cost=cost)
    costs = result.summary["restart_costs"]
    assert costs["mean_s"] == pytest.approx(mean_s, abs=0.3)
    assert costs["count"] == (1 if mean_s else 0)
    assert costs["total_s"] == pytest.approx(costs["mean_s"])
    assert costs["share"] == pytest.approx(costs["total_s"] / (350 + costs["total_s"]))
