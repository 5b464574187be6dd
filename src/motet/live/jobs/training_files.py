"""Files that a training needs, looked up before it is accepted."""

from __future__ import annotations

from pathlib import Path

from motet.domain.errors import BadInput
from motet.live.jobs.job_spec import JobSpec, TrainingSpec

_KEYS = ("data", "test", "exclude", "labels", "test_labels")


def require_visible_files(spec: JobSpec) -> None:
    """Raise BadInput for a file that is missing in a folder that this computer has.

    A folder that is missing here may exist on the machines. Text without a folder and an ending may
    be the name of a built-in data set.
    """
    if not isinstance(spec, TrainingSpec) or not Path(spec.workdir).is_dir():
        return
    for key in _KEYS:
        given = getattr(spec, key)
        if given is None or (Path(given).name == given and not Path(given).suffix):
            continue
        path = Path(spec.workdir) / given
        # The folder of another file system may be mounted on the machines only.
        if path.parent.is_dir() and not path.exists():
            raise BadInput(f"{key}: {path}: no such file; check the path")
