"""`motet server` with a fake launcher: `loaded_server.py FOLDER CLUSTER POLICY MEAN_S`.

Prints how long it took to open the journal. At SIGUSR1 it writes what the steps of the master took
so far, and the gaps between wake-ups of a thread that wants the GIL, into FOLDER/steps.json, and
forgets them.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from gil_watch import GilWatch

from motet.domain.cluster import ClusterSpec
from motet.interfaces.server import serve as server
from motet.live.master import loop
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Master

FAKE_LAUNCHER = Path(__file__).with_name("fake_launcher.py")


class TimedMaster(Master):
    """Notes the seconds of every step and how many inputs it took in."""

    steps: ClassVar[list[tuple[int, float, float]]] = []

    def handle(self, inputs: Sequence[Input]) -> Any:
        """See Master."""
        began_s, began_cpu_s = time.perf_counter(), time.thread_time()
        answer = super().handle(inputs)
        taken_s = time.perf_counter() - began_s
        self.steps.append((len(inputs), taken_s, time.thread_time() - began_cpu_s))
        return answer


def main() -> None:
    """Serve until SIGTERM."""
    folder, mean_s = Path(sys.argv[1]), sys.argv[4]
    spec = ClusterSpec.parse(sys.argv[2])
    cluster = ClusterDeclared(spec.names, tuple(spec.gpus.tolist()))
    loop.Master = TimedMaster  # type: ignore[misc]
    server._launcher = lambda options: (sys.executable, str(FAKE_LAUNCHER), mean_s)  # type: ignore
    began_s = time.perf_counter()

    watch = GilWatch()
    watch.start()

    def dump(number: int, frame: object) -> None:
        del number, frame
        taken, TimedMaster.steps = TimedMaster.steps, []
        partial = folder / ".steps.json"
        partial.write_text(json.dumps({"steps": taken, "gaps": watch.take()}))
        partial.replace(folder / "steps.json")

    signal.signal(signal.SIGUSR1, dump)
    options = server.ServerOptions(folder, cluster, ChoosePolicy(sys.argv[3]))
    server.serve(
        options,
        lambda url, _policy: print(time.perf_counter() - began_s, url, flush=True),
        lambda jobs: None,
        lambda policy: None,
    )


if __name__ == "__main__":
    main()
