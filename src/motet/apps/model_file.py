"""The file of a fitted model: npz without pickles, one array per fitted attribute and a header."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.domain.bounded_reading.array_files import load_arrays
from motet.domain.bounded_reading.decompression import DecompressionLimit
from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput

MODEL_NAME = "model.npz"
"""The model in the folder of a run, as `motet train --out` and `motet submit` write it."""
_HEADER = "motet"
_FORMAT_VERSION = 1


def write_model(
    path: str | os.PathLike[str],
    application: str,
    parameters: Mapping[str, Any],
    state: Mapping[str, Array],
) -> None:
    """Write the fitted attributes `state` of an application."""
    header = {
        "format": _FORMAT_VERSION,
        "application": application,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
    }
    with Path(path).open("wb") as file:
        arrays: dict[str, Any] = {_HEADER: np.array(json.dumps(header)), **state}
        np.savez(file, allow_pickle=False, **arrays)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and the arrays of a saved model, or of that in a run's folder.

    Raises BadInput.
    """
    path = _file_of(Path(path))
    try:
        with regular_file(Path(path)).open("rb") as file:
            limit = DecompressionLimit.of(path, os.fstat(file.fileno()).st_size)
            arrays = load_arrays(file, limit)
        if not isinstance(arrays, dict):
            raise ValueError("one array, not an archive")
        header: dict[str, Any] = json.loads(str(arrays.pop(_HEADER)))
        if not isinstance(header, dict):
            raise ValueError("its header is not a mapping")
        if header.get("format") == _FORMAT_VERSION:
            _check_header(header)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except BadInput:
        raise
    except KeyError:
        raise BadInput(f"{path}: not a model that Motet saved (its header is missing)") from None
    except Exception as error:  # NumPy and zipfile raise errors of many types for odd bytes.
        # NumPy advises to load other files as pickles, which can run code.
        reason = "no arrays" if "pickle" in str(error) else f"{error!s:.200}"
        raise BadInput(f"{path}: not a model that Motet saved ({reason})") from None
    if header.get("format") != _FORMAT_VERSION:
        raise BadInput(
            f"{path}: model format {header.get('format')}, this Motet reads {_FORMAT_VERSION}; "
            "install the version that wrote it"
        )
    return header, arrays


def _file_of(path: Path) -> Path:
    """The file itself, or that of the model in a folder. Raises BadInput if there is none."""
    if not path.is_dir():
        return path
    if not (path / MODEL_NAME).exists():
        raise BadInput(
            f"{path}: a folder without {MODEL_NAME}, which 'motet train --out DIR' writes at the "
            "end of a training; give the folder of a finished run, or the file of a model"
        )
    return path / MODEL_NAME


def _check_header(header: Mapping[str, Any]) -> None:
    if not isinstance(header.get("application"), str):
        raise ValueError("its header names no application")
    if not isinstance(header.get("parameters"), dict):
        raise ValueError("its header has no parameters")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
