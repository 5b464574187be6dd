"""Figures of claims as text."""

from __future__ import annotations

import pytest

from motet.report.simulation.group_estimates import Estimate
from support.claims import Claim, claims_table, less, span, times


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Estimate(0.74, 0.11), "26 ±11 % less"),
        (Estimate(1.3, None), "30 % more"),
    ],
)
def test_ratios_below_one_are_told_as_less_and_others_as_more(ratio: Estimate, text: str) -> None:
    assert less(ratio) == text


def test_ratios_and_spans_have_their_units() -> None:
    assert times(Estimate(1.612, 0.118)) == "1.61 ±0.12 times"
    assert span([0.5, 0.71, 0.6], percent=True) == "50 to 71 %"
    assert span([0.004, 0.004], percent=True, digits=1) == "0.4 %"


def test_a_system_is_named_at_its_first_claim() -> None:
    claim = Claim("halves", "0.6", "make it", "Because.")
    lines = claims_table({"Cruise": [claim, claim], "SLAQ": [claim]}).splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ["Cruise", "", "SLAQ"]
