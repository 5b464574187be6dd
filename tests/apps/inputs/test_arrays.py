"""Arrays, sparse matrices and DataFrames become the data set kinds."""

from __future__ import annotations

import numpy as np
import pytest
from pandas import DataFrame, Series, to_datetime, to_timedelta
from scipy.sparse import coo_array, csc_matrix, csr_matrix

from motet.apps.inputs.arrays import as_dataset, corpus_of, labelled_of, ratings_of
from motet.apps.inputs.class_labels import learn_classes
from motet.apps.inputs.matrix import varying_target
from motet.domain.errors import BadInput


def test_a_motet_data_set_is_taken_as_it_is() -> None:
    ratings = ratings_of([[1.0]])
    assert as_dataset("ratings", ratings) is ratings


@pytest.mark.parametrize("convert", [csr_matrix, csc_matrix, coo_array], ids=lambda c: c.__name__)
def test_every_sparse_format_becomes_csr_with_sorted_unique_columns(convert: type) -> None:
    features = labelled_of(convert([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])).features
    assert isinstance(features, csr_matrix)
    assert features.has_canonical_format
    np.testing.assert_array_equal(features.toarray(), [[0, 2, 1], [3, 0, 0]])


def test_entries_given_twice_are_added_up() -> None:
    twice = coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert ratings_of(twice).values.tolist() == [3.0]


def test_the_callers_matrix_is_not_changed() -> None:
    matrix = csr_matrix(([1.0, 2.0], [1, 0], [0, 2]), shape=(1, 2))
    labelled_of(matrix)
    assert matrix.indices.tolist() == [1, 0]


def test_a_data_frame_keeps_its_column_names() -> None:
    data = labelled_of(DataFrame({"age": [1, 2], "height": [3, 4]}), Series([0, 1]))
    assert data.feature_names == ("age", "height")
    assert data.require_target().tolist() == [0.0, 1.0]
    assert corpus_of(DataFrame({"cat": [1, 0], "dog": [0, 2]})).vocabulary == ("cat", "dog")


def test_words_as_target_become_classes_in_alphabetical_order() -> None:
    data = labelled_of([[1.0], [2.0], [3.0]], ["no", "yes", "no"])
    assert data.classes == ("no", "yes")
    assert data.require_target().tolist() == [0.0, 1.0, 0.0]


def test_only_labelled_applications_are_given_a_target() -> None:
    assert as_dataset("unlabelled", [[1.0]], [1.0]).target is None
    assert as_dataset("labelled", [[1.0]], [1.0]).target.tolist() == [1.0]


def test_stored_zeros_are_ratings_and_others_are_not() -> None:
    stored = csr_matrix(([0.0, 2.0], [0, 1], [0, 2, 2]), shape=(2, 3))
    ratings = ratings_of(stored)
    assert ratings.shape == (2, 3)
    assert ratings.values.tolist() == [0.0, 2.0]
    assert ratings_of(stored.toarray()).rating_count == 6


def test_counts_become_words_of_documents() -> None:
    corpus = corpus_of([[0, 2, 1], [0, 0, 0]])
    assert (corpus.document_count, corpus.vocabulary_size) == (2, 3)
    assert corpus.token_words.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("X", "y", "complaint"),
    [
        ([[np.nan]], None, "X: holds NaN or infinite values"),
        (csr_matrix([[np.inf]]), None, "X: holds NaN or infinite values"),
        (DataFrame({"a": [1], "b": [np.nan]}), None, "X: column 'b' holds NaN or infinite values"),
        (
            DataFrame({"a": [np.nan, 1], "b": [1, np.inf]}),
            None,
            r"X: column 'a' \(and 1 more\) holds NaN or infinite",
        ),
        ([["a"]], None, "X: not a matrix of numbers"),
        ([[1.0], [2.0, 3.0]], None, "X: not a matrix of numbers"),
        ([1.0, 2.0], None, r"X: 1 dimensions; it must have 2 \(rows, columns\)"),
        ([[1.0]], [1.0, 2.0], r"y has shape \(2,\); X has 1 rows, so y must be \(1,\)"),
        ([[1.0]], [np.nan], "y: holds NaN or infinite values"),
    ],
)
def test_the_error_names_unusable_input(X: object, y: object, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        labelled_of(X, y)


def test_a_wrong_target_of_arrays_is_told_without_options_of_the_command() -> None:
    with pytest.raises(BadInput, match=r"use mlr, or give another y$"):
        varying_target(labelled_of([[1.0], [2.0]], ["no", "yes"]))
    with pytest.raises(BadInput, match=r"nothing to learn; give another y$"):
        varying_target(labelled_of([[1.0], [2.0]], [7, 7]))
    with pytest.raises(BadInput, match=r"use linear_regression or lasso, or give another y$"):
        learn_classes(labelled_of([[0.0]] * 40, np.arange(40)))


def test_a_table_that_is_no_ratings_is_told_how_to_name_them() -> None:
    table = DataFrame({"sepal": [1.0, 2], "petal": [1.0, 2], "width": [1, 2], "kind": ["a", "b"]})
    with pytest.raises(BadInput, match="neither a row per rating nor a table of numbers"):
        ratings_of(table.assign(colour=["red", "blue"]))


DATES = np.array(["2024-01-01", "2024-01-02"], dtype="M8[ns]")
SPANS = DATES - DATES[0]


@pytest.mark.parametrize(
    ("X", "y", "complaint"),
    [
        (DataFrame({"age": [1, 2], "when": DATES}), None, "X: column 'when' holds dates"),
        (DataFrame({"when": to_datetime(DATES, utc=True)}), None, "X: column 'when' holds dates"),
        (DataFrame({"took": to_timedelta(SPANS)}), None, "X: column 'took' holds time spans"),
        (DataFrame({"z": [1j, 2.0]}), None, "X: column 'z' holds complex numbers"),
        (DATES.reshape(2, 1), None, "X holds dates"),
        ([[1j], [2.0]], None, "X holds complex numbers"),
        (csr_matrix([[1j], [2.0]]), None, "X holds complex numbers"),
        ([[1.0], [2.0]], DATES, "y holds dates"),
        ([[1.0], [2.0]], Series(to_datetime(DATES, utc=True)), "y holds dates"),
        ([[1.0], [2.0]], SPANS, "y holds time spans"),
    ],
)
def test_dates_and_complex_numbers_are_refused(X: object, y: object, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        labelled_of(X, y)


def test_the_remedy_for_a_column_of_dates_gives_numbers() -> None:
    X = DataFrame({"when": DATES})
    with pytest.raises(BadInput, match=r"\(X\['when'\] - start\) / pd.Timedelta\('1D'\)"):
        labelled_of(X)
    days = DataFrame({"when": (X["when"] - X["when"].min()) / to_timedelta("1D")})
    assert labelled_of(days).features.ravel().tolist() == [0.0, 1.0]


def test_data_without_a_target_are_answered_with_arguments_of_python() -> None:
    with pytest.raises(BadInput, match=r"found none; give y: model\.fit\(X, y\), or") as caught:
        as_dataset("labelled", [[1.0]]).require_target()
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    "texts", [["a b", "b c"], ("a b",), Series(["a b"]), np.array(["a b", "c"])], ids=type
)
def test_texts_are_answered_with_how_to_count_words(texts: object) -> None:
    with pytest.raises(BadInput, match=r"X: holds texts; .* CountVectorizer\(\)"):
        corpus_of(texts)
