"""Every reason to wait is given by some code of Motet and described in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motet.domain.wait import WAITS, Wait
from motet.report.figures.simulations import CAUSE_HATCHES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path.read_text(encoding="utf-8")
    for package in ("policies", "allocation", "placement", "engine")
    for path in (ROOT / "src" / "motet" / package).rglob("*.py")
]
EXPLAIN = (ROOT / "docs" / "reference" / "explain.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.key)
def test_every_reason_is_given_by_a_policy_or_the_engine(wait: Wait) -> None:
    assert any(re.search(rf"\bWait\.{wait.name}\b", text) for text in SOURCES)


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.key)
def test_every_reason_is_in_the_reference_with_its_title(wait: Wait) -> None:
    assert f"{wait.reason.title} (`{wait.key}`)" in EXPLAIN


def test_every_cause_of_delay_has_its_hatch_in_figures() -> None:
    assert {*CAUSE_HATCHES} == {wait.reason.cause for wait in WAITS}
