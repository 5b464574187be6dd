"""NMF: non-negative matrix factorisation of ratings by stochastic gradient descent.

A rating d of item i by user u is approximated by l . r with l, r >= 0. The factors l of a user are
part of the user's training instance; the item factors r are the model (Lee 2020, ch. 2).
Per rating the objective is (l . r - d)^2 / 2 + l2 (|l|^2 + |r|^2) / 2.

Users of a mini-batch use the item factors of its start and change their own at once; the items'
gradients are summed over the mini-batch, and `apply` steps and clips at 0. So the result does not
depend on the placement of users, and factors never become negative. All numbers are float64: sums
in another order then differ by 1e-15, and the kernel is as fast as with float32.

No step is longer than 1 / curvature (for an item: the sum of |l|^2 over the users that rated it in
the mini-batch), so neither large mini-batches nor ratings on a large scale cause divergence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.apps.automatic_batches import AutomaticBatches
from motet.apps.estimator import check_columns
from motet.apps.inputs.arrays import as_dataset, has_ids
from motet.apps.inputs.memory import MODEL_COPIES, ROW_COPIES, float64_bytes, require_memory
from motet.apps.inputs.ratings import by_user, check_ratings, id_pairs, look_up
from motet.apps.kernels.keyed_random import uniform_rows
from motet.apps.user_warnings.unknown_ids import warn_of_unknown_ids
from motet.datasets.kinds import Ratings
from motet.datasets.kinds.ids import id_positions
from motet.domain.arrays import Array, Floats, Indices
from motet.domain.errors import BadArgument
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Ragged, Rows

_USER_STREAM, _ITEM_STREAM = 1, 2


class NMF(AutomaticBatches):
    """Non-negative factors of users and items from ratings.

    `rank`: factors per user and item. `l2`: regularisation per rating. `learning_rate`: step size
    of the first epoch; in epoch e it is divided by 1 + (1 - decay) e, so steps become smaller and
    never too small to arrive. `batch_size`: users per mini-batch over all workers; None: a tenth of
    the users. Training ends once the objective falls by at most `tol` per epoch, relatively,
    between means over five epochs; it goes on falling where the loss stays the same or rises,
    while the factors become smaller.

    Loss: root mean squared error (RMSE) of the training ratings. Fitted: `components_: (rank,
    items)` and `user_factors_: (users, rank)`, in the order of `item_ids_` and `user_ids_`.
    """

    name = "nmf"
    dataset_kind = "ratings"
    state_columns = ("factors",)
    fitted_attribute = "components_"
    default_epochs = 500
    residual_name = "change of the objective per epoch"
    lowered_metric = "objective"
    improvement_epochs = 5
    batches_per_epoch = 10

    components_: Floats
    user_factors_: Floats

    def __init__(
        self,
        rank: int = 16,
        l2: float = 0.1,
        learning_rate: float = 0.015,
        decay: float = 0.98,
        batch_size: int | None = None,
        epochs: int = default_epochs,
        tol: float = 2e-5,
        random_state: int | None = 0,
    ) -> None:
        self.rank = rank
        self.l2 = l2
        self.learning_rate = learning_rate
        self.decay = decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: Ratings, seed: int) -> Rows:
        """One instance per user: `items` and `ratings` (ragged), `factors: (users, rank)`."""
        self._check_parameters()
        check_ratings(dataset)
        self._require_memory(*dataset.shape)
        self.choose_batch_size(len(dataset.user_ids))
        self.user_ids_ = dataset.user_ids
        self.item_ids_ = dataset.item_ids
        self.mean_rating_ = float(dataset.values.mean())
        self.rating_range_ = np.array([dataset.values.min(), dataset.values.max()])
        offsets, items, ratings = by_user(dataset)
        users = np.arange(len(offsets) - 1)
        return Rows(
            users,
            {
                "items": Ragged(offsets, items),
                "ratings": Ragged(offsets, ratings),
                "factors": self._first_factors(seed, _USER_STREAM, users),
            },
        )

    def model_table(self) -> ModelTable:
        """One key per item, its factors as value; a delta is [gradient: rank | curvature]."""
        item_count, float64 = len(self.item_ids_), np.dtype(np.float64)
        return ModelTable(item_count, (self.rank,), float64, delta_shape=(self.rank + 1,))

    def initial_model(self, rows: Rows, seed: int) -> Floats:
        """Random factors `(items, rank)`, keyed by item."""
        del rows
        return self._first_factors(seed, _ITEM_STREAM, np.arange(len(self.item_ids_)))

    # -- one mini-batch ----------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """Pulls the items that these users rated; keeps the ratings' positions among them."""
        keys, positions = np.unique(rows.ragged("items").values, return_inverse=True)
        return Batch(rows, keys.astype(np.int64), extras=positions.astype(np.int32))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """Steps of the users' own factors; gradient and curvature of the items'."""
        from motet.apps.kernels.ratings import descend_ratings

        ratings = batch.rows.ragged("ratings")
        delta = np.zeros((len(model), self.rank + 1))
        rate = self._rate(step.epoch)
        descend_ratings(
            ratings.offsets,
            batch.extras,
            ratings.values,
            batch.rows["factors"],
            model,
            _step_size(rate, np.einsum("ij,ij->i", model, model) + self.l2),
            delta,
            self.l2,
        )
        return Update(delta)

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """One gradient step, then the projection onto r >= 0."""
        gradient, curvature = delta[:, :-1], delta[:, -1:]
        values -= gradient * _step_size(self._rate(step.epoch), curvature)
        np.maximum(values, 0.0, out=values)

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Floats:
        """Sums of squared errors and of squared factors, and the number of ratings."""
        from motet.apps.kernels.ratings import squared_sums

        items, ratings = rows.ragged("items"), rows.ragged("ratings").values
        found = squared_sums(items.offsets, items.values, ratings, rows["factors"], model)
        return np.array([*found, len(ratings)])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """`train_rmse`, which is also the loss, and the `objective` per rating."""
        del model, rows_count
        errors, squares, count = map(float, sums)
        objective = (errors + self.l2 * squares) / 2 / count
        rmse = float(np.sqrt(errors / count))
        return Evaluation(rmse, {"train_rmse": rmse, "objective": objective})

    def test_metrics(self, dataset: Any) -> dict[str, float]:
        """`test_rmse`; predictions as by `predict`, within the range of the training ratings."""
        return {"test_rmse": -self.score(dataset)}

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Keep the factors of both sides."""
        self.components_ = np.ascontiguousarray(model.T)
        self.user_factors_ = np.array(rows["factors"])

    def predict(self, pairs: Any) -> Floats:
        """Predict ratings for `pairs: (n, 2)` of user and item ids, or for a ratings data set.

        Within the range of the training ratings; the training mean for a user or an item without
        training data; a warning counts those. Raises BadInput for anything else.
        """
        self.check_fitted()
        if isinstance(pairs, Ratings):
            users, items = self._positions(pairs)
        else:
            user_ids, item_ids = id_pairs(pairs)
            users = id_positions(user_ids, self.user_ids_)
            items = id_positions(item_ids, self.item_ids_)
        warn_of_unknown_ids((users < 0) | (items < 0))
        return self._rate_pairs(users, items)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the RMSE of `X`: ratings by user and item id, or a matrix shaped as in training."""
        del y
        self.check_fitted()
        ratings = self._ratings_of(X)
        if not has_ids(X):
            check_columns(ratings.shape[0], len(self.user_ids_), "users")
            ratings = replace(ratings, user_ids=self.user_ids_)
        if not len(ratings.values):
            raise BadArgument(f"{ratings.source}: no ratings; a score needs at least one")
        errors = self._rate_pairs(*self._positions(ratings)) - ratings.values
        return -float(np.sqrt(np.mean(errors**2)))

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Train and return the users' factors `(users, rank)`."""
        return self.fit(X, y).user_factors_

    def transform(self, X: Any) -> Floats:
        """Return factors `(users, rank)` of any users with ratings `X` of the learned items."""
        from motet.apps.kernels.ratings import fold_in_users

        self.check_fitted()
        ratings = self._ratings_of(X)
        offsets, items, values = by_user(ratings)
        known = look_up(items, ratings.item_ids, self.item_ids_)
        return fold_in_users(offsets, known, values, self.components_.T.copy(), self.l2)

    def inverse_transform(self, X: Any) -> Floats:
        """Return the full user x item matrix of factors `X: (users, rank)`."""
        self.check_fitted()
        matrix: Floats = np.asarray(X, dtype=np.float64) @ self.components_
        return matrix

    def warm_up(self) -> None:
        """Compile the kernels of training."""
        tiny = Ratings.from_ids(np.arange(2), np.arange(2), np.ones(2), source="warm-up")
        type(self)(rank=2, epochs=1, tol=0, random_state=0).fit(tiny)

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self.check_number("rank", at_least=1, whole=True)
        self.check_number("l2", at_least=0)
        self.check_number("learning_rate", above=0)
        self.check_number("decay", above=0, at_most=1)

    def _require_memory(self, users: int, items: int) -> None:
        needs = {
            f"the factors of {users:,} users": float64_bytes(users, self.rank, copies=ROW_COPIES),
            f"those of {items:,} items": float64_bytes(items, self.rank, copies=MODEL_COPIES),
        }
        require_memory(f"nmf: rank={self.rank}", needs, "lower rank")

    def _first_factors(self, seed: int, stream: int, ids: NDArray[np.int64]) -> Floats:
        """Draw uniformly between 0 and the value for which l . r is the mean rating.

        Smaller factors are more alike: training then stays at the best factors of rank 1 for tens
        of epochs, with losses as if it had converged.
        """
        highest = float(np.sqrt(self.mean_rating_ / self.rank))
        return highest * uniform_rows(seed, stream, ids, self.rank)

    def _rate(self, epoch: int) -> float:
        return float(self.learning_rate / (1 + (1 - self.decay) * epoch))

    def _ratings_of(self, X: Any) -> Ratings:
        """Convert `X` to ratings; the columns of a matrix are the learned items, in order."""
        ratings: Ratings = as_dataset(self.dataset_kind, X)
        if has_ids(X):
            return ratings
        check_columns(ratings.shape[1], len(self.item_ids_), "items")
        return replace(ratings, item_ids=self.item_ids_)

    def _positions(self, ratings: Ratings) -> tuple[Indices, Indices]:
        """Return every rating's user and item as positions in the fitted factors, -1: unknown."""
        users = look_up(ratings.users, ratings.user_ids, self.user_ids_)
        return users, look_up(ratings.items, ratings.item_ids, self.item_ids_)

    def _rate_pairs(self, users: Indices, items: Indices) -> Floats:
        """Predict for positions in the fitted factors, -1: unknown."""
        products = np.einsum("nk,kn->n", self.user_factors_[users], self.components_[:, items])
        known = (users >= 0) & (items >= 0)
        lowest, highest = self.rating_range_
        return np.where(known, np.clip(products, lowest, highest), self.mean_rating_)


def _step_size(rate: float, curvature: Floats) -> Floats:
    return np.minimum(rate, 1.0 / np.maximum(curvature, 1e-12))
