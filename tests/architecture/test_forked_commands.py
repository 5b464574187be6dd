"""Commands of tests are forks of a process that all processes of a test run share."""

from __future__ import annotations

import contextlib
import os

import psutil

from marked_process import run_motet
from motet.interfaces.cli.shell.process.scratch import PREFIX
from motet_forks import TEMPLATE_FOLDER


def test_they_are_below_no_process_of_the_tests() -> None:
    """Tests kill executors below their own process, which others' commands must not have."""
    assert run_motet("--version").code == 0
    of_template = [
        each
        for each in psutil.process_iter(["cmdline"])
        if str(TEMPLATE_FOLDER) in (each.info["cmdline"] or [])
    ]
    of_tests = {os.getpid()}
    if "PYTEST_XDIST_WORKER" in os.environ:
        of_tests.add(os.getppid())
    assert of_template
    for each in of_template:  # The template and commands that run now.
        with contextlib.suppress(psutil.NoSuchProcess):
            assert of_tests.isdisjoint(parent.pid for parent in each.parents())


def test_commands_do_not_take_its_address_for_a_folder_of_a_killed_command() -> None:
    """Each process of the tests would start another template."""
    assert not TEMPLATE_FOLDER.name.startswith(PREFIX)
