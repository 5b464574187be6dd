"""Every format is recognised as itself and as nothing else."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest

from data_samples import SAMPLES, docword
from motet.datasets.files import Head, InputFile
from motet.datasets.formats.recognition import FORMATS, format_called, recognise
from motet.domain.errors import BadInput, UnknownName


@pytest.mark.parametrize(("expected", "content"), SAMPLES.values(), ids=SAMPLES)
def test_content_alone_names_the_format(write, expected, content):
    assert recognise(InputFile(write("sample", content)), None).name == expected


@pytest.mark.parametrize(("expected", "content"), SAMPLES.values(), ids=SAMPLES)
def test_no_other_format_is_as_confident(expected, content):
    head = Head.of("sample", content)
    confidence = {entry.name: entry.sniff(head).confidence for entry in FORMATS}
    others = {name: value for name, value in confidence.items() if name != expected}
    assert confidence[expected] > max(others.values()) + 0.02, confidence


@pytest.mark.parametrize(("expected", "content"), SAMPLES.values(), ids=SAMPLES)
def test_the_needed_kind_is_respected(write, expected, content):
    file = InputFile(write("sample", content))
    for kind in format_called(expected).kinds:
        assert kind in recognise(file, kind).kinds


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.svm", "svmlight"),
        ("a.libsvm.gz", "svmlight"),
        ("u.data", "ratings"),
        ("u1.test.gz", "ratings"),
        ("ratings.dat", "ratings"),
        ("docword.kos.txt", "docword"),
        ("a.ldac", "ldac"),
        ("a.npz", "npz"),
        ("a.npy", "npy"),
        ("train-images-idx3-ubyte", "idx"),
        ("a.csv", "csv"),
        ("a.tsv.xz", "csv"),
    ],
)
def test_a_format_is_recognised_by_name_if_the_content_fits_none(write, name, expected):
    assert recognise(InputFile(write(name, "@@ what is this?\n")), None).name == expected


def test_the_first_thousand_lines_decide(write):
    file = InputFile(write("sample", b"1\t2\t3\t881250949\n" * 1000 + b"a few words\n" * 3000))
    assert recognise(file, None).name == "ratings"


def test_what_fits_no_format_is_refused_with_the_reasons(complaint):
    message = complaint("a.bin", b"\x01\x00\x02" * 100)
    assert message.startswith("a.bin: format not recognised: svmlight (no index:value pairs), ")
    assert message.endswith("; give --format NAME")
    for entry in FORMATS:
        assert entry.name in message or entry.name == "svmlight0"


def test_data_of_another_kind_is_refused_with_what_it_looks_like(complaint):
    assert complaint("a", docword(), kind="ratings") == (
        "a: looks like docword (three counts, then 100% of lines are triples), "
        "which cannot become ratings; give data for this application (ratings, npz)"
    )


def test_a_tie_is_refused_with_both_names(write, monkeypatch):
    monkeypatch.setattr("motet.datasets.formats.recognition._AMBIGUOUS_WITHIN", 1.0)
    with pytest.raises(BadInput, match=r"could be csv .* or ratings .*; give --format csv or "):
        recognise(InputFile(write("a", b"1 2 3\n4 5 6\n")), None)


def test_a_format_of_another_kind_is_refused(complaint):
    assert complaint("a", docword(), format="docword", kind="ratings") == (
        "a: --format docword is a corpus, not ratings; give data for this application"
    )


def test_an_unknown_format_is_answered_with_the_nearest_one():
    with pytest.raises(UnknownName, match="unknown format 'libsmv'; did you mean 'libsvm'"):
        format_called("libsmv")


def test_names_and_aliases_of_formats_are_unique():
    names = [name for entry in FORMATS for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "content", "described"),
    [
        ("a.csv", "\ufeffx;y\n1;2\n".encode("utf-16-le"), "is UTF-16, not UTF-8; save it as UTF-8"),
        ("a.txt", "x\ty\n".encode("utf-16"), "is UTF-16, not UTF-8; save it as UTF-8"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "is an Excel workbook"),
        ("a.parquet", b"PAR1\x15\x04" + bytes(99), "is a Parquet file"),
        ("a.feather", b"ARROW1\0\0" + bytes(99), "is a Feather file"),
        ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), "is an HDF5 file"),
        ("a.json", b'[{"x": 1, "y": 2}]', "is JSON"),
        ("a.json", b'{"x": [1, 2],\n "y": [2, 3]}\n', "is JSON"),
    ],
)
def test_files_that_pandas_can_convert_are_named(complaint, name, content, described):
    assert f"{name}: {described}" in complaint(name, content, kind="labelled")


@pytest.mark.parametrize("first", ["[Content_Types].xml", "docProps/app.xml", "mimetype"])
def test_a_workbook_is_no_archive_of_arrays(complaint, first):
    archive = BytesIO()
    with ZipFile(archive, "w") as parts:
        parts.writestr(first, "application/vnd.oasis.opendocument.spreadsheet")
        parts.writestr("xl/workbook.xml", "<workbook/>")
    for content in (archive.getvalue(), archive.getvalue()[:100]):
        message = complaint("a.xlsx", content)
        assert "is a workbook of Excel or another office program" in message
        assert message.endswith(
            "convert it to CSV: pandas.read_excel('a.xlsx').to_csv('data.csv', index=False)"
        )
