"""Memory of trainings: the sum of PSS over all processes.

A sparse file of MNIST's shape (60,000 rows, 9 million pairs) as svmlight, for `mlr`. Target: at
most 600 MB, the model and three times the matrix in memory, 924 MB. Measured: 620 MB with 1 worker
and 1 server, 603 MB with 2 and 2; MNIST itself 572 MB with 2 and 2. Most is in use when the data
have been distributed. The controller sends a sixth of the data at a time, and readers return what
they used.

A model of 256 MB with checkpoints: lasso with the Gram matrix of 5,790 columns, all of which all
workers pull and push. Target: at most 6 x the model. Measured on a machine with a load of 10 to 24:
3.1 x with 1 worker and 1 server, 4.1 to 4.7 x with 2 and 2. Most is in use when the workers push in
the first epoch: the values and their sum at the servers, the delta of each worker, 4 models; the
rest are programs and messages. The first epoch pulls no values, because the Gram matrix is summed
up without them; with them it was 5.4 to 5.6 x. Pulled values are freed before PUSH and sums after
they were applied, both if they are large. At the end of an epoch the controller reads the model
into shared memory, 1 model until its checkpoint is on disk.

A model of 256 MB of NMF with checkpoints: 500,000 items, 64 factors, 2 million ratings, so that a
worker needs a fifth of the items for a mini-batch and most of them for the loss. The same target.
Measured on a machine with a load of 5, 2 and 2 with checkpoints: 4.70 to 5.38 x in four runs. Most
is in use when both workers pull the model for the loss: the values at the servers and two copies,
3 models; the programs and the ratings are 1.3 models of this. With what the C library kept of sums
and messages in each thread's heap it was 5.57 to 6.43 x, which depended on the load.

The sum is sampled all the time; its largest value counts, the programs themselves included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from support.figures import Figure, parser, report

ROWS, COLUMNS = 120, 5790
USERS, RATINGS_OF_USER, ITEMS, RANK = 2000, 1000, 500_000, 64
SPARSE_ROWS, SPARSE_COLUMNS, PAIRS_IN_ROW = 60_000, 784, 150
MATRIX_BYTES = SPARSE_ROWS * PAIRS_IN_ROW * (8 + 4)
SPARSE_MODEL_BYTES = 8 * (SPARSE_COLUMNS + 1) * 10
PROGRAM_BYTES = 600_000_000
MODEL_BYTES = 8 * COLUMNS * (COLUMNS + 2)
MOST_TIMES_MODEL = 6.0
_MARK = "MOTET_BENCHMARK_RUN"
_MOTET = "from motet.interfaces.cli.main import main; main()"
Shapes = dict[str, list[str]]
_SHAPES: Shapes = {"1 worker, 1 server": ["1", "1"], "2 workers, 2 servers": ["2", "2"]}


def main() -> None:
    """Each shape once, the large model with a checkpoint after every epoch."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    shapes = dict(list(_SHAPES.items())[-1:]) if arguments.quick else _SHAPES
    with TemporaryDirectory() as name:
        folder = Path(name)
        figures = [*_of_large_model(folder, shapes), *_of_ratings(folder, shapes)]
        figures += _of_sparse_file(folder, shapes)
    report("memory", "Memory of trainings, sum of PSS", figures)


def _of_large_model(folder: Path, shapes: Shapes) -> Iterator[Figure]:
    data = folder / "wide.npz"
    numbers = np.random.default_rng(0)
    features = numbers.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    np.savez(data, X=features, y=features[:, :20].sum(axis=1))
    for name, roles in shapes.items():
        run = [*_roles(*roles), "--epochs", "3", "--set", "solver=gram", "--set", "tol=0"]
        run += ["--checkpoint-every", "1", "--out", str(folder / name.replace(" ", "-"))]
        peak = peak_bytes(_command("lasso", data, *run))
        model = f"{MODEL_BYTES / 1e6:,.0f} MB model"
        yield _figure(f"lasso, {name}", peak, model, MODEL_BYTES, MOST_TIMES_MODEL)


