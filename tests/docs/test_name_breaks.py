"""Long names in the pages break between their words."""

from __future__ import annotations

import pytest
from name_breaks import index_with_breaks, with_breaks


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("resource_time_0..2", "resource_|time_0..2"),
        ("motet.interfaces.PolicyComparison", "motet.|interfaces.|Policy|Comparison"),
        ("src/motet/policies/__init__.py", "src/|motet/|policies/|__init__.|py"),
        ("preemption_cost=profile", "preemption_|cost=|profile"),
    ],
)
def test_a_long_name_may_break_between_its_words(name: str, broken: str) -> None:
    code = '<code class="docutils literal"><span class="pre">{}</span></code>'
    assert with_breaks(code.format(name)) == code.format(broken.replace("|", "<wbr>"))


@pytest.mark.parametrize("whole", ["num_gpus", "10.0.0.1:6379", "0.123456789"])
def test_short_names_and_numbers_stay_whole(whole: str) -> None:
    code = f'<span class="pre">{whole}</span>'
    assert with_breaks(code) == code


def test_other_text_and_entities_stay_as_they_are() -> None:
    html = (
        '<a href="a_long/path.html">a_long_name</a> <span class="pre">&lt;&quot;on&quot;&gt;</span>'
    )
    assert with_breaks(html) == html


def test_names_in_an_index_break_and_its_addresses_stay() -> None:
    html = '<li><a href="a_long/path.html">add_webhook() (motet.Client method)</a>'
    broken = html.replace("add_w", "add_<wbr>w").replace("motet.C", "motet.<wbr>C")
    assert index_with_breaks(html) == broken
    assert index_with_breaks('<code class="xref">motet.domain.errors</code>') == (
        '<code class="xref">motet.<wbr>domain.<wbr>errors</code>'
    )
