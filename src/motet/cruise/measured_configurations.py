"""Measured mini-batch times of a job's configurations, as a check of predictions.

If the cost model is wrong, a predicted gain does not occur. The job then returns to the faster
configuration, and does not return to one without a gain.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from motet.cruise.calibration.averages import Average
from motet.cruise.calibration.fleet_view import FleetView
from motet.cruise.decision import TuningReason
from motet.cruise.search.solver import Choice
from motet.cruise.trigger import Verdict, required_gain
from motet.estimate.epoch_cost import Configuration

_STANDARD_ERRORS = 3.0
_OUTDATED_BY = 1.25
"""Factor between times of the same configuration from which earlier measurements are invalid."""

_Machines: TypeAlias = Hashable
_Counts: TypeAlias = Hashable


@dataclass(frozen=True)
class _Measured:
    configuration: Configuration
    batch: Average


class MeasuredConfigurations:
    """The mini-batch times of one job's configurations."""

    def __init__(self, least_gain: float) -> None:
        self._least_gain = least_gain
        self._measured: dict[tuple[_Machines, _Counts], _Measured] = {}

    def record(self, view: FleetView, batch: Average) -> bool:
        """Record the mini-batch of the present configuration.

        Returns False if it contradicts the previous measurement, in which case all earlier ones are
        dropped.
        """
        key = _machines(view), _counts(view, view.current)
        before = self._measured[key].batch if key in self._measured else batch
        still_holds = 1 / _OUTDATED_BY < batch.mean / before.mean < _OUTDATED_BY
        if not still_holds:
            self._measured.clear()
        self._measured[key] = _Measured(view.current, batch)
        return still_holds

    def corrected(
        self, verdict: Verdict, view: FleetView, now: Average, batch_count: int
    ) -> Verdict:
        """The verdict with measured instead of predicted times where available.

        `now`: the present mini-batch; `batch_count`: mini-batches of an epoch.
        """
        machines = _machines(view)
        key = machines, _counts(view, verdict.choice.configuration)
        if verdict.reason.is_change and key in self._measured:
            batch = self._measured[key].batch
            if not self._is_better(batch, now):
                verdict = Verdict(
                    TuningReason.TOO_LITTLE_GAIN,
                    verdict.choice,
                    verdict.current_s,
                    _gain(batch, now),
                )
        same_machines = [each for (there, _), each in self._measured.items() if there == machines]
        best = min(same_machines, key=lambda each: each.batch.mean)
        if not verdict.reason.is_change and self._is_better(best.batch, now):
            choice = Choice(best.configuration, best.batch.mean * batch_count)
            now_s = now.mean * batch_count
            return Verdict(TuningReason.BACK, choice, now_s, _gain(best.batch, now))
        return verdict

    def _is_better(self, batch: Average, now: Average) -> bool:
        """Whether a mini-batch is shorter than the present one beyond the noise of both."""
        errors = [
            _STANDARD_ERRORS * each.standard_error / each.mean
            for each in (batch, now)
            if each.mean > 0
        ]
        return _gain(batch, now) >= required_gain(errors, self._least_gain)


def _gain(batch: Average, now: Average) -> float:
    return 1 - batch.mean / now.mean


def _machines(view: FleetView) -> _Machines:
    """The machines of each group."""
    return tuple(group.machines for group in view.groups)


def _counts(view: FleetView, configuration: Configuration) -> _Counts:
    """Holders and blocks of each table by type: equal counts take equal time."""
    kinds = view.fleet.type_of
    return tuple(
        (int((blocks > 0).sum()), int(blocks.sum()))
        for table in (configuration.data_blocks, configuration.model_blocks)
        for blocks in (np.array(table)[kinds == kind] for kind in range(len(view.groups)))
    )
