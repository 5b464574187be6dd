"""The order by submission is kept while jobs come and go, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.engine.state.table import ActiveTable

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 10**6)), max_size=60)


def sorted_rows(table: ActiveTable) -> list[int]:
    rows: list[int] = np.lexsort((table.jobs.number, table.jobs.submit_us)).tolist()
    return rows


@given(steps=steps)
def test_rows_stand_by_time_then_number_after_every_change(
    steps: list[tuple[bool, int, int]],
) -> None:
    table, present, coming = ActiveTable({}, {"wait_code": 0, "running_since_us": 0}), [], 0
    for arrives, submit_us, chosen in steps:
        if arrives or not present:
            number = coming ^ 3  # Out of order.
            table.add({"number": number, "submit_us": submit_us})
            present.append(number)
            coming += 1
        else:
            table.remove(present.pop(chosen % len(present)))
        assert table.jobs.by_submission.tolist() == sorted_rows(table)
        assert table.seen_jobs.by_submission.tolist() == sorted_rows(table)


def test_the_order_is_kept_when_the_table_grows_and_when_it_is_restored() -> None:
    table = ActiveTable({}, {"wait_code": 0, "running_since_us": 0})
    for number in range(600):
        table.add({"number": number, "submit_us": -number % 7})
    assert table.jobs.by_submission.tolist() == sorted_rows(table)
    twin = ActiveTable({}, {"wait_code": 0, "running_since_us": 0})
    twin.restore(table.columns())
    twin.remove(300)
    assert twin.jobs.by_submission.tolist() == sorted_rows(twin)
