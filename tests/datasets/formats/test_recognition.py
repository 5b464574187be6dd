"""Every format is recognised as itself and as nothing else."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.recognition import FORMATS, format_called, recognise
from motet.domain.errors import BadInput, UnknownName


def saved(save: object, *arguments: object) -> bytes:
    stream = io.BytesIO()
    save(stream, *arguments)  # type: ignore[operator]
    return stream.getvalue()


NUMBERS = np.random.default_rng(5).normal(size=(30, 4)).round(3)
COUNTS = np.random.default_rng(6).integers(0, 4, size=(30, 8))
COUNTS[COUNTS.sum(axis=1) == 0, 0] = 1


def svmlight(labels: np.ndarray) -> bytes:
    rows = (
        f"{label} " + " ".join(f"{column + 1}:{value}" for column, value in enumerate(row))
        for label, row in zip(labels, NUMBERS, strict=True)
    )
    return "\n".join(rows).encode()


def ldac() -> bytes:
    rows = (
        " ".join(
            [str(np.count_nonzero(row)), *(f"{word}:{row[word]}" for word in np.flatnonzero(row))]
        )
        for row in COUNTS
    )
    return "\n".join(rows).encode()


def docword() -> bytes:
    documents, words = np.nonzero(COUNTS)
    body = np.column_stack([documents + 1, words + 1, COUNTS[documents, words]])
    lines = "\n".join(" ".join(map(str, row)) for row in body)
    return f"30\n8\n{len(body)}\n{lines}\n".encode()


def table(separator: str, header: str = "") -> bytes:
    return (header + "\n".join(separator.join(map(str, row)) for row in NUMBERS)).encode()


def rated(separator: str, header: str = "") -> bytes:
    rows = ([user, user % 7 + 1, 3.5, 978_300_760 + user] for user in range(1, 31))
    return (header + "\n".join(separator.join(map(str, row)) for row in rows)).encode()


PROSE = "The whale swam past the ship, and nobody saw it.\n\n" * 5
SAMPLES = {
    "svmlight, labels -1 and 1": ("svmlight", svmlight(np.resize([-1, 1], 30))),
    "svmlight, real labels": ("svmlight", svmlight(NUMBERS[:, 0])),
    "svmlight, labels that count pairs": ("svmlight", svmlight(np.full(30, 4))),
    "lda-c": ("ldac", ldac()),
    "docword": ("docword", docword()),
    "u.data": ("ratings", rated("\t")),
    "ratings.dat": ("ratings", rated("::")),
    "ratings.csv": ("ratings", rated(",", "userId,movieId,rating,timestamp\n")),
    "npz": ("npz", saved(np.savez, NUMBERS)),
    "sparse npz": ("npz", saved(save_npz, csr_matrix(COUNTS))),
    "npy": ("npy", saved(np.save, NUMBERS)),
    "idx": ("idx", struct.pack(">4B2I", 0, 0, 8, 2, 3, 4) + bytes(12)),
    "csv": ("csv", table(",")),
    "csv with header": ("csv", table(",", "a,b,c,d\n")),
    "tsv": ("csv", table("\t")),
    "blanks": ("csv", table(" ")),
    "savetxt": ("csv", table(" ", "# some numbers\n")),
    "prose": ("text", PROSE.encode()),
}


@pytest.mark.parametrize(("expected", "content"), SAMPLES.values(), ids=SAMPLES)
def test_content_alone_names_the_format(write, expected, content):
    assert recognise(InputFile(write("sample", content)), None).name == expected


@pytest.mark.parametrize(("expected", "content"), SAMPLES.values(), ids=SAMPLES)
def test_no_other_format_claims_as_much(expected, content):
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
def test_a_name_that_says_its_format_wins_over_content_that_fits_nothing(write, name, expected):
    assert recognise(InputFile(write(name, "@@ what is this?\n")), None).name == expected


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
