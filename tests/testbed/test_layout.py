from __future__ import annotations

from motet.testbed.hosts import FRONT_HOST, MOST_MACHINES, Blueprint, Limits, equal_machines
from motet.testbed.layout import HostLayout

HOSTS = Blueprint("t", equal_machines(MOST_MACHINES, Limits())).hosts
RAY_SESSION = "session_2026-11-21_11-50-00_123456_1234567/sockets/plasma_store"


def test_no_two_hosts_share_a_name_or_an_address() -> None:
    layout = HostLayout("t")
    for name_of in (layout.label_of, layout.address_of, layout.port_of, layout.ray_folder_of):
        assert len({str(name_of(host)) for host in HOSTS}) == len(HOSTS)
    assert layout.switch not in map(layout.label_of, HOSTS)


def test_labels_of_two_testbeds_are_distinguished() -> None:
    mine, other = HostLayout("a"), HostLayout("ab")
    labels = [mine.switch, mine.label_of(FRONT_HOST), other.switch, "motet-a", "docker"]
    assert mine.ours(labels) == ["motet-a.front", "motet-a.switch"]
    assert other.ours(labels) == ["motet-ab.switch"]


def test_paths_of_rays_sockets_fit_a_socket_address() -> None:
    longest = HostLayout("a" * 12).ray_folder / RAY_SESSION
    assert len(str(longest)) < 107


def test_device_names_fit_the_kernels_limit() -> None:
    assert max(len(HostLayout("t").port_of(host)) for host in HOSTS) <= 15
