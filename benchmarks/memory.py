"""Memory of training a model of 256 MB with checkpoints: the sum of PSS over all processes.

Lasso with the Gram matrix of 5,790 columns: all workers pull and push all of it. The sum is sampled
all the time; its largest value counts, the programs themselves included. Target: at most 6 x the
model. Measured: 4.1 x with 1 worker and 1 server, 5.9 x with 2 and 2 (before: 5.0 x and 7.7 x).
Most is in use when one of two workers pushes and the other one still computes: the values and their
sum at the servers, the delta of each worker, the values that the second one has pulled, 5 models;
the rest are programs and messages. Pulled values are freed before PUSH and sums after they were
applied, both if they are large. At the end of an epoch the controller reads the model into shared
memory, 1 model until its checkpoint is on disk.
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
MODEL_BYTES = 8 * COLUMNS * (COLUMNS + 2)
MOST_TIMES_MODEL = 6.0
_MARK = "MOTET_BENCHMARK_RUN"
_MOTET = "from motet.interfaces.cli.main import main; main()"
_SHAPES = {"1 worker, 1 server": ["1", "1"], "2 workers, 2 servers": ["2", "2"]}


def main() -> None:
    """Each shape once, with a checkpoint after every epoch."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    shapes = dict(list(_SHAPES.items())[-1:]) if arguments.quick else _SHAPES
    with TemporaryDirectory() as folder:
        data = Path(folder) / "wide.npz"
        numbers = np.random.default_rng(0)
        features = numbers.standard_normal((ROWS, COLUMNS)).astype(np.float32)
        np.savez(data, X=features, y=features[:, :20].sum(axis=1))
        figures = [
            _figure(name, peak_bytes(_command(data, Path(folder) / name.replace(" ", "-"), *roles)))
            for name, roles in shapes.items()
        ]
    report("memory", "Training a model of 268 MB with checkpoints, sum of PSS", figures)


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


def _figure(name: str, peak: int) -> Figure:
    times = peak / MODEL_BYTES
    text = f"{peak / 1e6:,.0f} MB"
    model = f"{MODEL_BYTES / 1e6:,.0f} MB model"
    return Figure(name, text, model, times, MOST_TIMES_MODEL, at_least=False)


def _command(data: Path, out: Path, workers: str, servers: str) -> list[str]:
    run = ["--workers", workers, "--servers", servers, "--machines", workers, "--epochs", "3"]
    run += ["--set", "solver=gram", "--set", "tol=0", "--checkpoint-every", "1", "--out", str(out)]
    return [sys.executable, "-c", _MOTET, "train", "lasso", "--data", str(data), *run]


if __name__ == "__main__":
    main()
