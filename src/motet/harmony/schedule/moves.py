"""Whether new groups are worth the moves of running jobs that they take.

The source regroups for 5 % more U, however long the jobs that move still run. A job that moves does
not train while it stops and starts again, and near its end it gains less than that costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.schedule.chosen_machines import chosen_machines
from motet.harmony.schedule.held_groups import Scene


@dataclass(frozen=True, eq=False)
class MoveCost:
    """Of the running jobs of a scene; its `move_s` is the time for which one that moves does not
    train."""

    scene: Scene

    def is_worth(self, problem: GroupingProblem, kept: Grouping, new: Grouping) -> bool:
        """Whether `new` does more work than `kept` by the time at which the jobs that move would
        end, on average, although they do not train while they move. True if the end of one of them
        is unknown, or its prediction has passed."""
        left_s = self.scene.seconds_left
        moved = self._moved(new) - self._moved(kept)
        if left_s is None or not self.scene.move_s or not moved:
            return True
        of_moved_s = left_s[sorted(moved)]
        if not (of_moved_s > 0).all():  # NaN is not.
            return True
        gained_per_s = (problem.score(new) - problem.score(kept)) * problem.machines
        missed_per_s = sum(_work_per_s(problem, group, moved) for group in kept.groups)
        return gained_per_s * float(np.mean(of_moved_s)) > missed_per_s * self.scene.move_s

    def _moved(self, grouping: Grouping) -> set[int]:
        """Running jobs that get other machines, or none."""
        scene = self.scene
        groups = [
            JobGroup(tuple(job for job in group.jobs if job < len(scene)), group.machines)
            for group in grouping.groups
        ]
        places = chosen_machines(groups, scene.held, scene.machines)
        after = {
            job: place for group, place in zip(groups, places, strict=True) for job in group.jobs
        }
        return {
            job for group in scene.held for job in group.jobs if after.get(job) != group.machines
        }


def _work_per_s(problem: GroupingProblem, group: JobGroup, jobs: set[int]) -> float:
    """What these jobs contribute to the worth of their group, by their parts of its steps."""
    times = {job: problem.times(job, group.machines) for job in group.jobs}
    whole_s = sum(each.cpu_s + each.comm_s for each in times.values())
    own_s = sum(each.cpu_s + each.comm_s for job, each in times.items() if job in jobs)
    return problem.worth(group) * own_s / whole_s if whole_s else 0.0
