"""What compiling a kernel loads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from motet.transport.native.compiled import njit

ADD_UP = """
import sys
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
