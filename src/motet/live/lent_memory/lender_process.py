"""The lender of one machine of a live cluster: `python -m motet.live.lent_memory.lender_process`.

It takes its terms from the server, and goes on lending while there is none.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from motet.domain.errors import MotetError
from motet.live.lent_memory.process_memory import used_by_processes
from motet.remote_memory.core.head_room import HEAD_ROOM_SHARE, PoolLimits
from motet.remote_memory.device.memory_folder import write_endpoint
from motet.remote_memory.lender.cluster_terms import ClusterTerms
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.runtime.spilling.machine_memory import MachineMemory
from motet.transport import read_secret, use_short_switch_interval


def run_lender(arguments: list[str] | None = None) -> int:
    """Lend until SIGTERM; the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    use_short_switch_interval()
    try:
        secret = read_secret(options.secret_file)
        terms = ClusterTerms(secret, used_by_processes)
        machine = MachineMemory()
        settings = _settings(options, machine.state().limit_bytes)
        count = options.of_machines
        with Lender(settings, secret, lambda: machine.state().free_bytes // count, terms) as lender:
            write_endpoint(options.endpoint_file, lender.endpoint)
            ended.wait()
    except MotetError as error:
        print(error, file=sys.stderr)  # noqa: T201 - for the log of the process
        return int(error.exit_code)
    return 0


def _settings(options: argparse.Namespace, machine_bytes: int) -> LenderSettings:
    total_bytes = machine_bytes // options.of_machines
    head_room = options.head_room
    limits = PoolLimits(
        total_bytes,
        round(total_bytes * HEAD_ROOM_SHARE) if head_room is None else head_room,
        options.slab,
        (options.most or total_bytes) // options.slab,
    )
    quota = None if options.quota is None else options.quota // options.slab
    return LenderSettings(limits, quota, host=options.host, port=options.port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="motet.live.lent_memory", description=__doc__)
    parser.add_argument("--secret-file", type=Path, required=True)
    parser.add_argument("--endpoint-file", type=Path, required=True)
    parser.add_argument("--host", default=os.environ.get("MOTET_NODE_ADDRESS", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--slab", type=int, required=True, help="bytes")
    parser.add_argument("--most", type=int, help="bytes")
    parser.add_argument("--head-room", type=int, help="bytes")
    parser.add_argument("--quota", type=int, help="bytes of each job")
    parser.add_argument(
        "--of-machines", type=int, default=1, help="lenders that share the memory of this machine"
    )
    return parser


if __name__ == "__main__":
    sys.exit(run_lender())
