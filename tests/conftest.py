"""What all tests share: hypothesis profiles, order, clusters, real datasets."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from motet.runtime.blas_threads import ONE_BLAS_THREAD

# Before NumPy is loaded: threads that wait for work in busy loops take the CPU time of other tests.
os.environ |= {name: os.environ.get(name, value) for name, value in ONE_BLAS_THREAD.items()}

from example_count import FAST_EXAMPLES, FULL_EXAMPLES
from motet.runtime.backends.local.cluster import LocalCluster
from rewritten_once import rewrite_a_part
from same_examples import draw_no_constants_of_modules
from shared_ray import MACHINES, SharedRay

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

    from motet.runtime.backends.ray.cluster import RayCluster

REPOSITORY = Path(__file__).resolve().parents[1]
LONG_MARKS = {"cluster", "slow", "testbed"}

# No deadlines: a loaded machine is no bug. `make test` draws the same examples in every run, so
# that it passes or fails for the code alone; `make soak` explores at random.
settings.register_profile("fast", deadline=None, max_examples=FAST_EXAMPLES, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=FULL_EXAMPLES, print_blob=True)
settings.load_profile("fast")  # `--hypothesis-profile=soak` overrides it.


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") != "soak":
        draw_no_constants_of_modules()
    rewrite_a_part(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    if config.getoption("dist") != "loadfile":
        return None
    from files_together import FilesTogether

    return FilesTogether(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collections, which would go through all modules and tests again
    and again: a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread files that take long over the first half: most of them start processes and wait.

    `make test` hands files to processes in this order, so that one of them computes while another
    one waits, and no long file is left for one process at the end.
    """
    files = [list(group) for _, group in itertools.groupby(items, key=lambda item: item.path)]
    long, plain = list[list[pytest.Item]](), list[list[pytest.Item]]()
    for file in files:
        marks = {mark.name for item in file for mark in item.iter_markers()}
        (plain if marks.isdisjoint(LONG_MARKS) else long).append(file)
    between = len(plain) // (2 * len(long) + 1)
    order = list[list[pytest.Item]]()
    for file in long:
        order += [file, *plain[:between]]
        del plain[:between]
    items[:] = itertools.chain.from_iterable(order + plain)


def pytest_collection_finish() -> None:
    """Garbage collections pass over what all tests together consist of: most of this process."""
    if "numba" in sys.modules:
        from shared_kernels import compile_kernels_once

        compile_kernels_once()
    gc.freeze()  # What became garbage meanwhile stays: to find it takes a second of the processor.


@pytest.fixture(scope="session")
def local_cluster() -> Iterator[LocalCluster]:
    """Processes of this machine as a cluster of five machines, for all tests of this process."""
    with LocalCluster(MACHINES) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_ray() -> Iterator[SharedRay]:
    shared = SharedRay()
    yield shared
    shared.end()


@pytest.fixture
def ray_cluster(shared_ray: SharedRay) -> RayCluster:
    """A cluster of five logical machines, the same for all tests of this process."""
    return shared_ray.cluster()


@pytest.fixture(scope="module")
def no_shared_ray(shared_ray: SharedRay) -> None:
    """For tests that connect to a cluster of their own."""
    shared_ray.end()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real datasets (`MOTET_SHARED`, or `shared` beside the checkout), else a skip."""
    home = Path(os.environ.get("MOTET_SHARED", REPOSITORY.parent / "shared"))
    data = home / "data"
    if not data.is_dir():
        pytest.skip(f"needs real datasets: {data} is not there (set MOTET_SHARED)")
    return data


@pytest.fixture
def undrawn() -> Iterator[None]:
    """See `blank_pictures`, whose imports most tests do not need."""
    from blank_pictures import blank_pictures

    with blank_pictures():
        yield
