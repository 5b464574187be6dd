"""What a decision tells of its groups beside their machines: forecasts, and input on disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.decision import GroupForecast
from motet.domain.estimates import SubtaskEstimates
from motet.estimate.colocation.group_time import group_iteration_s, utilisation_of
from motet.harmony.schedule.from_snapshot import DataRules, spillable_jobs
from motet.harmony.schedule.held_groups import GroupPlan, Scene
from motet.harmony.spill_ratio import first_disk_blocks


def group_forecasts(scene: Scene, schedule: GroupPlan, rows: Ints) -> dict[int, GroupForecast]:
    """By row, of the groups of several jobs; of the profiled ones among them."""
    found: dict[int, GroupForecast] = {}
    for group in schedule.groups:
        known = [job for job in group.jobs if scene.is_profiled[job]]
        if len(group.jobs) < 2 or not known:
            continue
        problem = scene.problem(len(scene.machines))
        times = [problem.times(job, group.machines) for job in known]
        in_turn_s = sum(each.iteration_s for each in times)
        use, group_s = utilisation_of(times), group_iteration_s(times)
        forecast = GroupForecast(group_s, in_turn_s, use.cpu, use.network, len(known))
        found |= dict.fromkeys(rows[list(group.jobs)].tolist(), forecast)
    return found


def spill_ratios(
    scene: Scene, schedule: GroupPlan, subtasks: SubtaskEstimates, rows: Ints, rules: DataRules
) -> Floats | None:
    """Part of each job's input on disk; None where memory has no limit or nothing is reloaded."""
    if not rules.reloading or np.isinf(scene.machine_memory_bytes):
        return None
    ratios = np.zeros(len(subtasks.comm_s))
    for group in schedule.groups:
        members: Sequence[int] = rows[list(group.jobs)].tolist()
        data = spillable_jobs(subtasks, members, rules)
        fixed = float(scene.costs.fixed_bytes[list(group.jobs)].sum())
        room = group.machines * (scene.machine_memory_bytes - fixed)
        blocks = first_disk_blocks(data, room)
        if blocks is not None:
            ratios[members] = [n / job.blocks for n, job in zip(blocks, data, strict=True)]
    return ratios
