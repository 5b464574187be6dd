"""Groups that exchange machines under the master, whose processes start and stop in any order."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from motet.live.jobs.attempt import MOVES
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptProgressed, Report, SubtaskReport
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import ScriptedCluster
from soak_cases import others_in_soak

CLUSTER = ClusterDeclared(("m0", "m1", "m2"), (1, 1, 1))
HARMONY = ChoosePolicy("harmony", {"check_s": "1"})
MOST_STEPS = 5000


class RestlessTrainings:
    """Trainings with COMP and COMM of their own. Which of their processes does something next is
    drawn."""

    def __init__(self, cluster: ScriptedCluster, count: int, draw: random.Random) -> None:
        self._cluster, self._draw = cluster, draw
        jobs = [cluster.train(machines="any", epochs=100) for _ in range(count)]
        self._times_s = {job: (draw.uniform(0.5, 6), draw.uniform(0.3, 4)) for job in jobs}
        self._last = {job: draw.randint(5, 25) for job in jobs}
        self._made = Counter[int]()
        self._begun = set[str]()

    @property
    def states(self) -> set[JobState]:
        return {self._cluster.job(job).state for job in self._times_s}

    def report(self) -> Report | None:
        """None: no process runs."""
        running = self._cluster.launcher.running
        assert max(Counter(each.partition(".")[0] for each in running).values(), default=1) == 1
        if not running:
            return None
        attempt = self._draw.choice(sorted(running))
        if attempt in self._cluster.launcher.stopping:
            return self._cluster.launcher.ended(attempt, 75, "stopped")
        if self._draw.random() < 0.02:
            return self._cluster.launcher.ended(attempt, None, "lost")
        if attempt not in self._begun:
            self._begun.add(attempt)
            return self._cluster.launcher.started(attempt)
        job = int(attempt.partition(".")[0])
        self._made[job] += 1
        if self._made[job] > self._last[job]:
            return self._cluster.launcher.ended(attempt)
        (comp_s, comm_s), count = self._times_s[job], len(running[attempt].ranks)
        took = SubtaskReport(count, comp_s / count, comm_s, None)
        epoch = float(self._made[job])
        return AttemptProgressed(attempt, epoch, ((epoch, 5.0),), 1.0, took)


@pytest.mark.parametrize("seed", others_in_soak(range(4), [0]))
def test_all_trainings_end_although_groups_exchange_machines_meanwhile(
    tmp_path: Path, seed: int
) -> None:
    """What becomes possible when others have left their machines happens, also if the master was
    killed in between."""
    draw = random.Random(seed)
    cluster = ScriptedCluster(tmp_path, HARMONY, CLUSTER)
    trainings = RestlessTrainings(cluster, 8, draw)
    for _ in range(MOST_STEPS):
        if trainings.states == {JobState.SUCCEEDED}:
            break
        if draw.random() < 0.02:
            cluster.begin()
        report = trainings.report()
        cluster.handle(*(() if report is None else (report,)))
    assert trainings.states == {JobState.SUCCEEDED}
    attempts = [each for job in cluster.master.state.jobs.values() for each in job.attempts]
    assert any(each.stop_cause in MOVES for each in attempts)
    cluster.close()
