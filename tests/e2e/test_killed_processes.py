"""SIGKILL of every kind of process of a changing run, at any moment of it.

The run ends with the model of an undisturbed one, or with a clear error and can be resumed to that
model. No process and no shared memory is left.
"""

from __future__ import annotations

import functools
import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from marked_process import MarkedProcess, new_motet_process
from own_shared_memory import OwnSharedMemory, own_shared_memory
from process_kinds import LOCAL, RAY, processes_of
from trained_here import trained_here

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

EPOCHS = 60
LDA = (
    *("lda", "--data", "pydoc", "--epochs", str(EPOCHS), "--set", "tol=0", "--machines", "4"),
    *("--workers", "1", "--servers", "2", "--checkpoint-every", "5", "-v", "--json"),
)
PLAN = "".join(
    f"- {{at_epoch: {epoch}, workers: {workers}, servers: {3 - workers}}}\n"
    for epoch, workers in zip(range(5, EPOCHS, 5), [2, 1] * EPOCHS, strict=False)
)
LATEST_EPOCH, LONGEST_DELAY_S = 40, 0.5
LAST_LINES = ("motet: error: ", "continue with: ", "no checkpoint was written yet ")
"""How a command that has failed ends what it prints."""
SOAK = pytest.mark.soak


@pytest.fixture
def memory() -> Iterator[OwnSharedMemory]:
    with own_shared_memory() as own:
        yield own


@functools.cache
def undisturbed() -> str:
    return trained_here("lda", "pydoc", EPOCHS, roles=(1, 2), tol=0).model_sha256


def started(memory: OwnSharedMemory, mode: str, folder: Path, *more: str) -> MarkedProcess:
    plan = folder.with_suffix(".yaml")
    plan.write_text(PLAN)
    change = ("--auto",) if mode == "auto" else ("--reconfigure", plan)
    words = ("train", *LDA, *change, "--out", folder, *more)
    return new_motet_process(*words, entering=memory.entering)


def kill_one(running: MarkedProcess, kind: str, seed: int, *, with_ray: bool) -> str:
    """At a random moment: while the run starts, or in a random epoch.

    Returns what the command printed on stderr until then.
    """
    draw = random.Random(f"{kind} {seed}")
    epoch = draw.randrange(1, LATEST_EPOCH)
    moment = draw.choice(["starting", "distributing", f"epoch {epoch}/", f"epoch {epoch}/"])
    assert running.process.stderr is not None
    printed = ""
    for line in running.process.stderr:
        printed += line
        if line.startswith(moment):
            break
    time.sleep(draw.uniform(0, LONGEST_DELAY_S))
    found: list[object] = []
    running.wait_until(
        lambda: bool(
            running.process.poll() is not None
            or found
            or found.extend(processes_of(kind, running.process.pid, with_ray=with_ray))
        )
    )
    for victim in found[:1]:
        victim.send_signal(signal.SIGKILL)
    return printed


def assert_nothing_is_left(running: MarkedProcess, memory: OwnSharedMemory) -> None:
    running.wait_until(lambda: not running.descendants(), timeout_s=60.0)
    assert memory.segments() == []


def model_of(running: MarkedProcess, memory: OwnSharedMemory, printed: str = "") -> tuple[str, str]:
    """The model's digest, or the error with which the command ended after what it `printed`."""
    out, rest = running.process.communicate(timeout=300)
    err = printed + rest
    assert_nothing_is_left(running, memory)
    if running.process.returncode == 0:
        return json.loads(out)["model_sha256"], ""
    if running.process.returncode != -signal.SIGKILL:
        assert err.splitlines()[-1].startswith(LAST_LINES), err
        assert "Traceback" not in err
        assert out == ""
    return "", err


def assert_ends_or_resumes(
    memory: OwnSharedMemory, mode: str, folder: Path, kind: str, seed: int, *more: str
) -> None:
    running = started(memory, mode, folder, *more)
    printed = kill_one(running, kind, seed, with_ray="--ray" in more)
    model, error = model_of(running, memory, printed)
    if not model:
        again = ("--resume",) if (folder / "log.txt").exists() else ()
        model, error = model_of(started(memory, mode, folder, *again, *more), memory)
    assert (model, error) == (undisturbed(), "")


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=SOAK) for seed in range(1)])
@pytest.mark.parametrize("mode", ["auto", "reconfigure"])
@pytest.mark.parametrize("kind", LOCAL)
def test_a_killed_process_costs_no_model(
    memory: OwnSharedMemory, tmp_path: Path, kind: str, mode: str, seed: int
) -> None:
    assert_ends_or_resumes(memory, mode, tmp_path / "run", kind, seed)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["auto", "reconfigure"])
@pytest.mark.parametrize("kind", RAY)
def test_a_killed_process_of_ray_costs_no_model(
    memory: OwnSharedMemory, tmp_path: Path, kind: str, mode: str
) -> None:
    assert_ends_or_resumes(memory, mode, tmp_path / "run", kind, 0, "--ray")
