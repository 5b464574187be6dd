"""A small, valid sample of every file format that Motet reads."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, save_npz


def saved(save: Callable[..., Any], *arguments: object) -> bytes:
    stream = io.BytesIO()
    save(stream, *arguments)
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
SAMPLES: dict[str, tuple[str, bytes]] = {
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
