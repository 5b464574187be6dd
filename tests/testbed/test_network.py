from __future__ import annotations

import json

from motet.testbed.hosts import Host, Limits
from motet.testbed.layout import HostLayout
from motet.testbed.network import (
    cut_ports,
    host_commands,
    limit_commands,
    link_command,
    removal_commands,
    switch_commands,
)

LAYOUT = HostLayout("t")
HOST = Host(3, "m3", Limits(bandwidth_bps=50_000_000))


def joined(*commands: object) -> list[str]:
    return [" ".join(map(str, command)) for command in commands]  # type: ignore[call-overload]


def test_the_bridge_has_its_own_namespace() -> None:
    assert joined(*switch_commands(LAYOUT)) == [
        "ip netns add motet-t.switch",
        "ip -n motet-t.switch link add bridge type bridge",
        "ip -n motet-t.switch link set bridge up",
    ]


def test_a_host_gets_one_device_whose_other_end_is_on_the_switch() -> None:
    assert joined(*host_commands(LAYOUT, HOST)) == [
        "ip netns add motet-t.3",
        "ip -n motet-t.switch link add m3 type veth peer name eth0 netns motet-t.3",
        "ip -n motet-t.switch link set m3 master bridge up",
        "ip -n motet-t.3 addr add 10.77.0.4/24 dev eth0",
        "ip -n motet-t.3 link set eth0 up",
        "ip -n motet-t.3 link set lo up",
    ]


def test_both_ends_of_a_link_have_its_bandwidth() -> None:
    bucket = "root tbf rate 50000000bit burst 32768b latency 400ms"
    assert joined(*limit_commands(LAYOUT, HOST)) == [
        f"tc -n motet-t.3 qdisc replace dev eth0 {bucket}",
        f"tc -n motet-t.switch qdisc replace dev m3 {bucket}",
    ]


def test_a_fast_link_has_a_larger_bucket_and_an_unlimited_one_none() -> None:
    fast = Host(3, "m3", Limits(bandwidth_bps=10**9))
    assert "burst 625000b" in joined(*limit_commands(LAYOUT, fast))[0]
    assert limit_commands(LAYOUT, Host(3, "m3")) == []


def test_a_host_is_cut_off_at_the_switch() -> None:
    cut, back = (link_command(LAYOUT, HOST, is_up=is_up) for is_up in (False, True))
    assert joined(cut, back) == [
        "ip -n motet-t.switch link set m3 down",
        "ip -n motet-t.switch link set m3 up",
    ]


def test_disconnected_ports_are_parsed_from_the_output_of_ip() -> None:
    answer = json.dumps(
        [
            {"ifname": "lo", "flags": ["LOOPBACK", "UP"]},
            {"ifname": "m0", "flags": ["BROADCAST", "UP", "LOWER_UP"]},
            {"ifname": "m1", "flags": ["BROADCAST"]},
        ]
    )
    assert cut_ports(answer) == {"m1"}
    assert cut_ports("") == frozenset()


def test_removing_the_namespaces_is_enough() -> None:
    assert joined(*removal_commands(["a", "b"])) == ["ip netns delete a", "ip netns delete b"]
