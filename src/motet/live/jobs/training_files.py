"""Files that a training needs, looked up before it is accepted."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from motet.domain.errors import BadInput
from motet.live.jobs.job_spec import JobSpec, TrainingSpec

_KEYS = ("data", "test", "exclude", "labels", "test_labels", "stop_words")


def require_visible_files(spec: JobSpec) -> None:
    """Raise BadInput for a file that is missing in a folder that this computer has.

    A folder that is missing here may exist on the machines. Text without a folder and an ending may
    be the name of a built-in data set.
    """
    if not isinstance(spec, TrainingSpec) or not Path(spec.workdir).is_dir():
        return
    for key, given in _paths(spec):
        path = Path(spec.workdir) / given
        # The folder of another file system may be mounted on the machines only.
        if path.parent.is_dir() and not path.exists():
            raise BadInput(f"{key}: {path}: no such file; check the path")


def require_snapshot_files(spec: JobSpec, names: Collection[str]) -> None:
    """Raise BadInput for a file that is missing in a snapshot. `names`: of what is in it."""
    if not isinstance(spec, TrainingSpec):
        return
    for key, given in _paths(spec):
        place = os.path.normpath(given)
        if not os.path.isabs(place) and place not in names:
            raise BadInput(
                f"{key}: {given}: not in the snapshot of {spec.workdir}; check the path, and that "
                "neither .gitignore nor .motetignore leaves the file out"
            )


def _paths(spec: TrainingSpec) -> Iterator[tuple[str, str]]:
    """Keys and their values, without those that may be the name of a built-in data set."""
    for key in _KEYS:
        given = getattr(spec, key)
        if given is not None and _is_path(given):
            yield key, given


def _is_path(text: str) -> bool:
    """Whether it has a folder or an ending. Behind the name of a built-in data set stand settings,
    as in `synthetic-ratings:density=0.5`."""
    name, _, settings = text.partition(":")
    if "=" in settings and Path(name).name == name and not Path(name).suffix:
        return False
    return Path(text).name != text or bool(Path(text).suffix)
