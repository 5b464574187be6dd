"""Lines of the log: one per event, whatever is in it, and without secrets."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.interfaces.server.event_log.line_formats import EventLine, LogFormat

SECRET = "Zk3-rQ_8vXw2LmN7"
FORMATS: tuple[LogFormat, ...] = ("text", "json")


def line(form: LogFormat, message: str = "happened", **fields: object) -> str:
    record = logging.LogRecord("motet.master", logging.INFO, "", 0, message, (), None)
    record.fields = fields
    return EventLine(form, (SECRET,)).format(record)


def test_an_object_has_the_same_keys_for_every_event() -> None:
    found = json.loads(line("json", "job_changed", job=7, verb="cancel"))
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "info",
        "component": "master",
        "event": "job_changed",
        "job": 7,
        "attempt": None,
        "verb": "cancel",
    }


def test_text_leaves_out_what_is_unknown_and_quotes_spaces() -> None:
    found = line("text", "machine_drained", name="m1", because="new disk")
    assert found.partition(" ")[2] == (
        'info    master   machine_drained name=m1 because="new disk"'
    )


@given(st.text(), st.text())
@pytest.mark.parametrize("form", FORMATS)
def test_no_value_begins_a_line(form: LogFormat, message: str, value: str) -> None:
    found = line(form, message, value=value)
    assert len(found.splitlines()) == 1
    assert found.isprintable()


def test_json_gives_values_back() -> None:
    assert json.loads(line("json", value='a"b\n\u2028'))["value"] == 'a"b\n\u2028'


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "text", [f"got {SECRET}!", "Authorization: Bearer abcdefgh12", "token motet_abcdefgh-123_4"]
)
def test_secrets_are_masked(form: LogFormat, text: str) -> None:
    for found in (line(form, text), line(form, value=text)):
        assert "***" in found
        assert SECRET not in found
        assert "abcdefgh" not in found


@pytest.mark.parametrize("form", FORMATS)
def test_an_exception_is_a_value_without_secrets(form: LogFormat) -> None:
    try:
        raise ValueError(f"with {SECRET}")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "failed", (), error)
    found = EventLine(form, (SECRET,)).format(record)
    assert "ValueError: with ***" in found
    assert len(found.splitlines()) == 1
