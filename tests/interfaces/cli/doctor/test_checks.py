"""What the doctor finds in folders, dates and lists of machines."""

from __future__ import annotations

import shutil
from collections import namedtuple
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from motet.interfaces.cli.doctor.checks import all_checks, clock_finding, token_finding
from motet.interfaces.cli.doctor.machine_checks import examined_findings, machine_findings
from motet.interfaces.cli.doctor.own_checks import installation, state_folder

SERVER = {"motet": "0.1.0", "python": "3.11.2", "ray": "2.60.0"}
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
    assert verdicts(state_folder(home)) == [("state folder", "ok"), ("disk", "ok")]


@pytest.mark.parametrize(
    ("name", "mode"), [(".", 0o750), ("token", 0o644), ("ray-token", 0o640), ("journal.db", 0o604)]
)
def test_what_others_can_read_is_wrong(home: Path, name: str, mode: int) -> None:
    if name != ".":
        (home / name).touch()
    (home / name).chmod(mode)
    first, _ = state_folder(home)
    assert first.verdict == "wrong"
    assert f"chmod {'700' if name == '.' else '600'} {home / name}" in first.message


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(2 * 10**9, "ok"), (2 * 10**9 - 1, "warning"), (10**8, "wrong")],
)
def test_little_room_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, free))
    assert verdicts(state_folder(home)) == [("state folder", "ok"), ("disk", verdict)]


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
    (found,) = machine_findings([{**up, "slots": 1}])
    assert found.message == "1 with 1 slot takes jobs"
    assert verdicts(machine_findings([])) == [("machines", "warning")]


def test_without_a_server_the_rest_is_checked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTET_SERVER", raising=False)
    found = all_checks(None, home)
    assert verdicts(found)[-1] == ("server", "wrong")
    assert found[0] == installation()


def test_a_client_of_a_server_elsewhere_needs_no_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("MOTET_TOKEN", "motet_x")
    monkeypatch.delenv("MOTET_SERVER", raising=False)
    assert ("state folder", "warning") in verdicts(all_checks(None, None))
    subjects = [each.subject for each in all_checks("http://127.0.0.1:1", None)]
    monkeypatch.setenv("MOTET_SERVER", "http://127.0.0.1:1")
    assert [each.subject for each in all_checks(None, None)] == subjects
    assert subjects == ["installation", "server port"]
    assert ("state folder", "warning") in verdicts(all_checks(None, tmp_path / "absent"))


def checkup(*machines: dict[str, Any], refusal: str = "") -> dict[str, Any]:
    return {"head": "h:6379", "refusal": refusal, "versions": SERVER, "machines": [*machines]}


def told(name: str = "m1", **other: Any) -> dict[str, Any]:
    usual = {"version": "0.1.0", "python": "3.11.9", "ray": "2.60.0", "refusal": ""}
    return {"name": name, **usual, "clock_offset_s": 0.01, "clock_error_s": 0.002, **other}


def examined(*machines: dict[str, Any], refusal: str = "") -> list[tuple[str, str, str]]:
    present = [machine(each["name"], "UP") for each in machines]
    found = examined_findings(checkup(*machines, refusal=refusal), present)
    return [(each.subject, each.verdict, each.message) for each in found]


def test_machines_like_the_server_are_well() -> None:
    assert examined(told("m1"), told("m2", clock_offset_s=-0.02)) == [
        ("versions", "ok", "2 machines as the server: Motet 0.1.0, Python 3.11.2, Ray 2.60.0"),
        ("clocks", "ok", "2 machines within 22 ms of the server's clock"),
    ]


@pytest.mark.parametrize(
    ("other", "verdict", "words"),
    [
        ({"version": "0.0.9"}, "warning", "m1 has Motet 0.0.9 (the server 0.1.0); install"),
        ({"python": "3.12.1"}, "wrong", "m1 has Python 3.12 (the server 3.11); install"),
        ({"ray": "2.59.0"}, "wrong", "m1 has Ray 2.59.0 (the server 2.60.0); install"),
        ({"clock_offset_s": 9.0}, "wrong", "m1 is 9.0 s ahead of the server; synchronise"),
        ({"clock_offset_s": -1.5}, "wrong", "m1 is 1.5 s behind the server; synchronise"),
        ({"refusal": "does not see /state"}, "wrong", "m1 is not reached: does not see /state"),
    ],
)
def test_a_machine_that_differs_is_named_with_a_remedy(
    other: dict[str, Any], verdict: str, words: str
) -> None:
    found = [each for each in examined(told(**other), told("m2")) if each[1] != "ok"]
    assert [each[1] for each in found] == [verdict]
    assert found[0][2].startswith(words)


def test_a_clock_is_not_blamed_for_a_slow_measurement() -> None:
    assert all(each[1] == "ok" for each in examined(told(clock_offset_s=3.0, clock_error_s=2.5)))


def test_a_machine_that_has_told_nothing_is_named() -> None:
    (found, *_) = examined_findings(checkup(told("m2")), [machine("m1", "UP"), machine("m2", "UP")])
    assert (found.verdict, found.message[:24]) == ("warning", "m1 has told no versions ")
    gone = [machine("m1", "GONE"), machine("m2", "UP")]
    assert all(each.verdict == "ok" for each in examined_findings(checkup(told("m2")), gone))


def test_a_cluster_that_the_server_does_not_reach_is_wrong() -> None:
    assert examined(refusal="nothing listens at h:6379")[0][:2] == ("head", "wrong")


@pytest.mark.parametrize(
    ("expires_at", "verdict", "words"),
    [
        (None, "ok", "does not expire"),
        ("2026-12-31T08:00:00+00:00", "ok", "expires in 30 days"),
        ("2026-12-03T09:00:00+00:00", "warning", "expires in 2 days"),
    ],
)
def test_a_token_that_expires_soon_is_told(
    monkeypatch: pytest.MonkeyPatch, expires_at: str | None, verdict: str, words: str
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "x")
    me = {"user": "ann", "role": "user", "token": "5f"}
    tokens = [{"id": "5f", "expires_at": expires_at}, {"id": "6f", "expires_at": None}]
    found = token_finding(me, tokens, datetime(2026, 12, 1, 8, tzinfo=UTC))
    assert (found.verdict, found.message.split(";")[0].startswith("that of MOTET_TOKEN: ann")) == (
        verdict,
        True,
    )
    assert words in found.message
