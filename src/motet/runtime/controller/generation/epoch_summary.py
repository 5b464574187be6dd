"""An epoch's report from what its workers measured. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Evaluation
from motet.runtime.core.reporting.reports import EpochReport, Help
from motet.runtime.wire.control_messages import SpillUse
from motet.runtime.wire.worker_reports import EpochDone


def total_sums(workers: Iterable[EpochDone]) -> Floats:
    """The evaluation sums over all instances."""
    sums: Floats = np.sum([done.sums for done in workers if len(done.sums)], axis=0)
    return sums


def epoch_summary(
    workers: Sequence[EpochDone],
    evaluation: Evaluation,
    instance_count: int,
    spills: Sequence[SpillUse] = (),
) -> EpochReport:
    """The report of one epoch; `spills`: of every executor. Raises JobFailed: the loss is not
    finite."""
    epoch = workers[0].epoch
    if not np.isfinite(evaluation.loss):
        raise JobFailed(
            f"the loss became {evaluation.loss} in epoch {epoch + 1}: training "
            "diverged; scale the data, or lower the learning rate where the application has one "
            "(--set learning_rate=...)"
        )
    # A worker that joined in mid-epoch has no times of the epoch's first mini-batches; none has of
    # those before a checkpoint within the epoch.
    first = min(done.first for done in workers)
    evaluation_s = np.array([done.evaluation_us for done in workers]) / 1e6
    batch_us = np.max([np.pad(done.batch_us, (done.first - first, 0)) for done in workers], axis=0)
    return EpochReport(
        epoch_index=epoch,
        loss=evaluation.loss,
        metrics=dict(evaluation.metrics),
        wall_s=max(float(done.batch_us.sum()) for done in workers) / 1e6,
        comp_s=_mean_s([done.comp_us for done in workers]),
        comm_s=_mean_s([done.comm_us for done in workers]),
        wait_s=_mean_s([done.wait_us for done in workers]),
        bytes_pulled=sum(done.pulled_bytes for done in workers),
        bytes_pushed=sum(done.pushed_bytes for done in workers),
        instances=instance_count,
        batch_s=tuple((batch_us / 1e6).tolist()),
        residual=math.inf if evaluation.residual is None else evaluation.residual,
        load_s=_mean_s([done.load_us for done in workers]),
        room_s=_mean_s([done.room_us for done in workers]),
        model_spill_bytes=sum(spill.nbytes for spill in spills),
        model_spill_s=_mean_s(
            [spill.moved_us for spill in spills if spill.nbytes or spill.moved_us]
        ),
        remote_bytes=sum(spill.remote.held for spill in spills),
        remote_read_bytes=sum(spill.remote.read for spill in spills),
        backup_read_bytes=sum(spill.remote.read_from_disk for spill in spills),
        memory_bytes=max(done.memory_bytes for done in workers),
        least_memory_bytes=min(done.memory_bytes for done in workers),
        evaluation_comp_s=float(evaluation_s[:, 0].mean()),
        evaluation_comm_s=float(evaluation_s[:, 1].mean()),
        evaluation_s=float(evaluation_s[:, 2].max()),
        cycle_s=max(float(done.batch_us.sum() + done.evaluation_us[2]) for done in workers) / 1e6,
        cpu_s=_mean_s([done.cpu_us for done in workers]),
        gate_s=_mean_s([done.gate_us for done in workers]),
        help=tuple(
            Help(done.rank, *map(int, column)) for done in workers for column in done.helped.T
        ),
    )


def _mean_s(times_us: list[int]) -> float:
    """0 without any."""
    return float(np.mean(times_us)) / 1e6 if times_us else 0.0
