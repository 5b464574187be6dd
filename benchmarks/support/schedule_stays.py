"""The stays of jobs in a schedule: their epochs, as measured, with the times of their ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from motet.runtime.core.reporting.reports import EpochReport


class EpochTimes(NamedTuple):
    """Of one epoch, which ended `at_s` after the beginning of the schedule. Seconds of a worker,
    means over workers; those of the evaluation are part of `comp_s` and `comm_s`. `cycle_s`: of the
    mini-batches and the evaluation, of the slowest worker."""

    at_s: float
    batches: int
    cycle_s: float
    comp_s: float
    comm_s: float
    gate_s: float
    barrier_s: float
    load_s: float
    cpu_s: float

    @classmethod
    def of(cls, at_s: float, report: EpochReport) -> EpochTimes:
        """As reported."""
        return cls(
            at_s,
            len(report.batch_s),
            report.cycle_s,
            report.comp_s + report.evaluation_comp_s,
            report.comm_s + report.evaluation_comm_s,
            report.gate_s,
            report.wait_s,
            report.load_s,
            report.cpu_s,
        )


@dataclass(frozen=True)
class StayTimes:
    """Of a job on some machines; seconds since the beginning of the schedule. `trains_s`: when its
    executors had their data, None: it was ended before. `epochs`: those that ended there."""

    job: int
    place: tuple[int, ...]
    began_s: float
    trains_s: float | None
    ended_s: float
    epochs: list[EpochTimes]


def read_stays(found: Iterable[Mapping[str, Any]]) -> list[StayTimes]:
    """From JSON."""
    return [
        StayTimes(
            **{
                **each,
                "place": tuple(each["place"]),
                "epochs": [EpochTimes(*epoch) for epoch in each["epochs"]],
            }
        )
        for each in found
    ]
