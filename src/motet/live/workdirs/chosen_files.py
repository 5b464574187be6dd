"""The files of a folder that belong to its snapshot, by the rules of Git."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from motet.domain.errors import BadInput
from motet.live.workdirs.ignore_rules import IgnoreRule, is_ignored, read_rules

OWN_RULES = ".motetignore"
_GIT_RULES = ".gitignore"
_NEVER = ".git"


class _Rules(NamedTuple):
    """The rules of a file. `base`: its folder relative to the chosen one, with '/' at its end."""

    base: str
    rules: Sequence[IgnoreRule]


def chosen_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Files, links and folders, each folder before what is in it, in the order of their names.

    What `.gitignore` files exclude is left out, or what `.motetignore` in `folder` excludes if it
    is there: its rules then count alone. `.git` is always left out. Raises BadInput.
    """
    own = folder / OWN_RULES
    name = OWN_RULES if own.exists() else _GIT_RULES
    yield from _below(folder, "", (), name)


def _below(
    folder: Path, base: str, rules: tuple[_Rules, ...], name: str
) -> Iterator[os.DirEntry[str]]:
    """`base`: the folder, relative to the chosen one. `name`: of files with rules."""
    if name == _GIT_RULES or not base:
        rules += _rules_in(folder / name, base)
    for entry in _entries(folder):
        place, is_folder = base + entry.name, entry.is_dir(follow_symlinks=False)
        if entry.name == _NEVER or _is_left_out(place, rules, is_folder=is_folder):
            continue
        yield entry
        if is_folder:
            yield from _below(Path(entry.path), f"{place}/", rules, name)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read ({error.strerror})") from error


def _rules_in(path: Path, base: str) -> tuple[_Rules, ...]:
    try:
        return (_Rules(base, read_rules(path.read_text(encoding="utf-8-sig"))),)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text in UTF-8 ({error.reason})") from error
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _is_left_out(place: str, rules: Sequence[_Rules], *, is_folder: bool) -> bool:
    """The rules that are nearest to the file decide."""
    for base, nearest in reversed(rules):
        found = is_ignored(nearest, place.removeprefix(base), is_folder=is_folder)
        if found is not None:
            return found
    return False
