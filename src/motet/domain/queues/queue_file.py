"""Parser for files of queues::

queues:
  vision: {guarantee: 8, borrow: 4, lend: 0}
  default: {guarantee: 4}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.bounded_reading.yaml_text import read_yaml
from motet.domain.errors import BadInput, UnknownName
from motet.domain.queues.queue_limits import QueueLimits

KEYS = ("guarantee", "borrow", "lend")
MOST_GPUS = 10**9
_EXAMPLE = "write 'queues:' and below it a line per queue, as 'vision: {guarantee: 8, borrow: 4}'"


def read_queue_file(path: Path) -> dict[str, QueueLimits]:
    """The queues of a file, in its order. Raises BadInput."""
    try:
        text = regular_file(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--queues {path}: cannot be read ({reason})") from error
    return queues_of(read_yaml(text, str(path)), str(path))


def queues_of(document: object, place: str) -> dict[str, QueueLimits]:
    """The queues of a parsed file; `place`: its name for messages. Raises BadInput."""
    if not isinstance(document, dict) or not document:
        raise BadInput(f"{place}: {_EXAMPLE}")
    for key in document:
        if key != "queues":
            raise BadInput(f"{place}: {UnknownName('key', str(key), ['queues'])}; {_EXAMPLE}")
    queues = document["queues"]
    if not isinstance(queues, dict) or not queues:
        raise BadInput(f"{place}: queues: {_EXAMPLE}")
    return {str(name): limits_of(given, f"{place}: {name}") for name, given in queues.items()}


def limits_of(given: object, place: str) -> QueueLimits:
    """The limits of one queue; nothing is a queue without limits. Raises BadInput."""
    if given is None:
        return QueueLimits()
    if not isinstance(given, Mapping):
        raise BadInput(f"{place}: {given!r:.40} is no mapping; write {{guarantee: 8, borrow: 4}}")
    for key in given:
        if key not in KEYS:
            raise BadInput(f"{place}: {UnknownName('key of a queue', str(key), KEYS)}")
    counts = {key: _count(given[key], f"{place}: {key}") for key in given if given[key] is not None}
    limits = QueueLimits(counts.get("guarantee", 0), counts.get("borrow"), counts.get("lend"))
    if limits.lend is not None and limits.lend > limits.guarantee:
        raise BadInput(
            f"{place}: lend: {limits.lend} is more than its guarantee, {limits.guarantee}; leave "
            "it out to lend all that is idle"
        )
    return limits


def _count(value: object, place: str) -> int:
    if type(value) is not int or not 0 <= value <= MOST_GPUS:
        raise BadInput(f"{place}: {value!r:.40}; give a whole number from 0 to {MOST_GPUS:,}")
    return value
