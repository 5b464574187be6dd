"""The CPUs and GPUs of this machine that this process may use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from motet.domain.errors import BadInput
from motet.live.slots.devices import Devices, devices_of

AUTO, NONE = "auto", "none"
_QUERY = ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader")
_TIMEOUT_S = 60.0
_NAME = re.compile(r"\d+|(GPU|MIG)-[\w-]+")
_VARIABLE = "CUDA_VISIBLE_DEVICES"


def cpu_count() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def chosen_devices(choice: str, environment: Mapping[str, str] = os.environ) -> Devices:
    """The GPUs of `--gpus`: `auto`, `none`, or a list like `0,1`. Raises BadInput.

    `auto`: those of CUDA_VISIBLE_DEVICES if it is set, otherwise all that nvidia-smi lists; none
    where that program is absent.
    """
    if choice == NONE:
        return ()
    if choice != AUTO:
        return _checked("--gpus", choice)
    given = environment.get(_VARIABLE)
    if given is None:
        return _listed()
    return () if given.strip() in ("", "-1") else _checked(_VARIABLE, given)


def _checked(source: str, text: str) -> Devices:
    devices = tuple(each.strip() for each in text.split(","))
    if not all(_NAME.fullmatch(each) for each in devices):
        raise BadInput(f"{source} {text}: write auto, none, or indices or UUIDs like 0,1")
    if len(set(devices)) < len(devices):
        raise BadInput(f"{source} {text}: names a GPU twice")
    return devices


def _listed() -> Devices:
    """Indices of all GPUs in the order of their buses."""
    if shutil.which(_QUERY[0]) is None:
        return ()
    try:
        found = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unlisted(str(error)) from error
    if found.returncode:
        raise _unlisted(" ".join((found.stdout + found.stderr).split()))
    return devices_of(",".join(found.stdout.split()))


def _unlisted(why: str) -> BadInput:
    return BadInput(
        f"nvidia-smi cannot list the GPUs of this machine ({why}); mend its driver, or give --gpus "
        "none or a list of them"
    )