def _of_ratings(folder: Path, shapes: Shapes) -> Iterator[Figure]:
    data, numbers = folder / "ratings.csv", np.random.default_rng(0)
    users = np.repeat(np.arange(USERS), RATINGS_OF_USER)
    items = numbers.integers(0, ITEMS, len(users))
    items[:ITEMS] = numbers.permutation(ITEMS)
    ratings = numbers.integers(1, 6, len(users))
    table = np.stack([users, items, ratings], axis=1)
    np.savetxt(data, table, "%d", ",", header="user,item,rating", comments="")
    for name, roles in shapes.items():
        run = [*_roles(*roles), "--epochs", "3", "--set", f"rank={RANK}", "--set", "tol=0"]
        run += ["--checkpoint-every", "1", "--out", str(folder / f"nmf-{roles[0]}")]
        peak = peak_bytes(_command("nmf", data, *run))
        model_bytes = 8 * ITEMS * RANK
        model = f"{model_bytes / 1e6:,.0f} MB model"
        yield _figure(f"nmf, {name}", peak, model, model_bytes, MOST_TIMES_MODEL)


def _of_sparse_file(folder: Path, shapes: Shapes) -> Iterator[Figure]:
    data = folder / "sparse.svm"
    data.write_text("\n".join(_sparse_lines(np.random.default_rng(0))) + "\n")
    for name, roles in shapes.items():
        peak = peak_bytes(_command("mlr", data, *_roles(*roles), "--epochs", "5"))
        most = PROGRAM_BYTES + SPARSE_MODEL_BYTES + 3 * MATRIX_BYTES
        yield _figure(f"mlr, svmlight, {name}", peak, f"{most / 1e6:,.0f} MB", most, 1.0)


def _sparse_lines(numbers: np.random.Generator) -> list[str]:
    """Lines of which each occurs a hundred times."""
    different = []
    for label in range(SPARSE_ROWS // 100):
        columns = np.sort(numbers.choice(SPARSE_COLUMNS, PAIRS_IN_ROW, replace=False)) + 1
        values = numbers.random(PAIRS_IN_ROW).round(6)
        pairs = (f"{column}:{value}" for column, value in zip(columns, values, strict=True))
        different.append(" ".join([str(label % 10), *pairs]))
    return different * 100


def peak_bytes(command: list[str]) -> int:
    """The largest sum of PSS over the processes of a command. Raises CalledProcessError."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        command, env={**os.environ, _MARK: mark}, stdout=subprocess.DEVNULL, text=True
    )
    peak, is_ours = 0, dict[Path, bool]()
    while process.poll() is None:
        peak = max(peak, sum(_pss_bytes(each) for each in _processes(mark, is_ours)))
        time.sleep(0.05)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak


def _processes(mark: str, is_ours: dict[Path, bool]) -> Iterator[Path]:
    """The processes that have inherited the mark; `is_ours`: what is known of others already."""
    wanted = f"{_MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        if folder not in is_ours:
            try:
                is_ours[folder] = wanted in (folder / "environ").read_bytes()
            except OSError:  # It has ended.
                continue
        if is_ours[folder]:
            yield folder


def _pss_bytes(folder: Path) -> int:
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _figure(name: str, peak: int, peer: str, peer_bytes: int, most: float) -> Figure:
    return Figure(name, f"{peak / 1e6:,.0f} MB", peer, peak / peer_bytes, most, at_least=False)


def _roles(workers: str, servers: str) -> list[str]:
    return ["--workers", workers, "--servers", servers, "--machines", workers]


def _command(app: str, data: Path, *run: str) -> list[str]:
    return [sys.executable, "-c", _MOTET, "train", app, "--data", str(data), *run]


if __name__ == "__main__":
    main()
