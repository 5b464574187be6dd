"""The memory that is left: of the tightest control group around the process, or of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.runtime.spilling.machine_memory import MachineMemory

MEGABYTE = 1 << 20


class Kernel:
    """The files of a kernel that has `total` and `available` MB."""

    def __init__(self, folder: Path, total: int, available: int) -> None:
        self.groups, self.own, self.memory = (
            folder / name for name in ("groups", "cgroup", "meminfo")
        )
        self.groups.mkdir()
        self.memory.write_text(
            f"MemTotal: {total * 1024} kB\nMemFree: 1 kB\nMemAvailable: {available * 1024} kB\n"
        )

    def group(self, path: str, limit: str, **fields: int) -> None:
        folder = self.groups / path
        folder.mkdir(parents=True, exist_ok=True)
        name = "memory.limit_in_bytes" if path.startswith("memory") else "memory.max"
        if limit:
            (folder / name).write_text(f"{limit}\n")
        lines = [f"{name} {value * MEGABYTE}" for name, value in fields.items()]
        (folder / "memory.stat").write_text("\n".join(["cache 99999999999", *lines]) + "\n")

    def state(self) -> tuple[int, int]:
        found = MachineMemory(self.groups, self.own, self.memory).state()
        return found.limit_bytes // MEGABYTE, found.free_bytes // MEGABYTE


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path, 1000, 600)


def test_without_groups_the_machine_counts(kernel: Kernel) -> None:
    kernel.own.write_text("7:cpu:/\n0::/\n")
    assert kernel.state() == (1000, 600)


def test_the_tightest_group_above_the_process_counts(kernel: Kernel) -> None:
    kernel.own.write_text("0::/jobs/job-1\n")
    kernel.group("", "")
    kernel.group("jobs", str(400 * MEGABYTE), anon=250, shmem=50, file=90)
    kernel.group("jobs/job-1", "max", anon=20)
    assert kernel.state() == (400, 100)
    kernel.group("jobs/job-1", str(50 * MEGABYTE), anon=20)
    assert kernel.state() == (50, 30)


def test_processes_of_the_tightest_group_share_its_limit(kernel: Kernel) -> None:
    kernel.own.write_text("0::/jobs/job-1\n")
    memory = MachineMemory(kernel.groups, kernel.own, kernel.memory)
    assert memory.limited_by() == (0, 0)
    kernel.group("", "")
    kernel.group("jobs", str(400 * MEGABYTE), anon=250)
    found = []
    for job in (1, 2):
        kernel.own.write_text(f"0::/jobs/job-{job}\n")
        kernel.group(f"jobs/job-{job}", "max", anon=20)
        found.append(MachineMemory(kernel.groups, kernel.own, kernel.memory).limited_by())
    assert (
        found[0]
        == found[1]
        == ((kernel.groups / "jobs").stat().st_dev, (kernel.groups / "jobs").stat().st_ino)
    )
    kernel.group("jobs/job-2", str(50 * MEGABYTE), anon=20)
    assert MachineMemory(kernel.groups, kernel.own, kernel.memory).limited_by() != found[0]


def test_the_first_version_of_the_interface_has_other_names(kernel: Kernel) -> None:
    kernel.own.write_text("8:pids:/x\n4:memory:/host\n0::/\n")
    kernel.group("memory", str(1 << 62), total_rss=700)
    kernel.group("memory/host", str(300 * MEGABYTE), total_rss=100, total_shmem=40, rss=1)
    assert kernel.state() == (300, 160)
    (kernel.groups / "memory/host/memory.kmem.usage_in_bytes").write_text(f"{20 * MEGABYTE}\n")
    assert kernel.state() == (300, 140)


def test_a_group_beyond_its_limit_has_nothing_left(kernel: Kernel) -> None:
    kernel.own.write_text("0::/job\n")
    kernel.group("job", str(100 * MEGABYTE), anon=140)
    assert kernel.state() == (100, 0)


def test_the_memory_of_this_process_can_be_read() -> None:
    state = MachineMemory().state()
    assert 0 < state.free_bytes <= state.limit_bytes
    assert state.major_faults >= 0


def test_a_look_at_the_memory_opens_no_file_again(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs look more than a hundred times per second."""
    kernel.own.write_text("0::/job\n")
    kernel.group("job", str(100 * MEGABYTE), anon=40)
    memory = MachineMemory(kernel.groups, kernel.own, kernel.memory)
    assert memory.state().free_bytes == 60 * MEGABYTE
    kernel.group("job", str(90 * MEGABYTE), anon=70)
    monkeypatch.setattr("os.open", None)
    monkeypatch.setattr(Path, "read_text", None)
    assert memory.state().free_bytes == 20 * MEGABYTE


def test_a_machine_without_a_figure_of_its_memory_is_an_error(kernel: Kernel) -> None:
    kernel.own.write_text("0::/\n")
    kernel.memory.write_text("MemTotal: 1024 kB\nMemAvailable2: 1 kB\n")
    with pytest.raises(KeyError, match="MemAvailable"):
        MachineMemory(kernel.groups, kernel.own, kernel.memory).state()
