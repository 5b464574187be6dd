"""A program that runs for given seconds in all: preempted, it continues where it stopped.

It records the CPU time of each of its attempts, and of the process that started it, which has one
thread, in the folder of its checkpoints. Clock ticks (10 ms) would be too coarse: an attempt needs
few of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = """
import os, signal, sys, time
folder, rank = os.environ["MOTET_CHECKPOINT_DIR"], os.environ["RANK"]
os.makedirs(folder, exist_ok=True)
path = folder + "/ran-" + rank
ran = float(open(path).read()) if os.path.exists(path) else 0.0
began = time.monotonic()

def parent_cpu_s():
    return int(open("/proc/%d/schedstat" % os.getppid()).read().split()[0]) / 1e9

def record():
    with open(folder + "/used-" + rank, "a") as file:
        file.write("%f %f\\n" % (time.process_time() + parent_cpu_s(), time.monotonic() - began))

def stop(number, frame):
    with open(path, "w") as file:
        file.write(str(ran + time.monotonic() - began))
    record()
    os._exit(0)

signal.signal(signal.SIGTERM, stop)
time.sleep(max(0.0, float(sys.argv[1]) - ran))
record()
"""


@dataclass(frozen=True)
class Usage:
    """CPU seconds, and seconds on the clock."""

    cpu_s: float
    ran_s: float

    @property
    def share(self) -> float:
        """Of one core."""
        return self.cpu_s / self.ran_s


@dataclass(frozen=True)
class JobUsage:
    """`processes`: of one job, each with all of its attempts."""

    processes: Sequence[Usage]

    @property
    def cpu_s(self) -> float:
        """Of all processes."""
        return sum(each.cpu_s for each in self.processes)

    @property
    def share(self) -> float:
        """Of one core, for each process: their CPU time over the time that they ran, added up."""
        return self.cpu_s / sum(each.ran_s for each in self.processes)

    @property
    def cores(self) -> float:
        """All of its processes together: their CPU time over the time that the job ran."""
        return self.cpu_s / max(each.ran_s for each in self.processes)


def recorded_usage(folder: Path) -> list[JobUsage]:
    """Of all jobs with the program whose folders of checkpoints are below a folder."""
    found = defaultdict[Path, list[Usage]](list)
    for path in sorted(folder.rglob("used-*")):
        lines = path.read_text().splitlines()
        attempts = [[float(word) for word in line.split()] for line in lines]
        cpu_s, ran_s = (sum(column) for column in zip(*attempts, strict=True))
        found[path.parent].append(Usage(cpu_s, ran_s))
    return [JobUsage(each) for each in found.values()]
