"""What a name can mean, and the scopes in which it is looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from cudasim.errors import At
from cudasim.language.syntax import FunctionDefinition, FunctionPart, Parameter
from cudasim.language.tree import Function, Variable
from cudasim.language.types import Type


@dataclass(eq=False)
class VariableName:
    """`reference`: the variable holds the address of what it stands for, whose type is `type`.

    `constant`: its value, where the compiler knows it.
    """

    variable: Variable
    type: Type
    const: bool
    reference: bool = False
    constant: bool | int | float | None = None


@dataclass(eq=False)
class ConstantName:
    """An argument of a template."""

    value: bool | int
    type: Type


@dataclass(eq=False)
class TypeMeaning:
    """`const`: of typedef const int X."""

    type: Type
    const: bool = False


@dataclass(frozen=True)
class ParameterType:
    """What a caller sees. `reference`: "" (by value), "const" or "plain"; `const`: of the parameter."""

    type: Type
    const: bool = False
    reference: str = ""


@dataclass(eq=False)
class FunctionName:
    """One function of the source. `definition` is the one with a body, where there is one."""

    name: str
    returns: Type
    parameters: list[ParameterType]
    at: At
    kernel: bool
    device: bool
    definition: FunctionDefinition
    defaults: int = 0
    function: Function | None = None  # once its head has been checked
    scope: Scope | None = None  # with the arguments of its template

    def definition_parameters(self) -> list[Parameter]:
        part = self.definition.declarator.parts[0]
        assert isinstance(part, FunctionPart)
        return part.parameters


@dataclass(eq=False)
class TemplateName:
    definition: FunctionDefinition
    instances: dict[tuple[object, ...], FunctionName] = field(default_factory=dict)


@dataclass(eq=False)
class Overloads:
    functions: list[FunctionName] = field(default_factory=list)
    templates: list[TemplateName] = field(default_factory=list)


Meaning = VariableName | ConstantName | TypeMeaning | Overloads


class Scope:
    def __init__(self, outer: Scope | None = None) -> None:
        self.outer, self.names = outer, dict[str, Meaning]()
        self.places: dict[str, At] = {}
        self.reserved: set[str] = set()  # names of a for's first part, in its body
        self.parameters: set[str] = set()  # of a template: no name inside may be one of them

    def find(self, name: str) -> Meaning | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def is_parameter(self, name: str) -> bool:
        """Whether it is the name of a parameter of the template around this scope."""
        return name in self.parameters or (self.outer is not None and self.outer.is_parameter(name))

    def all_names(self) -> set[str]:
        return set(self.names) | (self.outer.all_names() if self.outer else set())
