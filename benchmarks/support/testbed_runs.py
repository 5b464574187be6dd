"""Jobs on a testbed, each with a file of what it said and what came out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from support.hosts import MOTET, Hosts, Line
from support.testbed_cases import Case
from support.walk import WalkPlan

WALK = str(Path(__file__).with_name("walk.py"))
LINK = str(Path(__file__).with_name("link_moves.py"))
Heard = Callable[[Line], None]


def run_walk(
    hosts: Hosts,
    case: Case,
    stops: Sequence[tuple[int, int]],
    machines: int,
    out: Path,
    **more: Any,
) -> None:
    """Take a job through configurations; its events, a JSON object a line. Raises CommandFailed.

    What is there when it fails stays beside `out`, as NAME.part.
    """
    part = out.with_suffix(".part")
    part.unlink(missing_ok=True)
    plan = WalkPlan(case.app, case.data, dict(case.settings), machines, list(stops), **more)
    hosts.run([sys.executable, WALK, json.dumps(asdict(plan)), str(part)], timeout_s=600)
    part.rename(out)


def run_link(hosts: Hosts, out: Path) -> None:
    """Moves over a link while a job trains; events as of a walk. Raises CommandFailed."""
    part = out.with_suffix(".part")
    part.unlink(missing_ok=True)
    hosts.run([sys.executable, LINK, str(part)], timeout_s=400)
    part.rename(out)


def run_train(
    hosts: Hosts,
    case: Case,
    flags: Sequence[str],
    out: Path,
    heard: Heard = lambda line: None,
    timeout_s: float = 400,
) -> None:
    """`motet train`: its document, and when it said what. Raises CommandFailed."""
    began_s, lines = time.time(), []

    def listen(line: Line) -> None:
        lines.append([line.at_s - began_s, line.text])
        heard(line)

    command = [*MOTET, "train", *case.flags(), *flags, "--json", "-v"]
    try:
        document = json.loads(hosts.run(command, timeout_s, listen))
    except BaseException:
        out.with_suffix(".part").write_text("\n".join(f"{at:.1f} {text}" for at, text in lines))
        raise
    run = {"command": command[3:], "began_s": began_s, "lines": lines, "document": document}
    out.write_text(json.dumps(run, indent=1))
