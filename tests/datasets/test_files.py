"""Files that cannot be read are explained in one line, however they are compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest

from motet.datasets import open_dataset
from motet.datasets.files import InputFile
from motet.domain.errors import BadInput

ROWS = b"".join(b"%d %d:0.%d\n" % (row % 2, row % 7 + 1, row * 7919 % 1000) for row in range(2000))
COMPRESSIONS = [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]


@pytest.mark.parametrize(("suffix", "compress"), [*COMPRESSIONS, ("", gzip.compress)])
def test_compression_is_detected_by_content_not_by_name(
    write, suffix: str, compress: Callable[[bytes], bytes]
):
    plain = open_dataset(write("plain.svm", ROWS))
    packed = open_dataset(write(f"packed.svm{suffix}", compress(ROWS)))
    assert packed.sha256 == plain.sha256


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSIONS)
def test_a_compressed_file_that_was_cut_short_is_named(complaint, suffix, compress):
    name = f"a.svm{suffix}"
    assert complaint(name, compress(ROWS)[:-40]) == (
        f"{name}: the compressed file ends too early; it was cut short: fetch it again"
    )


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSIONS)
def test_a_damaged_compressed_file_is_named(complaint, suffix, compress):
    content = bytearray(compress(ROWS))
    content[len(content) // 2 :: 7] = b"\xff" * len(content[len(content) // 2 :: 7])
    message = complaint(f"a.svm{suffix}", bytes(content))
    assert message.startswith(f"a.svm{suffix}: ")
    assert message.endswith("fetch it again")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"/nope\.svm: no such file; check the path$"):
        open_dataset(tmp_path / "nope.svm")


def test_a_misspelt_name_is_answered_with_the_nearest_one():
    with pytest.raises(BadInput) as caught:
        open_dataset("digts")
    assert str(caught.value) == (
        "digts: neither a file nor a bundled data set; did you mean 'digits'?"
    )


@pytest.mark.parametrize("name", ["a.csv", "u.data", "b.svm", "c"])
def test_an_empty_file_is_named(complaint, name):
    assert complaint(name, b"") == f"{name}: the file is empty; give a file with data"


def test_a_packed_file_of_nothing_is_named(complaint):
    packed = gzip.compress(b"")
    assert complaint("a.csv.gz", packed).startswith("a.csv.gz: no line holds data; ")


def test_a_file_that_may_not_be_read_is_named(write, monkeypatch):
    path = write("a.csv", "1,2\n")

    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(BadInput, match="may not be read; change its permissions"):
        open_dataset(path)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(BadInput, match="is a folder, which only a text corpus can be"):
        open_dataset(tmp_path, kind="labelled")
    with pytest.raises(BadInput, match="is a folder; give a file in it"):
        open_dataset(tmp_path, format="csv")


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 1000])
def test_lines_keep_their_numbers_whatever_the_blocks(write, monkeypatch, block_bytes):
    monkeypatch.setattr("motet.datasets.files._BLOCK_BYTES", block_bytes)
    content = "first\n\nthird \r\nlast".encode("utf-8-sig")
    lines = list(InputFile(write("a", content)).lines())
    assert lines == [(1, "first"), (2, ""), (3, "third "), (4, "last")]


@pytest.mark.parametrize(
    ("name", "content", "options", "flag"),
    [
        ("a.svm", "1 1:2\n", {"target": "0"}, "--target does not apply to svmlight data"),
        ("u.data", "1\t2\t3\n", {"drop": "0"}, "--drop does not apply to ratings data"),
        ("a.ldac", "1 1:1\n", {"na": "?"}, "--na does not apply to ldac data"),
        ("a.csv", "1,2\n3,4\n", {"labels": "b"}, "--labels does not apply to csv data"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(complaint, name, content, options, flag):
    assert complaint(name, content, **options) == f"{name}: {flag}; leave it out"


def test_an_option_that_a_bundled_set_would_ignore_is_refused():
    with pytest.raises(BadInput, match="iris: --target does not apply to iris data; leave it out"):
        open_dataset("iris", target="0")
