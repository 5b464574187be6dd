"""What bids know of distance is what the simulator makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.allocation.auction.distance import Distance
from motet.allocation.auction.line import Line
from motet.domain.cluster import ClusterSpec
from motet.domain.model_profile import PROFILES
from motet.estimate.exchange import Gang
from motet.sim.speeds.profiled import ProfiledSpeeds
from policy_snapshots import snapshot

machines = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=6
)


@settings(max_examples=examples(60))
@given(machines, st.integers(0, len(PROFILES) - 1), st.integers(1, 20))
def test_every_stretch_is_as_slow_as_its_placement_will_be(
    rows: list[tuple[int, int, int]], model: int, reach: int
) -> None:
    """`rows`: (GPUs, of which are free, rack)."""
    gpus, free, racks = (np.array(column) for column in zip(*rows, strict=True))
    free = np.minimum(free, gpus)
    cluster = ClusterSpec.of(gpus, rack=racks)
    seen = replace(snapshot(cluster, 1, model=model), models=PROFILES)
    line = Line.of(free, reach, racks)
    table = Distance(seen, line, line.reach).of_row(0)
    speeds = ProfiledSpeeds(gpus, PROFILES, None, racks)
    for start in range(line.size):
        for length in range(1, min(line.reach, line.size - start) + 1):
            rigid = Gang(length, 0, 1, 0)
            spread = speeds.slowdown(model, line.placement(start, length), rigid).communicating
            assert table[line.kind[start], length] == pytest.approx(spread)
