"""Write constraints.txt: the version of every package that a fresh resolution picks today.

Run by `make lock`; nothing is installed. The resolution is that of the oldest Python we support,
and must then hold for the newer ones, so one file of pins serves all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
CONSTRAINTS = REPOSITORY / "constraints.txt"
PROJECT = ".[cluster,server,postgresql,torch,dev,bench]"
OLDEST_PYTHON, NEWER_PYTHONS = "3.11.0", ("3.12", "3.13", "3.14")
HEADER = "# Written by `make lock` from pyproject.toml; do not edit by hand.\n"


def build_requirements() -> list[str]:
    """The build backend of pyproject.toml."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    required: list[str] = project["build-system"]["requires"]
    return required


def resolve(python: str, *options: str) -> list[dict[str, Any]]:
    """Metadata of every package that pip would install for a version of Python, ours excepted."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--quiet", "--report=-", "--only-binary=:all:", f"--python-version={python}"]
    with tempfile.TemporaryDirectory() as nowhere:
        command += [f"--target={nowhere}", *options, PROJECT, *build_requirements()]
        done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE)
    found = [package["metadata"] for package in json.loads(done.stdout)["install"]]
    return [package for package in found if package["name"] != "motet"]


def main() -> None:
    """Resolve, replace the file, and make sure that it serves every Python."""
    packages = resolve(OLDEST_PYTHON)
    pins = sorted(f"{package['name'].lower()}=={package['version']}" for package in packages)
    text = HEADER + "\n".join(pins) + "\n"
    if text != CONSTRAINTS.read_text(encoding="utf-8"):  # `make` looks at the file's time
        CONSTRAINTS.write_text(text, encoding="utf-8")
    for python in NEWER_PYTHONS:
        resolve(python, f"--constraint={CONSTRAINTS}")
    print(f"{CONSTRAINTS.name}: {len(pins)} packages pinned", file=sys.stderr)


if __name__ == "__main__":
    main()
