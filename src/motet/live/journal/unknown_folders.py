"""Folders of jobs and attempts that a journal does not know.

They are there when the journal is an earlier copy of the one with which they were made, or another
one. The numbers of these jobs will be given again, so what they left must not be taken for that of
the new jobs: the record of an exit in the folder of an attempt would end the new one at once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from motet.domain.errors import BadInput

ATTEMPTS = "attempts"
_KINDS = (ATTEMPTS, "checkpoints", "results", "workdirs")


def unknown_folders(folder: Path, attempts: Mapping[int, int]) -> Iterator[Path]:
    """In the state folder: those of unknown jobs, and of unknown attempts of jobs. `attempts`: how
    many a job has had by the journal."""
    for kind in _KINDS:
        for job in numbered_folders(folder / kind):
            known = attempts.get(int(job.name))
            if known is None:
                yield job
            elif kind == ATTEMPTS:
                yield from _further(job, known)


def require_known_folders(folder: Path, attempts: Mapping[int, int], ended: Container[int]) -> None:
    """Raises BadInput where a server would take the past of other jobs for that of its own.

    Folders of attempts tell: no job leaves others without one, and the journal has an attempt
    before its folder is made. Jobs that have `ended` make none.
    """
    place = folder / ATTEMPTS
    unknown = [each for each in numbered_folders(place) if int(each.name) not in attempts]
    for job, known in attempts.items():
        if job not in ended:
            unknown += _further(place / str(job), known)
    if unknown:
        raise BadInput(
            f"{unknown[0]}: the journal does not know what is there, so it is an earlier copy, "
            "or another one; put it in force with 'motet server restore', which moves such "
            "folders aside, or give another --state-dir or --database"
        )


def numbered_folders(folder: Path) -> list[Path]:
    """Those inside that have a number as their name; none if the folder is not there."""
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if each.name.isdecimal())


def _further(job: Path, known: int) -> list[Path]:
    return [each for each in numbered_folders(job) if int(each.name) > known]
