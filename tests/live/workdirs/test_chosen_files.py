"""Which files belong to a snapshot; the oracle is Git."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.live.workdirs.chosen_files import OWN_RULES, chosen_files

FOLDERS = st.lists(st.sampled_from(["a", "b", "data"]), max_size=3)
PLACES = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    FOLDERS,
    st.sampled_from(["x.py", "y.log", "z.csv", "w"]),
)
RULES = st.lists(
    st.sampled_from(
        [
            *("*.log", "!y.log", "data/", "/a", "a/b", "b/", "**/x.py", "!x.py", "data/*", "# a"),
            *("a/**", "!a/b/", "*", "!*.py", "!*/", "[xy].*", "", " ", "/data/*.csv"),
            *("!/data/z.csv", "a/**/b"),
        ]
    ),
    max_size=4,
).map("\n".join)


def chosen(folder: Path) -> set[str]:
    """Files and links; Git knows no folders."""
    found = chosen_files(folder)
    return {
        os.path.relpath(each.path, folder)
        for each in found
        if not each.is_dir(follow_symlinks=False)
    }


def chosen_by_git(folder: Path) -> set[str]:
    ask = ["git", "-C", str(folder), "-c", "core.excludesFile=", "ls-files", "-z"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True, capture_output=True)
    listed = subprocess.run(
        [*ask, "--others", "--exclude-per-directory=.gitignore"], check=True, capture_output=True
    )
    return {each.decode() for each in listed.stdout.split(b"\0") if each}


def write(path: Path, text: str = "") -> None:
    """Unless a file is in the place of one of its folders."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        pass


@given(st.sets(PLACES, max_size=12), st.dictionaries(FOLDERS.map("/".join), RULES, max_size=3))
def test_the_rules_of_git_choose_the_files(places: set[str], rules: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in places:
            write(folder / place)
        for place, below in rules.items():
            write(folder / place / ".gitignore", below)
        expected = chosen_by_git(folder)
        assert chosen(folder) == expected


def test_own_rules_count_alone(tmp_path: Path) -> None:
    for place in ("data/x.csv", "data/.gitignore", "run.log", "a.py", ".git/config"):
        write(tmp_path / place, "*")
    write(tmp_path / ".gitignore", "data/\n")
    write(tmp_path / OWN_RULES, "*.log\n")
    assert chosen(tmp_path) == {"data/x.csv", "data/.gitignore", "a.py", ".gitignore", OWN_RULES}


def test_a_folder_comes_before_what_is_in_it_and_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "b" / "c" / "file")
    (tmp_path / "a").symlink_to(tmp_path)
    (tmp_path / "empty").mkdir()
    found = [os.path.relpath(each.path, tmp_path) for each in chosen_files(tmp_path)]
    assert found == ["a", "b", "b/c", "b/c/file", "empty"]


def test_rules_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"\.gitignore: not text in UTF-8"):
        chosen(tmp_path)
    with pytest.raises(BadInput, match=r"nowhere: cannot be read \(No such file or directory\)"):
        chosen(tmp_path / "nowhere")
