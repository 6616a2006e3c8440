"""What a name can mean, and the scopes in which it is looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.errors import At, Fault
from warplens.language.syntax import (
    Alias,
    FunctionDefinition,
    FunctionPart,
    One,
    Parameter,
    StructDefinition,
)
from warplens.language.tree import Call, Function, Place, Variable
from warplens.language.types import Array, Group, Record, Type


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
    owner: FunctionName | None = None  # the function whose variable it is


@dataclass(eq=False)
class ConstantName:
    """An argument of a template: a number, or a function (`type` is then that of a pointer to it). An
    enumerator; a static member."""

    value: bool | int | float
    type: Type


@dataclass(eq=False)
class FieldName:
    """A member of the class around: `path` leads to it, through unions without a name."""

    record: Record
    path: list[str]


@dataclass(eq=False)
class CapturedName:
    """A variable that a lambda holds by its address."""

    record: Record
    field: str
    type: Type
    const: bool


@dataclass(eq=False)
class PartName:
    """A name for a part of an object: auto [a, b] = pair;"""

    place: Place
    const: bool


@dataclass(eq=False)
class NamespaceName:
    scope: Scope


@dataclass(eq=False)
class TypeMeaning:
    """`const` and `volatile`: of typedef const int X."""

    type: Type
    const: bool = False
    volatile: bool = False


@dataclass(frozen=True)
class ParameterType:
    """What a caller sees. `reference`: "" (by value), "const" or "plain"; `const`: of the parameter."""

    type: Type
    const: bool = False
    reference: str = ""
    volatile: bool = False

    @property
    def by_address(self) -> bool:
        """Whether the function gets the address of its argument."""
        if isinstance(self.type, Group):
            return False
        whole = self.volatile or isinstance(self.type, Array)
        return self.reference == "plain" or (self.reference == "const" and whole)


@dataclass(eq=False)
class FunctionName:
    """One function of the source. `definition` is the one with a body, where there is one.

    A method of `owner` takes the object itself, and where that does not do, `addressed` its address;
    `static`: neither. `waiting`: calls of methods of which it is not known yet which of the two they take.
    """

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
    unfinished: bool = False  # an instance of a template whose body nobody has needed so far
    reference: bool = False  # it returns the address of what it says
    returns_const: bool = False
    owner: Record | None = None
    const: bool = False
    static: bool = False
    explicit: bool = False
    auto: bool = False  # its first return gives the type that it returns
    deduced: bool = False  # which has been found
    addressed: FunctionName | None = None
    refused: Fault | None = None  # what its body needs and we lack, for those who call it
    waiting: list[tuple[Call, Place, FunctionName]] = field(default_factory=list)
    temporaries: list[Variable] = field(default_factory=list)  # without a name
    pointer: Record | None = None  # the type of a pointer to it

    def definition_parameters(self) -> list[Parameter]:
        part = self.definition.declarator.parts[0]
        assert isinstance(part, FunctionPart)
        return part.parameters


@dataclass(eq=False)
class TemplateName:
    """`scope`: where it is written."""

    definition: FunctionDefinition
    scope: Scope
    owner: Record | None = None
    instances: dict[tuple[object, ...], FunctionName] = field(default_factory=dict)


@dataclass(eq=False)
class Overloads:
    functions: list[FunctionName] = field(default_factory=list)
    templates: list[TemplateName] = field(default_factory=list)
    owner: Record | None = None  # the class whose methods they are


@dataclass(eq=False)
class ClassTemplate:
    """A template of a class, or of an alias. `special`: definitions for some arguments, by their keys."""

    definition: StructDefinition | Alias
    scope: Scope
    instances: dict[tuple[object, ...], TypeMeaning] = field(default_factory=dict)
    special: dict[tuple[object, ...], StructDefinition] = field(default_factory=dict)


Meaning = (
    VariableName
    | ConstantName
    | TypeMeaning
    | Overloads
    | FieldName
    | CapturedName
    | PartName
    | NamespaceName
    | ClassTemplate
)


@dataclass(eq=False)
class Members:
    """What stands in a class beside its fields.

    `defaults`: first values of fields; `promoted`: the paths to the members of unions without a name; of an
    instance, `template` and its `arguments`; `target`: of a pointer to a function, the function.
    """

    scope: Scope
    constructors: Overloads = field(default_factory=Overloads)
    default: bool = False  # a constructor without parameters does nothing of its own
    conversions: list[FunctionName] = field(default_factory=list)
    defaults: dict[str, One] = field(default_factory=dict)
    promoted: dict[str, list[str]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    const: set[str] = field(default_factory=set)
    volatile: set[str] = field(default_factory=set)
    template: ClassTemplate | None = None
    arguments: list[TypeMeaning | ConstantName] = field(default_factory=list)
    target: FunctionName | None = None


class Scope:
    def __init__(self, outer: Scope | None = None) -> None:
        self.outer, self.names = outer, dict[str, Meaning]()
        self.places: dict[str, At] = {}
        self.reserved: set[str] = set()  # names of a for's first part, in its body
        self.parameters: set[str] = set()  # of a template: no name inside may be one of them
        self.used: list[Scope] = []  # using namespace

    def find(self, name: str) -> Meaning | None:
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.member(name)) is not None:
                return found
            scope = scope.outer
        return None

    def member(self, name: str) -> Meaning | None:
        """The same, of this scope alone."""
        if name in self.names:
            return self.names[name]
        return next((s.names[name] for s in self.used if name in s.names), None)

    def is_parameter(self, name: str) -> bool:
        """Whether it is the name of a parameter of the template around this scope."""
        return name in self.parameters or (self.outer is not None and self.outer.is_parameter(name))

    def all_names(self) -> set[str]:
        return set(self.names) | (self.outer.all_names() if self.outer else set())
