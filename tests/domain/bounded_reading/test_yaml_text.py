from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.bounded_reading.yaml_text import read_yaml
from motet.domain.errors import BadInput

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text("abc: -'", max_size=5)
)
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
        ("a: 1\nb: 2\na: 3", "f.yaml:3: 'a' is given twice, first in line 1; remove one of them"),
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


BILLION_LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
BILLION_MERGES = "- &a0 {x: 1}\n" + "".join(
    f"- &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 10)
)
CHAIN_OF_ALIASES = "- &a0 [x]\n" + "".join(f"- &a{n} [*a{n - 1}]\n" for n in range(1, 2000))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 10_000, "f.yaml:1: no YAML .nested more than 100 deep"),
        ("{a: " * 10_000, "f.yaml:1: no YAML .nested more than 100 deep"),
        ("- " * 10_000, "f.yaml:1: no YAML .nested more than 100 deep"),
        (BILLION_LAUGHS, "f.yaml:7: no YAML .more than 1,000,000 entries"),
        (BILLION_MERGES, "f.yaml:7: no YAML .more than 1,000,000 entries"),
        (CHAIN_OF_ALIASES, "f.yaml:101: no YAML .nested more than 100 deep"),
        ("a: &a [*a]", "f.yaml:1: no YAML .an alias of a node that contains it"),
        ("a: &a {b: *a}", "f.yaml:1: no YAML .an alias of a node that contains it"),
        ("\na: " + "9" * 5000, "f.yaml:2: no YAML .an integer of more than 64 bits"),
        ("a: 0x" + "f" * 40, "f.yaml:1: no YAML .an integer of more than 64 bits"),
        ("? [a, b]\n: c", "f.yaml:1: no YAML .found unhashable key"),
        ("? {a: b}\n: c", "f.yaml:1: no YAML .found unhashable key"),
        ('a: "\\ud800"', "f.yaml:1: no YAML .half of a surrogate pair"),
        ("a: !!timestamp x", "f.yaml: no YAML .a value does not fit its tag"),
        ("a: !!bool x", "f.yaml: no YAML .a value does not fit its tag"),
        ("a: !!int x", "f.yaml: no YAML .a value does not fit its tag"),
        ("a: !!python/object:os.system x", "f.yaml:1: no YAML .could not determine"),
    ],
    ids=lambda value: value[:20],
)
def test_deep_and_odd_documents_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_yaml(text, "f.yaml")


def test_dates_are_text() -> None:
    text = "{2020-01-01: 2020-01-02, a: 2001-12-14t21:59:43.10-05:00, b: 2020-99-99}"
    assert read_yaml(text, "f.yaml") == {
        "2020-01-01": "2020-01-02",
        "a": "2001-12-14t21:59:43.10-05:00",
        "b": "2020-99-99",
    }


def test_aliases_within_the_limits_are_read() -> None:
    assert read_yaml("a: &a [1]\nb: [*a, *a]", "f.yaml") == {"a": [1], "b": [[1], [1]]}
