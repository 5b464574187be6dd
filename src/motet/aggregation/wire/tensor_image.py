"""Whole tensors in a message: their values and the optimizer's state, as NumPy arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from motet.aggregation.wire.worker_requests import decoded_json
from motet.domain.arrays import Array
from motet.runtime.wire.errors import BadMessage

DTYPES = ("float32", "float64", "uint16", "int64")
"""Of arrays in messages; NumPy holds bfloat16 as uint16."""


@dataclass(frozen=True, eq=False)
class TensorImage:
    """A tensor at a version. `value`: None: it has none. `state`: torch.optim's, by name."""

    tensor: int
    version: int
    value: Array | None
    state: Mapping[str, Array] = field(default_factory=dict)


def encode_images(images: Sequence[TensorImage]) -> tuple[bytes, list[Array]]:
    """The meta and the buffers of the payload; contiguous arrays are not copied."""
    described = []
    buffers: list[Array] = []
    for image in images:
        named = dict(image.state) if image.value is None else {"": image.value, **image.state}
        arrays = [[name, array.dtype.name, list(array.shape)] for name, array in named.items()]
        described.append([image.tensor, image.version, arrays])
        buffers += [np.ascontiguousarray(a).reshape(a.shape) for a in named.values()]
    return json.dumps(described, separators=(",", ":")).encode(), buffers


def decode_images(meta: bytes | memoryview, payload: memoryview) -> list[TensorImage]:
    """The inverse of `encode_images`; the arrays are views of the payload. Raises BadMessage."""
    described = decoded_json(meta)
    if not isinstance(described, list):
        raise BadMessage("images of tensors are not described")
    offset = 0
    images = []
    for entry in described:
        match entry:
            case [int(tensor), int(version), list(arrays)]:
                found = {}
                for description in arrays:
                    name, array, offset = _array(description, payload, offset)
                    found[name] = array
                images.append(TensorImage(tensor, version, found.pop("", None), found))
            case _:
                raise BadMessage(f"{str(entry)[:60]} describes no tensor")
    if offset != len(payload):
        raise BadMessage(f"images of {offset} bytes in a payload of {len(payload)}")
    return images


def _array(description: object, payload: memoryview, offset: int) -> tuple[str, Array, int]:
    match description:
        case [str(name), str(dtype), list(shape)] if dtype in DTYPES and all(
            isinstance(size, int) and size >= 0 for size in shape
        ):
            end = offset + math.prod(shape) * np.dtype(dtype).itemsize
            if end <= len(payload):
                array = np.frombuffer(payload[offset:end], dtype).reshape(shape)
                return name, array, end
    raise BadMessage(f"{str(description)[:60]} does not describe an array in the payload")
