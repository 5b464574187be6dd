from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.sim.traces.times.durations import duration_us

DURATIONS = {
    "0": 0,
    "93784.5": 93_784.5,
    "02:03": 123,
    "00:00:00": 0,
    "26:03:04": 93_784,
    "1-02:03:04": 93_784,
    "1-02:03:04.250": 93_784.25,
    "1 day, 2:03:04": 93_784,
    "2 days 02:03:04.5": 180_184.5,
    "1d2h3m4s": 93_784,
    "1.5h": 5_400,
    "90M": 5_400,
    "45s": 45,
    "1h 30m": 5_400,
    "45 min": 2_700,
    "1 day, 2 hours 3 minutes 4 secs": 93_784,
    "1w 1d": 691_200,
    "1.5 hrs": 5_400,
    "P1DT2H3M4.5S": 93_784.5,
    "PT90M": 5_400,
    "P2W": 1_209_600,
    " 5 ": 5,
}
REFUSED = [
    *("", "soon", "1-05:30", "1-25:00:00", "1:60:00", "1:00:60", ":30", "1:2:3:4", "-1:00:00"),
    *("P", "PT", "P1Y", "500 ms", "30m 1h", "1 month", "d", "9" * 30 + "d"),
    *("UNLIMITED", "Partition_Limit", "1e400"),
]


@pytest.mark.parametrize("cell", DURATIONS)
def test_every_form_has_its_seconds(cell: str) -> None:
    assert duration_us(cell) == DURATIONS[cell] * 1_000_000


@pytest.mark.parametrize("cell", REFUSED)
def test_other_cells_are_refused(cell: str) -> None:
    with pytest.raises(ValueError, match="which "):
        duration_us(cell)


def test_a_word_is_told_what_durations_look_like() -> None:
    with pytest.raises(ValueError, match="which is not a duration like 5400, 1:30:00"):
        duration_us("soon")


@given(st.integers(0, 10**9))
def test_the_form_of_slurm_gives_the_seconds_back(total_s: int) -> None:
    days, rest = divmod(total_s, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"

    assert duration_us(f"{days}-{clock}" if days else clock) == total_s * 1_000_000
