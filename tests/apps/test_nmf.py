"""Matrix factorisation: non-negative, the same wherever users are, as good as its peers."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from example_count import examples
from motet.apps.nmf import NMF
from motet.datasets import open_dataset
from motet.datasets.builtin.toys import load_digits_ratings
from motet.datasets.kinds import Ratings
from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.runtime.core.application import Step
from motet.runtime.worker.local_training import LocalTraining
from placement import assert_placement_independent, train_placed


def planted(users: int = 120, items: int = 50, filled: float = 0.3, scale: float = 1.0) -> Ratings:
    """Ratings that three non-negative factors explain, ids far from positions."""
    rng = np.random.default_rng(3)
    full = rng.random((users, 3)) @ rng.random((3, items)) * scale
    rows, columns = np.nonzero(rng.random((users, items)) < filled)
    return Ratings.from_ids(1000 + rows, 7 * columns, full[rows, columns], source="planted")


def of_several_tastes() -> Ratings:
    """Ratings between 1 and 5 of which the best factors of rank 1 explain little."""
    rng = np.random.default_rng(21)
    users, items = rng.gamma(1.0, 1.0, (600, 6)), rng.gamma(1.0, 1.0, (400, 6))
    full = 1 + (users @ items.T) / 8
    rows, columns = np.nonzero(rng.random(full.shape) < 0.1)
    values = np.clip(full[rows, columns] + rng.normal(0, 0.3, len(rows)), 0.5, 5.5)
    return Ratings.from_ids(rows, columns, values, source="tastes")


def of_weak_tastes(seed: int) -> Ratings:
    """Ratings of which nearly all are between 3 and 4, in steps of 0.1."""
    rng = np.random.default_rng(seed)
    tastes = 0.2 * rng.normal(0, 1, (60, 3)) @ rng.normal(0, 1, (3, 40)) / np.sqrt(3)
    full = np.round(3.5 + tastes + rng.normal(0, 0.2, tastes.shape), 1)
    rows, columns = np.nonzero(rng.random(full.shape) < 0.5)
    values = np.clip(full[rows, columns], 1, 5)
    return Ratings.from_ids(rows, columns, values, source="weak tastes")


def as_matrix(ratings: Ratings) -> csr_matrix:
    return csr_matrix((ratings.values, (ratings.users, ratings.items)), shape=ratings.shape)


def descend_as_written(
    app: NMF, own: Floats, items: Floats, rated: list[tuple[int, float]], rate: float
) -> tuple[Floats, Floats]:
    """The docstring's rule for one user, in plain Python: new factors, delta of the items."""
    delta = np.zeros((len(items), app.rank + 1))
    for item, rating in rated:
        error = own @ items[item] - rating
        step_size = min(rate, 1 / (items[item] @ items[item] + app.l2))
        delta[item, :-1] += error * own + app.l2 * items[item]
        delta[item, -1] += own @ own + app.l2
        own = np.maximum(own - step_size * (error * items[item] + app.l2 * own), 0)
    return own, delta


def test_compute_is_the_rule_in_the_docstring() -> None:
    rated = [(0, 5.0), (2, 1.0), (3, 3.0)]
    data = Ratings.from_ids(np.zeros(3, int), np.array([0, 2, 3]), np.array([5.0, 1, 3]), source="")
    app = NMF(rank=4, learning_rate=0.3)
    rows = app.prepare(data, 0)
    batch = app.make_batch(rows)
    model = app.initial_model(rows, 0)
    items = np.zeros((4, 4))
    items[[0, 2, 3]] = model
    own, delta = descend_as_written(app, rows["factors"][0].copy(), items, rated, 0.3 / 1.04)

    update = app.compute(batch, model, Step(2, 0, 1, 2, 1, 1, 0))

    np.testing.assert_allclose(rows["factors"][0], own, rtol=1e-12)
    np.testing.assert_allclose(update.delta, delta[[0, 2, 3]], rtol=1e-12)


