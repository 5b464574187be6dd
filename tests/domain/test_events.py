"""Events as JSON and back."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain import events
from motet.domain.errors import BadInput
from motet.domain.estimates import Overlap
from motet.domain.events import EVENTS, event_from_json, event_to_json

numbers = st.integers(-(2**62), 2**62)
floats = st.floats(allow_nan=False)
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "int": numbers,
    "int | None": st.none() | numbers,
    "bool": st.booleans(),
    "float": floats,
    "float | None": st.none() | floats,
    "str": st.text(),
    "Mapping[str, int]": st.dictionaries(st.text(), numbers),
    "Mapping[str, str]": st.dictionaries(st.text(), st.text()),
    "Goal | None": st.none() | st.builds(events.Goal, st.none() | floats, st.none() | floats),
    "DataSizes | None": st.none()
    | st.builds(events.DataSizes, numbers, numbers, st.sampled_from(Overlap)),
    "bool | None": st.none() | st.booleans(),
    "tuple[Point, ...]": st.lists(st.tuples(floats, floats)).map(tuple),
    "Ints": st.lists(numbers).map(lambda values: np.array(values, dtype=np.int64)),
}


def of_kind(kind: Any) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{each.name: BY_TYPE[str(each.type)] for each in fields(kind)})


@pytest.mark.parametrize("kind", EVENTS.values(), ids=EVENTS)
@given(data=st.data())
def test_an_event_reads_back_as_it_was_written(kind: Any, data: Any) -> None:
    event = data.draw(of_kind(kind))
    text = json.dumps(event_to_json(event))
    assert event_from_json(json.loads(text)) == event


def test_the_document_names_the_event_and_its_fields() -> None:
    assert event_to_json(events.Stopped(3)) == {"event": "Stopped", "job": 3}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"event": "Sneezed"},
        {"event": ["Stopped"]},
        {"event": "Stopped"},
        {"event": "Stopped", "job": 3, "mood": 1},
        {"event": "Submitted", "job": 3, "columns": {}, "goal": 5},
        {"event": "Submitted", "job": 3, "columns": {}, "data": [1]},
        {"event": "RemainingMeasured", "jobs": ["x"], "remaining_us": [1]},
    ],
)
def test_a_document_that_is_no_event_is_refused(document: Any) -> None:
    with pytest.raises(BadInput, match="event"):
        event_from_json(document)


def test_journals_from_before_have_jobs_that_never_overlap() -> None:
    arrived = events.Submitted(3, {"gpus": 1}, data=events.DataSizes(7, 3))
    assert event_to_json(arrived)["data"] == [7, 3]
    took = events.SubtasksMeasured(3, 1, 2.0, 1.0)
    assert "overlaps" not in event_to_json(took)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (
            '{"event":"Submitted","job":3,"columns":{"gpus":1},"goal":null,"data":[7,3]}',
            events.Submitted(3, {"gpus": 1}, data=events.DataSizes(7, 3, Overlap.NEVER)),
        ),
        (
            '{"event":"SubtasksMeasured","job":3,"machines":2,"comp_s":2.0,"comm_s":1.0,'
            '"iteration_s":3.5}',
            events.SubtasksMeasured(3, 2, 2.0, 1.0, 3.5, overlaps=None),
        ),
    ],
)
def test_events_of_journals_from_before_tell_no_overlap(text: str, event: Any) -> None:
    assert event_from_json(json.loads(text)) == event
