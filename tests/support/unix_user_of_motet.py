"""`motet ...` as another Unix user of this machine: ARGUMENTS...

Everything that the testbed's commands import is imported as root: Python and the checkout may be in
folders that other users cannot read.
"""

from __future__ import annotations

import importlib
import os
import pkgutil

import motet.interfaces.cli.commands  # noqa: F401
from motet.interfaces.cli.main import main

NOBODY = 65534
PACKAGES = ("motet.interfaces.cli.shell", "motet.interfaces.cli.testbed", "motet.testbed")


def import_package(name: str) -> None:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(module.name)


if __name__ == "__main__":
    for name in PACKAGES:
        import_package(name)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    main()
