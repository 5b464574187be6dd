"""Processes of Aggregators on this machine, which end with the process that started them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from motet.aggregation.control.aggregator_process import AggregatorProcess
from motet.domain.errors import Unreachable


class ProcessLauncher:
    """Implements AggregatorLauncher."""

    def __init__(self, secret_file: Path, host: str = "127.0.0.1") -> None:
        """`secret_file`: of the pool. `host`: where the Aggregators listen."""
        self._secret_file, self._host = secret_file, host
        self._changed = threading.Condition()
        self._processes: dict[int, AggregatorProcess] = {}
        self._starting: set[int] = set()
        self._is_closed = False

    def start(self, number: int) -> str:
        """See AggregatorLauncher."""
        with self._changed:
            self._changed.wait_for(lambda: number not in self._starting)
            if number in self._processes:
                return self._processes[number].endpoint.encode()
            self._require_open()
            self._starting.add(number)
        try:
            process = AggregatorProcess(self._secret_file, self._host)
            with self._changed:
                self._processes[number] = process
        finally:
            with self._changed:
                self._starting.discard(number)
                self._changed.notify_all()
        threading.Thread(target=self._watch, args=(number, process), daemon=True).start()
        return process.endpoint.encode()

    def stop(self, number: int) -> None:
        """See AggregatorLauncher."""
        with self._changed:
            self._changed.wait_for(lambda: number not in self._starting)
            process = self._processes.get(number)
        if process is not None:
            process.close()

    def kill(self, number: int) -> None:
        """See AggregatorLauncher."""
        with self._changed:
            process = self._processes.get(number)
        if process is not None:
            process.process.kill()

    def await_end(self, number: int) -> None:
        """See AggregatorLauncher."""
        with self._changed:
            self._changed.wait_for(lambda: number not in self._processes)

    def machine_of(self, number: int) -> str:
        """See AggregatorLauncher."""
        del number
        return ""

    def running(self) -> Mapping[int, str]:
        """See AggregatorLauncher."""
        with self._changed:
            return {n: process.endpoint.encode() for n, process in self._processes.items()}

    def process_ids(self) -> Mapping[int, int]:
        """The processes by number."""
        with self._changed:
            return {n: process.process.pid for n, process in self._processes.items()}

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._starting)
            processes = list(self._processes.values())
        for process in processes:
            process.process.terminate()
        for process in processes:
            process.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise Unreachable("the pool of Aggregators ends")

    def _watch(self, number: int, process: AggregatorProcess) -> None:
        process.process.wait()
        with self._changed:
            del self._processes[number]
            self._changed.notify_all()
