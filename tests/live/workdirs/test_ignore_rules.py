"""Rules of `.gitignore`; the oracle is Git."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.live.workdirs.ignore_rules import is_ignored, read_rules

NAMES = ["a", "b", "ab", "a b", "]", "[", "-", "!a", "#b", "a*", "?", "^", "a.b", "b\\", "a ", "&&"]
ODD = re.compile(r"\[[^]]*/|\\/|[^/]\*\*|\*\*[^/]")
"""A slash in a set or escaped, and two asterisks beside others: Git's manual leaves them open."""
RULE = st.lists(st.sampled_from([*"ab*?[]!^/\\ #.&", "a-b", "**"]), max_size=7).map("".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    for name in NAMES:
        (folder / name).mkdir()
        for below in NAMES[:6]:
            (folder / name / below).touch()
    return folder


def matched_by_git(folder: Path, rule: str, places: list[str]) -> set[str]:
    """Places that a rule ignores although no folder above them is ignored."""
    (folder / ".git" / "info" / "exclude").write_text(rule + "\n", newline="")
    ask = ["git", "-C", folder, "check-ignore", "--no-index", "-z", "--stdin"]
    asked = "\0".join(places).encode()
    found = subprocess.run(ask, input=asked, check=False, capture_output=True).stdout
    return {each.decode() for each in found.split(b"\0") if each}


@given(RULE)
def test_a_rule_matches_what_it_matches_for_git(repository: Path, rule: str) -> None:
    assume("[:" not in rule and not rule.startswith("!") and not ODD.search(rule))
    rules = read_rules(rule)
    folders = {name for name in NAMES if is_ignored(rules, name, is_folder=True)}
    assert folders == matched_by_git(repository, rule, NAMES)
    files = [f"{name}/{below}" for name in NAMES if name not in folders for below in NAMES[:6]]
    found = {place for place in files if is_ignored(rules, place, is_folder=False)}
    assert found == matched_by_git(repository, rule, files)


def test_the_last_rule_that_matches_decides() -> None:
    rules = read_rules("*.log\r\n!keep.log\n# text\n\n")
    assert is_ignored(rules, "a/x.log", is_folder=False) is True
    assert is_ignored(rules, "a/keep.log", is_folder=False) is False
    assert is_ignored(rules, "# text", is_folder=False) is None


def test_a_class_of_characters_is_refused() -> None:
    with pytest.raises(BadInput, match=r"such as \[\[:digit:\]\] is not known here; write \[0-9\]"):
        read_rules("x[[:alpha:]]y")