@settings(max_examples=examples(30))
@given(
    seed=st.integers(0, 1000),
    learning_rate=st.floats(1e-3, 10),
    l2=st.floats(0, 5),
    batch_size=st.sampled_from([0, 1, 7, 40]),
    scale=st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_factors_are_never_negative_and_always_finite(
    seed: int, learning_rate: float, l2: float, batch_size: int, scale: float
) -> None:
    app = NMF(3, l2, learning_rate, batch_size=batch_size, epochs=5, random_state=seed)
    app.fit(planted(users=40, items=15, scale=scale))
    for factors in (app.components_, app.user_factors_):
        assert np.isfinite(factors).all()
        assert factors.min() >= 0


@pytest.mark.parametrize("dataset", [planted(), load_digits_ratings()], ids=["sparse", "dense"])
def test_final_loss_does_not_depend_on_workers_and_servers(dataset: Ratings) -> None:
    assert_placement_independent(NMF(rank=8, batch_size=40), dataset, epochs=10, tolerance=1e-12)


def test_fit_in_this_process_is_one_more_placement() -> None:
    placed = train_placed(NMF(rank=4, batch_size=30), planted(), 5, workers=3, servers=2)
    fitted = NMF(rank=4, batch_size=30, epochs=5).fit(planted())
    np.testing.assert_allclose(fitted.components_, placed.app.components_, rtol=1e-10)
    np.testing.assert_allclose(fitted.user_factors_, placed.app.user_factors_, rtol=1e-10)
    np.testing.assert_allclose(fitted.loss_curve_[-1], placed.loss, rtol=1e-10)


def test_one_seed_gives_one_model_and_another_seed_another() -> None:
    first, again, other = (
        NMF(rank=4, epochs=3, random_state=seed).fit(planted()).components_ for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_loss_is_the_rmse_of_the_training_ratings() -> None:
    data = planted()
    model = NMF(rank=4, epochs=20).fit(data)
    explained = model.inverse_transform(model.user_factors_)[data.users, data.items]
    rmse = np.sqrt(np.mean((explained - data.values) ** 2))
    np.testing.assert_allclose(model.loss_curve_[-1], rmse, rtol=1e-10)


def test_finds_planted_factors() -> None:
    everything = planted(filled=1.0)
    part = np.random.default_rng(0).random(everything.rating_count) < 0.5
    train, test = everything.rows(part), everything.rows(~part)
    model = NMF(rank=3, l2=1e-3, learning_rate=0.1, epochs=200).fit(train)
    assert -model.score(test) < 0.1 * np.std(test.values)


@pytest.mark.soak
@pytest.mark.parametrize(
    "batch_size",
    # The automatic one: with three workers, in `e2e/test_quality.py`.
    [32, pytest.param(None, marks=pytest.mark.soak), pytest.param(0, marks=pytest.mark.soak)],
    ids=lambda size: f"batch_size={size}",
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(it, marks=pytest.mark.soak) for it in (1, 2))])
def test_movielens_test_rmse_reaches_the_gate_with_few_and_many_mini_batches(
    shared_data: Path, batch_size: int | None, seed: int
) -> None:
    """Surprise's SVD reaches 0.9246 and cornac's MF 0.9339 with 40 epochs."""
    folder = shared_data / "ml-100k"
    train = open_dataset(folder / "u.data.gz", kind="ratings", exclude=folder / "u1.test.gz")
    test = open_dataset(folder / "u1.test.gz", kind="ratings")
    assert isinstance(train, Ratings)
    assert isinstance(test, Ratings)
    assert (train.rating_count, test.rating_count) == (80_000, 20_000)
    app = NMF(rank=16, batch_size=batch_size, random_state=seed).fit(train)
    assert app.test_metrics(test)["test_rmse"] <= 0.938
    moved = test.reindexed_like(train)
    assert NMF(epochs=1).fit(train).score(moved) == NMF(epochs=1).fit(train).score(test)


# -- the fitted estimator --------------------------------------------------------------------------


def test_matrix_rows_are_users_and_stored_entries_are_ratings() -> None:
    data = planted()
    by_id, by_row = NMF(rank=4, epochs=3).fit(data), NMF(rank=4, epochs=3).fit(as_matrix(data))
    np.testing.assert_array_equal(by_id.components_, by_row.components_)
    assert by_id.score(data) == by_row.score(as_matrix(data))
    assert by_id.score(data) == by_id.score(as_matrix(data))


def test_every_cell_of_a_dense_matrix_is_a_rating() -> None:
    X = np.outer([1.0, 0.0, 2.0], [1.0, 2.0, 0.0])
    model = NMF(rank=1, l2=0.0, learning_rate=0.2, epochs=100).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.user_factors_), X, atol=0.01)


def test_items_and_users_without_ratings_are_kept() -> None:
    X = csr_matrix(([4.0, 2.0], ([0, 3], [1, 1])), shape=(5, 3))
    model = NMF(rank=2, epochs=2).fit(X)
    assert (model.components_.shape, model.user_factors_.shape) == ((2, 3), (5, 2))


def test_predict_takes_ids_and_stays_within_the_ratings_seen() -> None:
    data = planted()
    model = NMF(rank=4, epochs=10).fit(data)
    pairs = np.column_stack([data.user_ids[data.users], data.item_ids[data.items]])
    predicted = model.predict(pairs)
    products = (model.user_factors_ @ model.components_)[data.users, data.items]
    np.testing.assert_allclose(predicted, np.clip(products, *model.rating_range_))
    assert model.rating_range_.tolist() == [data.values.min(), data.values.max()]


