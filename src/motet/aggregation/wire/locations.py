"""Where tensors are: in replies to a worker's requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from motet.aggregation.wire.worker_requests import decoded_json
from motet.runtime.wire.errors import BadMessage

Locations: TypeAlias = Mapping[int, str]
"""The encoded endpoint of a tensor's Aggregator; empty: unknown here."""


def encode_locations(locations: Locations) -> bytes:
    """Bytes for a reply's meta; none for no locations."""
    return json.dumps(list(locations.items()), separators=(",", ":")).encode() if locations else b""


def decode_locations(data: bytes) -> Locations:
    """The inverse of `encode_locations`. Raises BadMessage."""
    if not data:
        return {}
    pairs = decoded_json(data)
    if not isinstance(pairs, list):
        raise BadMessage(f"{data[:60]!r} has no locations")
    locations = {}
    for pair in pairs:
        match pair:
            case [int(tensor), str(endpoint)]:
                locations[tensor] = endpoint
            case _:
                raise BadMessage(f"{str(pair)[:60]} is no location of a tensor")
    return locations
