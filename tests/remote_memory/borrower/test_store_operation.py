"""Requests of several parts, of which some fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from motet.remote_memory.borrower.store_operation import DestinationLost, StoreOperation, joined


class Part:
    def __init__(self, failure: OSError | None = None) -> None:
        self.failure, self.has_finished = failure, False

    def finish(self) -> None:
        self.has_finished = True
        if self.failure is not None:
            raise self.failure


FAILURES = [
    [DestinationLost("lender"), OSError("disk")],
    [OSError("disk"), DestinationLost("lender")],
    [None, DestinationLost("lender"), OSError("disk"), None],
]


@pytest.mark.parametrize("failures", FAILURES)
def test_no_other_error_hides_a_lost_destination(failures: list[OSError | None]) -> None:
    parts = [Part(each) for each in failures]
    with pytest.raises(DestinationLost):
        joined(parts).finish()
    assert all(part.has_finished for part in parts)


@pytest.mark.parametrize(
    ("begun", "raised"), [(None, "begin"), (OSError("disk"), "begin"), (DestinationLost("l"), "l")]
)
def test_a_part_that_does_not_begin_waits_for_those_before_it(
    begun: OSError | None, raised: str
) -> None:
    first = Part(begun)

    def parts() -> Iterator[StoreOperation]:
        yield first
        raise OSError("begin")

    with pytest.raises(OSError, match=f"^{raised}$"):
        joined(parts())
    assert first.has_finished
