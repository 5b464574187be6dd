"""Which targets an executor gets, and what is told of remote memory."""

from __future__ import annotations

from pathlib import Path

from motet.runtime.core.options import SpillLenders, SpillOptions
from motet.runtime.core.reporting.reports import NO_REMOTE_USE, RemoteUse
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.targets.remote_spill import RemoteSpill
from motet.runtime.spilling.targets.spill_file import SpillFile
from motet.runtime.spilling.targets.spill_targets import SpillTargets
from motet.transport import Endpoint
from remote_memory_parts import SECRET, SLAB_BYTES, lending

DISK = Path("/var/tmp")


def targets(*endpoints: Endpoint) -> SpillTargets:
    lenders = SpillLenders(endpoints, SECRET, SLAB_BYTES)
    return SpillTargets(SpillOptions(1.0, DISK, lenders=lenders))


def test_without_lenders_in_the_options_data_are_in_a_file() -> None:
    made = SpillTargets(SpillOptions(1.0, DISK))
    assert isinstance(made.open(), SpillFile)
    assert made.take_use() == NO_REMOTE_USE


def test_the_use_of_all_targets_since_the_last_question_is_told() -> None:
    with lending(2) as lender:
        made = targets(lender.endpoint)
        opened = [made.open() for _ in range(2)]
        for target in opened:
            target.reserve(SLAB_BYTES)
            target.write(0, new_buffer(SLAB_BYTES))
        opened[0].read(0, new_buffer(SLAB_BYTES))
        assert made.take_use() == RemoteUse(2 * SLAB_BYTES, SLAB_BYTES, 0)
        opened[1].read(0, new_buffer(SLAB_BYTES))
        opened.pop(0).close()
        assert made.take_use() == RemoteUse(SLAB_BYTES, SLAB_BYTES, 0)
    opened[0].read(0, new_buffer(SLAB_BYTES))
    assert made.take_use() == RemoteUse(0, 0, SLAB_BYTES)


def test_only_the_first_target_waits_for_lenders_that_do_not_answer() -> None:
    with lending() as lender:
        endpoint = lender.endpoint
    made = targets(endpoint)
    first = made.open()
    assert isinstance(first, RemoteSpill)
    assert not first.has_lender
    assert made._wait_s == 0
