"""Quality over time as rows of a file and as shares."""

from __future__ import annotations

import numpy as np
import pytest

from motet.report.cluster_run.quality import QUALITY_COLUMNS, QualityOverTime, group_shares

QUALITY = QualityOverTime(
    times_us=np.array([0, 1_500_000]),
    jobs=np.array([2, 0]),
    average_loss=np.array([0.25, np.nan]),
    gpus=np.array([[3, 0], [1, 0], [0, 0]]),
)


def test_rows_have_exact_seconds_and_no_text_for_an_unknown_loss() -> None:
    assert list(QUALITY.rows()) == [("0", 2, "0.25", 3, 1, 0), ("1.5", 0, "", 0, 0, 0)]


def test_rows_read_back_as_the_same_columns() -> None:
    columns = [list(map(str, column)) for column in zip(*QUALITY.rows(), strict=True)]
    assert len(columns) == len(QUALITY_COLUMNS)

    read = QualityOverTime.of_columns(columns)
    for name in ("times_us", "jobs", "average_loss", "gpus"):
        np.testing.assert_array_equal(getattr(read, name), getattr(QUALITY, name))


def test_shares_are_unknown_where_no_gpu_is_held() -> None:
    np.testing.assert_array_equal(QUALITY.shares[:, 0], [0.75, 0.25, 0])
    assert np.isnan(QUALITY.shares[:, 1]).all()


def test_shares_of_groups_are_of_the_whole_time() -> None:
    shares = group_shares(np.array([[3, 1], [1, 0], [0, 3]]))

    assert shares == {"highest_quarter": 0.5, "next_quarter": 0.125, "lowest_half": 0.375}
    assert all(np.isnan(share) for share in group_shares(np.zeros((3, 2), int)).values())


def test_columns_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="abc"):
        QualityOverTime.of_columns([["0"], ["abc"], ["0.5"], ["1"], ["1"], ["1"]])
