"""The target of a matrix: which texts are dates."""

from __future__ import annotations

import pytest

from motet.datasets.kinds.target import begins_with_date


@pytest.mark.parametrize("text", ["2024-01-03", "3.1.2024", "01/02/24", "2024/1/3 12:00", "1-2-99"])
def test_dates_are_known(text: str) -> None:
    assert begins_with_date(text)


@pytest.mark.parametrize("text", ["1.2.3", "10.0.0.1", "12.5", "1-2", "1.2.345", "v1.2.2024", ""])
def test_versions_addresses_and_numbers_are_no_dates(text: str) -> None:
    assert not begins_with_date(text)