@pytest.mark.parametrize("pair", [(1, 0), (1000, 1), (-5, -5), (10**9, 10**9)])
def test_unknown_users_and_items_get_the_mean_rating(pair: tuple[int, int]) -> None:
    data = planted()
    model = NMF(rank=2, epochs=2).fit(data)
    with pytest.warns(UserWarning, match="1 of 1 predictions is the mean of the training ratings"):
        assert model.predict([pair]) == pytest.approx(data.values.mean())


def test_transform_explains_ratings_at_least_as_well_as_training_did() -> None:
    data = planted()
    model = NMF(rank=3, epochs=100, learning_rate=0.05).fit(data)
    folded = model.transform(data)
    assert folded.min() >= 0
    np.testing.assert_array_equal(folded, model.transform(as_matrix(data)))

    def objective(factors: Floats) -> float:
        error = (factors @ model.components_)[data.users, data.items] - data.values
        per_rating = np.bincount(data.users, minlength=len(factors))
        return float(error @ error + model.l2 * per_rating @ (factors**2).sum(axis=1))

    assert objective(folded) <= objective(model.user_factors_)


def test_transform_is_the_constrained_optimum() -> None:
    """Its gradient is 0 where a factor is positive and not negative where it is 0."""
    data = planted()
    model = NMF(rank=3, epochs=30).fit(data)
    factors, items = model.transform(data), model.components_.T
    error = np.einsum("nk,nk->n", factors[data.users], items[data.items]) - data.values
    gradient = np.zeros_like(factors)
    np.add.at(
        gradient, data.users, error[:, None] * items[data.items] + model.l2 * factors[data.users]
    )
    assert np.abs(gradient[factors > 0]).max() < 1e-6
    assert gradient[factors == 0].min(initial=0) >= -1e-6


def test_predict_takes_a_ratings_data_set_by_its_ids() -> None:
    data = planted()
    model = NMF(rank=2, epochs=2).fit(data)
    pairs = np.column_stack([data.user_ids[data.users], data.item_ids[data.items]])
    np.testing.assert_array_equal(model.predict(data), model.predict(pairs))
    assert model.score(data) == pytest.approx(
        -np.sqrt(np.mean((model.predict(data) - data.values) ** 2))
    )


@pytest.mark.parametrize(
    "pairs", [np.ones((4, 3)), 7, [["a", "b", "c"]], csr_matrix(np.eye(2)), None]
)
def test_predict_errors_name_the_expected_input(pairs: object) -> None:
    with pytest.raises(BadInput, match="nmf: predict takes pairs of a user and an item id"):
        NMF(rank=1, epochs=1).fit(planted()).predict(pairs)


def test_saved_model_predicts_the_same(tmp_path: Path) -> None:
    data = planted()
    model = NMF(rank=4, epochs=3).fit(data)
    model.save(tmp_path / "model.npz")
    loaded = NMF.load(tmp_path / "model.npz")
    assert loaded.get_params() == model.get_params()
    assert loaded.score(data) == model.score(data)
    np.testing.assert_array_equal(loaded.transform(data), model.transform(data))


def test_can_be_cloned() -> None:
    assert clone(NMF(rank=7, l2=0.5)).get_params() == NMF(rank=7, l2=0.5).get_params()


# -- bad input -------------------------------------------------------------------------------------


def test_negative_ratings_are_named() -> None:
    with pytest.raises(BadInput, match="X: rating -2; nmf explains ratings of at least 0"):
        NMF().fit([[1.0, -2.0]])


def test_no_ratings_have_no_score() -> None:
    data = planted()
    model = NMF(rank=2, epochs=1, tol=0).fit(data)
    none = Ratings.from_ids(data.users[:0], data.items[:0], data.values[:0], source="none")
    with pytest.raises(BadInput, match="none: no ratings; a score needs at least one"):
        model.score(none)


def test_no_ratings_at_all_is_bad_input() -> None:
    with pytest.raises(BadInput, match="holds no ratings"):
        NMF().fit(csr_matrix((3, 3)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rank", 0),
        ("rank", 2.5),
        ("l2", -1.0),
        ("learning_rate", 0.0),
        ("decay", 1.5),
        ("batch_size", -1),
    ],
)
def test_parameters_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(BadInput, match=f"nmf: {name}={value} must be"):
        NMF(**{name: value}).fit([[1.0]])


def test_other_items_than_in_training_are_bad_input() -> None:
    model = NMF(rank=1, epochs=1).fit([[1.0, 2.0]])
    with pytest.raises(BadInput, match="X has 3 items, but the model was fitted with 2"):
        model.transform([[1.0, 2.0, 3.0]])


