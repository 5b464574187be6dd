"""What encryption costs between two hosts of a testbed (Linux, root): sealed against plain TCP.

A server on one host answers pulls of a client on another one; pulls over a sealed and over a plain
connection alternate. Figures are medians. A pull encrypts and decrypts a request and a reply; what
these four calls of AES-GCM take by themselves is measured in the same run.

Measured in six runs on two machines of different age. The newer one: a pull of 4 KB costs -4 to
5 us more, four bare calls 2.7 us; 64 MB reach 0.80 to 1.20 of plain. The older one: 20 to 22 us
more, of which the four calls take 9 to 12 between system calls; 64 MB reach 0.62 to 0.69, nearly
all of the cost being the cipher's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from motet.transport import Connection, Endpoint, Request, Server, use_short_switch_interval
from motet.transport.backends.socket_channel import SocketChannel
from motet.transport.backends.tcp import TcpConnector, TcpListener
from support.figures import Figure, parser, report
from support.hosts import MOTET, hosts_up

NAME, PORT = "sealedlink", 7711
SECRET = bytes(32)
PULL = 1
KB, MB = 1 << 10, 1 << 20
REPEATS = {4 * KB: 300, 64 * KB: 100, 2 * MB: 20, 64 * MB: 3}
REQUEST_BYTES, CALLS_REPEATED = 64, 2000
LEAST_SHARE, MOST_EXTRA_US = 0.7, 8.0


class PlainConnector(TcpConnector):
    """Takes the link for one within the host."""

    def connect(self, timeout_s: float) -> SocketChannel:
        channel = super().connect(timeout_s)
        channel.is_exposed = False
        return channel


class PlainListener(TcpListener):
    """Accepts both kinds of connections from other hosts."""

    def accept(self) -> SocketChannel | None:
        channel = super().accept()
        if channel is not None:
            channel.is_exposed = False
        return channel


def serve(host: str) -> None:
    """On the first host, until its input ends."""
    use_short_switch_interval()
    data = np.ones(max(REPEATS) // 4, np.float32)

    def handle(request: Request) -> None:
        request.reply(0, b"", [data[: int.from_bytes(request.meta, "little") // 4]])

    with Server(handle, SECRET, listeners=[PlainListener(host, PORT)]):
        print("listening", flush=True)
        sys.stdin.read()


def pull(host: str, rounds: int) -> None:
    """On the second host: prints medians in seconds by size, sealed and plain."""
    use_short_switch_interval()
    endpoint = Endpoint(host, PORT)
    connectors = {"sealed": TcpConnector(host, PORT), "plain": PlainConnector(host, PORT)}
    connections = {
        kind: Connection(endpoint, SECRET, connectors=[connector])
        for kind, connector in connectors.items()
    }
    target = np.zeros(max(REPEATS) // 4, np.float32)
    found: dict[int, dict[str, float]] = {}
    for size, repeats in REPEATS.items():
        times: dict[str, list[float]] = {kind: [] for kind in connections}
        for _ in range(rounds):
            for kind, connection in connections.items():
                for _ in range(repeats):
                    began_s = time.perf_counter()
                    meta = size.to_bytes(8, "little")
                    connection.request(PULL, meta, into=[target[: size // 4]])
                    times[kind].append(time.perf_counter() - began_s)
        found[size] = {kind: statistics.median(each) for kind, each in times.items()}
    print(json.dumps({"pulls": found, "calls_s": cipher_calls_s(4 * KB)}))


def cipher_calls_s(size: int) -> float:
    """Seconds to encrypt and decrypt a request and a reply of `size` bytes, in one process."""
    cipher, nonce = AESGCM(bytes(32)), bytes(12)
    times = []
    for _ in range(CALLS_REPEATED):
        began_s = time.perf_counter()
        for plaintext in (bytes(REQUEST_BYTES), bytes(size)):
            cipher.decrypt(nonce, cipher.encrypt(nonce, plaintext, None), None)
        times.append(time.perf_counter() - began_s)
    return statistics.median(times)


def figures_of(size: int, sealed_s: float, plain_s: float, calls_s: float) -> list[Figure]:
    """The share of the plain speed, and the extra time of a small pull."""
    name = f"pull {size // KB} KB" if size < MB else f"pull {size // MB} MB"
    measured, peer = f"{sealed_s * 1e6:,.0f} us", f"{plain_s * 1e6:,.0f} us"
    target = LEAST_SHARE if size == 64 * MB else None
    figures = [Figure(f"{name}, share of plain", measured, peer, plain_s / sealed_s, target)]
    if size == 4 * KB:
        extra_us = (sealed_s - plain_s) * 1e6
        text = f"{extra_us:.1f} us"
        calls = f"calls {calls_s * 1e6:.1f} us"
        figures.append(Figure(f"{name}, extra us", text, calls, extra_us, MOST_EXTRA_US, False))
    return figures


def main() -> None:
    """Both ends on hosts of their own."""
    arguments = parser(main.__doc__ or "")
    arguments.add_argument("--serve")
    arguments.add_argument("--pull")
    given = arguments.parse_args()
    rounds = 3 if given.quick else 9
    if given.serve:
        serve(given.serve)
    elif given.pull:
        pull(given.pull, rounds)
    else:
        with hosts_up(NAME, "--machines", "2", "--no-ray"):
            measured = _measure(given.quick)
        figures = [
            each
            for size, by_kind in measured["pulls"].items()
            for each in figures_of(
                int(size), by_kind["sealed"], by_kind["plain"], measured["calls_s"]
            )
        ]
        report("sealed_link", "A sealed link between two hosts", figures)


def _measure(is_quick: bool) -> dict[str, Any]:
    on_host = [*MOTET, "testbed", "exec"]
    ourselves = [sys.executable, __file__, *(["--quick"] if is_quick else [])]
    status = subprocess.run(
        [*MOTET, "testbed", "status", "--name", NAME, "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    hosts = json.loads(status.stdout)["hosts"]
    host = next(each["address"] for each in hosts if each["host"] == "m0")
    server = subprocess.Popen(
        [*on_host, "m0", "--name", NAME, "--", *ourselves, "--serve", host],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdin is not None
    server.stdout.readline()
    client = [*on_host, "m1", "--name", NAME, "--", *ourselves, "--pull", host]
    done = subprocess.run(client, check=True, stdout=subprocess.PIPE, text=True)
    server.stdin.close()
    server.wait()
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
