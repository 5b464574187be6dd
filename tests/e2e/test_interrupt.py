"""Ctrl-C and SIGTERM at any moment of a training run: exit code 128 + signal, nothing left."""

from __future__ import annotations

import json
import random
import shlex
import signal
import time
from pathlib import Path

import pytest

from marked_process import MarkedProcess, motet_process, new_motet_process, run_motet
from soak_cases import others_in_soak

MOMENTS = [
    pytest.param("reading", signal.SIGINT, marks=pytest.mark.soak),
    ("starting", signal.SIGTERM),
    pytest.param("epoch 3/", signal.SIGINT, marks=pytest.mark.soak),
]
MOMENTS_OF_RAY = [
    pytest.param("starting Ray", signal.SIGINT, marks=pytest.mark.soak),
    ("3 executors", signal.SIGTERM),
]
LONGEST_DELAY_S = 0.5


ENDLESS = (
    *("train", "mlr", "--data", "digits", "--epochs", "1000000", "--workers", "2"),
    *("--servers", "1", "--set", "tol=0", "-v"),
)


def train_forever(*more: str) -> MarkedProcess:
    return motet_process(*ENDLESS, *more)


def wait_for_line(running: MarkedProcess, part: str) -> None:
    assert running.process.stderr is not None
    seen: list[str] = []
    for line in running.process.stderr:
        seen.append(line)
        if part in line:
            return
    raise AssertionError(f"ended before it said {part!r}; it said {seen}")


def assert_ends_clean(running: MarkedProcess, number: signal.Signals) -> None:
    code, out, err = running.end(number)

    assert (code, out) == (128 + number, "")
    assert "Traceback" not in err
    assert running.descendants() == {}


@pytest.mark.cluster
@pytest.mark.parametrize(("moment", "number"), MOMENTS, ids=str)
def test_a_signal_ends_a_run_at_once_with_everything_it_started(
    moment: str, number: signal.Signals
) -> None:
    running = train_forever()
    wait_for_line(running, moment)
    time.sleep(random.uniform(0, LONGEST_DELAY_S))

    assert_ends_clean(running, number)


@pytest.mark.cluster
def test_a_run_that_is_interrupted_before_it_trains_says_how_to_begin_again(tmp_path: Path) -> None:
    running = train_forever("--out", str(tmp_path), "--checkpoint-every", "1000000")
    wait_for_line(running, "starting")
    code, _, err = running.end(signal.SIGINT)

    assert code == 130
    assert "begin again with: motet train mlr --data digits" in err.splitlines()[-1]


@pytest.mark.cluster
def test_an_interrupted_run_leaves_its_losses_and_how_to_continue(tmp_path: Path) -> None:
    running = train_forever("--out", str(tmp_path), "--checkpoint-every", "2")
    wait_for_line(running, "epoch 3/")
    code, _, err = running.end(signal.SIGINT)

    assert code == 130
    hint = err.splitlines()[-1]
    assert hint.startswith("continue with: motet train mlr --data digits --epochs 1000000")
    assert hint.endswith("--resume")
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["state"], record["data"], record["recoveries"]) == ("interrupted", "digits", [])
    lines = [line.split(",") for line in (tmp_path / "loss.csv").read_text().splitlines()]
    epochs = [line[0] for line in lines]
    assert record["loss"] == [float(line[1]) for line in lines[1 : record["epochs"] + 1]]
    assert epochs[:4] == ["epoch", "1", "2", "3"]
    more = int(epochs[-1]) + 2

    words = shlex.split(hint.removeprefix("continue with: motet "))
    resumed = run_motet(*words, "--epochs", str(more))
    assert resumed.code == 0, resumed.err
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["state"], len(record["loss"])) == ("finished", more)


@pytest.mark.soak
@pytest.mark.cluster
def test_before_the_first_checkpoint_there_is_nothing_to_continue(tmp_path: Path) -> None:
    running = train_forever("--out", str(tmp_path), "--checkpoint-every", "1000000")
    wait_for_line(running, "epoch 3/")
    code, _, err = running.end(signal.SIGINT)

    assert code == 130
    begin = "no checkpoint was written yet (one every 1,000,000 epochs); begin again with: motet "
    assert err.splitlines()[-1].startswith(begin)


@pytest.mark.soak
@pytest.mark.cluster
@pytest.mark.parametrize(("moment", "number"), MOMENTS_OF_RAY, ids=str)
def test_a_signal_ends_ray_as_well(moment: str, number: signal.Signals) -> None:
    running = train_forever("--ray")
    wait_for_line(running, moment)
    time.sleep(random.uniform(0, LONGEST_DELAY_S))

    assert_ends_clean(running, number)


@pytest.mark.parametrize("delay_s", others_in_soak([0.0, 0.05, 0.2, 0.4], [0.05]))
def test_ctrl_c_during_the_imports_says_no_traceback(delay_s: float) -> None:
    running = new_motet_process(*ENDLESS)
    running.wait_until(lambda: _handles_interrupts(running.process.pid))
    time.sleep(delay_s)

    assert_ends_clean(running, signal.SIGINT)


def _handles_interrupts(process_id: int) -> bool:
    """Whether the process has got as far as installing its own handler (SigCgt in proc(5))."""
    status = Path(f"/proc/{process_id}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    is_caught = int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1
    return bool(is_caught)
