from __future__ import annotations

import subprocess
from pathlib import Path

from motet.testbed.commands import drain_ray, entering, environment, node_in, start_ray
from motet.testbed.hosts import FRONT_HOST, Host
from motet.testbed.layout import HostLayout

LAYOUT = HostLayout("t")
HOST = Host(0, "m0")


def test_a_process_joins_its_groups_before_it_enters_the_host() -> None:
    shell, flag, script = entering(LAYOUT, HOST, [Path("/a b/procs")], ["echo", "it's"])
    assert (shell, flag) == ("sh", "-c")
    assert script.startswith("echo $$ > '/a b/procs' && exec ip netns exec motet-t.0 sh -c ")
    assert script.endswith("""sh /run/motet/t/ray.m0 /run/motet/t/ray echo 'it'"'"'s'""")


def test_a_process_that_cannot_join_its_group_does_not_run(tmp_path: Path) -> None:
    missing = tmp_path / "gone" / "cgroup.procs"
    command = entering(LAYOUT, HOST, [missing], ["touch", str(tmp_path / "ran")])
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
    assert not (tmp_path / "ran").exists()


def test_the_environment_names_the_ray_of_this_testbed_only() -> None:
    inherited = {"HOME": "/root", "RAY_ADDRESS": "elsewhere:1", "RAY_AUTH_TOKEN": "foreign"}
    made = environment(LAYOUT, inherited)
    assert made["HOME"] == "/root"
    assert made["MOTET_ADDRESS"] == "10.77.0.254:6379"
    assert made["RAY_AUTH_TOKEN_PATH"] == "/run/motet/t/token"
    assert made.keys().isdisjoint({"RAY_ADDRESS", "RAY_AUTH_TOKEN"})


def test_the_front_is_the_head_without_cpus() -> None:
    head, node = start_ray(LAYOUT, FRONT_HOST, 10**8), start_ray(LAYOUT, HOST, 10**8)
    assert {"--head", "--num-cpus=0", "--node-ip-address=10.77.0.254"} <= set(head)
    assert {"--address=10.77.0.254:6379", "--node-ip-address=10.77.0.1"} <= set(node)
    assert "--head" not in node
    assert "--labels=motet-kind=machine" in node


def test_no_process_of_ray_runs_without_use() -> None:
    head, node = start_ray(LAYOUT, FRONT_HOST, 10**8), start_ray(LAYOUT, HOST, 10**8)
    assert {"--include-dashboard=false", "--no-monitor", "--include-log-monitor=false"} <= set(head)
    assert "--include-log-monitor=false" in node


def test_a_label_has_no_dash_at_its_end() -> None:
    assert "--labels=motet-kind=old" in start_ray(LAYOUT, Host(0, "old--0", kind="old-"), 10**8)


def test_a_node_id_is_parsed_from_the_command_line_of_its_raylet() -> None:
    assert node_in(["/ray/raylet", "--node_name=m0", "--node_id=00ff", "--x=--node_id=1"]) == "00ff"
    assert node_in(["/ray/raylet"]) is None


def test_a_drain_uses_rays_own_command() -> None:
    command = drain_ray(LAYOUT, "00ff", 30)
    assert {"drain-node", "--node-id=00ff", "--deadline-remaining-seconds=30"} <= set(command)
