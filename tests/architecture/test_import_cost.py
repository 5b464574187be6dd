"""Asking for help must be instant: what `import motet` and `motet --help` load and cost."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"fastapi", "matplotlib", "numba", "pandas", "ray", "scipy", "sklearn", "torch"}
MOST_BARE_STARTS = 10

IMPORT = "import motet"
HELP = """
import contextlib, io
from motet.interfaces.cli.main import main
sys.argv = ["motet", "--help"]
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main()
assert "Usage" in said.getvalue()
"""
SIMULATE = """
import contextlib, io
from motet.interfaces.cli.explain import simulated_job
from motet.interfaces.cli.simulate import command, compare_command
from motet.interfaces.cli.simulate import policy_command, run
from motet.interfaces import python
"""
EXPLAIN = """
from motet.interfaces.cli.explain import command, simulated_job
"""
START = """
from motet.interfaces.cli.demo import command
from motet.interfaces.cli.demo.training import jobs
from motet.interfaces.cli.train import cluster_start, command
"""
PROGRESS = """
from motet.interfaces.cli.screens import train
from motet.report.training import document, summary
"""
PREPARATION = """
from motet.apps.lasso import Lasso
from motet.apps.mlr import MLR
from motet.datasets import open_dataset
app = MLR()
app.initial_model(app.prepared(open_dataset("digits"), 0), 0)
app.prepared(open_dataset("diabetes"), 0)
lasso = Lasso()
lasso.initial_model(lasso.prepared(open_dataset("diabetes"), 0), 0)
"""
KERNEL_FREE = """
import numpy as np
from motet.apps.lda import LDA
from motet.apps.nmf import NMF
from motet.datasets import open_dataset
for app, data, sums in ((LDA(), "synthetic-corpus:documents=9", 2), (NMF(), "digits-ratings", 3)):
    rows = app.prepared(open_dataset(data, kind=app.dataset_kind), 0)
    model = app.initial_model(rows, 0)
    app.summarise(model, np.ones(sums), len(rows))
    app.adopt(model, rows)
"""
PROBE = """
import json, sys, time
{action}
print(json.dumps({{"cpu_s": time.process_time(), "modules": list(sys.modules)}}))
"""


def probe(action: str) -> tuple[float, set[str]]:
    """CPU seconds of a whole interpreter that does `action`, and the packages it has loaded."""
    program = PROBE.format(action=action)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    seen = json.loads(done.stdout)
    return seen["cpu_s"], {name.partition(".")[0] for name in seen["modules"]}


@pytest.mark.parametrize("action", [IMPORT, HELP], ids=["import motet", "motet --help"])
def test_nothing_heavy_is_loaded_before_it_is_needed(action: str) -> None:
    _, packages = probe(action)
    assert packages & HEAVY == set()


@pytest.mark.parametrize("action", [IMPORT, HELP], ids=["import motet", "motet --help"])
def test_it_takes_the_cpu_time_of_a_few_starts_of_a_bare_interpreter(action: str) -> None:
    """Four, as measured; ten are less than half a second."""
    pairs = [(probe(action)[0], probe("")[0]) for _ in range(3)]
    cheapest_s, bare_s = (min(several) for several in zip(*pairs, strict=True))
    assert cheapest_s < MOST_BARE_STARTS * bare_s


@pytest.mark.soak
def test_planning_loads_neither_ray_nor_torch_nor_a_plotting_library() -> None:
    _, packages = probe("from motet.interfaces.cli.plan import command, run")
    assert packages & {"fastapi", "matplotlib", "pandas", "ray", "sklearn", "torch"} == set()


def test_simulating_loads_neither_ray_nor_torch_nor_a_plotting_library() -> None:
    _, packages = probe(SIMULATE)
    assert packages & {"fastapi", "matplotlib", "pandas", "ray", "sklearn", "torch"} == set()


def test_explaining_does_not_even_load_the_simulator() -> None:
    _, packages = probe(EXPLAIN)
    assert packages & HEAVY == set()


def test_executors_are_started_before_anything_slow_is_imported() -> None:
    """The template process imports the same at the same time."""
    _, packages = probe(START)
    assert packages & {*HEAVY, "numpy"} == set()


def test_a_training_without_the_autotuner_loads_no_search() -> None:
    _, packages = probe(PROGRESS)
    assert packages & HEAVY == set()


def test_the_controller_prepares_built_in_data_without_scikit_learn_and_kernels() -> None:
    _, packages = probe(PREPARATION)
    assert packages & {"numba", "sklearn"} == set()


def test_the_controller_of_topic_models_and_factorisations_loads_no_kernels() -> None:
    """Numba and what it imports take as long as all other imports of a command."""
    _, packages = probe(KERNEL_FREE)
    assert packages & {"numba", "scipy", "sklearn"} == set()
