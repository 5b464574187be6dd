"""NumPy and SciPy files: what is written is read back, what is wrong is named."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from hypothesis.extra.numpy import arrays as numpy_arrays
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, save_npz

from example_count import examples
from motet.datasets import Corpus, LabelledMatrix, Ratings, open_dataset
from motet.domain.errors import BadInput

COUNTS = numpy_arrays(
    np.int64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(0, 3)
)


def npy(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def sparse_npz(matrix: object) -> bytes:
    stream = io.BytesIO()
    save_npz(stream, matrix)
    return stream.getvalue()


@settings(max_examples=examples(50))
@given(counts=COUNTS, make=st.sampled_from([csr_matrix, csc_matrix, coo_matrix]))
def test_a_sparse_matrix_becomes_what_is_needed(counts, make, tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    path.write_bytes(sparse_npz(make(counts)))
    matrix = open_dataset(path)
    assert isinstance(matrix, LabelledMatrix)
    np.testing.assert_array_equal(matrix.features.toarray(), counts)

    corpus = open_dataset(path, kind="corpus")
    assert isinstance(corpus, Corpus)
    assert (corpus.document_count, corpus.vocabulary_size) == counts.shape
    assert corpus.token_count == counts.sum()

    ratings = open_dataset(path, kind="ratings")
    assert isinstance(ratings, Ratings)
    rebuilt = np.zeros(counts.shape)
    rebuilt[ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]] = ratings.values
    np.testing.assert_array_equal(rebuilt, counts)


@pytest.mark.parametrize("names", [("X", "y"), ("features", "target"), ("data", "labels")])
def test_features_and_target_are_found_by_their_usual_names(write, names):
    features, target = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1])
    dataset = open_dataset(write("a.npz", npz(**dict(zip(names, (features, target), strict=True)))))
    assert isinstance(dataset, LabelledMatrix)
    np.testing.assert_array_equal(dataset.features, features)
    np.testing.assert_array_equal(dataset.target, target)


def test_a_column_of_an_array_can_be_the_target(write):
    dataset = open_dataset(
        write("a.npy", npy(np.arange(12, dtype=np.int32).reshape(3, 4))), target="-1", drop="0"
    )
    assert isinstance(dataset, LabelledMatrix)
    np.testing.assert_array_equal(dataset.target, [3, 7, 11])
    np.testing.assert_array_equal(dataset.features, [[1, 2], [5, 6], [9, 10]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.array([[1, np.nan]])), "the array[0, 1] is nan; all numbers must be finite"),
        (npy(np.array([["a"]])), "the array holds <U1, not numbers; save numbers"),
        (npy(np.ones(3)), "the array has shape (3,); its shape must be (rows, columns)"),
        (npy(np.ones((0, 3))), "the array is empty, shape (0, 3); give a file with data"),
        (
            npy(np.array([[{}]]), allow_pickle=True),
            "holds Python objects or no array; save arrays of numbers",
        ),
        (b"1,2\n", "holds Python objects or no array; save arrays of numbers"),
    ],
)
def test_a_wrong_npy_is_named_with_its_value_and_a_remedy(complaint, content, message):
    assert complaint("a.npy", content) == f"a.npy: {message}"


def test_a_file_that_was_cut_short_is_called_damaged(complaint):
    whole = npy(np.ones((30, 3)))
    assert complaint("a.npy", whole[:-8]).endswith("it is damaged: write it again")
    packed = npz(X=np.ones((30, 3)))
    assert complaint("a.npz", packed[:-30]).endswith("it is damaged: write it again")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            npz(X=np.ones((3, 2)), y=np.ones(2)),
            {},
            "3 rows of features, 2 targets; save one target for each row",
        ),
        (
            npz(p=np.ones(3), q=np.ones(3)),
            {},
            "holds p, q, no X; save it with np.savez(file, X=features, y=target)",
        ),
        (
            npz(X=np.ones((3, 2))),
            {"kind": "ratings"},
            "holds a matrix of numbers, this application needs ratings; give data of that kind",
        ),
        (
            sparse_npz(csr_matrix([[1.0, 0.0], [0.0, -1.0]])),
            {"kind": "corpus"},
            "row 1, column 1 holds -1; counts must be whole numbers from 0",
        ),
        (sparse_npz(csr_matrix([[np.inf]])), {}, "data[0] is inf; all numbers must be finite"),
    ],
)
def test_a_wrong_npz_is_named_with_its_value_and_a_remedy(complaint, content, options, message):
    assert complaint("a.npz", content, **options) == f"a.npz: {message}"


def test_a_missing_target_says_how_arrays_are_given_one(tmp_path):
    np.savez(tmp_path / "dense.npz", X=np.eye(3))
    save_npz(tmp_path / "sparse.npz", csr_matrix(np.eye(3)))
    for name, remedy in (("dense", "save it as y in an npz file"), ("sparse", "as svmlight")):
        with pytest.raises(BadInput, match=f"needs a target, found none; .*{remedy}") as caught:
            open_dataset(tmp_path / f"{name}.npz", kind="labelled")
        assert "images" not in str(caught.value)
