"""Coordinate descent on a Gram matrix: what a delta takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from motet.apps.inputs.centred import Centred
from motet.apps.optimisers.gram_descent import gram_delta, gram_row_width, initial_gram_rows
from motet.runtime.core.application import Step

COLUMNS = 2000


def resident_bytes() -> int:
    """Memory of this process that no file backs."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (anonymous,) = (line for line in lines if line.startswith("RssAnon:"))
    return 1024 * int(anonymous.split()[1])


def test_a_delta_of_coefficients_takes_memory_for_these_only() -> None:
    """A row of 16 KB has one page with numbers; all of it is 32 MB."""
    numbers = np.random.default_rng(0)
    matrix = numbers.standard_normal((30, COLUMNS))
    features, target = Centred(matrix, np.zeros(COLUMNS)), matrix[:, 0]
    model = initial_gram_rows(COLUMNS)
    first = gram_delta(features, target, model, 0.1, Step(0, 0, 1, 0, 30, 30, 0))
    model += first / 30
    gram_delta(features, target, model, 0.1, Step(1, 0, 1, 1, 30, 30, 0))
    before = resident_bytes()
    delta = gram_delta(features, target, model, 0.1, Step(1, 0, 1, 1, 30, 30, 0))
    assert resident_bytes() - before < 16e6
    assert delta.shape == (COLUMNS, gram_row_width(COLUMNS))
    assert delta[0, 0] != 0.0
    assert not delta[:, 1:].any()
