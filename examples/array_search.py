"""A search for good parameters on a live cluster: every round of trials is an array of jobs.

    motet server &
    python examples/array_search.py --rounds 3 --width 8

The sampler is Optuna's, by its ask-and-tell interface, or random search where Optuna is not
installed. For another objective replace `evaluate`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import motet

Point = dict[str, float]


def evaluate(point: Point) -> float:
    """The loss of a trial; runs in a job."""
    return (point["x"] - 1.0) ** 2 + (point["y"] + 2.0) ** 2


class RandomSampler:
    """Asks for points and remembers the best one, as a study of Optuna does."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.best: tuple[float, Point] | None = None

    def ask(self) -> tuple[Any, Point]:
        """A trial and its point."""
        return None, {name: self._random.uniform(-5, 5) for name in ("x", "y")}

    def tell(self, trial: Any, point: Point, loss: float | None) -> None:
        """`loss`: None: the job failed."""
        del trial
        if loss is not None and (self.best is None or loss < self.best[0]):
            self.best = loss, point


class OptunaSampler:
    """A study of Optuna behind the same methods."""

    def __init__(self, optuna: Any) -> None:
        self._study, self._failed = optuna.create_study(), optuna.trial.TrialState.FAIL

    @property
    def best(self) -> tuple[float, Point]:
        """The lowest loss and its point."""
        return self._study.best_value, self._study.best_params

    def ask(self) -> tuple[Any, Point]:
        """A trial and its point."""
        trial = self._study.ask()
        return trial, {name: trial.suggest_float(name, -5, 5) for name in ("x", "y")}

    def tell(self, trial: Any, point: Point, loss: float | None) -> None:
        """`loss`: None: the job failed."""
        del point
        if loss is None:
            self._study.tell(trial, state=self._failed)
        else:
            self._study.tell(trial, loss)


def new_sampler() -> RandomSampler | OptunaSampler:
    """Optuna's, if it is installed."""
    try:
        import optuna
    except ImportError:
        return RandomSampler()
    return OptunaSampler(optuna)


def run_round(cluster: motet.Client, points: Sequence[Point], folder: Path) -> list[float | None]:
    """The losses of these points, each by a job of one array."""
    folder.mkdir()
    (folder / "points.json").write_text(json.dumps(points))
    array = cluster.submit(
        name="search",
        array=f"0-{len(points) - 1}",
        run=[sys.executable, str(Path(__file__).resolve()), "--evaluate", str(folder)],
        envs={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    cluster.wait(array)
    paths = [folder / f"loss-{index}.json" for index in range(len(points))]
    return [json.loads(path.read_text()) if path.exists() else None for path in paths]


def run_job(folder: Path) -> None:
    """What a job does: its index in the array chooses the point."""
    index = int(os.environ["MOTET_ARRAY_INDEX"])
    point = json.loads((folder / "points.json").read_text())[index]
    (folder / f"loss-{index}.json").write_text(json.dumps(evaluate(point)))


def main() -> None:
    """Search, or evaluate one point."""
    parser = argparse.ArgumentParser(description="Search for good parameters by arrays of jobs.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width", type=int, default=8, help="trials per round")
    parser.add_argument("--folder", type=Path, help="shared by all machines; default: a new one")
    parser.add_argument("--evaluate", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.evaluate is not None:
        run_job(given.evaluate)
        return
    sampler, folder = new_sampler(), given.folder or Path(tempfile.mkdtemp(prefix="search-"))
    with motet.Client() as cluster:
        for number in range(given.rounds):
            asked = [sampler.ask() for _ in range(given.width)]
            points = [point for _, point in asked]
            losses = run_round(cluster, points, folder / str(number))
            for (trial, point), loss in zip(asked, losses, strict=True):
                sampler.tell(trial, point, loss)
            if sampler.best is not None:
                sys.stdout.write(
                    f"round {number + 1}: best {sampler.best[0]:.4f} at {sampler.best[1]}\n"
                )


if __name__ == "__main__":
    main()
