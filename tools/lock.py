"""Write constraints.txt: the version of every package that a fresh resolution picks today.

Run by `make lock`; nothing is installed. The resolution is that of the oldest Python we support,
and must then hold for the newer ones, so one file of pins serves all of them. PyTorch is its build
for CPUs, as tools/setup.sh installs it: the one with CUDA would add its libraries, some gigabytes,
to the pins. Its local version (`+cpu`) is no part of a pin, so that any build fits.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

REPOSITORY = Path(__file__).resolve().parents[1]
CONSTRAINTS = REPOSITORY / "constraints.txt"
PROJECT = ".[cluster,server,postgresql,torch,dev,bench]"
OLDEST_PYTHON, NEWER_PYTHONS = "3.11.0", ("3.12", "3.13", "3.14")
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
HEADER = "# Written by `make lock` from pyproject.toml; do not edit by hand.\n"
_OTHER_SOURCES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX")
Package: TypeAlias = dict[str, Any]
Report: TypeAlias = Callable[..., list[Package]]


def build_requirements() -> list[str]:
    """The build backend of pyproject.toml."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    required: list[str] = project["build-system"]["requires"]
    return required


def report(
    python: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> list[Package]:
    """What pip would install for a version of Python, ours excepted. Raises CalledProcessError."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--quiet", "--report=-", "--only-binary=:all:", f"--python-version={python}"]
    with tempfile.TemporaryDirectory() as nowhere:
        command += [f"--target={nowhere}", *arguments]
        done = subprocess.run(
            command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, env=environment
        )
    found: list[Package] = json.loads(done.stdout)["install"]
    return [package for package in found if package["metadata"]["name"] != "motet"]


def resolved_for_cpus(report: Report = report) -> list[Package]:
    """What the oldest Python gets; PyTorch by its build for CPUs, also where the newest one of
    pip's own sources is a build with CUDA."""
    wanted = [PROJECT, *build_requirements()]
    packages = report(OLDEST_PYTHON, *wanted)
    if any(each["metadata"]["name"].startswith("nvidia-") for each in packages):
        return report(OLDEST_PYTHON, *wanted, f"torch @ {cpu_build(report)}")
    return packages


def cpu_build(report: Report = report) -> str:
    """The URL of the newest one of PyTorch's index, which is asked for nothing else; if that does
    not answer, of the one that is pinned now, from pip's own sources. Exits if there is neither."""
    only = {name: value for name, value in os.environ.items() if name not in _OTHER_SOURCES}
    only["PIP_CONFIG_FILE"] = os.devnull
    index = ("--no-deps", f"--index-url={CPU_BUILDS}", "--retries=0", "--timeout=20", "torch")
    (pinned,) = re.findall(r"^torch==(.*)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    own = ("--no-deps", f"torch=={pinned}+cpu")
    for arguments, environment in ((index, only), (own, None)):
        try:
            (found,) = report(OLDEST_PYTHON, *arguments, environment=environment)
        except subprocess.CalledProcessError:
            continue
        url: str = found["download_info"]["url"]
        print(f"torch: {url}", file=sys.stderr)
        return url
    sys.exit(
        f"lock: {CPU_BUILDS} does not answer, and pip's own sources have no torch=={pinned}+cpu: "
        "name one that has it by PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL"
    )


def pins_of(packages: Sequence[Package]) -> list[str]:
    """A line of the file for each package."""
    found = [package["metadata"] for package in packages]
    versions = {each["name"].lower(): each["version"].partition("+")[0] for each in found}
    return sorted(f"{name}=={version}" for name, version in versions.items())


def main() -> None:
    """Resolve, replace the file, and make sure that it serves every Python."""
    pins = pins_of(resolved_for_cpus())
    text = HEADER + "\n".join(pins) + "\n"
    if text != CONSTRAINTS.read_text(encoding="utf-8"):  # `make` looks at the file's time
        CONSTRAINTS.write_text(text, encoding="utf-8")
    for python in NEWER_PYTHONS:
        report(python, f"--constraint={CONSTRAINTS}", PROJECT, *build_requirements())
    print(f"{CONSTRAINTS.name}: {len(pins)} packages pinned", file=sys.stderr)


if __name__ == "__main__":
    main()
