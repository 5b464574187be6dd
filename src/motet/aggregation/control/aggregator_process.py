"""Starts an Aggregator as a process of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from motet.domain.errors import Unreachable
from motet.runtime.blas_threads import ONE_BLAS_THREAD
from motet.transport import Endpoint


class AggregatorProcess:
    """An Aggregator that ends with this process. Raises Unreachable: it does not start."""

    def __init__(self, secret_file: Path, host: str = "127.0.0.1") -> None:
        """`secret_file`: of the pool (`transport.write_secret`)."""
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "motet.aggregation.aggregator", "--end-with-input"),
                *("--secret-file", str(secret_file), "--host", host),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_BLAS_THREAD,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise Unreachable(f"an Aggregator ended with status {self.process.wait()}")
        self.endpoint = Endpoint.decode(line)

    def close(self, timeout_s: float = 10.0) -> None:
        """End it, by force after a while."""
        self.process.terminate()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
