"""Processes of a pool are killed or stopped while a PyTorch program trains on it: its losses and
its model are to the bit what they would be without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from motet.aggregation.master.processes.pool import LocalPool, PoolSettings
from motet.aggregation.master.processes.pool_folder import PoolFolder
from pool_faults import (
    Fault,
    drain_home,
    is_safe,
    kill_both,
    kill_home,
    kill_pmaster,
    kill_pmaster_and_home,
    kill_replica,
    stop_home,
    view,
)
from torch_curves import Curve, by_hand
from torch_pool_worker import PoolProcess, PoolProgram
from torch_training import differences
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

MODES = ["averaged", "aggregators"]


def curve(data: Path) -> Curve:
    return Curve(data, "mlp", options={"lr": 0.02, "momentum": 0.9})


def train(program: PoolProgram, *faults: Fault) -> list[PoolProcess]:
    """Two workers, while the faults happen; both have ended."""
    program.folder.mkdir(exist_ok=True)
    with LocalPool(PoolFolder(program.folder / "pool"), PoolSettings(4)) as pool:
        workers = [PoolProcess(program, pool.folder.address, rank, 2) for rank in range(2)]
        for fault in faults:
            _await_steps(pool, workers, 20)
            fault(pool)
        survivor = workers[1 if program.dies == 0 else 0]
        wait_until(lambda: survivor.steps > program.dies_in + 20 or survivor.has_ended)
        program.finish_file.touch()
        for worker in workers:
            worker.end()
    return workers


def _await_steps(pool: LocalPool, workers: list[PoolProcess], steps: int) -> None:
    seen = workers[0].steps

    def are_done() -> bool:
        for worker in workers:
            assert not worker.has_ended, (worker.end(), worker.errors)
        return is_safe(pool) and workers[0].steps > seen + steps

    try:
        wait_until(are_done)
    except TimeoutError as error:
        found = [(worker.steps, worker.errors) for worker in workers]
        raise TimeoutError(f"{error}: steps and errors {found}, {view(pool)}") from None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("faults", "is_staged"),
    [
        ((kill_home, kill_replica, kill_home), False),
        ((kill_home, kill_replica, kill_home), True),
        ((kill_pmaster, kill_pmaster_and_home), False),
        ((stop_home,), False),
    ],
)
def test_faults_leave_no_trace_in_the_curve(
    tmp_path: Path, shared_data: Path, mode: str, faults: tuple[Fault, ...], is_staged: bool
) -> None:
    """`is_staged`: gradients leave from copies, whose memory the next step may overwrite."""
    program = PoolProgram(curve(shared_data), mode, tmp_path / "files", is_staged=is_staged)
    for worker in train(program, *faults):
        assert worker.end() == 0, worker.errors
    results = [program.result(rank) for rank in range(2)]
    expected = by_hand(replace(program.curve, steps=len(results[0][0])), 2)
    for rank, (losses, model) in enumerate(results):
        assert losses == expected.losses[rank]
        assert differences(expected.model, model) == []


@pytest.mark.parametrize("mode", MODES)
def test_an_aggregator_leaves_without_a_trace_in_the_curve(
    tmp_path: Path, shared_data: Path, mode: str
) -> None:
    program = PoolProgram(curve(shared_data), mode, tmp_path / "files")
    train(program, drain_home)
    losses, model = program.result(0)
    expected = by_hand(replace(program.curve, steps=len(losses)), 2)
    assert losses == expected.losses[0]
    assert differences(expected.model, model) == []


@pytest.mark.parametrize("mode", MODES)
def test_the_death_of_both_copies_ends_the_workers_with_the_reason(
    tmp_path: Path, shared_data: Path, mode: str
) -> None:
    program = PoolProgram(curve(shared_data), mode, tmp_path / "files")
    for worker in train(program, kill_both):
        assert worker.end() == 1
        assert "Aggregators with both copies of" in "".join(worker.errors)


@pytest.mark.parametrize("has_pushed", [False, True])
@pytest.mark.parametrize("dies", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_without_a_dead_worker_the_others_go_on_from_the_step_that_it_did_not_end(
    tmp_path: Path, shared_data: Path, mode: str, dies: int, has_pushed: bool
) -> None:
    """Gradients of a step that it did not end do not count. (The means of "averaged" are complete
    when `backward` returns: there, those of the last step count.)"""
    program = PoolProgram(
        replace(curve(shared_data), model="cnn"),
        mode,
        tmp_path / "files",
        dies=dies,
        dies_in=60,
        has_pushed=has_pushed,
    )
    workers = train(program)
    other = 1 - dies
    assert workers[other].end() == 0, workers[other].errors
    losses, found = program.result(other)
    last = 60 if has_pushed and mode == "averaged" else 59
    expected = by_hand(
        replace(program.curve, steps=len(losses)),
        2,
        lambda step: (0, 1) if step <= last else (other,),
    )
    assert losses == expected.losses[other]
    names = dict(program.curve.initial_model(0).named_parameters())
    assert differences({n: expected.model[n] for n in names}, {n: found[n] for n in names}) == []
