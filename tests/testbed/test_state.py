from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from motet.domain.errors import MotetError, NotFound
from motet.testbed.hosts import Blueprint, HostType, Limits, machines_of
from motet.testbed.layout import HostLayout
from motet.testbed.state import State, existing_testbeds, is_locked, locked, read_state, write_state
from waiting import wait_until


def layout_in(home: Path, name: str = "t") -> HostLayout:
    layout = HostLayout(name, home)
    layout.folder.mkdir()
    return layout


def state(name: str = "t") -> State:
    types = [HostType("fast", 1, Limits(0.4, 10**8, 10**9)), HostType("slow", 2, Limits())]
    return State(Blueprint(name, machines_of(types), with_ray=False), is_complete=True)


def test_a_state_is_read_back_from_its_file(tmp_path: Path) -> None:
    layout = layout_in(tmp_path)
    write_state(layout, state())
    assert read_state(layout) == state()


def test_an_unknown_testbed_is_not_found_and_the_others_are_named(tmp_path: Path) -> None:
    write_state(layout_in(tmp_path, "other"), state("other"))
    assert existing_testbeds(tmp_path) == ["other"]
    with pytest.raises(NotFound, match=r"there is no testbed 't' \(existing: other\)"):
        read_state(HostLayout("t", tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 99}', '{"version": 1}'])
def test_a_malformed_state_file_is_an_error_with_a_remedy(tmp_path: Path, text: str) -> None:
    layout = layout_in(tmp_path)
    layout.state_file.write_text(text)
    with pytest.raises(MotetError, match="remove the testbed with 'motet testbed down --name t'"):
        read_state(layout)


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    layout = layout_in(tmp_path)
    with locked(layout):
        assert is_locked(layout)
    assert not is_locked(layout)


HOLDER = """
import sys
from pathlib import Path
from motet.testbed.layout import HostLayout
from motet.testbed.machine import run_command
from motet.testbed.state import locked
with locked(HostLayout("t", Path(sys.argv[1]))):
    run_command(["sh", "-c", f"echo begun > {sys.argv[1]}/begun; cat {sys.argv[1]}/end"])
"""


def test_a_lock_stays_until_the_commands_of_a_killed_holder_have_ended(tmp_path: Path) -> None:
    layout = HostLayout("t", tmp_path)
    layout.folder.mkdir()
    os.mkfifo(tmp_path / "end")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)])
    wait_until((tmp_path / "begun").exists)
    holder.kill()
    holder.wait()
    assert is_locked(layout)
    (tmp_path / "end").write_text("")  # The command reads to its end.
    wait_until(lambda: not is_locked(layout))


def test_a_testbed_without_a_folder_is_not_locked(tmp_path: Path) -> None:
    with locked(HostLayout("t", tmp_path)):
        assert not is_locked(HostLayout("t", tmp_path))
