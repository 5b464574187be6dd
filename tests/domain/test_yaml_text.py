from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.domain.yaml_text import read_yaml

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text("abc: -'", max_size=5))
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3),
    max_leaves=8,
)


@given(documents)
def test_what_was_written_is_read(document: object) -> None:
    assert read_yaml(yaml.safe_dump(document), "a.yaml") == document


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3: 'a' is given twice, first in line 1; leave one of them"),
        ("- {a: 1, a: 1}", "f.yaml:1: 'a' is given twice, first in line 1"),
        ("x:\n- a: 1\n  b:\n    c: 1\n    'c': 2", "f.yaml:5: 'c' is given twice, first in line 4"),
        ("1: a\n'1': b", "f.yaml:2: '1' is given twice, first in line 1"),
    ],
)
def test_a_name_that_stands_twice_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_yaml(text, "f.yaml")


def test_a_mapping_may_change_what_it_takes_over_from_another_one() -> None:
    text = "- &x {a: 1, b: 1}\n- &y {<<: *x, b: 2}\n- {<<: *y, a: 3}"
    assert read_yaml(text, "f.yaml") == [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 3, "b": 2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [2", r"f.yaml:[23]: no YAML \(.+\)$"),
        ("a: b: c", r"f.yaml:1: no YAML \(mapping values are not allowed here\)$"),
        ("a: \x00", r"f.yaml: no YAML \(.+\)$"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_yaml(text, "f.yaml")
