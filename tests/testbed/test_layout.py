from __future__ import annotations

from motet.testbed.hosts import FRONT_HOST, MOST_MACHINES, Blueprint, Limits, equal_machines
from motet.testbed.layout import Layout

HOSTS = Blueprint("t", equal_machines(MOST_MACHINES, Limits())).hosts
RAY_SESSION = "session_2026-11-21_11-50-00_123456_1234567/sockets/plasma_store"


def test_no_two_hosts_share_a_name_or_an_address() -> None:
    layout = Layout("t")
    for name_of in (layout.label_of, layout.address_of, layout.port_of, layout.ray_folder_of):
        assert len({str(name_of(host)) for host in HOSTS}) == len(HOSTS)
    assert layout.switch not in map(layout.label_of, HOSTS)


def test_what_belongs_to_a_testbed_is_told_from_what_belongs_to_another() -> None:
    mine, other = Layout("a"), Layout("ab")
    labels = [mine.switch, mine.label_of(FRONT_HOST), other.switch, "motet-a", "docker"]
    assert mine.ours(labels) == ["motet-a.front", "motet-a.switch"]
    assert other.ours(labels) == ["motet-ab.switch"]


def test_rays_sockets_have_paths_that_a_socket_can_have() -> None:
    longest = Layout("a" * 12).ray_folder / RAY_SESSION
    assert len(str(longest)) < 107


def test_a_device_has_a_name_that_a_device_can_have() -> None:
    assert max(len(Layout("t").port_of(host)) for host in HOSTS) <= 15
