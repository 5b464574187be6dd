"""Files of queues: what they may say, and one clear error for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.domain.queues.queue_file import read_queue_file
from motet.domain.queues.queue_limits import QueueLimits


def test_a_file_names_queues_and_their_limits(tmp_path: Path) -> None:
    path = tmp_path / "queues.yaml"
    path.write_text(
        "queues:\n  vision: {guarantee: 8, borrow: 4, lend: 0}\n  default: {guarantee: 4}\n  any:\n"
    )
    found = read_queue_file(path)
    assert found == {
        "vision": QueueLimits(8, 4, 0),
        "default": QueueLimits(4),
        "any": QueueLimits(),
    }
    assert [*found] == ["vision", "default", "any"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write 'queues:'"),
        ("[1, 2]", "write 'queues:'"),
        ("queus: {}", "unknown key 'queus'; did you mean 'queues'"),
        ("queues: {}", "queues: write 'queues:'"),
        ("queues: {a: 3}", "a: 3 is no mapping"),
        ("queues: {a: {guarante: 3}}", "a: unknown key of a queue 'guarante'; did you mean"),
        ("queues: {a: {guarantee: -1}}", "a: guarantee: -1; give a whole number from 0"),
        ("queues: {a: {borrow: 1.5}}", "a: borrow: 1.5; give a whole number"),
        ("queues: {a: {borrow: true}}", "a: borrow: True; give a whole number"),
        ("queues: {a: {guarantee: 2, lend: 3}}", "a: lend: 3 is more than its guarantee, 2"),
        ("queues: {a: {}, a: {}}", "a"),
    ],
)
def test_anything_else_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "queues.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=f"queues.yaml.*{message}"):
        read_queue_file(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_queue_file(tmp_path / "nothing.yaml")
