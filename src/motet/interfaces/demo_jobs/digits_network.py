"""A job of `motet demo`: trains a small neural network on handwritten digits with scikit-learn.

Every process of the gang trains on its own part of the images and keeps a checkpoint per epoch. A
process that is asked to stop ends after the epoch in progress; its next attempt continues there.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

TEST_IMAGES = 360


def train_on_digits() -> None:
    """Train the epochs that are left, and print the accuracy on images held out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--rate", type=float, default=0.01, help="learning rate")
    given = parser.parse_args()
    stop = StopRequest()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    folder = Path(os.environ["MOTET_CHECKPOINT_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / f"network-{rank}.pickle"
    images, labels = load_digits(return_X_y=True)
    mine = slice(rank, len(labels) - TEST_IMAGES, world)
    done, network = restored_network(checkpoint) or (0, new_network(given.rate))
    for epoch in range(done + 1, given.epochs + 1):
        network.partial_fit(images[mine] / 16, labels[mine], classes=range(10))
        save_network(checkpoint, epoch, network)
        accuracy = network.score(images[-TEST_IMAGES:] / 16, labels[-TEST_IMAGES:])
        sys.stdout.write(
            f"epoch {epoch}/{given.epochs}  loss {network.loss_:.4f}  accuracy {accuracy:.3f}\n"
        )
        if stop.is_asked:
            return


class StopRequest:
    """`is_asked`: whether SIGTERM has come: a job with a higher priority needs the slot."""

    def __init__(self) -> None:
        self.is_asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, number: int, frame: object) -> None:
        del number, frame
        self.is_asked = True


def new_network(rate: float) -> MLPClassifier:
    """Two hidden layers, always with the same first weights."""
    return MLPClassifier((256, 128), learning_rate_init=rate, solver="sgd", random_state=0)


def restored_network(checkpoint: Path) -> tuple[int, MLPClassifier] | None:
    """The epochs done and the network of an earlier attempt."""
    try:
        content = checkpoint.read_bytes()
    except FileNotFoundError:
        return None
    done, network = pickle.loads(content)
    return int(done), network


def save_network(checkpoint: Path, epochs: int, network: MLPClassifier) -> None:
    """Replace the checkpoint; a process killed meanwhile leaves the one before."""
    temporary = checkpoint.with_suffix(".new")
    temporary.write_bytes(pickle.dumps((epochs, network)))
    temporary.replace(checkpoint)


if __name__ == "__main__":
    train_on_digits()
