"""Whole LDA runs over parameter servers beside tomotopy: CPU-seconds of all processes.

Both run from compiled bytecode, which pip writes when it installs a package. Without it, as in a
checkout with PYTHONDONTWRITEBYTECODE=1, each process would compile hundreds of modules.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from motet.datasets import Corpus, open_dataset
from support.figures import Figure

TOPICS = 50
SWEEPS = 100
# The shape of the Associated Press corpus of Blei, Ng and Jordan (2003).
CORPUS = f"synthetic-corpus:documents=2246,words=10473,topics={TOPICS},length=194"
MOST_TIMES_TOMOTOPY = 2.0

_MOTET = "from motet.interfaces.cli.main import main; main()"
_TOMOTOPY = f"""
import sys
import numpy as np
import tomotopy
documents, words, counts = np.loadtxt(sys.argv[1], dtype=int, skiprows=3).T
model = tomotopy.LDAModel(k={TOPICS}, alpha={1 / TOPICS}, eta={1 / TOPICS}, seed=1)
model.optim_interval = 0
bounds = np.append(np.flatnonzero(np.diff(documents, prepend=0)), len(documents)).tolist()
for low, high in zip(bounds, bounds[1:]):
    model.add_doc(map(str, np.repeat(words[low:high], counts[low:high]).tolist()))
model.train({SWEEPS}, workers=1)
"""


def topic_run_figures(quick: bool = False) -> list[Figure]:
    """100 sweeps from start to end of the command, for several numbers of workers and servers."""
    shapes = [(2, 1)] if quick else [(1, 1), (2, 1), (2, 2)]
    repetitions = 1 if quick else 3
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "docword.txt"
        _write_corpus(corpus)
        environment = _with_bytecode(Path(folder) / "bytecode")
        for command in _commands(corpus, *shapes[0]):
            _children_cpu_s(command, environment)  # Compiles bytecode and kernels.
        return [_measured(corpus, *shape, repetitions, environment) for shape in shapes]


def _measured(
    corpus: Path, workers: int, servers: int, repetitions: int, environment: Mapping[str, str]
) -> Figure:
    commands = _commands(corpus, workers, servers)
    rounds = [
        [_children_cpu_s(command, environment) for command in commands] for _ in range(repetitions)
    ]
    own, *others = (median(column) for column in zip(*rounds, strict=True))
    return _figure(f"LDA run, {workers} workers, {servers} servers", own, others)


def _figure(name: str, own_s: float, others_s: list[float]) -> Figure:
    if not others_s:
        return Figure(f"{name} (tomotopy is not installed)", f"{own_s:.1f} s")
    (peer_s,) = others_s
    ratio = own_s / peer_s
    return Figure(
        name,
        f"{own_s:.1f} s",
        f"{peer_s:.1f} s tomotopy",
        ratio,
        MOST_TIMES_TOMOTOPY,
        at_least=False,
    )


def _commands(corpus: Path, workers: int, servers: int) -> list[list[str]]:
    commands = [_train(corpus, workers, servers)]
    if importlib.util.find_spec("tomotopy"):
        commands.append([sys.executable, "-c", _TOMOTOPY, str(corpus)])
    return commands


def _train(corpus: Path, workers: int, servers: int) -> list[str]:
    roles = ["--workers", str(workers), "--servers", str(servers)]
    roles += ["--machines", str(max(workers, servers))]
    run = ["--set", f"topics={TOPICS}", "--set", "tol=0", "--epochs", str(SWEEPS), "--json"]
    return [sys.executable, "-c", _MOTET, "train", "lda", "--data", str(corpus), *run, *roles]


def _write_corpus(path: Path) -> None:
    """Write the generated corpus as UCI bag of words; generating it takes long."""
    corpus = open_dataset(CORPUS, kind="corpus")
    assert isinstance(corpus, Corpus)
    documents = np.repeat(np.arange(corpus.document_count), np.diff(corpus.offsets))
    entries = np.stack([documents + 1, corpus.words + 1, corpus.counts], axis=1)
    sizes = (corpus.document_count, corpus.vocabulary_size, len(entries))
    np.savetxt(path, entries, fmt="%d", header="\n".join(map(str, sizes)), comments="")


def _with_bytecode(folder: Path) -> dict[str, str]:
    """An environment in which Python keeps bytecode in a folder."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _children_cpu_s(command: list[str], environment: Mapping[str, str]) -> float:
    """User and system time of a command and of all processes that it waits for."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
