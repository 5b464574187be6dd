"""Remote memory beside a remote nbdkit over TCP, as the paper's nbdX: bandwidth, and CPU time of
the lending machine per byte.

    python benchmarks/remote_memory_beside_nbdkit.py [--seconds 2] [--repeat 3]

On two hosts of a testbed: fio and the device on one, the lender and nbdkit on the other; what
leaves a host is encrypted by Motet and not by nbdkit. Then on one machine, where Motet uses shared
memory. The backup is in /dev/shm, because nbdkit has none. Prints the best of the repetitions,
within four minutes; they are in results/remote_memory_beside_nbdkit.json. Needs Linux, root, fio
and nbdkit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from motet.testbed.hosts import Blueprint, Limits, equal_machines
from motet.testbed.layout import HostLayout
from motet.testbed.machine import require_testbed_machine
from motet.testbed.testbed import Testbed
from support.block_load import transfer
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memory_figures import REPEAT
from support.memory_processes import device_process, lender_processes, load
from support.throttled_disk import is_measurable

SIZE, SLAB = 256 << 20, 64 << 20
PORT = 10809
CASES = {
    "read: 4K, random, depth 32": ("4k", "randread", 32),
    "write: 4K, random, depth 32": ("4k", "randwrite", 32),
    "read: 128K, random, depth 8": ("128k", "randread", 8),
    "write: 128K, random, depth 8": ("128k", "randwrite", 8),
    "read: 128K, depth 32": ("128k", "read", 32),
    "write: 128K, depth 32": ("128k", "write", 32),
}
TITLE = (
    "Remote memory over TCP (measured) beside nbdkit over TCP (peer), bandwidth between two hosts "
    "of a testbed, and CPU time of the lending process"
)
RATES = "rates.json"
BORROWER, LENDER = "m0", "m1"


def measure(folder: Path, lender: str, lender_pid: int, host: str, nbdkit_pid: int) -> None:
    """Both, one after the other, on the host of the borrower; prints the table."""
    given = _arguments()
    with device_process(folder, SIZE, SLAB, [lender], folder / "backup") as device:
        while device.view().remote_pages * 4096 < SIZE:  # Every page is written, and at the lender.
            transfer(device.uri, "1m", "write", 4, None, SIZE)
        nbdkit = f"nbd://{host}:{PORT}"
        transfer(nbdkit, "1m", "write", 4, None, SIZE)
        served = {"nbdkit": (nbdkit, nbdkit_pid), "Motet": (device.uri, lender_pid)}
        found = {}
        for case, pattern in CASES.items():
            best = dict.fromkeys(served, (0.0, 0.0))
            for _ in range(given.repeat):
                for name, (uri, process) in served.items():
                    measured = _measured(uri, process, pattern, given.seconds)
                    best[name] = max(best[name], measured)
            (theirs, their_cpu), (ours, our_cpu) = best["nbdkit"], best["Motet"]
            print(
                f"{case:30}{theirs:>9,.0f} MB/s{their_cpu:>8.0f} us/MiB"
                f"{ours:>9,.0f} MB/s{our_cpu:>8.0f} us/MiB{ours / theirs:>8.2f}",
                flush=True,
            )
            found[case] = best
    (folder / RATES).write_text(json.dumps(found), encoding="utf-8")


def _figures(folder: Path, place: str) -> list[Figure]:
    """What `measure` left there."""
    found = json.loads((folder / RATES).read_text(encoding="utf-8"))
    return [
        Figure(
            f"{place}{case}",
            f"{best['Motet'][0]:,.0f} MB/s, {best['Motet'][1] / 1e3:.2f} ms/MiB",
            f"{best['nbdkit'][0]:,.0f} MB/s, {best['nbdkit'][1] / 1e3:.2f} ms/MiB",
            round(best["Motet"][0] / best["nbdkit"][0], 3),
            1.0 if "128K" in case else None,
        )
        for case, best in found.items()
    ]


def _measured(
    uri: str, process: int, case: tuple[str, str, int], seconds: float
) -> tuple[float, float]:
    """MB/s, and CPU microseconds of the lending process per MiB."""
    lending = psutil.Process(process)
    before_s = sum(lending.cpu_times()[:2])
    found = transfer(uri, *case, seconds, SIZE)
    cpu_s = sum(lending.cpu_times()[:2]) - before_s
    return found.bytes_s / 1e6, 1e6 * cpu_s / (found.bytes / (1 << 20))


@contextmanager
def nbdkit_process(
    host: str, entering: Callable[[Sequence[str]], Sequence[str]] = list
) -> Iterator[int]:
    """Its process id. `entering`: the command that executes a command on its host."""
    command = ["nbdkit", "-f", "-i", host, "-p", str(PORT), "memory", str(SIZE)]
    process = subprocess.Popen(entering(command))
    time.sleep(1.0)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def on_hosts() -> list[Figure]:
    """The borrower's part is this script again, on its host."""
    bed = Testbed(HostLayout(f"nbd{os.getpid() % 10**6}"), require_testbed_machine())
    bed.up(Blueprint(bed.layout.name, equal_machines(2, Limits()), with_ray=False))
    try:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
            host = "10.77.0.2"
            with (
                lender_processes(
                    *(Path(name), 1, SIZE, SLAB, "--host", host),
                    entering=lambda _, command: bed.entering(LENDER, command)[0],
                ) as (lender,),
                nbdkit_process(host, lambda command: bed.entering(LENDER, command)[0]) as nbdkit,
            ):
                words = [name, lender.address, str(lender.process.pid), host, str(nbdkit)]
                script = [sys.executable, __file__, *sys.argv[1:], "--inside", *words]
                subprocess.run(bed.entering(BORROWER, script)[0], check=True)
            return _figures(Path(name), "")
    finally:
        bed.down()


def on_this_machine() -> list[Figure]:
    """The same over the loopback address, and shared memory."""
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as name,
        lender_processes(Path(name), 1, SIZE, SLAB) as (lender,),
        nbdkit_process("127.0.0.1") as nbdkit,
    ):
        measure(Path(name), lender.address, lender.process.pid, "127.0.0.1", nbdkit)
        return _figures(Path(name), "one machine: ")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--inside", nargs=5, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    inside = _arguments().inside
    if inside:
        folder, lender, lender_pid, host, nbdkit_pid = inside
        measure(Path(folder), lender, int(lender_pid), host, int(nbdkit_pid))
        return
    if not is_measurable("nbdkit"):
        return
    print(f"{'':30}{'nbdkit':>23}{'Motet':>22}{'ratio':>15}")
    print(f"two hosts; {load()}", flush=True)
    figures = on_hosts()
    print(f"one machine; {load()}", flush=True)
    figures += on_this_machine()
    report("remote_memory_beside_nbdkit", TITLE, figures, plot=False)


if __name__ == "__main__":
    main()
