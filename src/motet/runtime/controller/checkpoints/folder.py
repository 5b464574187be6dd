"""The checkpoints of one job: the newest two, of which the newest whole one is resumed.

A checkpoint is written when no mini-batch is in progress, at the end of an epoch or, of a job that
is suspended, within one: into a temporary folder, flushed to disk, then renamed. It is independent
of the number of executors.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from motet.domain.errors import BadInput, JobFailed, remedy_of_write
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint, KeptCheckpoint
from motet.runtime.controller.checkpoints.checks import folder_name, implausible
from motet.runtime.controller.checkpoints.files import (
    Damaged,
    flush_folder,
    read_files,
    write_files,
)
from motet.runtime.controller.checkpoints.identity import JobIdentity, difference
from motet.runtime.core.reporting.reports import EpochReport

_KEPT = 2
_START_OVER = "give --overwrite instead of --resume to train from the beginning"
_NAME = re.compile(r"epoch-(\d{6,})(?:-batch-(\d{6,}))?")


@dataclass(frozen=True)
class CheckpointOnDisk:
    """A checkpoint that is not in memory: a second copy of a large model would take its place."""

    folder: CheckpointFolder
    epoch_count: int
    reports: tuple[EpochReport, ...]
    batches: int = 0

    def read(self) -> Checkpoint:
        """The newest whole checkpoint; an earlier one if this one was damaged since.

        Raises BadInput if there is none.
        """
        found = self.folder.latest()
        if found is None:
            raise BadInput(f"{self.folder}: the checkpoints were removed; {_START_OVER}")
        return found

    def to_return_to(self) -> Checkpoint:
        """What `read` returns: which one is whole is known only once it has been read."""
        return self.read()


class CheckpointFolder:
    """The checkpoints of one job."""

    def __init__(self, path: Path, job: JobIdentity, spent_s: float = 0.0) -> None:
        """`spent_s`: seconds of the run so far."""
        self._path = path
        self._began_s = time.perf_counter() - spent_s
        self._job = job

    def __str__(self) -> str:
        return str(self._path)

    def without_memory(self, checkpoint: Checkpoint) -> KeptCheckpoint:
        """The checkpoint as it lies on disk; itself if it was not written."""
        count, batches = checkpoint.epoch_count, checkpoint.batches
        if not (self._path / folder_name(count, batches)).is_dir():
            return checkpoint
        return CheckpointOnDisk(self, count, checkpoint.reports, batches)

    def write(self, checkpoint: Checkpoint) -> Path:
        """Add a checkpoint and drop all but the newest two. Raises JobFailed if that fails."""
        try:
            return self._write(checkpoint)
        except OSError as error:
            raise JobFailed(
                f"{self._path}: cannot write a checkpoint ({error.strerror or error}); "
                f"{remedy_of_write(error)} and go on with --resume"
            ) from error

    def clear(self) -> None:
        """Remove the checkpoints of an earlier run. Raises BadInput if that is not possible."""
        for folder in (*self._path.glob("epoch-*"), *self._path.glob(".writing-*")):
            try:
                _remove(folder)
            except OSError as error:
                raise BadInput(
                    f"{folder}: cannot be removed ({error.strerror or error}); choose another --out"
                ) from error

    def latest(self, report: Callable[[str], None] = lambda _: None) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None.

        A damaged one is passed over, and the one before it is used; `report` gets a line about it.
        Raises BadInput when checkpoints exist but none is whole, or when they belong to another
        job.
        """
        problems: list[str] = []
        is_unreadable = True
        for folder in self._newest_first():
            try:
                found = self._read(folder)
            except (Damaged, OSError) as error:
                problems.append(f"{folder.name}: {_cause(error)}")
                is_unreadable = is_unreadable and isinstance(error, OSError)
                continue
            for problem in problems:
                report(f"damaged checkpoint {problem}; passed over, {folder.name} is used")
            return found
        if problems:
            raise BadInput(
                f"{self._path}: no checkpoint is whole: {'; '.join(problems)}; "
                + ("check the disk and the permissions" if is_unreadable else _START_OVER)
            )
        return None

    def to_resume(
        self, epochs: int, report: Callable[[str], None] = lambda _: None
    ) -> Checkpoint | None:
        """The newest whole checkpoint, for training up to `epochs`; None: there is none.

        Raises BadInput as `latest` does, and when it has more epochs than that.
        """
        found = self.latest(report)
        begun = 0 if found is None else found.epoch_count + bool(found.batches)
        if begun > epochs:
            raise BadInput(
                f"{self._path}: the checkpoint already has {begun} epochs, more than "
                f"epochs={epochs}; raise --epochs to train on, or choose another --out"
            )
        return found

    def _write(self, checkpoint: Checkpoint) -> Path:
        final = self._path / folder_name(checkpoint.epoch_count, checkpoint.batches)
        temporary = self._path / f".writing-{uuid.uuid4().hex}"
        temporary.mkdir(parents=True)
        spent_s = time.perf_counter() - self._began_s
        try:
            write_files(temporary, checkpoint, self._job.fingerprint, spent_s)
            if final.exists():
                _remove(final)
            temporary.rename(final)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        flush_folder(self._path)
        self._drop_old()
        return final

    def _read(self, folder: Path) -> Checkpoint:
        fingerprint, checkpoint = read_files(folder)
        changes = difference(fingerprint, json.loads(json.dumps(self._job.fingerprint)))
        if changes:
            raise BadInput(
                f"{folder}: made by another job: {changes}; "
                "choose another --out or the same settings and data"
            )
        problem = implausible(checkpoint, folder.name, self._job)
        if problem:
            raise Damaged(problem)
        return checkpoint

    def _newest_first(self) -> list[Path]:
        numbered = [(_NAME.fullmatch(folder.name), folder) for folder in self._path.glob("epoch-*")]
        found = [(int(it[1]), int(it[2] or 0), folder) for it, folder in numbered if it]
        return [folder for *_, folder in sorted(found, reverse=True)]

    def _drop_old(self) -> None:
        for folder in (*self._newest_first()[_KEPT:], *self._path.glob(".writing-*")):
            with contextlib.suppress(OSError):  # An old folder that stays does no harm.
                _remove(folder)


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
