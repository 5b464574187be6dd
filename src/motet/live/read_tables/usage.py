"""Who used the cluster, when and how much: sums over attempts, by user, queue and month. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import mean, median
from typing import Literal, NamedTuple, TypeAlias, get_args

from motet.domain.units import HOUR_US, SECOND_US
from motet.live.jobs.attempt import AttemptOutcome, StopCause

UsageKey: TypeAlias = Literal["user", "queue", "month"]
USAGE_KEYS: tuple[UsageKey, ...] = get_args(UsageKey)


class UsedSlots(NamedTuple):
    """An attempt with its job; a job without attempts has one row without times of an attempt."""

    job: int
    user: str
    queue: str
    submitted_us: int
    requested_us: int | None
    ended_us: int | None
    processes: int | None
    stop_cause: str | None
    borrowed_byte_s: float | None = 0.0
    outcome: str | None = ""

    @property
    def was_preempted(self) -> bool:
        """As `Attempt.was_preempted`."""
        is_done = self.outcome == AttemptOutcome.SUCCEEDED
        return self.stop_cause == StopCause.PREEMPTED and not is_done


@dataclass(frozen=True, slots=True)
class UsageSum:
    """`keys`: values of the columns by which it is summed. `jobs`: submitted then, `started` of
    them; waits: of these until their first slots, None without any. `slot_hours`: held then.
    `borrowed_gb_hours`: memory of lenders; that of an attempt is spread over its time."""

    keys: tuple[str, ...]
    jobs: int
    started: int
    slot_hours: float
    mean_wait_s: float | None
    median_wait_s: float | None
    preemptions: int
    borrowed_gb_hours: float = 0.0


@dataclass(slots=True)
class _Account:
    jobs: set[int] = field(default_factory=set)
    waits_us: list[int] = field(default_factory=list)
    slot_us: int = 0
    preemptions: int = 0
    borrowed_byte_s: float = 0.0


def usage_sums(
    rows: Iterable[UsedSlots], by: Sequence[UsageKey], from_us: int, to_us: int
) -> list[UsageSum]:
    """Of a period, by ascending keys. `rows`: of every job in the order of its attempts; attempts
    that have not ended last until `to_us`. Months are those of UTC."""
    accounts: dict[tuple[str, ...], _Account] = defaultdict(_Account)
    seen: set[int] = set()

    def account(row: UsedSlots, at_us: int) -> _Account:
        values = {"user": row.user, "queue": row.queue, "month": _month(at_us)}
        return accounts[tuple(values[key] for key in by)]

    for row in rows:
        is_first = row.job not in seen
        seen.add(row.job)
        if is_first and from_us <= row.submitted_us < to_us:
            submitted = account(row, row.submitted_us)
            submitted.jobs.add(row.job)
            if row.requested_us is not None:
                submitted.waits_us.append(row.requested_us - row.submitted_us)
        for begin_us, end_us in _months(row, from_us, to_us):
            found = account(row, begin_us)
            found.slot_us += (end_us - begin_us) * (row.processes or 0)
            found.borrowed_byte_s += _borrowed_byte_s(row, end_us - begin_us, to_us)
        ended_us = row.ended_us
        if row.was_preempted and ended_us and from_us <= ended_us < to_us:
            account(row, ended_us).preemptions += 1
    return [_sum(keys, accounts[keys]) for keys in sorted(accounts)]


def _months(row: UsedSlots, from_us: int, to_us: int) -> Iterator[tuple[int, int]]:
    """The parts of an attempt in every month of the period."""
    if row.requested_us is None:
        return
    begin_us = max(row.requested_us, from_us)
    end_us = min(to_us if row.ended_us is None else row.ended_us, to_us)
    while begin_us < end_us:
        part_end_us = min(_next_month_us(begin_us), end_us)
        yield begin_us, part_end_us
        begin_us = part_end_us


def _borrowed_byte_s(row: UsedSlots, part_us: int, now_us: int) -> float:
    """What the attempt has borrowed in a part of its time."""
    assert row.requested_us is not None
    whole_us = max((now_us if row.ended_us is None else row.ended_us) - row.requested_us, part_us)
    return (row.borrowed_byte_s or 0) * part_us / whole_us


def gb_hours(byte_s: float) -> float:
    """Gigabytes (10^9 bytes) times hours."""
    return byte_s / 1e9 / 3600


def _month(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // SECOND_US, UTC).strftime("%Y-%m")


def _next_month_us(at_us: int) -> int:
    now = datetime.fromtimestamp(at_us // SECOND_US, UTC)
    year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * SECOND_US


def _sum(keys: tuple[str, ...], account: _Account) -> UsageSum:
    waits_s = [wait_us / SECOND_US for wait_us in account.waits_us]
    return UsageSum(
        keys,
        len(account.jobs),
        len(waits_s),
        account.slot_us / HOUR_US,
        mean(waits_s) if waits_s else None,
        median(waits_s) if waits_s else None,
        account.preemptions,
        gb_hours(account.borrowed_byte_s),
    )
