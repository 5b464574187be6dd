"""The memory of a job on one machine, from what its processes had on some numbers of machines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.estimate.colocation.memory_curve import MachineBytes, memory_curve

SIZES = st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40)).map(
    lambda pair: MachineBytes(max(pair), min(pair))
)
MEASURED = st.dictionaries(st.integers(1, 64), SIZES, min_size=1, max_size=5)


@given(MEASURED)
def test_no_measurement_is_above_the_curve(measured: dict[int, MachineBytes]) -> None:
    found = memory_curve(measured)
    assert found.divided_bytes >= 0
    assert found.fixed_bytes >= 0
    for machines, each in measured.items():
        assert found.at(machines) >= each.most * (1 - 1e-9) - 1e-6


@given(st.integers(1, 64), SIZES)
def test_a_single_measurement_is_met_on_its_number_of_machines(
    machines: int, size: MachineBytes
) -> None:
    assert memory_curve({machines: size}).at(machines) == pytest.approx(size.most)


@given(st.integers(2, 64), SIZES)
def test_what_one_machine_alone_has_is_not_multiplied_on_fewer_of_them(
    machines: int, size: MachineBytes
) -> None:
    """The controller is one process; the others, divided, are on all machines."""
    alone = memory_curve({machines: size}).at(1)
    assert alone == pytest.approx(size.most - size.least + machines * size.least)
    assert alone <= machines * size.most * (1 + 1e-9)


@given(
    st.floats(0, 1e12),
    st.floats(0, 1e12),
    st.floats(0, 1e12),
    st.sets(st.integers(1, 64), min_size=2),
)
def test_parts_are_found_from_several_numbers_of_machines(
    divided: float, fixed: float, controller: float, counts: set[int]
) -> None:
    measured = {
        m: MachineBytes(round(divided / m + fixed + controller), round(divided / m + fixed))
        for m in counts
    }
    found = memory_curve(measured)
    largest = divided + fixed + controller
    rounded = 2 * max(counts)  # Measurements are whole bytes, of each machine.
    for machines in (*counts, 128):
        true = divided / machines + fixed + controller
        assert found.at(machines) == pytest.approx(true, rel=1e-6, abs=1e-5 * largest + rounded)
