"""Ray's private modules are used in one file only."""

from __future__ import annotations

from pathlib import Path

import motet

PACKAGE = Path(motet.__file__).parent


def test_only_one_file_imports_rays_private_modules() -> None:
    found = [path for path in PACKAGE.rglob("*.py") if "ray._private" in path.read_text()]
    assert [path.name for path in found] == ["ray_internals.py"]
