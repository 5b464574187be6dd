"""The process of one Aggregator: `python -m motet.aggregation.aggregator --secret-file FILE`."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import threading
from pathlib import Path

from motet.domain.errors import BadInput, MotetError
from motet.transport import read_secret

_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def run_aggregator(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or the end of the standard input, if that is a pipe of a parent."""
    parser = argparse.ArgumentParser(prog="motet.aggregation.aggregator", description=__doc__)
    parser.add_argument(
        "--secret-file", type=Path, required=True, help="the pool's secret: pMaster's and peers'"
    )
    parser.add_argument(
        "--host",
        default=os.environ.get("MOTET_NODE_ADDRESS", "127.0.0.1"),
        help="the address for clients; by default that of the machine in a live cluster of several "
        "machines, which is in MOTET_NODE_ADDRESS, or 127.0.0.1",
    )
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument(
        "--end-with-input", action="store_true", help="end when the standard input is closed"
    )
    parser.add_argument("--endpoint-file", type=Path, help="where to write the endpoint, too")
    options = parser.parse_args(arguments)
    try:
        _serve(options)
    except MotetError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the process's own message
        return error.exit_code
    return 0


def _serve(options: argparse.Namespace) -> None:
    """Print the endpoint as one line, then serve until the end. Raises BadInput."""
    secret = read_secret(options.secret_file)
    try:
        from motet.aggregation.aggregator.aggregator import Aggregator
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise BadInput(
            "an Aggregator needs PyTorch, which is not installed; pip install 'motet[torch]'"
        ) from None
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    aggregator = Aggregator(secret, options.host, options.port)
    if options.endpoint_file is not None:
        _write(options.endpoint_file, aggregator.endpoint.encode())
    _collect_seldom()
    print(aggregator.endpoint.encode(), flush=True)  # noqa: T201 - for the starting process
    if options.end_with_input:
        threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    ended.wait()
    aggregator.close()


def _write(path: Path, text: str) -> None:
    """In one step: a reader finds all of it, or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(path)


def _collect_seldom() -> None:
    """A step makes and frees some objects per tensor, which are in no cycles; looking for cycles
    among all objects of PyTorch takes longer than the step of a small model."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    sys.exit(run_aggregator())
