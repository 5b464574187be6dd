"""Write constraints.txt: the version of every package that a fresh resolution picks today.

Run by `make lock`; nothing is installed. `pip install -c constraints.txt` then takes exactly these.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CONSTRAINTS = REPOSITORY / "constraints.txt"
EXTRAS = "cluster,dev,bench"
HEADER = "# Written by `make lock` from pyproject.toml; do not edit by hand.\n"


def resolve() -> list[dict[str, str]]:
    """Name and version of every package of a fresh resolution, this one excepted."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--quiet", "--only-binary=:all:", "--report=-", "--editable", f".[{EXTRAS}]"]
    report = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE).stdout
    found = [package["metadata"] for package in json.loads(report)["install"]]
    return [package for package in found if package["name"] != "motet"]


def main() -> None:
    """Resolve, then replace the file."""
    pins = sorted(f"{package['name'].lower()}=={package['version']}" for package in resolve())
    CONSTRAINTS.write_text(HEADER + "\n".join(pins) + "\n")
    print(f"{CONSTRAINTS.name}: {len(pins)} packages pinned", file=sys.stderr)


if __name__ == "__main__":
    main()