# -- ids of any kind -------------------------------------------------------------------------------


def long_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    users, items = np.divmod(rng.permutation(30 * 20)[:300], 20)
    return pd.DataFrame(
        {
            "customer": [f"c{user:02}" for user in users],
            "product": items,
            "stars": rng.integers(1, 6, 300),
        }
    )


def test_a_long_frame_trains_the_model_of_its_ratings(tmp_path: Path) -> None:
    frame = long_frame()
    model = NMF(rank=3, epochs=20, tol=0).fit(frame)
    assert model.user_ids_[0] == "c00"
    assert model.item_ids_.tolist() == list(range(20))
    assert model.score(frame) == pytest.approx(-model.loss_curve_[-1])
    errors = model.predict(frame) - frame["stars"]
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(model.loss_curve_[-1])
    model.save(tmp_path / "model.npz")
    pairs = [("c01", 3), ("nobody", 3)]
    loaded = NMF.load(tmp_path / "model.npz")
    with pytest.warns(UserWarning, match="1 of 2 predictions is the mean"):
        predicted = loaded.predict(pairs)
    with pytest.warns(UserWarning, match="1 of 2 predictions is the mean"):
        np.testing.assert_array_equal(predicted, model.predict(pairs))
    assert predicted[1] == model.mean_rating_


def test_a_pivot_table_has_the_ratings_that_are_not_missing() -> None:
    frame = long_frame()
    table = frame.pivot(index="customer", columns="product", values="stars")
    long, wide = (NMF(rank=3, epochs=5, tol=0).fit(each) for each in (frame, table))
    np.testing.assert_allclose(wide.loss_curve_, long.loss_curve_, rtol=1e-12)
    np.testing.assert_array_equal(wide.user_ids_, long.user_ids_)


def test_rows_of_user_item_rating_are_not_taken_for_a_matrix() -> None:
    triples = long_frame().assign(customer=np.arange(300) % 30).to_numpy(dtype=float)
    triples = np.unique(triples, axis=0)
    triples = triples[np.unique(triples[:, :2], axis=0, return_index=True)[1]]
    for rows in (triples, np.concatenate([triples, triples[:20]])):
        with pytest.raises(BadInput, match=r"look like user, item and rating.*ratings_from_frame"):
            NMF().fit(rows)


def test_smaller_steps_still_arrive() -> None:
    """The sum of the schedule's steps has no bound: they do not become too small to converge."""
    rng = np.random.default_rng(1)
    truth = rng.gamma(1.0, 1.0, (300, 5)) @ rng.gamma(1.0, 1.0, (5, 200)) / 2
    known = rng.random(truth.shape) < 0.3
    noisy = np.maximum(truth + rng.normal(0, 0.25, truth.shape), 0)
    ratings = Ratings.from_ids(*np.nonzero(known), noisy[known], source="noisy products")
    constant = NMF(rank=5, decay=1, epochs=150, tol=0).fit(ratings).loss_curve_[-1]
    default = NMF(rank=5, epochs=150, tol=0).fit(ratings).loss_curve_[-1]
    assert default <= 1.1 * constant


def test_the_objective_is_that_of_the_docstring() -> None:
    model, data = NMF(rank=3, epochs=5, tol=0, random_state=2), of_several_tastes()
    training = LocalTraining(model, model.prepare(data, 2), 2)
    *_, last = training.epochs(5)
    rows = training.final_rows()
    model.adopt(training.model.values, rows)
    users, items = model.user_factors_[data.users], model.components_[:, data.items].T
    errors = np.einsum("nk,nk->n", users, items) - data.values
    squares = (users**2).sum() + (items**2).sum()
    expected = ((errors**2).sum() + model.l2 * squares) / 2 / len(data.values)
    np.testing.assert_allclose(last.metrics["objective"], expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_training_goes_on_while_the_objective_falls(seed: int) -> None:
    """The loss hardly changes meanwhile."""
    data = of_weak_tastes(seed)
    epochs = len(NMF(rank=4, random_state=seed).fit(data).loss_curve_)
    model = NMF(rank=4, random_state=seed, tol=0)
    training = LocalTraining(model, model.prepare(data, seed), seed)
    objectives = [report.metrics["objective"] for report in training.epochs(1500)]
    assert objectives[epochs - 1] < 1.005 * objectives[-1]


@pytest.mark.parametrize("seed", range(3))
def test_training_does_not_end_at_factors_of_rank_1(seed: int) -> None:
    data = of_several_tastes()
    flat = NMF(rank=1, random_state=seed, epochs=300, tol=0).fit(data).loss_curve_[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert NMF(random_state=seed).fit(data).loss_curve_[-1] < 0.9 * flat
