"""Which parameter server holds which blocks of a model: Optimus' way and MXNet's.

A block is a tensor of parameters. The server with the most of them decides how long a step's
exchange takes, and every piece of a block is a request of its own of every worker.

`balanced_blocks` is the parameter assignment algorithm (PAA) of Peng et al., EuroSys 2018, section
5.3. Departures: a block larger than the average share is cut so that its pieces fill servers up to
that share, as in the authors' program (github.com/pengyanghua/optimus); the paper says pieces of
the average share. Of servers with equally few requests the one with the least load gets the next
small block. `hashed_blocks` is what MXNet does by itself (src/kvstore/kvstore_dist.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

SMALL = 0.01
"""Of the average share: blocks up to that size are dealt by requests, not by size."""
LARGE_BLOCK = 1_000_000
"""Parameters from which on MXNet cuts a block (MXNET_KVSTORE_BIGARRAY_BOUND)."""
_HASH = 9973


class Piece(NamedTuple):
    """`size` parameters of the block with that number."""

    block: int
    size: int


@dataclass(frozen=True)
class Division:
    """`servers`: the pieces on each; at least one server."""

    servers: tuple[tuple[Piece, ...], ...]

    @property
    def loads(self) -> list[int]:
        """Parameters by server."""
        return [sum(piece.size for piece in pieces) for pieces in self.servers]

    @property
    def requests(self) -> list[int]:
        """Pieces by server: a worker asks for each in every step."""
        return [len(pieces) for pieces in self.servers]

    @property
    def imbalance(self) -> float:
        """The largest load against the average one, at least 1."""
        loads = self.loads
        return max(max(loads) * len(loads) / max(sum(loads), 1), 1.0)


def balanced_blocks(sizes: Sequence[int], servers: int) -> Division:
    """Optimus' PAA. `sizes`: parameters of each block; `servers`: at least one.

    The largest block first. Up to 1 % of the average share: to the server with fewest requests. Up
    to the average share: to the server with the least room that it fits in, or else with the most.
    Larger: the emptiest servers are filled with pieces; what is left of it goes as a smaller one.
    """
    found = _Servers.empty(servers, -(-sum(sizes) // servers))
    for block in sorted(range(len(sizes)), key=lambda block: (-sizes[block], block)):
        size = sizes[block]
        if size <= SMALL * sum(sizes) / servers:
            found.put(found.least_asked(), Piece(block, size))
            continue
        if size > found.share:
            size = found.fill(block, size)
        if size:
            found.put(found.best_fit(size), Piece(block, size))
    return found.division()


def hashed_blocks(sizes: Sequence[int], servers: int) -> Division:
    """MXNet's default: blocks of a million parameters and more are cut evenly over all servers,
    others lie whole on the server that follows from their number."""
    found = _Servers.empty(servers, 0)
    for block, size in enumerate(sizes):
        if size < LARGE_BLOCK:
            found.put(block * _HASH % servers, Piece(block, size))
            continue
        cuts = [round(size / servers * server) for server in range(servers + 1)]
        for server in range(servers):
            found.put(server, Piece(block, cuts[server + 1] - cuts[server]))
    return found.division()


@dataclass
class _Servers:
    """While blocks are dealt. `share`: what each should hold in the end, rounded up."""

    share: int
    pieces: list[list[Piece]]
    loads: list[int]

    @classmethod
    def empty(cls, servers: int, share: int) -> _Servers:
        return cls(share, [[] for _ in range(servers)], [0] * servers)

    def put(self, server: int, piece: Piece) -> None:
        self.pieces[server].append(piece)
        self.loads[server] += piece.size

    def least_asked(self) -> int:
        keys = [(len(own), load) for own, load in zip(self.pieces, self.loads, strict=True)]
        return keys.index(min(keys))

    def best_fit(self, size: int) -> int:
        """The server with the least room that is enough; with the most, if none is."""
        room = [self.share - load for load in self.loads]
        return room.index(min((each for each in room if each >= size), default=max(room)))

    def fill(self, block: int, size: int) -> int:
        """Servers up to their share, the emptiest first: what is left, not enough for the next."""
        by_load = sorted(range(len(self.loads)), key=self.loads.__getitem__)
        for server in by_load:
            room = self.share - self.loads[server]
            if size < room or room <= 0:
                return size
            self.put(server, Piece(block, room))
            size -= room
        return size

    def division(self) -> Division:
        return Division(tuple(tuple(own) for own in self.pieces))
