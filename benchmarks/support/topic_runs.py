"""Whole LDA runs over parameter servers beside tomotopy: CPU-seconds of all processes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from support.figures import Figure

TOPICS = 50
SWEEPS = 100
# The shape of the Associated Press corpus of Blei, Ng and Jordan (2003).
CORPUS = f"synthetic-corpus:documents=2246,words=10473,topics={TOPICS},length=194"
MOST_TIMES_TOMOTOPY = 2.0

_MOTET = "from motet.interfaces.cli.main import main; main()"
_TOMOTOPY = f"""
import tomotopy
from motet.datasets import open_dataset
corpus = open_dataset({CORPUS!r}, kind="corpus")
model = tomotopy.LDAModel(k={TOPICS}, alpha={1 / TOPICS}, eta={1 / TOPICS}, seed=1)
model.optim_interval = 0
words = [str(word) for word in corpus.token_words.tolist()]
bounds = corpus.token_offsets.tolist()
for low, high in zip(bounds, bounds[1:]):
    if high > low:
        model.add_doc(words[low:high])
model.train({SWEEPS}, workers=1)
"""


def topic_run_figures(quick: bool = False) -> list[Figure]:
    """100 sweeps from start to end of the command, for several numbers of workers and servers."""
    peer = bool(importlib.util.find_spec("tomotopy"))
    figures = []
    for workers, servers in ((2, 1),) if quick else ((1, 1), (2, 1), (2, 2)):
        commands = [
            _train(workers, servers),
            *([[sys.executable, "-c", _TOMOTOPY]] if peer else []),
        ]
        rounds = [
            [_children_cpu_s(command) for command in commands] for _ in range(1 if quick else 3)
        ]
        own, *others = (median(column) for column in zip(*rounds, strict=True))
        name = f"LDA run, {workers} workers, {servers} servers"
        figures.append(_figure(name, own, others))
    return figures


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


def _train(workers: int, servers: int) -> list[str]:
    roles = ["--machines", str(max(workers, servers)), "--workers", str(workers)]
    run = ["train", "lda", "--data", CORPUS, "--set", f"topics={TOPICS}", "--epochs", str(SWEEPS)]
    return [sys.executable, "-c", _MOTET, *run, *roles, "--servers", str(servers), "--json"]


def _children_cpu_s(command: list[str]) -> float:
    """User and system time of a command and of all processes that it waits for."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
