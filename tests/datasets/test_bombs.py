"""Small files that expand to gigabytes are one clear error, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pytest

from memory_limit import run_in_little_memory
from motet.datasets import open_dataset
from motet.domain.bounded_reading.decompression import VARIABLE
from motet.domain.errors import BadInput
from soak_cases import others_in_soak

READ = """
import sys
from motet.datasets import open_dataset
from motet.domain.errors import BadInput
try:
    open_dataset(sys.argv[1])
except BadInput as error:
    print(error)
"""
PIECE = b"0" * (1 << 20)
MEGABYTES = 150
"""Half as much again as the limit."""
LINES = (b"1 1:1\n" * 200_000)[: 1 << 20]


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
"""Compressed pieces one after another are a compressed file too."""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bombs")
    for suffix, compress in COMPRESS.items():
        (folder / f"zeros.csv.{suffix}").write_bytes(compress(PIECE) * MEGABYTES)
    with zipfile.ZipFile(folder / "zeros.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        shape = (MEGABYTES << 17, 1)
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        with archive.open("X.npy", "w") as member:
            member.write(header.getvalue())
            for _ in range(MEGABYTES):
                member.write(b"\0" * (1 << 20))
    return folder


@pytest.mark.parametrize(
    "name",
    others_in_soak(
        ["zeros.csv.gz", "zeros.csv.bz2", "zeros.csv.xz", "zeros.npz"], ["zeros.csv.gz"]
    ),
)
def test_a_bomb_is_refused_in_bounded_memory(bombs: Path, name: str) -> None:
    path = bombs / name
    assert path.stat().st_size < 450_000
    done = run_in_little_memory(READ, path)
    assert done.stderr == ""
    assert done.stdout.startswith(f"{path}: expands to more than 100,000,000 bytes")
    assert VARIABLE in done.stdout


def _npy_with_shape(shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue() + bytes(64)


def test_a_header_that_announces_more_than_the_file_holds_is_refused(write) -> None:
    path = write("a.npy", _npy_with_shape((1 << 34, 4)))
    done = run_in_little_memory(READ, path)
    assert done.stdout == (
        f"{path}: is not a complete NumPy file (DamagedArrays); it is damaged: write it again\n"
    )


def test_a_member_whose_header_announces_more_than_it_holds_is_refused(write, tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", _npy_with_shape((1 << 34, 4)))
    done = run_in_little_memory(READ, tmp_path / "a.npz")
    assert "is not a complete NumPy file (DamagedArrays)" in done.stdout


def test_a_sparse_matrix_with_a_huge_shape_is_refused(tmp_path) -> None:
    np.savez(
        tmp_path / "a.npz",
        format=b"coo",
        shape=np.array([1 << 40, 2]),
        row=np.array([0]),
        col=np.array([0]),
        data=np.array([1.0]),
    )
    done = run_in_little_memory(READ, tmp_path / "a.npz")
    assert "expands to more than" in done.stdout


def test_the_variable_changes_the_limit(write, monkeypatch) -> None:
    path = write("a.svm.gz", gzip.compress(LINES[:600_000]))
    assert open_dataset(path)
    monkeypatch.setenv(VARIABLE, "0.0001")
    with pytest.raises(BadInput, match="expands to more than 107,374 bytes"):
        open_dataset(path)
    monkeypatch.setenv(VARIABLE, "lots")
    with pytest.raises(BadInput, match=rf"{VARIABLE} is 'lots'; give a number of GiB above 0"):
        open_dataset(path)


def test_a_compressed_archive_is_read(tmp_path) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.eye(3), y=np.arange(3.0))
    (tmp_path / "a.npz.gz").write_bytes(gzip.compress(buffer.getvalue()))
    assert open_dataset(tmp_path / "a.npz.gz").features.shape == (3, 3)


@pytest.mark.parametrize("suffix", others_in_soak(COMPRESS, ["gz"]))
def test_a_bomb_is_refused_before_its_text_is_parsed(tmp_path: Path, suffix: str) -> None:
    """The parser would complain about the second line."""
    path, compress = tmp_path / f"table.csv.{suffix}", COMPRESS[suffix]
    path.write_bytes(compress(b"1,2\n3,word\n") + compress(PIECE) * MEGABYTES)
    with pytest.raises(BadInput, match="decompression bomb"):
        open_dataset(path)
