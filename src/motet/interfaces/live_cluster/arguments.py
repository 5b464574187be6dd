"""Arguments of `motet.Client`: what is wrong is named before the server is asked."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeAlias

from motet.domain.errors import BadInput
from motet.interfaces.live_cluster.answers import SubmittedJob
from motet.interfaces.server_address import ServerAddress

JobId: TypeAlias = int | str | SubmittedJob


def server_address(
    url: str | None,
    token: str | None,
    state_dir: str | os.PathLike[str] | None,
    ca_file: str | os.PathLike[str] | None,
) -> ServerAddress:
    """The server that a program names, or the one that commands find. Raises as they do."""
    if url is not None and not isinstance(url, str):
        raise BadInput(f"url={url!r:.60}: give the address of the server, 'http://HOST:PORT'")
    if token is not None:
        require_text("token", token)
    if state_dir is not None and not isinstance(state_dir, str | os.PathLike):
        raise BadInput(f"state_dir={state_dir!r:.60}: give the path of the server's state folder")
    if ca_file is not None and not isinstance(ca_file, str | os.PathLike):
        raise BadInput(f"ca_file={ca_file!r:.60}: give the path of a file of PEM certificates")
    folder = None if state_dir is None else Path(state_dir)
    if url is not None and token is not None:
        address = ServerAddress.given(url, token)
    else:
        address = ServerAddress.find(url, folder)
        address = address if token is None else replace(address, token=token)
    return address if ca_file is None else replace(address, ca_file=Path(ca_file))


def require_text(name: str, value: object) -> None:
    """Raises BadInput."""
    if not isinstance(value, str):
        raise BadInput(f"{name}={value!r:.60}: give a text")


def require_seconds(name: str, value: object) -> None:
    """Raises BadInput."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(float(value)):
        raise BadInput(f"{name}={value!r:.60}: give seconds, or math.inf")


def require_texts(name: str, values: object, example: str) -> None:
    """Raises BadInput unless it is a collection of texts, such as `example`."""
    if isinstance(values, str):
        raise BadInput(f"{name}={values!r:.60}: give a list, [{values!r:.60}]")
    if not isinstance(values, Iterable) or not all(isinstance(it, str) for it in values):
        raise BadInput(f"{name}={values!r:.60}: give a list of {name}, such as [{example!r}]")


def job_changes(**given: object) -> dict[str, object]:
    """Those that are not None; `max_duration` math.inf: no limit. Raises BadInput if none is."""
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise BadInput(f"give {' or '.join(given)}")
    if (longest := changes.get("max_duration")) is not None:
        if not isinstance(longest, str):
            require_seconds("max_duration", longest)
        changes["max_duration"] = None if longest == math.inf else longest
    return changes


def queue_limits(**given: float | None) -> dict[str, int | None]:
    """Those that are not None; math.inf: no limit. Raises BadInput."""
    return {name: _limit(name, it) for name, it in given.items() if it is not None}


def _limit(name: str, value: object) -> int | None:
    if value == math.inf:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise BadInput(f"{name}={value!r:.60}: give a whole number of slots, or math.inf")
    return int(value)


def job_id(job: JobId, name: str = "job") -> str:
    """The number as text. Raises BadInput."""
    if isinstance(job, bool) or not isinstance(job, Integral | str | SubmittedJob):
        raise BadInput(f"{name}={job!r:.60}: give the id of a job, or a job that submit returned")
    return str(job.id) if isinstance(job, SubmittedJob) else str(job)


def name_of_job(path: Path | None, values: Mapping[str, Any]) -> str:
    """That of the file, of the program or of the application. Raises BadInput."""
    if path is not None:
        return path.stem
    if "app" in values:
        return Path(str(values["app"])).stem
    run = values.get("run")
    if not run:
        raise BadInput("job: give a job file, run='...' or app='...'")
    if not isinstance(run, str | Sequence):
        raise BadInput(
            f"run={run!r:.60}: give a command ('python train.py') or a list of its words"
        )
    words = run.split() if isinstance(run, str) else [str(each) for each in run]
    return os.path.basename(words[0]) if words else "job"
