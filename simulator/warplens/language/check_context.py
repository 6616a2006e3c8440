"""What the checkers share: what is known of the whole source, and where in it they are.

Each checker is a function of a `Context`. Expressions, statements and conversions contain each other: what
stands above a checker it reaches through `Context.value`, `Context.statement` and `Context.converted`. Which
function answers for which kind of node, the tables in `check` say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.conversion import Value, rvalue, type_hint
from warplens.language.scope import FunctionName, Meaning, Scope, VariableName
from warplens.language.types import Type

MOST_INSTANCES = 1_000  # of templates
MOST_DEPTH = 100  # of templates that need each other

Statements = tree.Statement | list[tree.Statement] | None  # None: of what only declares something


class Checkers(NamedTuple):
    """The functions that check each kind of node, and the one that converts values.

    Among the statements is the definition of a function, which stands for its body.
    """

    expressions: Mapping[type[syntax.Node], Callable[[Context, Any], Value]]
    statements: Mapping[type[syntax.Node], Callable[[Context, Any], Statements]]
    converted: Callable[[Context, Value, Type, At], tree.Expression | None]


@dataclass
class File:
    """What is known of a whole source."""

    checkers: Checkers
    scope: Scope = field(default_factory=Scope)
    namespaces: list[str] = field(default_factory=list)  # around what is checked at file scope
    variables: list[tree.Variable] = field(default_factory=list)
    functions: list[FunctionName] = field(default_factory=list)  # instances of templates as well
    callees: dict[tree.Function, list[tree.Function]] = field(default_factory=dict)
    has_half: bool = False  # whether cuda_fp16.h is included
    has_bfloat: bool = False  # whether cuda_bf16.h is
    group_headers: set[str] = field(default_factory=set)  # of cooperative groups
    instances: int = 0  # of templates
    depth: int = 0  # of templates that need each other

    def one_more_instance(self, name: str, at: At) -> None:
        """Raise where templates need too many instances, or each other without end."""
        if self.depth > MOST_DEPTH:  # one that ends may be as deep: that is no mistake
            hint = f"templates need each other more than {MOST_DEPTH} deep: does '{name}' ever end?"
            raise unsupported(at, "the source is nested too deeply", hint)
        self.instances += 1
        if self.instances > MOST_INSTANCES:
            raise unsupported(at, f"more than {MOST_INSTANCES:,} instances of templates")

    def may_call(self, caller: FunctionName | None, target: FunctionName, at: At) -> None:
        """Remember a call. Raises where it is not allowed."""
        assert target.function is not None
        name = target.name
        if caller is None:
            raise unsupported(at, "calling a function in a constant expression")
        if target.kernel:
            hint = "only the host launches kernels; to share code, make it a __device__ function"
            raise unsupported(at, f"calling the __global__ function '{name}' from a kernel", hint)
        if caller.device and not target.device:
            word = "__global__" if caller.kernel else "__device__"
            by = f"a {word} function('{caller.name}')"
            message = f"calling a __host__ function('{name}') from {by} is not allowed"
            raise Fault(at, message, f"write __device__ before the definition of '{name}'")
        assert caller.function is not None
        self.callees.setdefault(caller.function, []).append(target.function)


class Context:
    """Where in a source a checker is: in which scope, and in which function.

    `function` is the one whose body is checked; None at file scope and in the head of a function.
    """

    def __init__(self, file: File, scope: Scope, function: FunctionName | None = None) -> None:
        self.file, self.scope, self.function = file, scope, function
        self.loops = self.switches = 0  # around the statement
        self.lambdas: dict[syntax.Lambda, Value] = {}  # an expression may be looked at twice: auto f = ...

    # ------------------------------------------------------------------------------ what stands in the tables

    def value(self, node: syntax.Node) -> Value:
        """What an expression stands for."""
        check = self.file.checkers.expressions.get(type(node))
        if check is None:
            raise Fault(node.at, "expected an expression")
        return check(self, node)

    def operand(self, node: syntax.Node) -> Value:
        """The same, where a function stands for its address: f is &f."""
        value = self.value(node)
        return value if value.function is None else self.value(syntax.Prefix(node.at, "&", node))

    def rvalue(self, node: syntax.Node) -> tree.Expression:
        return rvalue(self.operand(node))

    def statement(self, node: syntax.Node) -> list[tree.Statement]:
        check = self.file.checkers.statements.get(type(node))
        made = check(self, node) if check is not None else None
        if made is None:
            return []
        return made if isinstance(made, list) else [made]

    def converted(self, value: Value, to: Type, at: At) -> tree.Expression | None:
        """A value in another type; None where nothing makes one of it."""
        return self.file.checkers.converted(self, value, to, at)

    def initializer(self, value: Value, type_: Type, at: At) -> tree.Expression:
        """A value in the type of the variable that it is for."""
        result = self.converted(value, type_, at)
        if result is None:
            if value.function is not None:
                raise unsupported(at, f"the function '{value.name}' as a value", "take auto, or a template")
            source = rvalue(value).type
            message = f"a value of type '{source}' cannot be used to initialize an entity of type '{type_}'"
            raise Fault(at, message, type_hint(source, type_))
        return result

    # --------------------------------------------------------------------------------------- scopes and names

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

    # ------------------------------------------------------------------------------------------- the function

    def needs_function(self, name: str, at: At) -> None:
        """Raise where a built-in function is called outside of all bodies."""
        if self.function is None:
            raise unsupported(at, f"calling '{name}' in a constant expression")

    def temporary(self, type_: Type, at: At) -> tree.VariablePlace:
        """A place for a value without a name."""
        if self.function is None:
            raise unsupported(at, "an object that is made outside of functions")
        variable = tree.Variable("<temporary>", type_, "register", at)
        self.function.temporaries.append(variable)
        return tree.VariablePlace(at, type_, variable)

    def put_aside(self, value: Value, at: At) -> tuple[tree.Expression, tree.Place]:
        """A value in a place without a name, and what puts it there."""
        place = self.temporary(value.type, at)
        return tree.Assign(at, value.type, place, rvalue(value)), place
