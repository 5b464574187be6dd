"""A program that runs for given seconds in all: preempted, it continues where it stopped.

It records the CPU time of each of its attempts, of its shepherd, and of the spawner that has forked
this, all of which have one thread, in the folder of its checkpoints. Clock ticks (10 ms) would be
too coarse: an attempt needs less than one of them. Bash starts in a fifth of the time of Python,
and waits without another process: for a datagram, which never comes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from motet.domain.units import SECOND_US
from motet.live.spawner import NAME

_NAME = "@spawner"
PROGRAM = """
LC_ALL=C  # So that the fraction of a second follows a point.
folder=$MOTET_CHECKPOINT_DIR
[[ -d $folder ]] || mkdir -p "$folder"
path=$folder/ran-$RANK ran=0
[[ -e $path ]] && read -r ran < "$path"
began=${EPOCHREALTIME/./}

record() {
    read -r stat < /proc/$PPID/stat && stat=(${stat##*) }) && spawner=${stat[1]}
    read -r name < /proc/$spawner/comm && [[ $name == @spawner ]] || exit 1
    read -r own _ < /proc/$$/schedstat
    read -r shepherd _ < /proc/$PPID/schedstat
    read -r forks _ < /proc/$spawner/schedstat
    read -r stat < /proc/$spawner/stat && stat=(${stat##*) })
    words="$((own + shepherd)) $((${EPOCHREALTIME/./} - began)) $spawner.${stat[19]} $forks"
    echo "$words" >> "$folder/used-$RANK"
}

stop() {
    echo $((ran + ${EPOCHREALTIME/./} - began)) > "$path"
    record
    exit 0
}

trap stop TERM
exec 3<> /dev/udp/127.0.0.1/9
left=$(($1 - ran))
if ((left > 0)); then
    printf -v left '%d.%06d' $((left / 1000000)) $((left % 1000000))
    read -r -t $left -u 3
fi
trap '' TERM
record
""".replace(_NAME, NAME)


def resumable_command(run_s: float) -> list[str]:
    """What runs for so many seconds in all."""
    return ["/bin/bash", "-c", PROGRAM, "bash", str(round(run_s * SECOND_US))]


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


class _Attempt(NamedTuple):
    """Of one process, as the program records it. `spawner_ns`: in all, at that time."""

    cpu_ns: int
    ran_us: int
    spawner: str
    spawner_ns: int

    @classmethod
    def all_of(cls, path: Path) -> Iterator[_Attempt]:
        for line in path.read_text().splitlines():
            cpu_ns, ran_us, spawner, spawner_ns = line.split()
            yield cls(int(cpu_ns), int(ran_us), spawner, int(spawner_ns))


def recorded_usage(folder: Path) -> list[JobUsage]:
    """Of all jobs with the program whose folders of checkpoints are below a folder.

    The attempts of a spawner have equal shares of its CPU time, that of its start included.
    """
    found = {path: [*_Attempt.all_of(path)] for path in sorted(folder.rglob("used-*"))}
    attempts = [each for process in found.values() for each in process]
    forked, spent_ns = Counter(each.spawner for each in attempts), Counter[str]()
    for each in attempts:
        spent_ns[each.spawner] = max(spent_ns[each.spawner], each.spawner_ns)
    jobs = defaultdict[Path, list[Usage]](list)
    for path, process in found.items():
        cpu_ns = sum(it.cpu_ns + spent_ns[it.spawner] / forked[it.spawner] for it in process)
        ran_us = sum(it.ran_us for it in process)
        jobs[path.parent].append(Usage(cpu_ns / 1e9, ran_us / SECOND_US))
    return [JobUsage(each) for each in jobs.values()]
