"""After a rehearsal of a policy, a live cluster under it compiles nothing any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from motet.domain.errors import UnknownName
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.interfaces.server.kernels.rehearsal import rehearse

SUPPORT = Path(__file__).parents[3] / "support"
_REHEARSAL = """
import sys
from pathlib import Path
from motet.interfaces.server.kernels.rehearsal import rehearse
rehearse(sys.argv[1], {}, Path(sys.argv[2]))
"""
_LIVE = """
import sys
from pathlib import Path
from motet.live.launcher.messages import AttemptProgressed
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import SECOND_US, ScriptedCluster

cluster = ScriptedCluster(Path(sys.argv[2]), ChoosePolicy(sys.argv[1]))
for number in range(12):
    cluster.submit(processes=1 + number % 4, duration_s=30 + number)
    cluster.train(epochs=9, duration_s=50, workers={"max": 2}, servers={"max": 2})
    cluster.now_us += 20 * SECOND_US
    for attempt in [*cluster.launcher.running]:
        if attempt in cluster.launcher.stopping or int(attempt.split(".")[0]) % 5 == 4:
            cluster.ask(cluster.launcher.ended(attempt))
            continue
        cluster.ask(cluster.launcher.started(attempt))
        points = tuple((float(each), 0.5 + 1 / each) for each in range(1, number + 1))
        cluster.ask(AttemptProgressed(attempt, float(number), points, 0.5))
    for job in cluster.master.state.jobs.values():
        cluster.master.state.history.wait_of(job.number)
cluster.close()
"""


def _run(program: str, policy: str, folder: Path, cache: Path) -> set[Path]:
    """The compiled code on disk after a program."""
    folder.mkdir()
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(SUPPORT)}
    subprocess.run([sys.executable, "-c", program, policy, str(folder)], env=env, check=True)
    return {*cache.rglob("*.nbc")}


@pytest.mark.soak
@pytest.mark.parametrize("policy", [*built_in_policies()])
def test_a_rehearsed_policy_compiles_nothing_in_the_server(policy: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    rehearsed = _run(_REHEARSAL, policy, tmp_path / "first", cache)
    assert rehearsed
    assert _run(_LIVE, policy, tmp_path / "second", cache) == rehearsed


def test_an_unknown_policy_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'fifo'"):
        rehearse("fifoo", {}, tmp_path)
