"""The example for PyTorch under torchrun, on a pool that `motet aggregator start` runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]
PROGRAM = Path(__file__).parents[2] / "examples" / "torch_digits.py"


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Path]:
    """The address file of a pool."""
    folder = tmp_path / "pool"
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-m", "motet.interfaces.cli", "aggregator", "start"]
    process = subprocess.Popen(
        [*command, "--state-dir", str(folder)], stdout=subprocess.DEVNULL, text=True
    )
    address = folder / "pool.json"
    wait_until(lambda: address.exists() or process.poll() is not None)
    yield address
    process.terminate()
    process.wait()


def _printed(pool: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", str(PROGRAM), "--epochs", "2", *arguments],
        env={**os.environ, "MOTET_AGGREGATION": str(pool), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_attach_and_the_backend_print_the_losses_of_gloo(pool: Path) -> None:
    over_gloo = _printed(pool, "--backend", "gloo")
    assert "epoch 2: loss" in over_gloo
    assert _printed(pool) == over_gloo
    assert _printed(pool, "--backend", "motet") == over_gloo
