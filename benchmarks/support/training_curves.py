"""Loss curves of small trainings on scikit-learn's digits: other ones than predictions were
developed on. Each takes some milliseconds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

from motet.domain.arrays import Floats, Ints


def training_curves() -> dict[str, Floats]:
    """Losses after every iteration, by name."""
    digits = load_digits()
    X = np.hstack([digits.data / 16, np.ones((len(digits.data), 1))])
    return {name: train(X, digits.target) for name, train in TRAININGS.items()}


def log_loss(X: Floats, y: Floats, w: Floats) -> float:
    """Mean logistic loss; `y`: 0 or 1."""
    z = X @ w
    return float((np.logaddexp(0, z) - y * z).mean())


def slope(X: Floats, y: Floats, w: Floats) -> Floats:
    """Gradient of `log_loss`."""
    return X.T @ (1 / (1 + np.exp(-X @ w)) - y) / len(y)


def gradient_descent(X: Floats, digit: Ints, iterations: int = 150) -> Floats:
    """Logistic regression, even against odd."""
    y, w, losses = (digit % 2).astype(float), np.zeros(X.shape[1]), []
    for _ in range(iterations):
        w = w - 0.5 * slope(X, y, w)
        losses.append(log_loss(X, y, w))
    return np.array(losses)


def accelerated_descent(X: Floats, digit: Ints, iterations: int = 150) -> Floats:
    """The same with Nesterov's momentum."""
    y, losses = (digit % 2).astype(float), []
    w = ahead = np.zeros(X.shape[1])
    for t in range(iterations):
        before, w = w, ahead - 0.5 * slope(X, y, ahead)
        ahead = w + t / (t + 3) * (w - before)
        losses.append(log_loss(X, y, w))
    return np.array(losses)


def stochastic_descent(X: Floats, digit: Ints, epochs: int = 80) -> Floats:
    """The same by mini-batches with a falling rate: the mean loss of an epoch's mini-batches."""
    y, w, losses = (digit % 2).astype(float), np.zeros(X.shape[1]), []
    rng = np.random.default_rng(0)
    for epoch in range(epochs):
        total = 0.0
        batches = np.array_split(rng.permutation(len(y)), 20)
        for rows in batches:
            total += log_loss(X[rows], y[rows], w)
            w = w - 2 / np.sqrt(1 + epoch) * slope(X[rows], y[rows], w)
        losses.append(total / len(batches))
    return np.array(losses)


def multiplicative_nmf(X: Floats, digit: Ints, iterations: int = 100) -> Floats:
    """Non-negative factors of rank 10, Lee and Seung's updates."""
    rng = np.random.default_rng(0)
    W, H, losses = rng.random((len(X), 10)), rng.random((10, X.shape[1])), []
    for _ in range(iterations):
        H *= W.T @ X / (W.T @ W @ H + 1e-9)
        W *= X @ H.T / (W @ (H @ H.T) + 1e-9)
        losses.append(float(((X - W @ H) ** 2).mean()))
    return np.array(losses)


def lloyds_k_means(X: Floats, digit: Ints, iterations: int = 40) -> Floats:
    """Mean squared distance to the nearest of 20 centres."""
    centres, losses = X[np.random.default_rng(0).choice(len(X), 20, replace=False)], []
    for _ in range(iterations):
        distances = ((X[:, None] - centres) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        losses.append(float(distances.min(axis=1).mean()))
        centres = np.array([X[nearest == k].mean(axis=0) for k in range(20)])
    return np.array(losses)


def mixture_em(X: Floats, digit: Ints, iterations: int = 60) -> Floats:
    """Mean negative log-likelihood of ten Gaussians with diagonal covariance."""
    Z = X[:, :-1] @ np.linalg.svd(X[:, :-1], full_matrices=False)[2][:8].T
    means, losses = Z[np.random.default_rng(0).choice(len(Z), 10, replace=False)], []
    variances, shares = np.full((10, 8), Z.var()), np.full(10, 0.1)
    for _ in range(iterations):
        distance = (Z[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
        log_joint = np.log(shares) - distance.sum(axis=2) / 2
        log_total = np.logaddexp.reduce(log_joint, axis=1)
        losses.append(-float(log_total.mean()))
        member = np.exp(log_joint - log_total[:, None])
        size = member.sum(axis=0)[:, None]
        means = member.T @ Z / size
        variances = np.maximum(member.T @ Z**2 / size - means**2, 1e-3)
        shares = size[:, 0] / len(Z)
    return np.array(losses)


def boosted_stumps(X: Floats, digit: Ints, rounds: int = 120) -> Floats:
    """AdaBoost's exponential loss, pixels darker than half as weak learners."""
    y, votes = np.where(digit % 2 == 0, 1.0, -1.0), np.where(X > 0.5, 1.0, -1.0)
    score, losses = np.zeros(len(y)), []
    for _ in range(rounds):
        weights = np.exp(-y * score)
        edges = (weights * y) @ votes / weights.sum()
        best = int(np.abs(edges).argmax())
        score += np.arctanh(edges[best]) * votes[:, best]
        losses.append(float(np.exp(-y * score).mean()))
    return np.array(losses)


def coordinate_lasso(X: Floats, digit: Ints, sweeps: int = 40) -> Floats:
    """Lasso on whether the digit is a three."""
    y, w, losses = (digit == 3).astype(float), np.zeros(X.shape[1]), []
    squares, rest = (X * X).sum(axis=0) + 1e-9, y.copy()
    for _ in range(sweeps):
        for j in range(X.shape[1]):
            wanted = X[:, j] @ rest + squares[j] * w[j]
            new = np.sign(wanted) * max(abs(wanted) - 1.0, 0.0) / squares[j]
            rest += X[:, j] * (w[j] - new)
            w[j] = new
        losses.append(float(rest @ rest / 2 + np.abs(w).sum()))
    return np.array(losses)


def two_layer_network(X: Floats, digit: Ints, epochs: int = 60) -> Floats:
    """Cross-entropy of a network with 32 hidden units, by mini-batches."""
    rng = np.random.default_rng(0)
    V, W = rng.normal(0, 0.2, (X.shape[1], 32)), rng.normal(0, 0.2, (32, 10))
    losses, Y = [], np.eye(10)[digit]
    for _ in range(epochs):
        total = 0.0
        for rows in np.array_split(rng.permutation(len(X)), 30):
            hidden = np.maximum(X[rows] @ V, 0)
            scores = hidden @ W
            log_shares = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
            total -= float((Y[rows] * log_shares).sum())
            error = (np.exp(log_shares) - Y[rows]) / len(rows)
            V -= 0.2 * X[rows].T @ ((error @ W.T) * (hidden > 0))
            W -= 0.2 * hidden.T @ error
        losses.append(total / len(X))
    return np.array(losses)


TRAININGS: dict[str, Callable[[Floats, Ints], Floats]] = {
    "digits_gradient_descent": gradient_descent,
    "digits_accelerated": accelerated_descent,
    "digits_sgd": stochastic_descent,
    "digits_nmf": multiplicative_nmf,
    "digits_kmeans": lloyds_k_means,
    "digits_mixture_em": mixture_em,
    "digits_adaboost": boosted_stumps,
    "digits_lasso": coordinate_lasso,
    "digits_network": two_layer_network,
}
