"""`--out`, `--resume` and `--overwrite`: prevents the accidental loss or repetition of a run."""

from __future__ import annotations

from pathlib import Path

from motet.domain.errors import BadInput
from motet.report.training.folder import (
    RunFolder,
    has_begun,
    is_finished,
    kept_checkpoints,
    kept_results,
)


def choose_folder(out: Path | None, resume: bool, overwrite: bool) -> RunFolder | None:
    """The folder to write to, created if missing. Raises BadInput before anything is changed."""
    if out is None:
        _refuse_without_folder(resume, overwrite)
        return None
    if resume and overwrite:
        raise BadInput("--resume continues a run and --overwrite removes it; give one of them")
    if resume:
        _require_begun(out)
    elif not overwrite:
        _require_no_run(out)
    return RunFolder(out)


def starts_over(folder: RunFolder | None, resume: bool) -> bool:
    """Whether a resumed run has no checkpoint and starts from the beginning."""
    return resume and folder is not None and not kept_checkpoints(folder.path)


def _refuse_without_folder(resume: bool, overwrite: bool) -> None:
    if resume:
        raise BadInput("--resume needs --out DIR, the folder of the run to continue")
    if overwrite:
        raise BadInput("--overwrite needs --out DIR, the folder of the run to replace")


def _require_no_run(out: Path) -> None:
    kept = [*kept_results(out), *kept_checkpoints(out)[-1:]]
    if kept:
        raise BadInput(
            f"--out {out}: holds a run already ({', '.join(kept)}); give --resume to continue "
            "it, another --out, or --overwrite to replace it"
        )


def _require_begun(out: Path) -> None:
    """Raises BadInput unless the folder has a checkpoint, or the log of a run without results."""
    if kept_checkpoints(out):
        return
    if is_finished(out):
        raise BadInput(
            f"no checkpoint in {out}, only {', '.join(kept_results(out))}; give --overwrite "
            "instead of --resume to train from the beginning, or another --out"
        )
    if not has_begun(out):
        raise BadInput(
            f"no checkpoint in {out}; check the folder's name, or leave --resume out to train "
            "from the beginning"
        )
