"""What the benchmark on the testbed makes of the events that jobs leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from motet.estimate.epoch_cost import Configuration, Fleet, Profile, epoch_s, exchange_s
from support.auto_run import AutoRun
from support.cruise_page import phases_s
from support.evidence import (
    ErrorStatistics,
    Grid,
    Model,
    Prediction,
    Visit,
    predictions,
    visits_of,
)
from support.link_evidence import LinkEvidence

MACHINES = 8
PROFILE = Profile(4_000, 1_000, 2e6, data_blocks=96, model_blocks=16)
FLEET = Fleet.uniform(MACHINES, 1e-3, 10e6)


def dealt(blocks: int, places: range) -> tuple[int, ...]:
    share, more = divmod(blocks, len(places))
    counts = {place: share + (number < more) for number, place in enumerate(places)}
    return tuple(counts.get(place, 0) for place in range(MACHINES))


def as_modelled(workers: int) -> Visit:
    """A visit that took exactly what the cost model says, of a job that only pulls."""
    data, model = dealt(96, range(workers)), dealt(16, range(workers, MACHINES))
    exchange = exchange_s(PROFILE, FLEET, Configuration(data, model))[0]
    visit = Visit(
        shape=(workers, MACHINES - workers),
        epochs=5,
        epoch_s=0.0,
        spread=0.0,
        comp_s=4_000 * 1e-3 / workers,
        comm_s=4 * float(exchange),
        moved_bytes=4 * workers * 2e6,
        pushed_bytes=0.0,
        batches=4,
        instances=4_000,
        data_blocks=data,
        model_blocks=model,
    )
    return replace(visit, epoch_s=epoch_s(PROFILE, FLEET, Configuration(data, model)))


def epoch(stop: int, wall_s: float, *, is_settled: bool = True, workers: int = 2) -> dict[str, Any]:
    return {
        "kind": "epoch", "stop": stop, "is_settled": is_settled, "wall_s": wall_s,
        "workers": workers, "servers": 4 - workers, "comp_s": 0.5, "comm_s": 0.25,
        "bytes_pulled": 10, "bytes_pushed": 20, "batch_s": [0.1, 0.2], "instances": 100,
        "data_blocks": [1, 1, 0, 0],
        "model_blocks": [0, 0, 1, 1],
    }  # fmt: skip


def test_a_visit_is_the_median_of_the_settled_epochs_of_its_stop() -> None:
    settling = epoch(0, 50.0, is_settled=False)
    events = [settling, epoch(0, 3.0), epoch(0, 1.0), epoch(0, 2.0), epoch(1, 9.0, workers=3)]
    first, second = visits_of([{"kind": "started"}, *events, {"kind": "reconfigured"}])
    assert (first.shape, first.epochs, first.epoch_s) == ((2, 2), 3, 2.0)
    assert (second.shape, second.epoch_s) == ((3, 1), 9.0)
    assert (first.moved_bytes, first.batches) == (30, 2)


def test_the_noise_is_how_far_two_visits_are_apart() -> None:
    visit = as_modelled(3)
    twice = [replace(visit, epoch_s=1.1), replace(visit, epoch_s=0.9)]
    grid = Grid.of([*twice, replace(as_modelled(5), epoch_s=0.5)])
    assert grid.epoch_s((3, 5)) == pytest.approx(1.0)
    assert grid.noise == pytest.approx(0.1 * 2**0.5)
    assert (grid.best, grid.excess((3, 5))) == ((5, 3), pytest.approx(1.0))


@pytest.mark.parametrize("start", [1, 4, 7])
def test_where_the_cost_model_holds_any_configuration_predicts_all_others(start: int) -> None:
    grid = Grid.of(as_modelled(workers) for workers in range(1, MACHINES))
    made = predictions(grid, [(start, MACHINES - start)])
    assert len(made) == MACHINES - 2
    assert ErrorStatistics.of(made).worst < 1e-9


def test_what_is_fitted_gives_what_was_measured_back() -> None:
    visit = replace(as_modelled(6), comp_s=2.0, comm_s=1.5, epoch_s=3.75)
    assert Model.fitted([visit]).epoch_s(visit) == pytest.approx(3.75)


def test_errors_count_without_their_sign() -> None:
    made = [Prediction((1, 7), (w, 8 - w), 1.0 + error, 1.0) for w, error in enumerate((-0.5, 0.1))]
    errors = ErrorStatistics.of(made)
    assert (errors.count, errors.worst) == (2, pytest.approx(0.5))
    assert errors.median == pytest.approx(0.3)


def auto_events() -> list[dict[str, Any]]:
    counts = {"workers": 1, "servers": 3}, {"workers": 2, "servers": 2}
    change = {"before": counts[0], "after": counts[1]}
    decision = {"kind": "decision", **change, "predicted_s": 4.0}
    done = {**change, "plan_s": 3.0, "moved_bytes": 7, "stall_s": 0.1, "error": ""}
    listed = [
        {"kind": "started"},
        *(epoch(0, wall_s, workers=1) for wall_s in (20.0, 9.0, 8.0, 10.0)),
        decision,
        *(epoch(0, wall_s, workers=1) for wall_s in (15.0, 14.0)),
        {"kind": "reconfigured", **done},
        *(epoch(0, wall_s) for wall_s in (7.0, 6.0, 4.5, 5.0, 5.5)),
        {"kind": "mark", "text": "two hosts go"},
        {"kind": "recovering"},
        *(epoch(0, 8.0) for _ in range(9)),
    ]
    return [{**event, "at_s": 100.0 + at_s} for at_s, event in enumerate(listed)]


def test_a_run_tells_its_changes_and_what_they_saved() -> None:
    run = AutoRun.of([event for event in auto_events() if event["at_s"] < 114])
    (change,) = run.changes
    assert (run.start, run.final, change.predicted_s) == ((1, 3), (2, 2), 4.0)
    assert (change.began, change.ended, change.at_s) == (4, 6, 8.0)
    assert (run.first_s, run.final_s, run.after(0)) == (9.0, 5.0, 5.0)
    assert run.saved == pytest.approx(4 / 9)


def test_a_change_that_failed_is_none() -> None:
    events = [{**it, "error": "no machine"} if "error" in it else it for it in auto_events()]
    assert AutoRun.of(events).changes == ()


def test_phases_end_at_marks_and_recoveries_are_marked_too() -> None:
    run = AutoRun.of(auto_events())
    assert [text for _, text in run.marks] == ["two hosts go", "recovery"]
    assert phases_s(run)[1] == 8.0


def test_the_rate_of_moves_and_the_mini_batches_around_them() -> None:
    def told(batch_s: list[float], move_s: float, after: int) -> dict[str, Any]:
        return {"kind": "epoch", "move_s": move_s, "after_moves": after, "batch_s": batch_s}

    move = {"kind": "reconfigured", "moved_bytes": 8e6, "plan_s": 2.0, "stall_s": 0.3}
    events = [told([9.0], 0.0, 0), told([1.0], 0.0, 0), told([2.0, 5.0], 1e9, 0)]
    events += [move, told([4.0, 1.5, 1.7], 2.0, 1)]
    found = LinkEvidence.of([{**event, "table": "data"} for event in events], "data")
    assert (found.bytes_per_s, found.stall_s, found.moves) == (4e6, 0.3, 1)
    assert (found.before_s, found.during_s, found.during_worst_s) == (1.0, 4.0, 5.0)
    assert found.after_s == 1.6
