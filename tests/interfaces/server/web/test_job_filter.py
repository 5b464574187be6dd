"""The address of the page of jobs, there and back."""

from __future__ import annotations

from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.interfaces.server.web.job_filter import address, job_query
from motet.live.jobs.job_state import JobState
from motet.live.read_tables.read_tables import SORT_COLUMNS, JobQuery

texts = st.text(st.characters(codec="utf-8"), max_size=20).map(str.strip)


@given(
    st.builds(
        JobQuery,
        states=st.frozensets(st.sampled_from([*JobState])),
        queue=texts,
        user=texts,
        name=texts,
        array=st.integers(0, 10**9 - 1),
        sort=st.sampled_from(SORT_COLUMNS),
        descending=st.booleans(),
        page=st.integers(-1, 10_000),
    )
)
def test_an_address_leads_back_to_its_query(query: JobQuery) -> None:
    query_text = urlsplit(address(query)).query
    states = parse_qs(query_text).get("state", [])
    assert job_query(dict(parse_qsl(query_text)), states) == query


@pytest.mark.parametrize(
    "given_values",
    [
        {"sort": "password"},
        {"page": "1e9"},
        {"page": "-"},
        {"page": "9" * 50},
        {"order": "?"},
        {"array": "-1"},
    ],
)
def test_what_is_not_understood_is_left_out(given_values: dict[str, str]) -> None:
    assert job_query(given_values, ["SLEEPING"]) == JobQuery()
