"""What compiling a kernel loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from motet.transport.native.compiled import njit

ADD_UP = """
import sys
from pathlib import Path
import numpy as np
from motet.transport.native.compiled import njit
assert njit(lambda values: values.sum())(np.ones(3)) == 3
assert "scipy.linalg" not in sys.modules
"""


def test_a_kernel_without_matrix_products_loads_no_linear_algebra() -> None:
    subprocess.run([sys.executable, "-c", ADD_UP], check=True)


@pytest.mark.soak
def test_kernels_may_multiply_matrices() -> None:
    one, other = np.arange(4.0).reshape(2, 2), np.eye(2) + 1
    product, outer = njit(lambda a, b: (a @ b, np.kron(a, b)))(one, other)
    np.testing.assert_allclose(product, one @ other)
    np.testing.assert_allclose(outer, np.kron(one, other))


KERNEL = """
from motet.transport.native.compiled import njit
from other import FACTOR, more

@njit(cache=True)
def result(value):
    return added(value) * FACTOR

@njit(cache=True)
def added(value):
    return more(value) + 1
"""
OTHER = """
from motet.transport.native.compiled import njit
from third import STEP

FACTOR = {factor}

@njit(cache=True)
def more(value):
    return value {operator} STEP
"""
COMPILED = """
import numba.core.event as events
from kernel import result
with events.install_recorder("numba:compile") as recorder:
    found = result(5)
print(found, len(recorder.buffer) > 0)
"""


def test_code_is_compiled_again_after_a_change_of_what_it_uses(tmp_path: Path) -> None:
    def result_of(factor: int, operator: str, step: int) -> str:
        for name, text in {
            "kernel.py": KERNEL,
            "other.py": OTHER.format(factor=factor, operator=operator),
            "third.py": f"STEP = {step}\n",
        }.items():
            if not (path := tmp_path / name).exists() or path.read_text() != text:
                path.write_text(text)
        process = subprocess.run(
            [sys.executable, "-B", "-c", COMPILED],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
        )
        return process.stdout.strip()

    assert result_of(2, "+", 1) == "14 True"
    assert result_of(2, "+", 1) == "14 False"  # Kept.
    assert result_of(3, "+", 1) == "21 True"
    assert result_of(3, "-", 1) == "15 True"
    assert result_of(3, "-", 4) == "6 True"
    assert result_of(3, "-", 4) == "6 False"
