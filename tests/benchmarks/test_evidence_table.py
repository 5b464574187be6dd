"""The page of claims has what the records say."""

from __future__ import annotations

import evidence_table
from support.pages import begin_of


def test_the_recorded_claims_of_the_page_are_those_of_the_records() -> None:
    begin = begin_of("evidence_table.py", evidence_table.RECORDED)
    marked = f"{begin}\n{evidence_table.recorded_section()}\n<!-- evidence: ends -->"
    assert marked in evidence_table.PAGE.read_text(encoding="utf-8")
