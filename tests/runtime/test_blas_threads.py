"""How many threads matrix products take: one while any thread of the process is inside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl

from motet.runtime.blas_threads import one_blas_thread

TRAIN = """
import sys
from motet.apps.mlr import MLR
from motet.datasets import open_dataset
sys.stdout.buffer.write(MLR(epochs=5, tol=0).fit(open_dataset("digits")).coef_.tobytes())
"""


def thread_counts() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {
        each["num_threads"]
        for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas"
    }


def output(threads: int, *arguments: str) -> bytes:
    """Of a Python process whose linear algebra begins with that many threads."""
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=os.environ | variables, stdout=-1, check=True).stdout


def test_the_limit_ends_with_the_last_thread_inside() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        is_inside, may_leave = threading.Event(), threading.Event()

        def stay() -> None:
            with one_blas_thread():
                is_inside.set()
                may_leave.wait()

        other = threading.Thread(target=stay)
        with one_blas_thread():
            other.start()
            is_inside.wait()
        assert thread_counts() == {1}
        may_leave.set()
        other.join()
        assert thread_counts() == {2}


def test_an_error_inside_ends_the_limit() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        try:
            with one_blas_thread():
                raise KeyError
        except KeyError:
            assert thread_counts() == {2}


@pytest.mark.soak
def test_the_number_of_threads_does_not_change_a_model_fitted_in_this_process() -> None:
    assert output(1, "-c", TRAIN) == output(2, "-c", TRAIN)
