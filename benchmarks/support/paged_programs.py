"""Unmodified programs in a group with little memory: Redis, memcached and PostgreSQL."""

from __future__ import annotations

import csv
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support.memcached_load import ETC, SYS, Measured, MemcachedLoad, Mix
from support.swap_space import MemoryGroup

_REDIS_VALUE = 1024
_PG_BYTES_PER_SCALE = 16 << 20
_START_S = 60.0
_PG_TRIES = 20
Run = Callable[[float], Measured]


@dataclass(frozen=True)
class PagedProgram:
    """`start`: fills it with about so many bytes, and gives a load for some seconds."""

    name: str
    start: Callable[[MemoryGroup, Path, int], AbstractContextManager[Run]]


@contextmanager
def redis(group: MemoryGroup, folder: Path, nbytes: int) -> Iterator[Run]:
    """GET of keys that are all equally popular, by 8 clients of redis-benchmark."""
    path = folder / "redis.sock"
    keys = nbytes // (_REDIS_VALUE + 100)
    server = group.start(
        [
            *("redis-server", "--port", "0", "--unixsocket", path, "--save", ""),
            *("--appendonly", "no", "--dir", folder),
        ]
    )
    load = ["redis-benchmark", "-s", str(path), "-r", str(keys), "-d", str(_REDIS_VALUE)]

    def run(seconds: float) -> Measured:
        """About so long: the number of requests is what a short run shows."""
        ops_s = _redis_gets(load, 500).ops_s
        for _ in range(2):
            found = _redis_gets(load, max(round(ops_s * seconds / 2), 500))
            ops_s = found.ops_s
        return found

    try:
        until_connected(path)
        fill = [*load, "-t", "set", "-n", str(3 * keys), "-P", "32", "-q"]
        subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
        yield run
    finally:
        server.kill()
        server.wait()
        path.unlink(missing_ok=True)


def _redis_gets(load: list[str], count: int) -> Measured:
    done = subprocess.run(
        [*load, "-t", "get", "-n", str(count), "-c", "8", "--csv"],
        check=True,
        capture_output=True,
        text=True,
    )
    *_, row = csv.DictReader(done.stdout.splitlines())
    return Measured(
        float(row["rps"]), 1e3 * float(row["p50_latency_ms"]), 1e3 * float(row["p99_latency_ms"])
    )


@contextmanager
def memcached(mix: Mix, group: MemoryGroup, folder: Path, nbytes: int) -> Iterator[Run]:
    """One of the chapter's mixes, by four clients that wait for each answer."""
    path = folder / "memcached.sock"
    server = group.start(["memcached", "-u", "root", "-s", path, "-m", "4096", "-t", "2"])
    load = MemcachedLoad(path, mix, round(nbytes / mix.bytes_per_item()))
    try:
        until_connected(path)
        load.fill()
        yield load.run
    finally:
        server.kill()
        server.wait()
        path.unlink(missing_ok=True)


@contextmanager
def postgresql(group: MemoryGroup, folder: Path, nbytes: int) -> Iterator[Run]:
    """pgbench -S: rows of equally popular accounts, by 4 clients. All tables are in the shared
    buffers, which are paged out like other memory."""
    programs = _pg_folders()[-1]
    data = folder / "postgresql"
    user = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/"}
    data.mkdir()
    shutil.chown(data, "postgres", "postgres")
    init = [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "-N"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL, **user)  # type: ignore[call-overload]
    runuser = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
    server = group.start(
        [
            *(*runuser, programs / "postgres", "-D", data, "-k", data, "-c", "listen_addresses="),
            *("-c", f"shared_buffers={round(nbytes * 1.2) >> 20}MB", "-c", "autovacuum=off"),
        ],
        cwd="/",
        stderr=subprocess.DEVNULL,
    )
    warm = [programs / "psql", "-h", data, "-U", "postgres", "-q"]
    bench = [programs / "pgbench", "-h", data, "-U", "postgres", "postgres"]

    def run(seconds: float) -> Measured:
        words = ["-S", "-M", "prepared", "-n", "-c", "4", "-j", "1", "-T", str(round(seconds))]
        log = folder / "pgbench"
        command = [*bench[:-1], *words, "-l", f"--log-prefix={log}", bench[-1]]
        # A group that is short of memory gets none for the processes of new connections.
        for _ in range(_PG_TRIES):
            for part in folder.glob("pgbench.*"):
                part.unlink()
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if not done.returncode:
                break
            time.sleep(0.2)
        else:
            raise SystemExit(f"pgbench: status {done.returncode}: {done.stderr}")
        times: list[float] = []
        for part in folder.glob("pgbench.*"):
            times += [float(line.split()[2]) for line in part.read_text().splitlines()]
            part.unlink()
        times.sort()
        return Measured(len(times) / seconds, times[len(times) // 2], times[len(times) * 99 // 100])

    try:
        until_connected(data / ".s.PGSQL.5432")
        while subprocess.run(
            [*warm, "-c", "SELECT 1"], check=False, capture_output=True
        ).returncode:
            time.sleep(0.1)  # It still starts up.
        scale = max(nbytes // _PG_BYTES_PER_SCALE, 1)
        fill = [*bench[:-1], "-i", "-q", "-s", str(scale), bench[-1]]
        subprocess.run(fill, check=True, capture_output=True)
        tables = "SELECT pg_prewarm(c::regclass) FROM unnest(ARRAY['pgbench_accounts', "
        tables += "'pgbench_accounts_pkey']) c"
        subprocess.run(
            [*warm, "-c", "CREATE EXTENSION pg_prewarm", "-c", tables],
            check=True,
            capture_output=True,
        )
        yield run
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(data)


def _pg_folders() -> list[Path]:
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def until_connected(path: Path) -> None:
    """Wait for a server at a Unix socket."""
    until_s = time.monotonic() + _START_S
    while True:
        with socket.socket(socket.AF_UNIX) as sock:
            try:
                sock.connect(str(path))
            except OSError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.05)
            else:
                return


PROGRAMS = (
    PagedProgram("Redis, GET", redis),
    PagedProgram("memcached, ETC", partial(memcached, ETC)),
    PagedProgram("memcached, SYS", partial(memcached, SYS)),
    PagedProgram("PostgreSQL, pgbench -S", postgresql),
)
