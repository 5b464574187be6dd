"""Starts two executors, prints a line, and waits for a signal."""

from __future__ import annotations

import signal
import sys

from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.ports import LaunchRequest
from toy_app import ToyRegression

if __name__ == "__main__":
    with LocalCluster(2) as cluster:
        cluster.launch(LaunchRequest("job", (0, 1), bytes(32), ToyRegression()))
        sys.stdout.write("started\n")
        sys.stdout.flush()
        signal.pause()
