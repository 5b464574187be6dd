"""Files made for a test, and the one line that a user reads when such a file is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from motet.datasets import open_dataset
from motet.domain.errors import BadInput

Write = Callable[[str, str | bytes], Path]
Complaint = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(name, content)`: make a file in the test's own folder."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture
def complaint(write: Write, tmp_path: Path) -> Complaint:
    """`complaint(name, content, **options)`: the message that opening such a file ends in."""

    def message_about(name: str, content: str | bytes, **options: Any) -> str:
        path = write(name, content)
        with pytest.raises(BadInput) as caught:
            open_dataset(path, **options)
        message = str(caught.value)
        assert caught.value.exit_code == 2
        assert "\n" not in message
        return message.replace(f"{tmp_path}/", "")

    return message_about
