"""Texts in a column of a table: a document per row."""

from __future__ import annotations

import pytest

from motet.datasets import Corpus, open_dataset

ROWS = [
    'A,"red dog runs, over there",3',
    'B,"blue dog\n\nruns quickly",4',
    'A,"red cat sleeps, over there",1',
    'B,"blue cat\nsleeps quickly",2',
]
VOCABULARY = ("blue", "cat", "dog", "quickly", "red", "runs", "sleeps")


def corpus(path, **options):
    dataset = open_dataset(path, kind="corpus", **options)
    assert isinstance(dataset, Corpus)
    return dataset


@pytest.mark.parametrize(
    ("header", "rows", "options"),
    [
        ("kind,words in it,stars", ROWS, {}),
        ("kind,words in it,stars", ROWS, {"target": "words in it"}),
        ("kind,words in it,stars", ROWS, {"target": "-2"}),
        (None, ROWS, {}),
        ("kind,text", [row.rpartition(",")[0] for row in ROWS], {}),
        ("text", [row.partition(",")[2].rpartition(",")[0] for row in ROWS], {}),
    ],
)
def test_the_cells_of_the_column_of_texts_are_documents(write, header, rows, options):
    lines = [header, *rows] if header else rows
    read = corpus(write("a.csv", "\n".join(lines)), **options)
    assert (read.document_count, read.vocabulary) == (4, VOCABULARY)
    assert read.notes[0].startswith("a document per row, the text of column ")


def test_a_usual_name_decides_between_columns_of_texts(write):
    rows = [f'"the rather long title {row}",{text}' for row, text in enumerate(_texts())]
    path = write("a.csv", "title,Review_Text\n" + "\n".join(rows))
    assert corpus(path).vocabulary == VOCABULARY


def test_of_several_columns_of_texts_one_has_to_be_named(complaint):
    rows = [f'"a rather long title {row}",{text}' for row, text in enumerate(_texts())]
    assert complaint("a.csv", "title,plot\n" + "\n".join(rows), kind="corpus") == (
        "a.csv: several columns hold texts; name the column with --target (title, plot), or read "
        "every line as a document with --format text"
    )


def test_a_table_without_texts_asks_for_the_column(complaint):
    assert complaint("a.csv", "colour,shape\nred,round\nblue,long\n", kind="corpus") == (
        "a.csv: no column holds texts of several words; name the column with --target (colour, "
        "shape), or read every line as a document with --format text"
    )


def test_an_unknown_column_is_refused_with_those_of_the_table(complaint):
    message = complaint("a.csv", "\n".join(["a,text,b", *ROWS]), kind="corpus", target="txt")
    assert message == "unknown column of a.csv 'txt'; did you mean 'text'? known: a, b, text"


def test_options_for_features_do_not_apply_to_texts(complaint):
    content = "\n".join(["a,text,b", *ROWS])
    assert complaint("a.csv", content, kind="corpus", drop="a") == (
        "a.csv: --drop does not apply to texts; leave it out"
    )


def test_every_row_is_a_document_for_a_given_vocabulary(write):
    path = write("a.csv", "\n".join(["kind,text,stars", *ROWS, "A,nothing of them here,3"]))
    read = corpus(path, only=("cat", "red"))
    assert (read.document_count, read.vocabulary) == (5, ("cat", "red"))


def test_a_table_of_numbers_is_read_as_such_unless_a_corpus_is_needed(write):
    path = write("a.csv", "a,b\n1,2\n3,4\n")
    assert open_dataset(path).kind == "matrix"


def _texts():
    return [row.partition(",")[2].rpartition(",")[0] for row in ROWS]


def test_a_usual_name_makes_a_table_of_short_texts(complaint):
    said = complaint("a.csv", "text\na b\na b\na b\n", kind="corpus")
    assert said.startswith("a.csv: its 3 documents have no word in common")
