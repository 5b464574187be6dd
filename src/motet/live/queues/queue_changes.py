"""Requests of users about queues, checked and turned into facts and events. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from motet.domain.errors import BadInput
from motet.domain.events import Event, QueueAdded, QueueLimited
from motet.domain.queues.queue_file import limits_of
from motet.domain.queues.queue_limits import (
    QueueLimits,
    Queues,
    check_guarantees,
    largest_job,
    limit_words,
)
from motet.live.jobs.job_sections import NAME_PATTERN
from motet.live.queues.queue_book import LiveQueue, QueueBook
from motet.live.queues.queue_facts import (
    QueueCreated,
    QueueDeleted,
    QueueFact,
    QueueLimitsSet,
    QueueMode,
    QueueModeSet,
)

LimitChanges: TypeAlias = Mapping[str, int | None]
"""The keys of a queue file that change; None: without this limit."""


@dataclass(frozen=True, slots=True)
class CreateQueue:
    """A user creates a queue, or changes the limits of one that exists."""

    name: str
    user: str
    changes: LimitChanges = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DefineQueues:
    """Queues of a file: they are created, and have these limits and no others."""

    limits: Mapping[str, QueueLimits]
    user: str = ""


@dataclass(frozen=True, slots=True)
class LimitQueue:
    """A user gives a queue other limits."""

    name: str
    user: str
    changes: LimitChanges


@dataclass(frozen=True, slots=True)
class SetQueueMode:
    """A user holds, drains or resumes a queue."""

    name: str
    user: str
    mode: QueueMode


@dataclass(frozen=True, slots=True)
class DeleteQueue:
    """A user deletes a queue without jobs."""

    name: str
    user: str


QueueRequest: TypeAlias = CreateQueue | DefineQueues | LimitQueue | SetQueueMode | DeleteQueue
QueueChange: TypeAlias = tuple[tuple[QueueFact, ...], tuple[Event, ...]]


def change_queues(
    book: QueueBook, slots: int | None, in_use: Collection[str], given: QueueRequest
) -> QueueChange:
    """Facts and events; none for what is so already. Raises BadInput.

    `slots`: of the cluster; None: not known yet. `in_use`: queues of jobs that have not ended.
    """
    match given:
        case CreateQueue(name, user, changes):
            return _limited(book, slots, {name: _merged(book, name, changes)}, user)
        case DefineQueues(limits, user):
            return _limited(book, slots, limits, user)
        case LimitQueue(name, user, changes):
            book.queue(name)
            return _limited(book, slots, {name: _merged(book, name, changes)}, user)
        case SetQueueMode(name, user, mode):
            return _with_mode(book.queue(name), name, user, mode)
        case DeleteQueue(name, user):
            return _deleted(book.queue(name), name, user, in_use)


def check_size(queues: Queues, queue: int, slots: int, least: int, needs: str) -> None:
    """Raises BadInput for a job that the limits of its queue never let run.

    `least`: the slots without which it cannot run; `needs`: the words before that number, as
    in "processes: 3" and "job 1 needs 3".
    """
    largest = largest_job(queue, queues.limits, slots)
    if least > largest:
        most = f"{largest} slot{'' if largest == 1 else 's'} at most"
        raise BadInput(
            f"{needs} {least}, but a job of queue {queues.names[queue]} gets {most} "
            f"({limit_words(queues, queue, 'slots')}); the job could never start"
        )


def _merged(book: QueueBook, name: str, changes: LimitChanges) -> QueueLimits:
    present = book.present.get(name, LiveQueue(-1)).limits
    before = {"guarantee": present.guarantee, "borrow": present.borrow, "lend": present.lend}
    return limits_of({**before, **changes}, f"queue {name}")


def _limited(
    book: QueueBook, slots: int | None, wanted: Mapping[str, QueueLimits], user: str
) -> QueueChange:
    present = {name: each.limits for name, each in book.present.items()}
    if slots is not None:
        check_guarantees({**present, **wanted}, slots, "slots")
    facts, events, next_number = list[QueueFact](), list[Event](), len(book.every)
    for name, limits in wanted.items():
        _check_name(name)
        number = book.number_if_known(name)
        if name not in present:
            facts.append(QueueCreated(name, user))
        if number is None:
            number, next_number = next_number, next_number + 1
            events.append(QueueAdded(name))
        if limits != present.get(name, QueueLimits()):
            values = limits.guarantee, limits.borrow, limits.lend
            facts.append(QueueLimitsSet(name, user, *values))
            is_held = name in present and book.queue(name).mode == "held"
            events.append(QueueLimited(number, *values, is_held))
    return tuple(facts), tuple(events)


def _check_name(name: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name):
        raise BadInput(
            f"queue {name[:80]!r}: give 1 to 63 letters, digits, '.', '_' or '-', a letter "
            "or digit first and last"
        )


def _with_mode(queue: LiveQueue, name: str, user: str, mode: QueueMode) -> QueueChange:
    if queue.mode == mode:
        return (), ()
    limits = queue.limits
    event = QueueLimited(queue.number, limits.guarantee, limits.borrow, limits.lend, mode == "held")
    return (QueueModeSet(name, user, mode),), (event,)


def _deleted(queue: LiveQueue, name: str, user: str, in_use: Collection[str]) -> QueueChange:
    if queue.number == 0:
        raise BadInput(f"queue {name} is that of jobs which name none; it cannot be deleted")
    if name in in_use:
        raise BadInput(
            f"queue {name} has jobs that have not ended; move them (motet update JOB --queue Q) or "
            f"cancel them (motet cancel --queue {name}) first"
        )
    return (QueueDeleted(name, user),), (QueueLimited(queue.number),)
