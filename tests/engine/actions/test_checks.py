"""A decision that cannot be carried out is described with what would be right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from decisions import decision, on, rows, state_with
from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Overlap
from motet.domain.events import DataSizes
from motet.domain.snapshot import Placement, Snapshot
from motet.engine.actions.checks import problem_of
from motet.engine.measurements.job_measurements import Measurements

ELASTIC = {"gpus": 2, "workers": 2, "min_workers": 1, "max_workers": 3, "worker_gpus": 1}
GOOD = decision([2, 0, 2])


def three_jobs() -> Snapshot:
    """Two rigid jobs of 2 GPUs and an elastic one, on two machines of 2 GPUs, at 0 s."""
    jobs = {"gpus": 2}, {"gpus": 2}, ELASTIC
    return state_with(*jobs, cluster=ClusterSpec.of([2, 2]), memory={"seen": 0}).snapshot()


@pytest.mark.parametrize(
    "good",
    [
        GOOD,
        decision([2, 2, 0], places={0: on(1, 2)}),
        decision([0, 0, 3], workers=rows(0, 0, 3)),
        decision([2, 2, 2], group=rows(4, 4, -1)),
        decision([2, 2, 2], group=rows(4, 4, 4)),
        decision([2, 2, 0], group=rows(4, 4, -1), places={0: on(0, 2), 1: on(0, 2)}),
        decision([0, 0, 1], memory={"seen": rows(1, 2, 3)}),
        replace(GOOD, spill=np.array([0.0, 0.5, 1.0])),
        replace(GOOD, asynchronous=np.zeros(3, np.bool_)),
    ],
)
def test_a_decision_that_can_be_carried_out_has_no_problem(good: Any) -> None:
    assert problem_of(good, three_jobs()) is None


@pytest.mark.parametrize(
    ("wrong", "row", "said"),
    [
        (None, -1, "it returned None; return a motet.domain.decision.Decision"),
        (
            replace(GOOD, spill=np.zeros(2)),
            -1,
            "spill must be an array with a number for each of 3",
        ),
        (replace(GOOD, spill=np.array([0.0, 1.5, 0.0])), 1, "spill=1.5: give a part, 0 to 1"),
        (replace(GOOD, spill=np.array([0.0, 0.0, np.nan])), 2, "spill=nan: give a part, 0 to 1"),
        (
            replace(GOOD, asynchronous=rows(0, 1, 0)),
            -1,
            "asynchronous must be an array of truth values, one for each of 3 jobs",
        ),
        (
            replace(GOOD, asynchronous=np.array([False, True, False])),
            1,
            "asynchronous: its user does not permit that",
        ),
        (replace(GOOD, reasons=()), -1, "reasons must be Reasons, not tuple"),
        (
            replace(GOOD, reasons=replace(GOOD.reasons, until_us=rows(1))),
            -1,
            "reasons.until_us has 1 rows for 3 jobs",
        ),
        (
            replace(GOOD, reasons=replace(GOOD.reasons, usable_gpus=rows(1))),
            -1,
            "reasons.usable_gpus has 1 rows for 3 jobs",
        ),
        (replace(GOOD, places=4), -1, "places must be a dictionary, not int"),
        (replace(GOOD, places=None), -1, "places must be a dictionary, not None"),
        (replace(GOOD, memory=[]), -1, "memory must be a dictionary, not list"),
        (replace(GOOD, exclude=None), -1, "exclude must be a dictionary, not None"),
        (replace(GOOD, places={"m0": on(0, 2)}), -1, "places: its keys must be rows of jobs"),
        (replace(GOOD, places={0: Placement(0, 2)}), -1, "places: give machines and counts as"),  # type: ignore[arg-type]
        (replace(GOOD, gpus=np.ones(3)), -1, "gpus must be a NumPy array of whole numbers"),
        (replace(GOOD, workers=rows(1, 2)), -1, "workers has 2 rows for 3 jobs"),
        (replace(GOOD, recheck_at_us=0), -1, "recheck_at_us=0 is not after now_us=0"),
        (replace(GOOD, recheck_at_us=1.5), -1, "is no whole number of microseconds"),
        (decision([2, 2, 1]), -1, "5 GPUs allocated of 4"),
        (decision([0, 1, 0]), 1, "1 of its 2 GPUs allocated; a rigid job gets all or none"),
        (decision([0, 0, -1]), 2, "-1 of its 2 GPUs allocated"),
        (decision([0, 0, 4]), 2, "4 workers and 0 servers on 4 GPUs; it takes 1 to 3 workers"),
        (decision([2, 2, 1], group=rows(4, 4, 4)), 2, "group=4: only jobs of equally many GPUs"),
        (
            decision([2, 2, 0], group=rows(4, 4, -1), places={0: on(0, 2)}),
            1,
            "group=4: name the same place for all of its jobs, or none",
        ),
        (decision([2, 0, 0], places={5: on(0, 2)}), -1, "places[5]: there are 3 rows"),
        (decision([2, 0, 0], places={0: (0, 2)}), -1, "places[0] must be a Placement, not tuple"),
        (decision([2, 0, 0], places={0: on(2, 2)}), 0, "machines (2,); there are 2, from 0"),
        (decision([2, 0, 0], places={0: on(0, 1)}), 0, "(1,) GPUs on machines (0,), but gpus"),
        (decision([2, 0, 0], places={0: Placement((0, 1), (2,))}), 0, "but gpus is 2"),
        (decision([0, 0, 0], memory={"rank": rows(0, 0, 0)}), -1, "none of its memory_columns"),
        (decision([0, 0, 0], memory={"seen": rows(0)}), -1, "memory['seen'] has 1 rows for 3"),
    ],
)
def test_a_wrong_decision_is_described_with_its_row(wrong: Any, row: int, said: str) -> None:
    problem = problem_of(wrong, three_jobs())
    assert problem is not None
    assert said in problem.text
    assert problem.row == row


def test_an_unknown_reason_is_a_problem_of_its_job() -> None:
    reasons = replace(GOOD.reasons, code=rows(0, 99, 0))
    problem = problem_of(replace(GOOD, reasons=reasons), three_jobs())
    assert problem is not None
    assert problem.text.startswith("reasons.code=99; it is one of 0 (runs)")
    assert problem.row == 1


def test_only_jobs_whose_users_permit_it_are_switched() -> None:
    book = Measurements()
    known, overlaps = three_jobs(), (Overlap.PERMITTED, Overlap.ALWAYS, Overlap.NEVER)
    for number, overlap in zip(known.jobs.number.tolist(), overlaps, strict=True):
        book.arrived(number, data=DataSizes(0, 0, overlap))
    known = replace(known, estimates=book.estimates(known.jobs))
    for row, is_permitted in enumerate((True, False, False)):
        switched = np.arange(3) == row
        problem = problem_of(replace(GOOD, asynchronous=switched), known)
        assert (problem is None) == is_permitted
