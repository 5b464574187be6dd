"""The pictures of docs/architecture.md show the packages, layers and imports of this checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from architecture_boxes import PICTURES, Picture
from architecture_picture import COMMAND, REPOSITORY, svg_of

PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.root)
def test_the_picture_is_current_and_on_the_page(picture: Picture) -> None:
    file = REPOSITORY / picture.file
    current = file.exists() and file.read_text(encoding="utf-8") == svg_of(picture)
    assert current, f"{picture.file} is not current; run `{COMMAND}` and commit the result"
    assert f"(_static/{Path(picture.file).name})" in PAGE
