"""What Ctrl-C or a failure leaves of a training run: the document of a finished one, incomplete."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from motet.domain.errors import MotetError
from motet.interfaces.cli.train.request import TrainRequest
from motet.report.rendering.json_text import to_json
from motet.report.training.document import TrainDocument
from motet.report.training.folder import RECORD, RunFolder, csv_text, tuning_tables
from motet.report.training.record import RunRecord
from motet.runtime.autotune.history import TuningHistory
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import (
    EpochReport,
    ReconfigurationReport,
    Recovery,
    TrainResult,
)

_WRITE_EVERY_S = 1.0
_LEAST_PAUSE = 20
"""Between two writings, as a multiple of the time that the last one took: 5 % of it at most."""


class InterruptedRun(TrainObserver):
    """Prepares the files of an interruption again and again, some time after something happened.

    A failure writes the same files.
    """

    def __init__(
        self,
        folder: RunFolder,
        training: TrainRequest,
        record: RunRecord,
        prepare: Callable[[Mapping[Path, str]], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`prepare`: called with the content of each file, first at once."""
        self._history: TuningHistory | None = None
        self._folder, self._training, self._record = folder, training, record
        self._prepare, self._clock = prepare, clock
        self._reports = [] if training.resumed is None else list(training.resumed.reports)
        self._recoveries: list[Recovery] = []
        self._reconfigurations: list[ReconfigurationReport] = []
        self._lock = threading.Lock()
        self._began_s = clock()
        self._is_stale = True
        self._next_s = self._began_s
        self._write_if_due()

    def failed(self) -> None:
        """The run ends with an error."""
        with self._lock, contextlib.suppress(MotetError):  # The error of the run counts.
            self._record = replace(self._record, state="failed")
            for path, text in self._files().items():
                self._folder.write_text(path.name, text)

    def tuned(self, history: TuningHistory) -> None:
        """The autotuner has begun: `history` grows from now on."""
        with self._changed():
            self._history = history

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        """Time has passed."""
        del epoch, batch, batch_count
        with self._lock:
            self._write_if_due()

    def epoch_done(self, report: EpochReport) -> None:
        """A further loss."""
        with self._changed():
            self._reports.append(report)

    def recovering(self, recovery: Recovery) -> None:
        """The epochs after the checkpoint will be trained again."""
        with self._changed():
            del self._reports[recovery.resumed_from_epoch :]
            self._recoveries.append(recovery)

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """A change of the configuration ended."""
        with self._changed():
            self._reconfigurations.append(report)

    @contextlib.contextmanager
    def _changed(self) -> Iterator[None]:
        with self._lock:
            yield
            self._is_stale = True
            self._write_if_due()

    def _write_if_due(self) -> None:
        began_s = self._clock()
        if not self._is_stale or began_s < self._next_s:
            return
        with contextlib.suppress(OSError):  # A full /tmp is no reason to end the training.
            self._prepare(self._files())
        ended_s = self._clock()
        self._is_stale = False
        self._next_s = ended_s + max(_WRITE_EVERY_S, _LEAST_PAUSE * (ended_s - began_s))

    def _files(self) -> dict[Path, str]:
        record = self._record.joined_to(self._document())
        tables = {} if self._history is None else tuning_tables(self._history)
        files = {RECORD: to_json(record)} | {name: csv_text(rows) for name, rows in tables.items()}
        return {self._folder.path / name: text for name, text in files.items()}

    def _document(self) -> TrainDocument:
        options = self._training.options
        result = TrainResult(
            app=self._training.app,
            epochs=tuple(self._reports),
            model_sha256="",
            wall_s=options.spent_s + self._clock() - self._began_s,
            recoveries=tuple(self._recoveries),
            reconfigurations=tuple(self._reconfigurations),
        )
        return TrainDocument.of(
            result,
            data=self._training.data.source,
            workers=options.workers,
            servers=options.servers,
            history=self._history,
        )
