"""Workloads that need no file: a published mix by name, drawn anew for every seed."""

from __future__ import annotations

import hashlib
import os

import numpy as np

from motet.domain.errors import UnknownName
from motet.sim.generate.mix import MIXES
from motet.sim.generate.workload import Recipe, generate
from motet.sim.traces.trace import Trace
from motet.sim.traces.writing import motet_csv

RECIPES = {name: Recipe(mix=mix) for name, mix in MIXES.items()}


def is_drawn(name: str) -> bool:
    """Whether a trace of that name is drawn; a file of that name is not."""
    return name in RECIPES and not os.path.exists(name)


def drawn_trace(name: str, seed: int) -> Trace:
    """What `motet trace generate --mix NAME --seed K` writes, with the hash of that file.

    Raises UnknownName.
    """
    if name not in RECIPES:
        raise UnknownName("workload", name, RECIPES)
    workload = generate(RECIPES[name], np.random.default_rng(seed))
    sha256 = hashlib.sha256(motet_csv(workload).encode()).hexdigest()
    return Trace(workload, "generated", sha256)
