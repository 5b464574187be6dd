"""Where trainings on a Ray node meet: in a folder of their user alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.runtime.backends.ray.node_arbiter import on_node


def test_trainings_of_a_user_on_a_node_have_the_same_arbiter(tmp_path: Path) -> None:
    one, two = (on_node("a1", job, tmp_path / "own") for job in ("one", "two"))
    assert one.arbiter == two.arbiter == tmp_path / "own" / "arbiter-a1"
    assert (one.job, one.cpus) == ("one", len(os.sched_getaffinity(0)))
    assert on_node("b2", "one", tmp_path / "own").arbiter != one.arbiter


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(BadInput, match="other users may have put files there"):
        on_node("a1", "one", folder)


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="other users"):
        on_node("a1", "one", tmp_path / "link")
