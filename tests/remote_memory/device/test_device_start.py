"""Settings of a device process, and its start where it must fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput, Unreachable
from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    start_device,
)
from motet.remote_memory.device.memory_folder import MemoryFolder, write_endpoint
from motet.transport import Endpoint, Request, Server
from nbd_client import READ, WRITE, NbdClient
from remote_memory_parts import PAGE, content


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    found = MemoryFolder(tmp_path / "memory")
    found.secret()
    return found


def started(backup: Path) -> StartedDevice:
    settings = DeviceSettings(DeviceGeometry(64 * PAGE, 16 * PAGE), backup, 5.0, 32 * PAGE)
    return StartedDevice(settings, (Endpoint("127.0.0.1", 9),))


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    started(tmp_path / "backup").write(tmp_path / "settings.json")
    assert StartedDevice.read(tmp_path / "settings.json") == started(tmp_path / "backup")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"size_bytes": 5}'])
def test_other_settings_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(BadInput, match="not the settings of a device"):
        StartedDevice.read(tmp_path / "settings.json")


def test_a_device_lives_until_it_is_ended(folder: MemoryFolder) -> None:
    place = folder.device("swap")
    start_device(folder, place, started(place.backup))
    with NbdClient(place.socket) as client:
        client.go(b"swap")
        client.call(WRITE, 0, data=content(1))
        assert client.call(READ, 0, PAGE) == (0, content(1))
        view = device_view(folder, place)
        assert (view.clients, view.written_pages, view.away) == (1, 1, ("127.0.0.1:9",))
    with pytest.raises(BadInput, match="device 'swap' of this user runs already"):
        start_device(folder, place, started(place.backup))
    end_device(folder, place)
    assert not place.backup.exists()
    with pytest.raises(Unreachable):
        device_view(folder, place)


def test_a_device_that_cannot_start_says_why_and_leaves_nothing(folder: MemoryFolder) -> None:
    place = folder.device("swap")
    with pytest.raises(BadInput, match="cannot open the backup file"):
        start_device(folder, place, started(folder.path / "none" / "backup"))
    assert folder.devices() == []


def test_a_device_that_ends_before_its_answer_is_sent_has_ended(folder: MemoryFolder) -> None:
    def ends(request: Request) -> None:
        request.disconnect()

    place = folder.device("d")
    place.path.mkdir(parents=True)
    with Server(ends, folder.secret()) as device:
        write_endpoint(place.endpoint, device.endpoint)
        end_device(folder, place)
    assert not place.endpoint.exists()
