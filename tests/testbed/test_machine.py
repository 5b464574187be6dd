"""The requirements on the machine and their error messages."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, MotetError
from motet.testbed import machine
from motet.testbed.cgroups import FileWrite


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BadInput, match="needs Linux, this is darwin"):
        machine.require_testbed_machine()


def test_a_user_other_than_root_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BadInput, match=r"needs root.*run it with sudo"):
        machine.require_testbed_machine()


def test_missing_programs_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(BadInput, match="ip and tc; install them with 'apt-get install iproute2'"):
        machine.require_testbed_machine()


def test_a_failed_command_is_quoted_with_its_error_output() -> None:
    with pytest.raises(MotetError, match=r"^'ls /nonexistent' failed: ls: .*No such file"):
        machine.run_command(["ls", "/nonexistent"])


def test_a_missing_program_is_an_error() -> None:
    with pytest.raises(MotetError, match="'no-such-program' cannot be run"):
        machine.run_command(["no-such-program"])


def test_an_unwritable_control_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MotetError, match=r"gone/cpu.max: 'max' cannot be written: No such file"):
        machine.write_control_files([FileWrite(tmp_path / "gone" / "cpu.max", "max")])


def test_killing_without_processes_does_nothing(tmp_path: Path) -> None:
    assert machine.kill_processes([tmp_path / "cgroup.procs"], ["motet-none.0"]) == 0
