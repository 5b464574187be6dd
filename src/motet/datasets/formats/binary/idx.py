"""idx, the format of MNIST: a magic number, the dimensions, then the array (big-endian).

Bytes (pixels 0..255) are scaled to 0..1. The labels are in a second file, found by its name
(`train-images-idx3-ubyte` -> `train-labels-idx1-ubyte`) or given.
"""

from __future__ import annotations

import math
import struct
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import CERTAIN, NAMED, Format, Guess, ReadOptions
from motet.datasets.kinds import LabelledMatrix

_TYPES = MappingProxyType({8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"})
_MAX_PIXEL = 255.0
_MAGIC_REMEDY = "an idx file starts with 0, 0, a type (8 to 14) and the number of dimensions"


class IdxFormat(Format):
    """Images in the format of MNIST."""

    name = "idx"
    summary = "images and labels as MNIST has them"
    kinds = (LabelledMatrix,)
    aliases = ("mnist",)
    has_labels = True

    def sniff(self, head: Head) -> Guess:
        """The magic number, or `idx` in the name."""
        if len(head.start) >= 4 and _has_magic(head.start):
            return Guess(CERTAIN, "starts with an idx magic number")
        is_named = "-idx" in head.name or head.name.endswith(".idx")
        return Guess(NAMED * is_named, "lacks the idx magic number")

    def read(self, file: InputFile, options: ReadOptions) -> LabelledMatrix:
        """Images as rows, with a target if labels are given or found in the same folder."""
        images = _read_array(file)
        if images.ndim < 2:
            problem = f"holds {images.ndim} dimension, as labels do"
            raise file.complaint(problem, "give the file of images; its labels are found beside it")
        labels = options.labels or _find_labels(file)
        note = f"pixels are scaled from 0..255 to 0..1; labels: {labels or 'none found'}"
        return LabelledMatrix(
            features=_flat(images, file),
            target=None if labels is None else _read_labels(labels, file, len(images)),
            target_remedy="put the labels file beside the images, or name it with --labels",
            source=str(file),
            notes=(note,) if images.dtype == np.uint8 else (),
        )


def _has_magic(start: bytes) -> bool:
    return start[:2] == b"\0\0" and start[2] in _TYPES and 1 <= start[3] <= 8


def _read_array(file: InputFile) -> NDArray[Any]:
    data = file.read()
    if len(data) < 4 or not _has_magic(data):
        raise file.complaint(f"wrong magic number {data[:4].hex(' ')}", _MAGIC_REMEDY)
    dimensions = data[3]
    start = 4 + 4 * dimensions
    if len(data) < start:
        raise file.complaint("ends inside its header", "it was cut short: fetch it again")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    dtype = np.dtype(_TYPES[data[2]])
    if len(data) - start != math.prod(shape) * dtype.itemsize:
        problem = (
            f"holds {len(data) - start:,} bytes, shape {shape} needs "
            f"{math.prod(shape) * dtype.itemsize:,}"
        )
        raise file.complaint(problem, "it was cut short or is damaged: fetch it again")
    if not math.prod(shape):
        raise file.complaint(f"is empty, shape {shape}", "give a file with data")
    return np.frombuffer(data, dtype, offset=start).reshape(shape)


def _flat(images: NDArray[Any], file: InputFile) -> NDArray[np.float64]:
    """(images, pixels) float64, bytes scaled to 0..1."""
    rows = images.reshape(len(images), -1)
    if images.dtype == np.uint8:
        return rows / _MAX_PIXEL
    is_wrong = ~np.isfinite(rows).all(axis=1)
    if is_wrong.any():
        problem = f"image {np.argmax(is_wrong)} holds nan or inf"
        raise file.complaint(problem, "pixels must be finite numbers")
    return rows.astype(np.float64)


def _find_labels(file: InputFile) -> InputFile | None:
    if "images" not in file.plain_name:
        return None
    stem = file.path.name[: len(file.plain_name)]
    name = stem.replace("images", "labels")
    for dimensions in range(2, 9):
        name = name.replace(f"idx{dimensions}", "idx1")
    return file.in_same_folder(name)


def _read_labels(labels: InputFile, images: InputFile, image_count: int) -> NDArray[np.float64]:
    values = _read_array(labels)
    if values.ndim != 1:
        problem = f"labels have {values.ndim} dimensions"
        raise labels.complaint(problem, "give the file of labels, which has one")
    if len(values) != image_count:
        problem = f"{len(values):,} labels for {image_count:,} images in {images.path.name}"
        raise labels.complaint(problem, "give the labels that belong to these images")
    return values.astype(np.float64)
