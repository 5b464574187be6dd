"""Assignment of a model's parameter blocks to parameter servers: Optimus' PAA and MXNet's default.

A block is a tensor of parameters. The server with the most parameters determines the duration of a
step's exchange, and every worker sends one request per piece of a block.

`balanced_blocks` is the parameter assignment algorithm (PAA) of Peng et al., EuroSys 2018, section
5.3. Departures: a block larger than the average share is cut so that its pieces fill servers up to
that share, as in the authors' program (github.com/pengyanghua/optimus); the paper uses pieces of
the average share. Among servers with equal request counts the one with the least load gets the next
small block. `hashed_blocks` is MXNet's default (src/kvstore/kvstore_dist.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

SMALL = 0.01
"""Fraction of the average share: smaller blocks are assigned by requests, not by size."""
LARGE_BLOCK = 1_000_000
"""Parameters from which on MXNet cuts a block (MXNET_KVSTORE_BIGARRAY_BOUND)."""
_HASH = 9973


class ParameterPiece(NamedTuple):
    """`size` parameters of the block with that number."""

    block: int
    size: int


@dataclass(frozen=True)
class Division:
    """`servers`: the pieces on each; at least one server."""

    servers: tuple[tuple[ParameterPiece, ...], ...]

    @property
    def loads(self) -> list[int]:
        """Parameters by server."""
        return [sum(piece.size for piece in pieces) for pieces in self.servers]

    @property
    def requests(self) -> list[int]:
        """Pieces by server, equal to a worker's requests per step."""
        return [len(pieces) for pieces in self.servers]

    @property
    def imbalance(self) -> float:
        """The largest load relative to the average one, at least 1."""
        loads = self.loads
        return max(max(loads) * len(loads) / max(sum(loads), 1), 1.0)


def balanced_blocks(sizes: Sequence[int], servers: int) -> Division:
    """Optimus' PAA. `sizes`: parameters of each block; `servers`: at least one.

    Assigns the largest block first. Blocks up to 1 % of the average share go to the server with the
    fewest requests. Blocks up to the average share go to the server with the least sufficient room,
    or else with the most room. Larger blocks fill the emptiest servers with pieces; the rest is
    assigned as a smaller block.
    """
    found = _Servers.empty(servers, -(-sum(sizes) // servers))
    for block in sorted(range(len(sizes)), key=lambda block: (-sizes[block], block)):
        size = sizes[block]
        if size <= SMALL * sum(sizes) / servers:
            found.put(found.fewest_requests(), ParameterPiece(block, size))
            continue
        if size > found.share:
            size = found.fill(block, size)
        if size:
            found.put(found.best_fit(size), ParameterPiece(block, size))
    return found.division()


def hashed_blocks(sizes: Sequence[int], servers: int) -> Division:
    """MXNet's default: blocks of a million parameters or more are cut evenly over all servers,
    other blocks are assigned whole to a server by a hash of their number.
    """
    found = _Servers.empty(servers, 0)
    for block, size in enumerate(sizes):
        if size < LARGE_BLOCK:
            found.put(block * _HASH % servers, ParameterPiece(block, size))
            continue
        cuts = [round(size / servers * server) for server in range(servers + 1)]
        for server in range(servers):
            found.put(server, ParameterPiece(block, cuts[server + 1] - cuts[server]))
    return found.division()


@dataclass
class _Servers:
    """State of an assignment. `share`: target load of each server, rounded up."""

    share: int
    pieces: list[list[ParameterPiece]]
    loads: list[int]

    @classmethod
    def empty(cls, servers: int, share: int) -> _Servers:
        return cls(share, [[] for _ in range(servers)], [0] * servers)

    def put(self, server: int, piece: ParameterPiece) -> None:
        self.pieces[server].append(piece)
        self.loads[server] += piece.size

    def fewest_requests(self) -> int:
        keys = [(len(own), load) for own, load in zip(self.pieces, self.loads, strict=True)]
        return keys.index(min(keys))

    def best_fit(self, size: int) -> int:
        """The server with the least sufficient room, or the one with the most room."""
        room = [self.share - load for load in self.loads]
        return room.index(min((each for each in room if each >= size), default=max(room)))

    def fill(self, block: int, size: int) -> int:
        """Fill servers up to their share, the emptiest first. Returns the rest of the block."""
        by_load = sorted(range(len(self.loads)), key=self.loads.__getitem__)
        for server in by_load:
            room = self.share - self.loads[server]
            if size < room or room <= 0:
                return size
            self.put(server, ParameterPiece(block, room))
            size -= room
        return size

    def division(self) -> Division:
        return Division(tuple(tuple(own) for own in self.pieces))
