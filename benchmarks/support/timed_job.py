"""A worker that waits as if it computed, and trains random tensors on Aggregators.

    python -m support.timed_job FILE

FILE describes it as JSON (`TimedJob`). It appends a line per iteration to `out`: when it ended
(Unix time) and how long it took, in seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.pool_agent import join_pool
from motet.aggregation.agent.routes import FixedRoutes, TensorRoutes
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.transport import Endpoint

OPTIONS = {"lr": 0.01, "momentum": 0.9}
_SLICE_S = 0.02


class RoundRobinRoutes(FixedRoutes):
    """Tensor n on server n modulo their number, as parameter servers have them."""

    def routes(self, tensors: Sequence[TensorSpec]) -> TensorRoutes:
        """See RouteSource."""
        places = tuple(number % len(self._aggregators) for number in range(len(tensors)))
        return TensorRoutes(self._job, self._secret, self._aggregators, places)


@dataclass(frozen=True)
class TimedJob:
    """`sizes`: numbers of each tensor. `address`: of a pool; empty: `servers` (encoded endpoints)
    of its own, with the job number and secret; `is_balanced`: the largest tensor first, each on the
    server with the fewest bytes; otherwise in turn. `delay_file`: has the factor of the waits, if
    it is there. It ends after the first iteration that finds `end_file`.
    """

    name: str
    rank: int
    workers: int
    sizes: tuple[int, ...]
    compute_s: float
    out: str
    end_file: str
    delay_file: str = ""
    address: str = ""
    wanted_servers: int = 2
    servers: tuple[str, ...] = ()
    number: int = 0
    secret: str = ""
    is_balanced: bool = False

    def write(self, folder: Path) -> Path:
        """As a file for the command line."""
        path = folder / f"{self.name}-{self.rank}.json"
        path.write_text(json.dumps(asdict(self)))
        return path

    def agent(self) -> NumpyAgent:
        if self.address:
            return join_pool(
                self.name,
                self.rank,
                self.workers,
                servers=self.wanted_servers,
                address=Path(self.address),
            )
        endpoints = [Endpoint.decode(each) for each in self.servers]
        kind = FixedRoutes if self.is_balanced else RoundRobinRoutes
        routes = kind(self.number, bytes.fromhex(self.secret), endpoints)
        return NumpyAgent(routes, self.rank, self.workers)

    def specs(self) -> list[TensorSpec]:
        """Of its tensors."""
        return [TensorSpec(str(n), (size,)) for n, size in enumerate(self.sizes)]

    def run(self) -> None:
        agent = self.agent()
        gradients = [agent.empty(size, np.float32) for size in self.sizes]
        values = [agent.empty(size, np.float32) for size in self.sizes]
        for array in (*gradients, *values):
            array[...] = 1e-3
        agent.initialise(self.specs(), OptimizerSpec("sgd", (OPTIONS,)), values)
        with Path(self.out).open("a", encoding="ascii", buffering=1) as out:
            for _ in count():
                began_s = time.time()
                for tensor in self._computed(began_s):
                    agent.push(tensor, gradients[tensor])
                agent.finish_step([OPTIONS])
                for pending in [agent.pull(n, into) for n, into in enumerate(values)]:
                    pending.wait()
                ended_s = time.time()
                out.write(f"{ended_s:.6f} {ended_s - began_s:.6f}\n")
                if Path(self.end_file).exists():
                    break
        agent.close()

    def _computed(self, began_s: float) -> Iterator[int]:
        """The tensors whose gradients are there, one after the other, the last tensor first: after
        a third of the time, from then on evenly. A job with delays has all of them at the end.
        """
        numbers = range(len(self.sizes) - 1, -1, -1)
        for done, number in enumerate(numbers, 1):
            share = 1.0 if self.delay_file else 1 / 3 + 2 / 3 * done / len(numbers)
            while (left_s := began_s + share * self.compute_s * self._delay() - time.time()) > 0:
                time.sleep(min(left_s, _SLICE_S) if self.delay_file else left_s)
            yield number

    def _delay(self) -> float:
        try:
            return float(Path(self.delay_file).read_text()) if self.delay_file else 1.0
        except FileNotFoundError:
            return 1.0


def iterations(file: Path) -> np.ndarray:
    """`(iterations, 2)`: when each ended and how long it took, in seconds."""
    try:
        lines = [
            line.split() for line in file.read_text().splitlines(keepends=True) if "\n" in line
        ]
    except FileNotFoundError:
        lines = []
    return np.array([[float(each) for each in line] for line in lines]).reshape(-1, 2)


def _main() -> None:
    fields = json.loads(Path(sys.argv[1]).read_text())
    fields["sizes"], fields["servers"] = tuple(fields["sizes"]), tuple(fields["servers"])
    TimedJob(**fields).run()


if __name__ == "__main__":
    _main()
