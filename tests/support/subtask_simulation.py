"""A discrete simulation of jobs that share tokens, one of each name, in integer time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

Step = tuple[str, int]
"""The token that a subtask holds (such as "cpu" or "network"), and for how long."""


@dataclass
class _Token:
    waiting: deque[int] = field(default_factory=deque)
    is_free: bool = True


def ends_of_iterations(jobs: Sequence[Sequence[Step]], iterations: int) -> list[list[int]]:
    """`[job][iteration]`: when it ends, with first-in-first-out tokens; all jobs begin at 0."""
    tokens = {name: _Token() for steps in jobs for name, _ in steps}
    place, ends = [0] * len(jobs), [[] for _ in jobs]
    running: list[tuple[int, int, int]] = []
    for job in range(len(jobs)):
        tokens[jobs[job][0][0]].waiting.append(job)
    now = order = 0
    while True:
        for name, token in tokens.items():
            if token.is_free and token.waiting:
                job = token.waiting.popleft()
                assert jobs[job][place[job]][0] == name
                token.is_free, order = False, order + 1
                heappush(running, (now + jobs[job][place[job]][1], order, job))
        if not running:
            return ends
        now, _, job = heappop(running)
        tokens[jobs[job][place[job]][0]].is_free = True
        place[job] = (place[job] + 1) % len(jobs[job])
        if place[job] == 0:
            ends[job].append(now)
        if len(ends[job]) < iterations:
            tokens[jobs[job][place[job]][0]].waiting.append(job)
