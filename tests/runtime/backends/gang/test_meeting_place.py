"""How the members of a gang find its controller, and how they learn that the gang has ended."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.runtime.backends.gang.meeting_place import ControllerAddress, MeetingPlace
from motet.transport import Endpoint, new_secret

ADDRESS = ControllerAddress(Endpoint("127.0.0.1", 4242), new_secret())


def test_members_that_come_first_wait_for_the_controller(tmp_path: Path) -> None:
    found: list[ControllerAddress | None] = []
    folder = tmp_path / "gang"
    early = threading.Thread(target=lambda: found.append(MeetingPlace(folder).await_controller()))
    early.start()
    MeetingPlace(folder).open(ADDRESS)
    early.join(timeout=60)
    assert [*found, MeetingPlace(folder).await_controller()] == [ADDRESS, ADDRESS]


def test_folder_and_secret_are_for_one_user(tmp_path: Path) -> None:
    folder = tmp_path / "gang"
    MeetingPlace(folder).open(ADDRESS)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    (folder / "secret").chmod(0o644)
    with pytest.raises(BadInput, match="lets other users read the secret"):
        MeetingPlace(folder).await_controller()


def test_a_folder_has_one_controller(tmp_path: Path) -> None:
    MeetingPlace(tmp_path).open(ADDRESS)
    with pytest.raises(BadInput, match="secret"):
        MeetingPlace(tmp_path).open(ADDRESS)


def test_the_end_removes_the_secret_and_sends_members_away(tmp_path: Path) -> None:
    place = MeetingPlace(tmp_path)
    place.open(ADDRESS)
    place.close()
    assert not (tmp_path / "secret").exists()
    assert place.await_controller() is None
