"""Programs with peculiarities train on Aggregators as with DistributedDataParallel."""

from __future__ import annotations

import re
from typing import Any

import pytest

import torch_cases
from soak_cases import others_in_soak
from torch_training import differences
from torch_workers import WorkerProcesses

MODES = ["auto", "averaged", "aggregators"]


def _differences(pair: WorkerProcesses, case: Any, how: str, *more: Any) -> list[str]:
    return differences(pair.run(case, "ddp", *more), pair.run(case, how, *more))


@pytest.mark.soak
def test_gradients_that_are_changed_without_a_trace_keep_the_optimizer_in_the_workers(
    pair: WorkerProcesses,
) -> None:
    over_ddp = pair.run(torch_cases.clamped, "ddp")
    attached = pair.run(torch_cases.clamped, "auto")
    assert differences([each[0] for each in over_ddp], [each[0] for each in attached]) == []
    assert [mode for _, mode in attached] == ["averaged"] * 2


def test_large_means_are_requested_while_backward_goes_on(pair: WorkerProcesses) -> None:
    """Tensor 2 tells which parameters were used, once `backward` has ended."""
    expected = ["push 1", "push 0", "mean 0", "push 2", "mean 2", "mean 1"]
    assert pair.run(torch_cases.requests) == [expected] * 2


@pytest.mark.parametrize("keeps_zeros", [False, True])
@pytest.mark.parametrize("how", MODES)
def test_frozen_and_unused_parameters(pair: WorkerProcesses, how: str, keeps_zeros: bool) -> None:
    """A parameter without a gradient on every worker keeps its value, despite weight decay."""
    assert _differences(pair, torch_cases.partly_used, how, keeps_zeros) == []


@pytest.mark.parametrize("how", ["auto", "averaged"])
def test_two_optimizers(pair: WorkerProcesses, how: str) -> None:
    assert _differences(pair, torch_cases.adversaries, how) == []


@pytest.mark.parametrize("how", MODES)
def test_a_step_with_a_closure_returns_the_loss(pair: WorkerProcesses, how: str) -> None:
    assert _differences(pair, torch_cases.with_closure, how) == []


@pytest.mark.parametrize("how", others_in_soak(MODES, ["auto"]))
def test_averages_of_weights_begin_with_a_copy_of_the_model(
    pair: WorkerProcesses, how: str
) -> None:
    assert _differences(pair, torch_cases.averaged_weights, how) == []


@pytest.mark.parametrize(
    ("before", "after"),
    others_in_soak(
        [
            ("aggregators", "ddp"),
            ("ddp", "aggregators"),
            ("auto", "auto"),
            ("averaged", "averaged"),
        ],
        [("ddp", "aggregators"), ("averaged", "averaged")],
    ),
)
def test_checkpoints_are_those_of_pytorch(pair: WorkerProcesses, before: str, after: str) -> None:
    expected = pair.run(torch_cases.continued, "ddp", "ddp")
    assert differences(expected, pair.run(torch_cases.continued, before, after)) == []


@pytest.mark.parametrize("how", others_in_soak(MODES, ["auto"]))
def test_a_program_goes_on_alone_after_close(pair: WorkerProcesses, how: str) -> None:
    assert _differences(pair, torch_cases.closed, how) == []


@pytest.mark.parametrize(("accumulate", "expected"), [(1, [2] * 4), (3, [6, 2, 2, 2])])
def test_the_number_of_backwards_in_a_step_is_learnt(
    pair: WorkerProcesses, accumulate: int, expected: list[int]
) -> None:
    """A linear layer has two gradients."""
    assert pair.run(torch_cases.pushes, accumulate) == [expected] * 2


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (torch_cases.clip, r"step 4: .*'layers\..*' was changed between .*mode='averaged'"),
        (torch_cases.drop_gradient, "step 4: .*'layers.0.weight' was changed between"),
        (torch_cases.shrink_weights, r"step 4: .*outside of step\(\).*parameters_changed\(\)"),
        (torch_cases.add_group, "step 4: .*close the attachment and attach again"),
    ],
)
def test_changes_that_would_be_lost_are_errors(
    pair: WorkerProcesses, spoil: Any, message: str
) -> None:

    for text in pair.run(torch_cases.fails, spoil):
        assert re.search(message, text), text


@pytest.mark.parametrize("how", MODES)
def test_told_changes_of_parameters_count(pair: WorkerProcesses, how: str) -> None:
    assert _differences(pair, torch_cases.told_changes, how) == []


def test_parameters_that_change_between_steps_keep_the_optimizer_in_the_workers(
    pair: WorkerProcesses,
) -> None:
    over_ddp = pair.run(torch_cases.shrinks_weights, "ddp")
    attached = pair.run(torch_cases.shrinks_weights, "auto")
    assert differences([each[0] for each in over_ddp], [each[0] for each in attached]) == []
    assert [mode for _, mode in attached] == ["averaged"] * 2


@pytest.mark.parametrize("how", MODES)
def test_steps_go_on_from_those_of_the_checkpoint_of_rank_0(
    pair: WorkerProcesses, how: str
) -> None:
    first = torch_cases.MANY_STEPS
    assert pair.run(torch_cases.continued_steps, how) == [list(range(first, first + 6))] * 2


@pytest.mark.parametrize("how", ["auto", "aggregators"])
def test_a_worker_that_comes_back_goes_on_with_the_job(pair: WorkerProcesses, how: str) -> None:
    expected = pair.run(torch_cases.alone)
    assert differences(expected, pair.run(torch_cases.came_back, how)) == []


def test_a_worker_cannot_join_while_the_optimizer_is_in_the_workers(pair: WorkerProcesses) -> None:
    for text in pair.run(torch_cases.came_back, "averaged"):
        # The other worker may be about to end the fifth step.
        assert re.search("has done [45] steps with the optimizer in its workers", text)
        assert "mode='aggregators'" in text
