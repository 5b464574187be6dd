"""NumPy programs with 100, 75 and 50 % of their data in memory: remote memory against disks.

    python benchmarks/remote_memory_arrays.py [--mb 96] [--passes 3] [--dir .]

The data are in a `motet.RemoteBuffer`. What is not in memory is at a lender on this machine (with
the backup on the throttled disk), on that disk alone, or on the disk of --dir alone. Prints
seconds per pass over all data (median), and how often each disk can be read, measured in this run.
Takes three minutes; the results are in results/remote_memory_arrays.json. Needs Linux, root, fio
and control groups of version 1 (for the throttle).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import motet
from motet.domain.arrays import Array
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memory_processes import LenderProcess, lender_processes, load
from support.throttled_disk import Disk, is_measurable, throttled_disk

SLAB = 16 << 20
SHARES = (100, 75, 50)
COLUMNS = 64
BATCH_ROWS = 4096
EDGES_PER_BLOCK = 1 << 18
FILLS = 4
TITLE = (
    "NumPy programs whose data are at a lender (measured) or on a limited disk (peer): seconds per "
    "pass, and how many times as fast"
)
Pass = Callable[[motet.RemoteBuffer], object]


def regression(rows: motet.RemoteBuffer) -> Array:
    """One epoch of gradient descent, with mini-batches in the order of the data."""
    weights = np.zeros(COLUMNS - 1, np.float32)
    for block in rows.blocks(BATCH_ROWS):
        inputs, targets = block[:, 1:], block[:, 0]
        weights -= 1e-3 / len(block) * (inputs.T @ (inputs @ weights - targets))
    return weights


def shuffled(rows: motet.RemoteBuffer) -> Array:
    """One epoch with mini-batches in random order."""
    weights = np.zeros(COLUMNS - 1, np.float32)
    starts = np.arange(0, len(rows), BATCH_ROWS)
    np.random.default_rng().shuffle(starts)
    for start in starts.tolist():
        block = rows[start : start + BATCH_ROWS]
        inputs, targets = block[:, 1:], block[:, 0]
        weights -= 1e-3 / len(block) * (inputs.T @ (inputs @ weights - targets))
    return weights


def page_rank(edges: motet.RemoteBuffer) -> Array:
    """One iteration; ranks and degrees are in memory, the edges are not."""
    vertices = len(edges) // 16
    ranks, shares = np.full(vertices, 1 / vertices), np.zeros(vertices)
    for block in edges.blocks(EDGES_PER_BLOCK):
        shares += np.bincount(block[:, 1], ranks[block[:, 0]] / 16, vertices)
    return 0.15 / vertices + 0.85 * shares


def fill_rows(start: int, count: int) -> Array:
    """Random numbers."""
    return np.random.default_rng(start).random((count, COLUMNS), np.float32)


def fill_edges(start: int, count: int, vertices: int) -> Array:
    """Sources in order, destinations as skewed as those of a social network."""
    rng = np.random.default_rng(start)
    found = np.empty((count, 2), np.int32)
    found[:, 0] = (np.arange(start, start + count) // 16) % vertices
    found[:, 1] = (rng.random(count) ** 4 * vertices).astype(np.int32)
    return found


@contextmanager
def filled(
    shape: tuple[int, int],
    dtype: str,
    share: int,
    lenders: list[LenderProcess],
    secret: Path,
    disk: Disk,
) -> Iterator[motet.RemoteBuffer]:
    """A buffer with its data; with a lender, until it has what does not fit into memory."""
    nbytes = shape[0] * shape[1] * 4
    with motet.RemoteBuffer(
        shape,
        dtype,
        memory=nbytes * share // 100 + (8 << 20 if share == 100 else 0),
        lenders=[each.address for each in lenders],
        secret_file=secret,
        backup_dir=disk.path,
        slab=SLAB,
    ) as buffer:
        step = 1 << 16
        for _ in range(FILLS if lenders else 1):
            for start in range(0, len(buffer), step):
                count = min(step, len(buffer) - start)
                buffer[start : start + count] = (
                    fill_edges(start, count, len(buffer) // 16)
                    if dtype == "int32"
                    else fill_rows(start, count)
                )
            buffer.flush()
            if buffer.statistics["remote_pages"] * 4096 >= nbytes:
                break
            time.sleep(1.5)  # Busy slabs get their lender once a second.
        yield buffer


def seconds(run: Pass, buffer: motet.RemoteBuffer, passes: int) -> float:
    """The median."""
    run(buffer)
    found = []
    for _ in range(passes):
        began_s = time.perf_counter()
        run(buffer)
        found.append(time.perf_counter() - began_s)
    return statistics.median(found)


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=96)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=Path())
    given = parser.parse_args()
    if not is_measurable():
        return
    nbytes = given.mb << 20
    rows, edges = (nbytes // COLUMNS // 4, COLUMNS), (nbytes // 8, 2)
    programs: list[tuple[str, Pass, tuple[int, int], str]] = [
        ("regression, in order", regression, rows, "float32"),
        ("regression, shuffled", shuffled, rows, "float32"),
        ("PageRank", page_rank, edges, "int32"),
    ]
    with (
        tempfile.TemporaryDirectory(dir=given.dir) as name,
        throttled_disk(Path(name), nbytes + (256 << 20)) as slow,
        lender_processes(Path(name), 1, nbytes + 2 * SLAB, SLAB) as lenders,
    ):
        here = Disk("this disk", Path(name))
        secret = Path(name) / "secret" / "secret"
        print(f"{given.mb} MB; {load()}")
        figures = list[Figure]()
        for disk in (slow, here):
            iops = disk.iops()
            print(f"{disk.name}: {iops:,.0f} random reads of 4 KiB per second")
            figures.append(Figure(f"reads per second: {disk.name}", f"{iops:,.0f}"))
        print(f"{'seconds per pass':24}{'share':>7}{'remote':>10}{slow.name:>18}{here.name:>12}")
        for title, run, shape, dtype in programs:
            for share in SHARES:
                cells = []
                for found, disk in ((lenders, slow), ([], slow), ([], here)):
                    with filled(shape, dtype, share, found, secret, disk) as buffer:
                        cells.append(seconds(run, buffer, given.passes))
                print(
                    f"{title:24}{share:>5} %{cells[0]:>10.2f}{cells[1]:>18.2f}{cells[2]:>12.2f}",
                    flush=True,
                )
                figures += _figures(f"{title}, {share} %", cells, 1.0 if share < 100 else None)
    report("remote_memory_arrays", TITLE, figures, plot=False)


def _figures(name: str, cells: list[float], aim: float | None) -> list[Figure]:
    """Seconds per pass; the peer is the throttled disk."""
    remote, slow, here = cells
    limited = f"{slow:.3g} s"
    return [
        Figure(f"remote: {name}", f"{remote:.3g} s", limited, round(slow / remote, 3), aim),
        Figure(f"this disk: {name}", f"{here:.3g} s", limited, round(slow / here, 3)),
    ]


if __name__ == "__main__":
    main()
