"""Rules of `.gitignore` files, as `git help ignore` defines them. Pure.

The packages for such rules decide otherwise than Git where a rule with `!` follows one for a
folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from motet.domain.errors import BadInput


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """`is_exception`: what matches is not ignored. `is_for_folders`: files do not match.

    `is_whole_path`: the path from the folder of the rules has to match, not the last name alone.
    """

    pattern: re.Pattern[str]
    is_exception: bool
    is_for_folders: bool
    is_whole_path: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """`path`: relative to the folder of the rules."""
        text = path if self.is_whole_path else path.rpartition("/")[2]
        return (is_folder or not self.is_for_folders) and bool(self.pattern.fullmatch(text))


def read_rules(text: str) -> list[IgnoreRule]:
    """The rules of a file; lines that can match nothing are left out. Raises BadInput for a rule
    that Git knows and this function does not."""
    return [rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r")))]


def is_ignored(rules: Sequence[IgnoreRule], path: str, *, is_folder: bool) -> bool | None:
    """What the last rule that matches says; None: none matches."""
    for rule in reversed(rules):
        if rule.matches(path, is_folder=is_folder):
            return not rule.is_exception
    return None


def _rule(line: str) -> IgnoreRule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    is_exception = line.startswith("!")
    line = line.removeprefix("!")
    is_for_folders = line.endswith("/")
    line = line.removesuffix("/")
    try:
        pattern = re.compile(_expression(line.removeprefix("/")), re.DOTALL)
    except re.error:  # A range such as [b-a].
        return None
    return IgnoreRule(pattern, is_exception, is_for_folders, "/" in line)


def _expression(glob: str) -> str:
    *folders, last = glob.split("/")
    begin = "".join("(?:.+/)?" if _is_any_depth(each) else f"{_name(each)}/" for each in folders)
    return begin + (".+" if _is_any_depth(last) and folders else _name(last))


def _is_any_depth(part: str) -> bool:
    return re.fullmatch(r"\*\*+", part) is not None


_PART = re.compile(
    r"(?P<any>\*+)|(?P<one>\?)|\[(?P<not>[!^]?+)(?P<set>\]?+(?:\\.|[^]\\])*)\]|\\(?P<text>.)|(?P<open>\[)"
    r"|(?P<rest>.)",
    re.DOTALL,
)


def _name(glob: str) -> str:
    """Between two slashes, which no wildcard matches."""
    if "[:" in glob:
        raise BadInput(f"{glob}: a class such as [[:digit:]] is not known here; write [0-9]")
    return _PART.sub(_part, glob)


def _part(found: re.Match[str]) -> str:
    if found["any"]:
        return "[^/]*"
    if found["one"]:
        return "[^/]"
    if found["open"] or found["rest"] == "\\":
        return "(?!)"  # Not closed, or escapes nothing.
    if found["set"] is None:
        return re.escape(found["text"] or found["rest"])
    members = _SPECIAL.sub(lambda each: re.escape(each[1] or each[2]), found["set"])
    return f"(?!/)[{'^' if found['not'] else ''}{members}]"


_SPECIAL = re.compile(r"\\(.)|([][&~|^])")
"""In a set: what is escaped, and what means something to Python only."""
