"""What the doctor finds in folders, dates and lists of machines."""

from __future__ import annotations

import shutil
from collections import namedtuple
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from motet.interfaces.cli.doctor.checks import (
    all_checks,
    clock_finding,
    installation,
    machine_findings,
    state_folder,
)

Usage = namedtuple("Usage", "total used free")


def machine(name: str, state: str, reason: str = "") -> dict[str, Any]:
    drain = {"reason": reason} if reason else None
    return {"name": name, "slots": 2, "state": state, "drain": drain}


def verdicts(findings: Any) -> list[tuple[str, str]]:
    return [(each.subject, each.verdict) for each in findings]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "token").touch(mode=0o600)
    return folder


def test_a_private_folder_with_room_is_well(home: Path) -> None:
    assert verdicts(state_folder(home)) == [("disk", "ok")]


@pytest.mark.parametrize(("name", "mode"), [(".", 0o750), ("token", 0o644)])
def test_what_others_can_read_is_wrong(home: Path, name: str, mode: int) -> None:
    (home / name).chmod(mode)
    first, _ = state_folder(home)
    assert first.verdict == "wrong"
    assert f"chmod {'700' if name == '.' else '600'} {home / name}" in first.message


@pytest.mark.parametrize(("free", "verdict"), [(10**9, "warning"), (10**8, "wrong")])
def test_little_room_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, free))
    assert verdicts(state_folder(home)) == [("disk", verdict)]


def test_a_folder_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    assert verdicts(state_folder(tmp_path / "absent")) == [("state folder", "warning")]


@pytest.mark.parametrize(
    ("date", "verdict"),
    [(formatdate(1000), "ok"), (formatdate(1060), "warning"), ("yesterday", "warning")],
)
def test_clocks_are_compared(date: str, verdict: str) -> None:
    assert clock_finding(date, 1003.9).verdict == verdict


def test_machines_that_take_no_jobs_are_named() -> None:
    up, drained = machine("m0", "UP"), machine("m1", "DRAINED", "new disk")
    (found,) = machine_findings([up, drained])
    assert (found.verdict, found.message) == ("warning", "m1 is DRAINED: new disk")
    (found,) = machine_findings([up, machine("m2", "UP")])
    assert (found.verdict, found.message) == ("ok", "2 with 4 slots take jobs")
    assert verdicts(machine_findings([])) == [("machines", "warning")]


def test_without_a_server_the_rest_is_checked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTET_SERVER", raising=False)
    found = all_checks(None, home)
    assert verdicts(found)[-1] == ("server", "wrong")
    assert found[0] == installation()
