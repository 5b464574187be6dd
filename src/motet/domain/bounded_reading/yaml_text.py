"""YAML with unique names and limits of size and depth. Pure."""

from __future__ import annotations

import re
from typing import Any

import yaml

from motet.domain.errors import BadInput

DEEPEST = 100
MOST_NODES = 1_000_000
MOST_EXPANSION = 10
MOST_BITS = 64
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_SURROGATE = re.compile("[\ud800-\udfff]")


class StrictLoader(yaml.SafeLoader):
    """YAML's safe loader with limits; the safe loader keeps the last of entries with one name.

    Dates are text. Integers have at most 64 bits.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._depth = 0

    def get_single_node(self) -> Any:
        """The document. Raises _Refused for one that its aliases make too large or recursive."""
        node = super().get_single_node()
        if node is not None:
            _Extents().of(node)
        return node

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Raises _Refused for nodes that are nested too deeply."""
        if self._depth > DEEPEST:
            raise _too_deep(self.peek_event())  # type: ignore[no-untyped-call]
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Raises _Refused for text that UTF-8 cannot encode."""
        node = super().compose_scalar_node(anchor)
        if _SURROGATE.search(node.value):
            raise _Refused("half of a surrogate pair in a text", node.start_mark)
        return node

    def construct_yaml_int(self, node: Any) -> int:
        """Raises _Refused for an integer of more than 64 bits."""
        too_large = _Refused(f"an integer of more than {MOST_BITS} bits", node.start_mark)
        if len(node.value) > 4 * MOST_BITS:
            raise too_large
        value = int(super().construct_yaml_int(node))
        if value.bit_length() > MOST_BITS:
            raise too_large
        return value

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Raises _Repeated."""
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                if key.value in lines:
                    raise _Repeated(key.value, lines[key.value], line)
                lines[key.value] = line
        return node


StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
StrictLoader.add_constructor("tag:yaml.org,2002:int", StrictLoader.construct_yaml_int)


class _Refused(yaml.MarkedYAMLError):
    """Content that is YAML and beyond the limits."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


def _too_deep(at: Any) -> _Refused:
    return _Refused(f"nested more than {DEEPEST} deep", at.start_mark)


class _Extents:
    """Depth and number of nodes below every node, with each alias expanded."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int] | None] = {}

    def of(self, node: Any) -> tuple[int, int]:
        """Raises _Refused beyond the limits."""
        key = id(node)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._measured(node)
        extent = self._known[key]
        if extent is None:
            raise _Refused("an alias of a node that contains it", node.start_mark)
        return extent

    def _measured(self, node: Any) -> tuple[int, int]:
        children = [] if isinstance(node, yaml.ScalarNode) else list(node.value)
        if isinstance(node, yaml.MappingNode):
            children = [each for pair in children for each in pair]
        extents = [self.of(child) for child in children]
        depth = 1 + max((depth for depth, _ in extents), default=0)
        count = 1 + sum(count for _, count in extents)
        if depth > DEEPEST + 1:
            raise _too_deep(node)
        if count > max(MOST_NODES, MOST_EXPANSION * len(self._known)):
            problem = f"more than {MOST_NODES:,} entries when its aliases are expanded"
            raise _Refused(problem, node.start_mark)
        return depth, count


class _Repeated(Exception):
    """A name that occurs twice in one mapping, and the lines."""


def read_yaml(
    text: str, place: str, *, name: str = "YAML", loader: type[StrictLoader] = StrictLoader
) -> Any:
    """Parse a text. `place`: the file, `name`: the expected format, both for error messages.

    Raises BadInput with the line.
    """
    try:
        return yaml.load(text, loader)
    except _Repeated as error:
        key, first, line = error.args
        raise BadInput(
            f"{place}:{line}: {key!r} is given twice, first in line {first}; remove one of them"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = place if mark is None else f"{place}:{mark.line + 1}"
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise BadInput(f"{where}: no {name} ({reason})") from error
    # Constructors of tags (`!!timestamp x`, `!!bool x`) raise errors of these types.
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise BadInput(f"{place}: no {name} (a value does not fit its tag)") from error
