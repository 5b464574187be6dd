"""Forms of times in tables: found where they are unambiguous, or named by the user."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.sim.traces.times.clock_forms import AmbiguousDates, found_form, given_form

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["27.10.2024 08:00"], datetime(2024, 10, 27, 8)),
        (["1.2.2024 08:00:30"], datetime(2024, 2, 1, 8, 0, 30)),
        (["1/2/2024 1:00 PM", "1/13/2024 1:00 PM"], datetime(2024, 1, 2, 13)),
        (["1/2/2024 12:30 am", "12/13/2024 0:00"], datetime(2024, 1, 2, 0, 30)),
        (["1/2/2024", "13/1/2024"], datetime(2024, 2, 1)),
        (["01-02-2024 10:00", "13-02-2024 10:00"], datetime(2024, 2, 1, 10)),
        (["2024-02-01 10:00"], datetime(2024, 2, 1, 10)),
        (["1710060000000"], datetime(2024, 3, 10, 8, 40, tzinfo=UTC)),
        (["1710060000000000"], datetime(2024, 3, 10, 8, 40, tzinfo=UTC)),
        (["1710060000000000000"], datetime(2024, 3, 10, 8, 40, tzinfo=UTC)),
        (["", "1710060000500"], datetime(2024, 3, 10, 8, 40, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_a_form_is_found(cells: list[str], expected: datetime) -> None:
    form = found_form(cells)
    assert form is not None
    assert form.read(next(filter(None, cells))) == expected


@pytest.mark.parametrize("cells", [["0", "5"], ["1710060000"], ["1710060000.5"], [""]])
def test_seconds_have_no_form(cells: list[str]) -> None:
    assert found_form(cells) is None


def test_dates_of_two_forms_are_refused_with_both_remedies() -> None:
    with pytest.raises(AmbiguousDates, match=r"day/month and month/day") as raised:
        found_form(["1/2/2024 10:00", "3/12/2024 10:00"])
    assert "--time-format '%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M'" in str(raised.value)


@pytest.mark.parametrize(
    ("cells", "wrong"),
    [
        (["1.2.2024 10:00", "1.13.2024 10:00"], "1.13.2024 10:00"),
        (["13/1/2024"], "soon"),
        (["1/13/2024 13:00 PM"], "1/13/2024 13:00 PM"),
    ],
)
def test_cells_of_another_form_are_bad(cells: list[str], wrong: str) -> None:
    form = found_form(cells)
    assert form is not None
    with pytest.raises(ValueError, match=r"^which "):
        form.read(wrong)


@given(MOMENTS)
def test_what_is_written_in_a_given_form_is_read(moment: datetime) -> None:
    for text in ("%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y%m%d%H%M", "%d/%m/%Y %H:%M"):
        assert given_form(text).read(moment.strftime(text)) == moment


@given(st.integers(0, 4 * 10**18))
def test_counts_are_exact_to_the_microsecond(count: int) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert given_form("us").read(str(count % 10**17)) - epoch == timedelta(
        microseconds=count % 10**17
    )
    assert abs(
        given_form("ns").read(str(count)) - epoch - timedelta(microseconds=count // 1000)
    ) <= (timedelta(microseconds=1))


@pytest.mark.parametrize("text", ["minutes", "%H:%M", "%Q", "", "%d.%m."])
def test_what_is_no_form_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"^--time-format .*; give --time-format with a form"):
        given_form(text)
