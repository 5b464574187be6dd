"""A program that runs for given seconds in all: preempted, it continues where it stopped.

It records the CPU time of each of its attempts, and of the process that started it, in the folder
of its checkpoints.
"""

from __future__ import annotations

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
    words = open("/proc/%d/stat" % os.getppid()).read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

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
    """CPU seconds and seconds on the clock of one process of one job, all attempts together."""

    cpu_s: float
    ran_s: float

    @property
    def share(self) -> float:
        """Of one core."""
        return self.cpu_s / self.ran_s


def recorded_usage(folder: Path) -> list[Usage]:
    """Of all processes of the program whose checkpoints lie below a folder."""
    found = []
    for path in folder.rglob("used-*"):
        lines = path.read_text().splitlines()
        attempts = [[float(word) for word in line.split()] for line in lines]
        cpu_s, ran_s = (sum(column) for column in zip(*attempts, strict=True))
        found.append(Usage(cpu_s, ran_s))
    return found
