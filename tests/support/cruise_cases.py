"""Random jobs and fleets for tests of Cruise: types, bandwidths per pair of types, block counts."""

from __future__ import annotations

import numpy as np

from motet.estimate.epoch_cost import Fleet, MachineType, Profile


def random_case(
    seed: int,
    machines: int,
    types: int,
    data_blocks: int,
    model_blocks: int,
    is_batch_global: bool | None = None,
) -> tuple[Profile, Fleet]:
    """A profile and a fleet whose best configuration is anywhere between all and no workers."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, machines), types - 1, replace=False))
    counts = np.diff(np.concatenate([[0], cuts, [machines]])).astype(int).tolist()
    comp_s = (10 ** rng.uniform(-4, -3, types)).tolist()
    bandwidth = 10 ** rng.uniform(7, 8.2, (types, types))
    profile = Profile(
        instances=int(rng.integers(2_000, 60_000)),
        batch_size=int(rng.integers(20, 2_000)),
        exchange_bytes=float(10 ** rng.uniform(5, 8)),
        data_blocks=data_blocks,
        model_blocks=model_blocks,
        is_batch_global=bool(rng.integers(2)) if is_batch_global is None else is_batch_global,
    )
    kinds = [
        MachineType(f"type{number}", count, seconds)
        for number, (count, seconds) in enumerate(zip(counts, comp_s, strict=True))
    ]
    return profile, Fleet(tuple(kinds), tuple(map(tuple, bandwidth.tolist())))
