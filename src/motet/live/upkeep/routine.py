"""What the server does once a minute: room on the disk, limits of logs, old jobs, idle jobs."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motet.domain.units import SECOND_US
from motet.live.accounts.audit_log import AuditLog
from motet.live.master.loop import MasterStopped
from motet.live.master.requests import Workplace
from motet.live.read_tables.read_tables import ReadTables
from motet.live.upkeep.log_limit import HolesUnsupported, limit_log
from motet.live.upkeep.log_look import LogLook
from motet.live.upkeep.old_jobs import DAY_US, forget_files

EVERY_S = 60.0
LEAST_FREE_BYTES = 2_000_000_000
_CLOCKS_DIFFER_US = 600 * SECOND_US
"""The most by which the clock of a machine, which tells when a process ended, may be slow."""
_LOG = logging.getLogger("motet.upkeep")


@dataclass(frozen=True, slots=True)
class Retention:
    """`keep_days`: for which logs, checkpoints and audit entries are kept after the end of a job;
    None: for ever. `log_limit_bytes`: of the log of a process; 0: none."""

    keep_days: int | None = None
    log_limit_bytes: int = 1 << 30


class Upkeep:
    """Runs on a thread of its own from `start` to `close`."""

    def __init__(
        self,
        retention: Retention,
        workplace: Workplace,
        tables: ReadTables,
        audit: AuditLog,
        others: Sequence[Callable[[int], None]],
        journal_folder: Path | None = None,
    ) -> None:
        """`others`: what else is done, called with the time. `journal_folder`: where the journal
        is; None: in that of the state, or in a database server."""
        self._retention, self._workplace = retention, workplace
        self._tables, self._audit, self._others = tables, audit, others
        self._end = threading.Event()
        self._watched = {workplace.folder, journal_folder or workplace.folder}
        self._low, self._has_holes = set[Path](), True
        self._log_look: LogLook | None = None
        self._is_look_written = True
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def once(self, now_us: int) -> None:
        """Do all that is due. `now_us`: Unix time."""
        for folder in self._watched:
            self._watch_disk(folder)
        if self._retention.log_limit_bytes and self._has_holes:
            self._limit_logs(now_us)
        for other in self._others:
            other(now_us)
        if self._retention.keep_days is not None:
            before_us = now_us - self._retention.keep_days * DAY_US
            still_open = {job for job, _ in self._tables.open_attempts()}
            over = self._tables.ended_before(before_us) - still_open
            jobs = forget_files(self._workplace.folder, over)
            entries = self._audit.forget_before(before_us)
            if jobs or entries:
                _LOG.info("old_files_deleted", extra=_extra(jobs=len(jobs), audit_entries=entries))

    def _run(self) -> None:
        while not self._end.wait(EVERY_S):
            try:
                self.once(time.time_ns() // 1000)
            except MasterStopped:
                return
            except Exception:  # The next minute may be better; jobs do not depend on this.
                _LOG.exception("upkeep_failed")

    def _watch_disk(self, folder: Path) -> None:
        """Tell when the disk is almost full, once until it no longer is."""
        free = shutil.disk_usage(folder).free
        if free >= LEAST_FREE_BYTES:
            self._low.discard(folder)
        elif folder not in self._low:
            _LOG.warning("disk_almost_full", extra=_extra(folder=str(folder), free_bytes=free))
            self._low.add(folder)

    def _limit_logs(self, now_us: int) -> None:
        """Of processes that run, or have ended since the last round, also that of an earlier
        server; of all if there was none, or it had a higher limit."""
        limit_bytes = self._retention.log_limit_bytes
        last = self._log_look or LogLook.read(self._workplace.folder).for_limit(limit_bytes)
        running = frozenset(self._tables.open_attempts())
        ended = self._tables.attempts_since(last.at_us - _CLOCKS_DIFFER_US)
        for job, attempt in sorted({*last.running, *running, *ended}):
            folder = self._workplace.attempt_folder(job, attempt)
            for path in folder.glob("rank-*/log"):
                try:
                    freed = limit_log(path, limit_bytes)
                except HolesUnsupported:
                    self._has_holes = False
                    _LOG.warning("log_limit_unsupported", extra=_extra(folder=str(folder)))
                    return
                except OSError as error:
                    # The other logs, and all that follows, do not depend on it.
                    told = _extra(file=str(path), reason=str(error))
                    _LOG.warning("log_not_shortened", extra=told)
                    continue
                if freed:
                    _LOG.info("log_shortened", extra=_extra(job=job, attempt=attempt, freed=freed))
        self._log_look = LogLook(now_us, running, limit_bytes)
        self._is_look_written = self._log_look.write(
            self._workplace.folder, is_told=self._is_look_written
        )


def _extra(**values: Any) -> dict[str, Any]:
    return {"fields": values}
