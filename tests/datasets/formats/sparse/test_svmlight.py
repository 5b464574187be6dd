"""svmlight files: what is written is read back, what is wrong is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.datasets import LabelledMatrix, open_dataset

FORM = "write: number index:value index:value ..."
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
ROWS = st.lists(
    st.tuples(FINITE, st.dictionaries(st.integers(1, 50), FINITE, max_size=6)),
    min_size=1,
    max_size=8,
).filter(lambda rows: any(pairs for _, pairs in rows))


def labelled(path: Path, **options: str) -> LabelledMatrix:
    dataset = open_dataset(path, **options)
    assert isinstance(dataset, LabelledMatrix)
    return dataset


@settings(max_examples=examples(50))
@given(rows=ROWS)
def test_what_is_written_is_read_back(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("svmlight") / "rows.svm"
    lines = (
        " ".join([repr(label), *(f"{column}:{value!r}" for column, value in pairs.items())])
        for label, pairs in rows
    )
    path.write_text("\n".join(lines))
    dataset = labelled(path)
    width = max(column for _, pairs in rows for column in pairs)
    expected = np.zeros((len(rows), width))
    for row, (_, pairs) in enumerate(rows):
        for column, value in pairs.items():
            expected[row, column - 1] = value
    np.testing.assert_array_equal(dataset.features.toarray(), expected)
    np.testing.assert_array_equal(dataset.target, [label for label, _ in rows])
    assert dataset.features.nnz == sum(len(pairs) for _, pairs in rows)
    assert dataset.features.has_sorted_indices


def test_it_agrees_with_scikit_learns_reader(write):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 7)) * (rng.random((40, 7)) < 0.4)
    path = write("a.svmlight", "")
    dump_svmlight_file(features, np.arange(40), str(path), zero_based=False)
    theirs, target = load_svmlight_file(str(path))
    ours = labelled(path)
    np.testing.assert_array_equal(ours.features.toarray(), theirs.toarray())
    np.testing.assert_array_equal(ours.target, target)


def test_comments_blank_lines_and_query_ids_are_skipped(write):
    path = write("a.svm", "# made by hand\n\n+1 qid:3 1:2 3:4 # first\r\n-1 qid:3\n")
    dataset = labelled(path)
    np.testing.assert_array_equal(dataset.features.toarray(), [[2, 0, 4], [0, 0, 0]])
    np.testing.assert_array_equal(dataset.target, [1, -1])


def test_columns_counted_from_zero_have_their_own_format(write):
    path = write("a.svm", "1 0:5 2:6\n")
    np.testing.assert_array_equal(
        labelled(path, format="svmlight0").features.toarray(), [[5, 0, 6]]
    )


def test_large_files_are_read_in_blocks_without_losing_a_line(write, monkeypatch):
    monkeypatch.setattr("motet.datasets.files._BLOCK_BYTES", 50)
    content = "".join(f"{row} {row % 9 + 1}:{row}.5\n" for row in range(300))
    dataset = labelled(write("a.svm.gz", gzip.compress(content.encode())))
    np.testing.assert_array_equal(dataset.target, np.arange(300))
    np.testing.assert_array_equal(dataset.features.sum(axis=1).A1, np.arange(300) + 0.5)


def test_a_fault_in_a_later_block_has_its_line_number(complaint, monkeypatch):
    monkeypatch.setattr("motet.datasets.files._BLOCK_BYTES", 50)
    content = "1 1:1\n" * 99 + "1 1:x\n" + "1 1:1\n" * 50
    assert complaint("a.svm", content) == f"a.svm:100: the value in '1:x' is not a number; {FORM}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:2\nabc 1:2\n", f"a.svm:2: the line starts with 'abc', which is not a number; {FORM}"),
        ("1 1:2\n\n0 1:x\n", f"a.svm:3: the value in '1:x' is not a number; {FORM}"),
        ("1 1:2\n0 3\n", f"a.svm:2: '3' is not an index:value pair; {FORM}"),
        ("1 1.5:3\n", f"a.svm:1: the index in '1.5:3' is not a whole number; {FORM}"),
        ("1 1:2:3\n", f"a.svm:1: the value in '1:2:3' is not a number; {FORM}"),
        ("1 1: 2\n", f"a.svm:1: the value in '1:' is not a number; {FORM}"),
        ("1 :2\n", f"a.svm:1: the index in ':2' is not a whole number; {FORM}"),
        (
            "1+2 5:\n",
            f"a.svm:1: the line starts with '1+2', which is not a number; {FORM}",
        ),
        (
            "1 1:2\n0 0:3\n",
            "a.svm:2: column 0 is below 1; columns count from 1; "
            "give --format svmlight0 if the file counts from 0",
        ),
        (
            "1 1:2\n0 -1:3\n",
            "a.svm:2: column -1 is below 1; columns count from 1; "
            "give --format svmlight0 if the file counts from 0",
        ),
        (
            "1 99999999999:1\n",
            "a.svm:1: column 99999999999 is above 2147483647; number the columns without gaps",
        ),
        (
            "1 1:1\n1 7:1 7:2\n",
            "a.svm:2: column 7 is given twice; give each column once per line",
        ),
        ("1 1:nan\n", "a.svm:1: the value of column 1 is nan; values must be finite numbers"),
        ("1 1:1 2:-inf\n", "a.svm:1: the value of column 2 is -inf; values must be finite numbers"),
        ("# x\nnan 1:1\n", "a.svm:2: the label is nan; labels must be finite numbers"),
        ("1\n0\n", "a.svm: no line has an index:value pair; give a file with features"),
        ("# only a comment\n", f"a.svm: no line holds data; {FORM}"),
    ],
)
def test_a_wrong_line_is_named_with_its_value_and_a_remedy(complaint, content, message):
    assert complaint("a.svm", content) == message
