"""Tables of numbers: what is written is read back, what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from hypothesis.extra.numpy import arrays as numpy_arrays

from example_count import examples
from motet.datasets import LabelledMatrix, open_dataset

TABLES = numpy_arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


def labelled(path: Path, **options: Any) -> LabelledMatrix:
    dataset = open_dataset(path, kind="unlabelled", format="csv", **options)
    assert isinstance(dataset, LabelledMatrix)
    return dataset


@settings(max_examples=examples(50))
@given(
    table=TABLES,
    separator=st.sampled_from([",", "\t", ";", " ", "|", ", "]),
    has_header=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read_back(table, separator, has_header, line_end, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "some"
    names = [f"c{column}" for column in range(table.shape[1])]
    lines = [separator.join(map(repr, map(float, row))) for row in table]
    path.write_bytes(line_end.join([separator.join(names)] * has_header + lines).encode())
    dataset = labelled(path)
    np.testing.assert_array_equal(dataset.features, table)
    expected = names if has_header else map(str, range(table.shape[1]))
    assert dataset.feature_names == tuple(expected)
    assert dataset.target is None


@pytest.mark.parametrize(("target", "column"), [("y", 1), ("1", 1), ("-1", 2), (0, 0)])
def test_the_target_is_named_or_counted_from_either_end(write, target, column):
    table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    dataset = labelled(write("a.csv", "x,y,z\n1,2,3\n4,5,6\n"), target=target)
    np.testing.assert_array_equal(dataset.target, table[:, column])
    np.testing.assert_array_equal(dataset.features, np.delete(table, column, axis=1))


@pytest.mark.parametrize(
    ("drop", "kept"),
    [
        ("a", "bcde"),
        ("0-2", "de"),
        ("a,c", "bde"),
        (["0", "-1"], "bcd"),
        ("missing", "acde"),
        ("0-1,missing", "cde"),
    ],
)
def test_columns_are_dropped_by_name_index_range_or_missing_values(write, drop, kept):
    cell = "?" if "missing" in drop else "2"
    path = write("a.csv", f"a,b,c,d,e\n1,{cell},3,4,5\n1,2,3,4,5\n")
    assert labelled(path, drop=drop, na="?").feature_names == tuple(kept)


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_every_token_for_a_missing_value_is_found_at_every_place(write, separator):
    rows = [["?", "1", "2", "3"], ["4", "NA", "5", "6"], ["7", "8", "9", "?"]]
    path = write("a", "\r\n".join(separator.join(row) for row in rows))
    dataset = labelled(path, na=["?", "NA"], drop="missing")
    np.testing.assert_array_equal(dataset.features, [[2], [5], [9]])
    assert dataset.feature_names == ("2",)
    assert dataset.notes == ("columns left out because values are missing: 3",)


def test_empty_cells_are_missing_but_blank_lines_are_not_rows(write):
    path = write("a.csv", 'a,b,c,d\n,1,,"2"\n   \n\n3,"4",5,6\n')
    dataset = labelled(path, drop="missing")
    np.testing.assert_array_equal(dataset.features, [[1, 2], [4, 6]])
    assert dataset.feature_names == ("b", "d")


def test_a_target_of_words_becomes_classes_in_alphabetical_order(write):
    dataset = labelled(write("a.csv", "x,kind\n1,dog\n2,cat\n3,dog\n"), target="kind")
    np.testing.assert_array_equal(dataset.target, [1, 0, 1])
    assert dataset.classes == ("cat", "dog")


def test_quoted_names_may_hold_the_separator(write):
    dataset = labelled(write("a.csv", '"a b","c,d"\n"1","2"\n'), target="c,d")
    assert (dataset.feature_names, list(dataset.target)) == (("a b",), [2.0])


def test_comment_lines_before_the_table_are_skipped_and_counted(write, complaint):
    content = "# made by np.savetxt\n1 2\n3 4\n"
    np.testing.assert_array_equal(labelled(write("a", content)).features, [[1, 2], [3, 4]])
    assert complaint("a", content + "5\n").startswith("a:4: 1 columns, not 2")


def missing(cell: str) -> str:
    return (
        f"is '{cell}', a missing value; fill it in, or leave out columns with missing values "
        "(--drop missing) or such rows (--drop missing-rows)"
    )


def no_number(cell: str, column: int | str) -> str:
    return (
        f"is '{cell}', not a number; correct it, leave the column out (--drop {column}), make it "
        f"the target (--target {column}), or say that it means a missing value (--na '{cell}')"
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1,2,3\n1,x,3\n", {}, f":2: column 1 {no_number('x', 1)}"),
        ("x,2,3\n1,2,3\n", {}, f":1: column 0 {no_number('x', 0)}"),
        ("a,b\n1,2\n1,?\n", {}, f":3: column 1 'b' {no_number('?', 'b')}"),
        ("a,b\n1,2\n1,?\n", {"na": "?"}, f":3: column 1 'b' {missing('?')}"),
        ("a,b\n\n1,\n", {}, f":3: column 1 'b' {missing('')}"),
        ("a,b\n1,NaN\n", {}, f":2: column 1 'b' {missing('NaN')}"),
        ("a,b\n1,-inf\n", {}, ":2: column 1 'b' is '-inf', infinite; numbers must be finite"),
        (
            "a,b\n1,2\n3\n",
            {},
            ":3: 1 columns, not 2 (separated by commas); give every line the same columns",
        ),
        (
            "1 2 3\n1 2 3\n1 2\n",
            {},
            ":3: 2 columns, not 3 (separated by white space); give every line the same columns",
        ),
        (
            "a,b,y\n1,2,3\n1,2,\n",
            {"target": "y"},
            ":3: column 2 'y' is missing; every row needs a target; leave such rows out with "
            "--drop missing-rows",
        ),
        (
            'a,b\n1,2\n"3,4\n5,6\n',
            {},
            ":3: a quote is opened and not closed; close it, or remove it",
        ),
        (
            'a,b,c\n1,2,x\n"3\n,4\n",6\n',
            {"drop": "c"},
            ":3: 2 columns, not 3 (separated by commas); a quote joins lines 3 to 5; give every "
            "line the same columns",
        ),
        (
            "a,b\n1,2\n1,2\r3,4\r",
            {},
            ":3: holds the byte b'\\r' inside a line; give a text file whose lines end with \\n",
        ),
        (
            "a,b\n1,2\n3,\0\n",
            {},
            ":3: holds the byte b'\\x00' inside a line; give a text file whose lines end with \\n",
        ),
        ("a,b\n", {}, ":1: no row follows the header; give a file with data"),
        ("\n \n", {}, ": no line holds data; give a file with data"),
        (
            "a,b\n1,2\n",
            {"target": "7"},
            ": --target 7: the table has 2 columns; give 0..1, or -1 for the last",
        ),
        (
            "1,2\n3,4\n",
            {"target": "b"},
            ": --target 'b': the file has no header; give an index, 0..1 or -1 for the last",
        ),
        (
            "a,b\n1,2\n",
            {"target": "b", "drop": "a"},
            ": no feature column is left; drop fewer of 2",
        ),
        ("y\n1\n0\n", {"target": "y"}, ": no feature column is left; the target is the only one"),
        (
            "a,y,\n1,2,\n3,4,\n",
            {"target": "-1"},
            ": column 2 '' is empty and has no name: lines end with a separator; name the target "
            "(--target NAME), and leave that column out with --drop missing",
        ),
        (
            "a,b\n1,2\n",
            {"target": "b", "drop": "0-1"},
            ": column 'b' is both --target and --drop; give it once",
        ),
        ("a,b\n1,2\n", {"drop": "1-0"}, ": --drop 1-0 runs backwards; write 0-1"),
        (
            "a,b\n,2\n1,\n",
            {"drop": "missing"},
            ": every column has missing values; fill or remove rows",
        ),
    ],
)
def test_a_wrong_table_is_named_with_its_value_and_a_remedy(complaint, content, options, message):
    assert complaint("a.csv", content, **options) == f"a.csv{message}"


def test_an_unknown_column_is_answered_with_the_nearest_name(complaint):
    message = complaint("a.csv", "age,income\n1,2\n3,4\n", target="incme")
    assert message == "unknown column of a.csv 'incme'; did you mean 'income'? known: age, income"


def test_a_number_among_classes_is_named(complaint):
    content = "x,kind\n" + "1,dog\n" * 150 + "1,5\n"
    assert complaint("a.csv", content, target="kind") == (
        "a.csv:152: column 1 'kind' is '5' among words; "
        "write every class as a word, or every one as a number"
    )


def test_a_missing_target_is_an_error_with_a_remedy(complaint):
    assert complaint("a.csv", "a,b\n1,2\n", kind="labelled") == (
        "a.csv: this application needs a target, found none; name its column with "
        "--target NAME_OR_INDEX (-1: the last)"
    )


@pytest.mark.parametrize("absent", ["", "NA", "nan", "?"])
def test_rows_with_missing_values_are_left_out_on_request(write, absent):
    path = write("a.csv", f"x,y,kind\n1,2,dog\n3,{absent},cat\n5,6,{absent}\n7,8,cat\n")
    dataset = labelled(path, target="kind", drop="missing-rows", na="?")
    np.testing.assert_array_equal(dataset.features, [[1, 2], [7, 8]])
    assert (dataset.classes, list(dataset.target)) == (("cat", "dog"), [1.0, 0.0])
    assert dataset.notes == ("rows left out because values are missing: 2",)


def test_a_missing_class_among_words_names_its_line(complaint):
    assert complaint("a.csv", "x,kind\n1,dog\n2,\n3,cat\n", target="kind") == (
        "a.csv:3: column 1 'kind' is missing; every row needs a target; leave such rows out with "
        "--drop missing-rows"
    )


def test_leaving_out_every_row_is_refused(complaint):
    message = complaint("a.csv", "x,y\n1,\n,2\n", drop="missing-rows")
    assert message == "a.csv: every row has missing values; fill or drop columns"


def test_a_column_of_words_is_named_with_its_remedy(complaint):
    message = complaint("a.csv", "colour,size\nred,1\nblue,2\n")
    assert message == (
        "a.csv:2: column 0 'colour' holds words ('red'); encode words as numbers, for example with "
        "pandas.get_dummies(..., dtype=int), leave the column out (--drop colour), or make it the "
        "target (--target colour)"
    )


def test_all_columns_of_words_and_dates_are_named_at_once(complaint):
    header = "id,size,when,my city,weird"
    message = complaint("a.csv", f"{header}\np-0,1,2024-01-01,Rome,?\np-1,2,2024-01-02,Bonn,3\n")
    assert message == (
        "a.csv:2: column 0 'id' holds words ('p-0'), column 2 'when' holds dates ('2024-01-01'), "
        "column 3 'my city' holds words ('Rome'); encode words as numbers, for example with "
        "pandas.get_dummies(..., dtype=int); convert dates to numbers, for example days: "
        "(pd.to_datetime(X['when']) - start) / pd.Timedelta('1D'), leave the columns out (--drop "
        "'id,when,my city'), or make one the target (--target)"
    )


def test_ids_that_begin_with_a_digit_are_words_like_the_columns_beside_them(complaint):
    content = "id,sex,n,late,target\n74-CC,m,1,,1\n90-DG,f,2,yes,0\n20-DE,m,3,no,1\n"
    message = complaint("a.csv", content, target="target")
    assert message.startswith(
        "a.csv:2: column 0 'id' holds words ('74-CC'), column 1 'sex' holds words ('m'), column 3 "
        "'late' holds words ('yes'); "
    )
    assert "--na" not in message


@pytest.mark.parametrize("target", ["price", None])
def test_numbers_with_a_comma_for_thousands_are_named(complaint, target):
    content = 'size,price\n1,"1,001"\n2,"2,002"\n'
    message = complaint("a.csv", content, target=target)
    assert "column 1 'price' is '1,001', not a number; write 1.001 or 1001" in message


def test_columns_with_unclear_names_are_given_by_their_index(complaint):
    assert "(--drop '0,1')" in complaint("a.csv", "a,a,b\nx,y,1\nx,y,2\n")
    assert "(--drop 0)" in complaint("a.csv", "7th,b\nx,1\nx,2\n")


def test_a_name_of_two_columns_is_refused_and_noted(write, complaint):
    content = "x,x,y\n1,2,3\n"
    assert complaint("a.csv", content, target="x") == (
        "a.csv: --target 'x': 2 columns have this name; give an index, 0 or 1"
    )
    assert labelled(write("b.csv", content)).notes == (
        "columns with the same name are called 'x', 'x.1'",
    )


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read_where_commas_separate_no_cells(write, separator):
    lines = ["size;price;kind", '1,5;"-2,25";a, b', "2;3,5e1;c"]
    path = write("a.csv", "\n".join(lines).replace(";", separator))
    dataset = labelled(path, target="kind")
    np.testing.assert_array_equal(dataset.features, [[1.5, -2.25], [2, 35]])
    assert dataset.feature_names == ("size", "price")
    assert dataset.classes == ("a, b", "c")
    assert dataset.notes == ("decimal commas are read as points: 1,5 is 1.5",)


def test_commas_that_may_separate_thousands_are_refused(write, complaint):
    content = "size;price\n1;2,500\n2;1,250\n"
    assert complaint("a.csv", content).startswith(
        "a.csv:2: column 1 'price' is '2,500', not a number; write 2.500 or 2500, leave the column "
        "out (--drop price)"
    )
    assert labelled(write("b.csv", content), drop="price").features.tolist() == [[1], [2]]


def test_points_as_decimal_marks_need_no_note(write):
    assert labelled(write("a.csv", "size;price\n1.5;2\n")).notes == ()


def test_a_line_with_the_name_of_the_target_is_a_header(write):
    path = write("a.csv", "size,kind\n?,dog\n2,cat\n")
    dataset = labelled(path, target="kind", na="?", drop="missing-rows")
    np.testing.assert_array_equal(dataset.features, [[2]])


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_true_and_false_are_one_and_zero(write, separator):
    lines = ["a,b,c", "True,0.5,FALSE", '"false",1.5,true', "TRUE,nan,False"]
    text = "\r\n".join(lines).replace(",", separator)
    read = labelled(write("a.csv", text), drop="missing-rows")
    np.testing.assert_array_equal(read.features, [[1, 0.5, 0], [0, 1.5, 1]])


def test_a_target_of_true_and_false_keeps_its_classes(write):
    read = open_dataset(write("a.csv", "a,b\n1,True\n2,False\n"), kind="labelled", target="b")
    assert isinstance(read, LabelledMatrix)
    assert read.classes == (False, True)


def test_a_line_break_in_quotes_does_not_end_a_row(write):
    rows = ['1,"two\nlines",3,good', '4,"a ""b"",\r\nc",5,"very\ngood"', '6,5" wide,7,good']
    content = '"na\nme",note,z,y\n' + "\n".join(rows) + "\n"
    for target, names in (("y", ("good", "very\ngood")), (None, None)):
        drop = ["note"] if target else ["note", "y"]
        dataset = labelled(write("a.csv", content), target=target, drop=drop)
        np.testing.assert_array_equal(dataset.features, [[1, 3], [4, 5], [6, 7]])
        assert (dataset.feature_names, dataset.classes) == (("na\nme", "z"), names)


def test_errors_after_line_breaks_in_quotes_name_the_line_of_the_file(complaint):
    content = 'a,"b\nc"\n1,"\n2"\n3,4\n5,x\n'
    assert complaint("a.csv", content, kind="unlabelled").startswith(
        "a.csv:6: column 1 'b\\nc' is 'x'"
    )
    content = 'a,"b\nc"\n1,"\n2"\n3,4\n5\n'
    assert complaint("a.csv", content, kind="unlabelled").startswith("a.csv:6: 1 columns, not 2")


def test_quotes_that_span_the_blocks_in_which_a_file_is_read(write, monkeypatch):
    monkeypatch.setattr("motet.datasets.files._BLOCK_BYTES", 7)
    rows = [f'{row},"a\n""b"",{row}\n\nc",{2 * row}' for row in range(20)]
    dataset = labelled(write("a.csv", "x,t,z\n" + "\n".join(rows)), drop="t")
    np.testing.assert_array_equal(dataset.features, [[row, 2 * row] for row in range(20)])


def test_a_quote_that_stays_open_does_not_take_the_rest_of_a_large_file(complaint, monkeypatch):
    monkeypatch.setattr("motet.datasets.formats.tables.records._LONGEST_BYTES", 1 << 10)
    monkeypatch.setattr("motet.datasets.files._BLOCK_BYTES", 100)
    content = 'a,b\n1,2\n3,"4\n' + "5,6\n" * 1000 + '7,"8"\n'
    message = complaint("a.csv", content, kind="unlabelled")
    assert message.startswith("a.csv:3: a quote is opened and not closed within")


def test_names_in_windows_1252_are_read_with_a_note(write):
    content = "Größe,Farbe\n1,weiß\n2,grün\n".encode("cp1252")
    dataset = labelled(write("a.csv", content), target="Farbe")
    assert (dataset.feature_names, dataset.classes) == (("Größe",), ("grün", "weiß"))
    assert dataset.notes[0].startswith("is not UTF-8: read as Windows-1252")


def test_the_index_that_pandas_writes_is_no_feature(write):
    dataset = labelled(write("a.csv", ",a,y\n7,1,0\n3,2,1\n"), target="y")
    assert dataset.feature_names == ("a",)
    assert dataset.notes == (
        "column 0 (without a name) numbers the rows: left out as index; name it in the header to "
        "make it a feature",
    )
    again = labelled(write("a.csv", "Unnamed: 0,a\n0,1\n1,2\n"))
    assert again.feature_names == ("a",)
    repeated = labelled(write("a.csv", ",a,b\n7,1,0\n7,2,1\n"))
    assert repeated.feature_names == ("", "a", "b")


def test_columns_with_the_same_name_are_numbered_as_by_pandas(write):
    path = write("a.csv", "a,b,a,a.1,a\n1,2,3,4,5\n6,7,8,9,0\n")
    dataset = labelled(path)
    assert dataset.feature_names == ("a", "b", "a.2", "a.1", "a.3")
    assert dataset.notes == ("columns with the same name are called 'a', 'a.2', 'a.3'",)
    np.testing.assert_array_equal(labelled(path, target="a.2").target, [3, 8])
    chosen = labelled(path, only=("a.2", "a"))
    np.testing.assert_array_equal(chosen.features, [[1, 3], [6, 8]])
