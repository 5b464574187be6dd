"""idx images and labels: what is written is read back, what is wrong is named."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from hypothesis.extra.numpy import arrays as numpy_arrays

from example_count import examples
from motet.datasets import LabelledMatrix, open_dataset

CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
IMAGES = st.sampled_from(list(CODES)).flatmap(
    lambda dtype: numpy_arrays(
        dtype,
        array_shapes(min_dims=2, max_dims=4, max_side=4),
        elements=st.integers(0, 100),
    )
)
CUT = "it was cut short or is damaged: fetch it again"


def idx(array: np.ndarray) -> bytes:
    start = struct.pack(">4B", 0, 0, CODES[array.dtype.name], array.ndim)
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return start + shape + array.astype(array.dtype.newbyteorder(">")).tobytes()


@settings(max_examples=examples(50))
@given(images=IMAGES)
def test_what_is_written_is_read_back_with_bytes_scaled_to_one(images, tmp_path_factory):
    path = tmp_path_factory.mktemp("idx") / "a"
    path.write_bytes(idx(images))
    dataset = open_dataset(path)
    assert isinstance(dataset, LabelledMatrix)
    scale = 255.0 if images.dtype == np.uint8 else 1.0
    np.testing.assert_array_equal(dataset.features, images.reshape(len(images), -1) / scale)
    assert dataset.features.dtype == np.float64


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_labels_are_found_beside_the_images(write, suffix):
    labels = idx(np.array([3, 7], dtype=np.uint8))
    write("t-labels-idx1-ubyte" + suffix, gzip.compress(labels) if suffix else labels)
    images = write("t-images-idx3-ubyte.gz", gzip.compress(idx(np.zeros((2, 2, 2), np.uint8))))
    dataset = open_dataset(images, kind="labelled")
    assert isinstance(dataset, LabelledMatrix)
    np.testing.assert_array_equal(dataset.target, [3, 7])


def test_labels_can_be_given(write):
    labels = write("some", idx(np.array([3, 7], dtype=np.uint8)))
    images = write("other", idx(np.zeros((2, 2, 2), np.uint8)))
    dataset = open_dataset(images, labels=labels)
    assert isinstance(dataset, LabelledMatrix)
    np.testing.assert_array_equal(dataset.target, [3, 7])


def test_labels_of_other_images_are_refused(write, complaint):
    write("t-labels-idx1-ubyte", idx(np.zeros(3, np.uint8)))
    assert complaint("t-images-idx3-ubyte", idx(np.zeros((2, 2, 2), np.uint8))) == (
        "t-labels-idx1-ubyte: 3 labels for 2 images in t-images-idx3-ubyte; "
        "give the labels that belong to these images"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"abcdefgh",
            "wrong magic number 61 62 63 64; "
            "an idx file starts with 0, 0, a type (8 to 14) and the number of dimensions",
        ),
        (
            idx(np.zeros((2, 2, 2), np.uint8))[:-1],
            f"holds 7 bytes, shape (2, 2, 2) needs 8; {CUT}",
        ),
        (b"\0\0\x08\x03\0\0", "ends inside its header; it was cut short: fetch it again"),
        (
            idx(np.zeros(3, np.uint8)),
            "holds 1 dimension, as labels do; "
            "give the file of images; its labels are found beside it",
        ),
        (
            idx(np.zeros((0, 2, 2), np.uint8)),
            "is empty, shape (0, 2, 2); give a file with data",
        ),
        (
            idx(np.full((1, 1, 2), np.nan, np.float32)),
            "image 0 holds nan or inf; pixels must be finite numbers",
        ),
    ],
)
def test_a_wrong_file_is_named_with_its_value_and_a_remedy(complaint, content, message):
    assert complaint("a-images-idx3-ubyte", content) == f"a-images-idx3-ubyte: {message}"
