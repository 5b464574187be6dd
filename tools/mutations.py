"""Small faults that can be put into Python source text, one at a time.

A mutation changes one expression or statement inside a function and leaves the rest of the file as
it is. What no test should notice is not changed: docstrings and other strings, annotations,
decorators, default values, logging, messages of exceptions, representations, `assert` and `strict`
(which assert what is true anyway), module constants, and arguments whose name says that they are a
time or a name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
}  # fmt: skip
_SILENT_CALLS = ("log", "logger", "logging", "warnings", "print", "super")
_SILENT_METHODS = ("__repr__", "__str__", "__del__")
_SILENT_ARGUMENTS = ("_s", "timeout", "name", "daemon", "strict")


@dataclass(frozen=True)
class Mutation:
    """`text[begin:end]` becomes `replacement`."""

    line: int
    what: str
    begin: int
    end: int
    replacement: str

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.begin] + self.replacement.encode() + source[self.end :]


def mutations_of(source: bytes) -> list[Mutation]:
    """All mutations of one file."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return finder.found


class _Finder(ast.NodeVisitor):
    """Visits what runs inside functions."""

    def __init__(self, source: bytes) -> None:
        self.found: list[Mutation] = []
        self._source = source
        self._line_starts = [0, *_line_ends(source)]
        self._is_in_function = False

    def visit(self, node: ast.AST) -> None:
        """Mutate the node, then what it contains."""
        if isinstance(node, ast.Call) and _is_silent(node):
            return
        if self._is_in_function and isinstance(node, ast.expr | ast.stmt | ast.comprehension):
            for what, target, replacement in _faults(node, self._text):
                self._add(what, target, replacement)
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in _SILENT_METHODS or _is_abstract(node):
            return
        before, self._is_in_function = self._is_in_function, True
        for statement in node.body:
            if node.name != "__init__" or not isinstance(statement, ast.Assign):
                self.visit(statement)
            else:  # Without its attributes no object works: that would be caught by any test.
                self.visit(statement.value)
        self._is_in_function = before

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the visitor's own name

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if not (keyword.arg or "").endswith(_SILENT_ARGUMENTS):
                self.visit(keyword.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """An exception's message is for people."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion is a check of its own."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A text with values in it."""

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import inside a function."""

    visit_ImportFrom = visit_Import  # noqa: N815 - the visitor's own name

    def _add(self, what: str, target: ast.expr | ast.stmt, replacement: str) -> None:
        self.found.append(Mutation(target.lineno, what, *self._span(target), replacement))

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._line_starts[node.lineno - 1] + node.col_offset,
            self._line_starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _text(self, node: ast.expr) -> str:
        begin, end = self._span(node)
        return self._source[begin:end].decode()


Fault = tuple[str, ast.expr | ast.stmt, str]
Text = Callable[[ast.expr], str]


def _faults(node: ast.AST, text: Text) -> Iterator[Fault]:
    yield from _removed(node)
    yield from _negated(node, text)
    if isinstance(node, ast.Compare):
        yield from _other_comparison(node)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        changed = ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        yield "arithmetic", node, f"({ast.unparse(changed)})"
    elif isinstance(node, ast.Constant):
        yield from _other_constant(node)
    elif isinstance(node, ast.Call):
        yield from _swapped_arguments(node)


def _removed(node: ast.AST) -> Iterator[Fault]:
    """Statements with an effect; a docstring, `del` of an unused argument and `...` have none."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        has_effect = not _is_silent(node.value)
    elif isinstance(node, ast.Assign):
        has_effect = isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    else:
        has_effect = isinstance(node, ast.AugAssign)
    if has_effect and isinstance(node, ast.stmt):
        yield "removed statement", node, "pass"


def _negated(node: ast.AST, text: Text) -> Iterator[Fault]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        if not isinstance(node.test, ast.Constant):
            yield "negated condition", node.test, f"not ({text(node.test)})"
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield "negated condition", test, f"not ({text(test)})"


def _other_comparison(node: ast.Compare) -> Iterator[Fault]:
    for number, operator in enumerate(node.ops):
        ops = [*node.ops[:number], _COMPARISONS[type(operator)](), *node.ops[number + 1 :]]
        yield "comparison", node, f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"


def _other_constant(node: ast.Constant) -> Iterator[Fault]:
    if isinstance(node.value, bool):
        yield "constant", node, repr(not node.value)
    elif isinstance(node.value, int):
        yield "off by one", node, repr(node.value + 1)


def _swapped_arguments(node: ast.Call) -> Iterator[Fault]:
    if len(node.args) < 2 or any(isinstance(it, ast.Starred) for it in node.args[:2]):
        return
    first, second, *rest = node.args
    if _called(node) in ("isinstance", "getattr", "min", "max", "zip"):
        return
    if ast.dump(first) != ast.dump(second):
        swapped = ast.Call(node.func, [second, first, *rest], node.keywords)
        yield "swapped arguments", node, ast.unparse(swapped)


def _is_silent(node: ast.Call) -> bool:
    return _called(node).split(".")[0] in _SILENT_CALLS


def _called(node: ast.Call) -> str:
    """`a.b` for `a.b(...)`; of a call on another call's result, the text of that."""
    return ast.unparse(node.func).lstrip("_")


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A body of nothing but a docstring and `...` or `raise NotImplementedError`."""
    last = node.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)


def _line_ends(source: bytes) -> Iterator[int]:
    """Where each line but the first begins."""
    position = 0
    for line in source.splitlines(keepends=True):
        position += len(line)
        yield position
