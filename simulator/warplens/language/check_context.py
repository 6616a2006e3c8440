"""Where in the source the checker is: in which scope, and in which function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language.scope import FunctionName, Meaning, Scope, VariableName

if TYPE_CHECKING:
    from warplens.language.check import Checker


class Context:
    """`function` is the one whose body is checked; None at file scope and in the head of a function."""

    def __init__(self, file: Checker, scope: Scope, function: FunctionName | None = None) -> None:
        self.file, self.scope, self.function = file, scope, function

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """In a scope of its own: of a class or a namespace."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    def push(self) -> None:
        self.scope = Scope(self.scope)

    def pop(self) -> None:
        assert self.scope.outer is not None
        self.scope = self.scope.outer

    def declare(self, name: str, meaning: Meaning, at: At) -> None:
        if name in self.scope.names:
            line = self.scope.places[name].line
            hint = f"it is declared in line {line}; to assign to it, leave out the type"
            raise Fault(at, f"'{name}' has already been declared in the current scope", hint)
        if self.scope.is_parameter(name):
            raise Fault(at, f"template parameter '{name}' may not be redeclared in this scope")
        if name in self.scope.reserved:
            hint = "it is the counter of the loop; take another name"
            message = f"'{name}', declared in for-loop initialization, may not be redeclared in this scope"
            raise Fault(at, message, hint)
        if isinstance(meaning, VariableName):
            meaning.owner = self.function
        self.scope.names[name], self.scope.places[name] = meaning, at

    def needs_function(self, name: str, at: At) -> None:
        """Raise where a built-in function is called outside of all bodies."""
        if self.function is None:
            raise unsupported(at, f"calling '{name}' in a constant expression")
