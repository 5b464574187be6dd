"""The JSON document of a training run: what `motet train --json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from motet.report.rendering.json_text import plain
from motet.report.training.auto_document import auto_document
from motet.runtime.autotune.history import TuningHistory
from motet.runtime.core.convergence import Convergence
from motet.runtime.core.reporting.reports import (
    EpochReport,
    Help,
    ReconfigurationReport,
    Recovery,
    TrainResult,
)


@dataclass(frozen=True)
class TrainDocument:
    """The fields of the document, in order; `comp_s` to `room_s` are means over the workers.

    `model_spill_bytes`, `remote_bytes`: the most at the end of an epoch.
    """

    app: str
    data: str
    epochs: int
    loss: list[float]
    final_loss: float
    metrics: dict[str, float]
    workers: int
    servers: int
    wall_s: float
    epoch_s: list[float]
    comp_s: float
    comm_s: float
    load_s: float
    room_s: float
    model_spill_bytes: int
    model_spill_s: float
    remote_bytes: int
    remote_read_bytes: int
    backup_read_bytes: int
    bytes_pulled: int
    bytes_pushed: int
    reconfigurations: list[dict[str, Any]]
    recoveries: list[Recovery]
    help: list[Help]
    model_sha256: str
    convergence: Convergence | None = None
    resumed_from_epoch: int | None = None
    earlier_s: float = 0.0
    auto: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        result: TrainResult,
        data: str,
        workers: int,
        servers: int,
        more_metrics: Mapping[str, float] = MappingProxyType({}),
        history: TuningHistory | None = None,
        earlier_s: float = 0.0,
    ) -> TrainDocument:
        """From a finished run. `more_metrics` follow the metrics of the application.

        `history`: tuning history of a job with `--auto`. `earlier_s`: part of `result.wall_s` that
        earlier commands took, before the checkpoint from which this one resumed.
        """
        reports = result.epochs
        return cls(
            app=result.app.name,
            data=data,
            epochs=len(reports),
            loss=result.losses,
            final_loss=result.losses[-1] if reports else math.nan,
            metrics={**(reports[-1].metrics if reports else {}), **more_metrics},
            workers=workers,
            servers=servers,
            wall_s=result.wall_s,
            epoch_s=[report.wall_s for report in reports],
            comp_s=sum(report.comp_s for report in reports),
            comm_s=sum(report.comm_s for report in reports),
            load_s=sum(report.load_s for report in reports),
            room_s=sum(report.room_s for report in reports),
            model_spill_bytes=max((report.model_spill_bytes for report in reports), default=0),
            model_spill_s=sum(report.model_spill_s for report in reports),
            remote_bytes=max((report.remote_bytes for report in reports), default=0),
            remote_read_bytes=sum(report.remote_read_bytes for report in reports),
            backup_read_bytes=sum(report.backup_read_bytes for report in reports),
            bytes_pulled=sum(report.bytes_pulled for report in reports),
            bytes_pushed=sum(report.bytes_pushed for report in reports),
            reconfigurations=[
                _reconfiguration(report) | _forecast(report, history)
                for report in result.reconfigurations
            ],
            recoveries=list(result.recoveries),
            help=_total_help(reports),
            model_sha256=result.model_sha256,
            convergence=result.convergence,
            resumed_from_epoch=result.resumed_from_epoch,
            earlier_s=earlier_s,
            auto=None if history is None else auto_document(history),
        )

    def as_dict(self) -> dict[str, Any]:
        """The document as plain values of JSON; numbers that are not finite become None."""
        document = plain(asdict(self))
        assert isinstance(document, dict)
        if self.auto is None:
            del document["auto"]
        return document


def _total_help(reports: Sequence[EpochReport]) -> list[Help]:
    """Of all epochs; a row per pair of workers, the most instances first."""
    totals: dict[tuple[int, int], list[int]] = {}
    for each in (each for report in reports for each in report.help):
        total = totals.setdefault((each.helper, each.helped), [0, 0])
        total[0] += each.batches
        total[1] += each.instances
    rows = [Help(*pair, *total) for pair, total in totals.items()]
    return sorted(rows, key=lambda row: (-row.instances, row.helper, row.helped))


def _reconfiguration(report: ReconfigurationReport) -> dict[str, Any]:
    fields = asdict(report)
    before, after = fields.pop("before"), fields.pop("after")
    return {"at_epoch": fields.pop("at_epoch"), "from": before, "to": after, **fields}


def _forecast(report: ReconfigurationReport, history: TuningHistory | None) -> dict[str, Any]:
    """Measured epoch time before a change by the autotuner, and predicted time after it."""
    for record in [] if history is None else history.decisions:
        if record.report is report:
            decision = record.decision
            times_s = decision.measured_s, decision.predicted_s
            return dict(zip(("measured_epoch_s", "predicted_epoch_s"), times_s, strict=True))
    return {}
