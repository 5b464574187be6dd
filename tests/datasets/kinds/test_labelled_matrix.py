"""Matrices: choosing rows, and bringing test data into the shape of training data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from motet.datasets import LabelledMatrix
from motet.domain.errors import BadInput

DENSE = LabelledMatrix(
    np.arange(6.0).reshape(3, 2), np.array([0.0, 1.0, 0.0]), ("a", "b"), source="train"
)
SPARSE = LabelledMatrix(
    csr_matrix(np.array([[1.0, 0, 2], [0, 0, 3]])), np.array([1.0, 2.0]), source="sparse"
)


def test_counts_and_description():
    assert (DENSE.row_count, DENSE.feature_count, DENSE.is_sparse) == (3, 2, False)
    assert DENSE.describe() == "3 rows x 2 features, dense, with a target"
    assert SPARSE.describe() == "2 rows x 3 features, sparse (3 values), with a target"
    assert DENSE.nbytes == 6 * 8 + 3 * 8


@pytest.mark.parametrize(
    "selection", [slice(1, None), np.array([1, 2]), np.array([False, True, True])]
)
def test_rows_are_chosen_by_slice_positions_or_mask(selection):
    chosen = DENSE.rows(selection)
    np.testing.assert_array_equal(chosen.features, [[2, 3], [4, 5]])
    np.testing.assert_array_equal(chosen.target, [1, 0])


def test_the_hash_is_of_the_content_and_not_of_the_source():
    assert replace(DENSE, source="elsewhere").sha256 == DENSE.sha256
    assert DENSE.rows(slice(0, 2)).sha256 != DENSE.sha256
    assert replace(DENSE, target=None).sha256 != DENSE.sha256
    wider = csr_matrix(SPARSE.features)
    wider.resize((2, 4))
    assert replace(SPARSE, features=wider).sha256 != SPARSE.sha256


def test_sparse_test_data_gets_the_columns_that_training_has():
    narrow = replace(SPARSE, features=csr_matrix(np.array([[5.0]])), target=np.array([1.0]))
    moved = narrow.reindexed_like(SPARSE)
    np.testing.assert_array_equal(moved.features.toarray(), [[5, 0, 0]])
    assert moved.notes == ()


def test_sparse_columns_without_training_data_are_left_out_and_counted():
    wide = replace(SPARSE, features=csr_matrix(np.array([[1.0, 2, 3, 4, 0], [0, 0, 0, 0, 5]])))
    moved = wide.reindexed_like(SPARSE)
    np.testing.assert_array_equal(moved.features.toarray(), [[1, 2, 3], [0, 0, 0]])
    assert moved.notes == ("2 values are left out: the training data has only 3 columns",)


def test_named_columns_are_brought_into_the_order_of_training():
    test = LabelledMatrix(np.array([[1.0, 2, 3]]), None, ("c", "b", "a"), source="test")
    moved = test.reindexed_like(DENSE)
    np.testing.assert_array_equal(moved.features, [[3, 2]])
    assert moved.feature_names == ("a", "b")


def test_a_column_that_the_test_data_lacks_is_named():
    test = LabelledMatrix(np.ones((1, 2)), None, ("c", "b"), source="test")
    with pytest.raises(BadInput) as caught:
        test.reindexed_like(DENSE)
    assert str(caught.value) == (
        "test: no column 'a', which the training data has (1 of 2 are missing); "
        "give both files the same columns"
    )


def test_dense_data_of_another_width_is_refused():
    test = LabelledMatrix(np.ones((1, 3)), source="test")
    with pytest.raises(BadInput, match="3 feature columns, but training data train has 2"):
        test.reindexed_like(DENSE)


def test_classes_get_their_numbers_in_the_training_data():
    train = replace(DENSE, classes=("ape", "bee", "cat"))
    test = replace(DENSE, classes=("bee", "cat"))
    np.testing.assert_array_equal(test.reindexed_like(train).target, [1, 2, 1])


def test_a_class_without_training_data_is_named():
    train = replace(DENSE, classes=("ape", "bee"))
    test = replace(DENSE, classes=("ape", "dog"), source="test")
    with pytest.raises(BadInput, match="test: class 'dog' does not occur in training data train"):
        test.reindexed_like(train)


def test_words_and_numbers_as_targets_do_not_go_together():
    test = replace(DENSE, classes=("ape", "dog"), source="test")
    with pytest.raises(BadInput, match="test: the target holds words, in training data train"):
        test.reindexed_like(DENSE)


def test_data_without_a_target_says_how_to_give_one():
    with pytest.raises(BadInput, match="train: this application needs a target, found none"):
        replace(DENSE, target=None).require_target()
