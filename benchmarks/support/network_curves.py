"""Loss curves of small networks that are not convex, on scikit-learn's digits.

Rates that fall in steps or restart, losses of single mini-batches, a plateau before the fall, and
dropout. Each takes less than a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from motet.domain.arrays import Floats, Ints

BATCHES = 30


def network_curves() -> dict[str, Floats]:
    """Losses after every report, by name."""
    digits = load_digits()
    X = np.hstack([digits.data / 16, np.ones((len(digits.data), 1))])
    y = np.where(np.random.default_rng(1).random(len(X)) < 0.1, 0, digits.target)
    found = {f"network_{name}": train(X, y) for name, train in CLASSIFIERS.items()}
    found["network_autoencoder"] = autoencoder(X)
    return found


@dataclass(frozen=True)
class Classifier:
    """A network with one hidden layer, trained by mini-batches; a tenth of the labels is wrong.

    `rate(part)`: of learning, by the part of the training that is done. `batches`: a report covers
    this many. `kept`: part of the hidden units that are not dropped.
    """

    rate: Callable[[float], float]
    epochs: int = 60
    batches: int = BATCHES
    hidden: int = 32
    momentum: float = 0.0
    kept: float = 1.0
    seed: int = 0

    def __call__(self, X: Floats, label: Ints) -> Floats:
        rng = np.random.default_rng(self.seed)
        V = rng.normal(0, 0.2, (X.shape[1], self.hidden))
        W = rng.normal(0, 0.2, (self.hidden, 10))
        fall_V, fall_W, losses, Y = np.zeros_like(V), np.zeros_like(W), [], np.eye(10)[label]
        for epoch in range(self.epochs):
            for number, rows in enumerate(np.array_split(rng.permutation(len(X)), BATCHES)):
                rate = self.rate((epoch + number / BATCHES) / self.epochs)
                hidden = np.maximum(X[rows] @ V, 0)
                mask = (rng.random(hidden.shape) < self.kept) / self.kept
                scores = hidden * mask @ W
                log_shares = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
                losses.append(-float((Y[rows] * log_shares).sum(axis=1).mean()))
                error = (np.exp(log_shares) - Y[rows]) / len(rows)
                fall_V = self.momentum * fall_V + X[rows].T @ ((error @ W.T) * mask * (hidden > 0))
                fall_W = self.momentum * fall_W + (hidden * mask).T @ error
                V, W = V - rate * fall_V, W - rate * fall_W
        return np.array(losses).reshape(-1, self.batches).mean(axis=1)


def autoencoder(X: Floats, epochs: int = 100) -> Floats:
    """Squared error of a linear network with three narrow layers from small weights: plateaus."""
    rng = np.random.default_rng(0)
    layers = [rng.normal(0, 0.08, shape) for shape in ((X.shape[1], 24), (24, 12), (12, 24))]
    layers.append(rng.normal(0, 0.08, (24, X.shape[1])))
    losses = []
    for _ in range(epochs):
        total = 0.0
        for rows in np.array_split(rng.permutation(len(X)), BATCHES):
            inputs = [X[rows]]
            for layer in layers:
                inputs.append(inputs[-1] @ layer)
            error = inputs[-1] - X[rows]
            total += float((error**2).sum())
            slope = error / len(rows)
            for number in range(len(layers) - 1, -1, -1):
                step, slope = inputs[number].T @ slope, slope @ layers[number].T
                layers[number] = layers[number] - 0.03 * step
        losses.append(total / X.size)
    return np.array(losses)


def _restarting(part: float) -> float:
    """Cosine from 0.4 to 0, four times (SGDR)."""
    return 0.2 * (1 + float(np.cos(np.pi * (4 * part % 1.0))))


CLASSIFIERS: dict[str, Classifier] = {
    "steady": Classifier(lambda part: 0.2),
    "stepped": Classifier(lambda part: 0.4 if part < 0.5 else 0.04 if part < 0.75 else 0.004),
    "restarted": Classifier(_restarting, epochs=80),
    "batches": Classifier(lambda part: 0.1, epochs=20, batches=5),
    "dropout": Classifier(lambda part: 0.2, kept=0.5),
    "momentum": Classifier(lambda part: 0.1, momentum=0.9),
}
