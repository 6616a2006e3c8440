"""What the parser makes: the source as it is written, before names and types are looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.errors import At, Fault
from warplens.language.types import Scalar, Void

# ------------------------------------------------------------------------------------------------ expressions


@dataclass(eq=False)
class Node:
    at: At


@dataclass(eq=False)
class Number(Node):
    value: bool | int | float
    type: Scalar


@dataclass(eq=False)
class Null(Node):
    pass


@dataclass(eq=False)
class Text(Node):
    text: str


@dataclass(eq=False)
class Name(Node):
    """`of`: what stands before the ::; of `::f`, a name that is empty."""

    name: str
    arguments: list[Node] | None = None  # of a template: TypeName or expression
    of: Name | None = None


@dataclass(eq=False)
class Prefix(Node):
    """`op`: + - ! ~ * & ++ --"""

    op: str
    operand: Node


@dataclass(eq=False)
class Postfix(Node):
    """`op`: ++ --"""

    op: str
    operand: Node


@dataclass(eq=False)
class Infix(Node):
    """Any operator between two operands, the comma included; `at` is the operator's place."""

    op: str
    left: Node
    right: Node


@dataclass(eq=False)
class Assignment(Node):
    """`op`: "" or the operator before the ="""

    op: str
    left: Node
    right: Node


@dataclass(eq=False)
class Ternary(Node):
    test: Node
    yes: Node
    no: Node


@dataclass(eq=False)
class CallOf(Node):
    function: Node
    arguments: list[Node]


@dataclass(eq=False)
class Index(Node):
    base: Node
    index: Node


@dataclass(eq=False)
class Dot(Node):
    """base.name, or base->name with `arrow`; `at` is the name's place. `arguments`: of a template."""

    base: Node
    name: str
    arrow: bool
    arguments: list[Node] | None = None


@dataclass(eq=False)
class This(Node):
    pass


@dataclass(eq=False)
class Cast(Node):
    """`style`: "c", "call" (`float(x)`), "static", "reinterpret" or "const"."""

    style: str
    type: TypeName
    operand: Node


@dataclass(eq=False)
class Make(Node):
    """A value of a type from any number of parts: `float4{a, b, c, d}`, `dim3(8, 8)`."""

    type: TypeName
    parts: list[Node]
    braces: bool


@dataclass(eq=False)
class SizeOf(Node):
    what: Node  # TypeName or expression
    align: bool = False


@dataclass(eq=False)
class Braces(Node):
    parts: list[Node]


# ------------------------------------------------------------------------------------------------------ types


@dataclass(eq=False)
class Specifiers(Node):
    """What stands before a declarator. `base`: a built-in type, a Name, "auto" or None where it is missing;
    `words` are all others: static, extern, __shared__, ..."""

    base: Scalar | Void | Name | str | None
    const: bool = False
    volatile: bool = False
    words: dict[str, At] = field(default_factory=dict)
    bounds: list[Node] = field(default_factory=list)  # __launch_bounds__
    align: Node | None = None


@dataclass(eq=False)
class PointerPart:
    const: bool = False
    volatile: bool = False


@dataclass(eq=False)
class ReferencePart:
    rvalue: bool


@dataclass(eq=False)
class ArrayPart:
    at: At
    length: Node | None


@dataclass(eq=False)
class FunctionPart:
    at: At
    parameters: list[Parameter]


Part = PointerPart | ReferencePart | ArrayPart | FunctionPart


@dataclass(eq=False)
class Declarator(Node):
    """`parts` from the name outwards: `*a[3]` is an array of 3 pointers. `arguments`: of a template."""

    name: str
    parts: list[Part]
    arguments: list[Node] | None = None


@dataclass(eq=False)
class TypeName(Node):
    specifiers: Specifiers
    declarator: Declarator


@dataclass(eq=False)
class Parameter(Node):
    specifiers: Specifiers
    declarator: Declarator
    default: Node | None = None


# ------------------------------------------------------------------------------- declarations and statements


@dataclass(eq=False)
class One:
    """One declarator with its initial value; `style`: "" (none), "=", "(" or "{"."""

    declarator: Declarator
    initial: Node | None = None
    style: str = ""


@dataclass(eq=False)
class Declaration(Node):
    specifiers: Specifiers
    ones: list[One]


@dataclass(eq=False)
class Bindings(Node):
    """auto [a, b] = value; `reference`: auto& [a, b]"""

    names: list[tuple[At, str]]
    value: Node
    const: bool
    volatile: bool
    reference: bool


@dataclass(eq=False)
class StaticAssert(Node):
    test: Node
    message: str


@dataclass(eq=False)
class Alias(Node):
    """using name = type; a template of types with `template`."""

    name: str
    type: TypeName
    template: list[TemplateParameter] | None = None


@dataclass(eq=False)
class StructDefinition(Node):
    """A struct, class or union. `members` None: only declared. `arguments`: it is written for these alone."""

    name: str
    members: list[Node] | None
    align: Node | None = None
    union: bool = False
    template: list[TemplateParameter] | None = None
    arguments: list[Node] | None = None
    private: set[str] = field(default_factory=set)


@dataclass(eq=False)
class NamespaceOf(Node):
    name: str
    items: list[Node]


@dataclass(eq=False)
class Using(Node):
    """using namespace name; using name; or namespace alias = name;"""

    name: Name
    whole: bool = False
    alias: str = ""


@dataclass(eq=False)
class HalfHeader(Node):
    """#include <cuda_fp16.h> or <cuda_bf16.h>"""

    name: str


@dataclass(eq=False)
class GroupsHeader(Node):
    """#include <cooperative_groups.h>, or one of its parts"""

    name: str


@dataclass(eq=False)
class BlockOf(Node):
    statements: list[Node]
    end: At


@dataclass(eq=False)
class ExpressionStatement(Node):
    expression: Node


@dataclass(eq=False)
class Nothing(Node):
    pass


@dataclass(eq=False)
class IfElse(Node):
    initial: Node | None
    test: Node
    yes: Node
    no: Node | None
    constexpr: bool


@dataclass(eq=False)
class Unroll(Node):
    """#pragma unroll before a statement."""

    count: Node | None
    statement: Node


@dataclass(eq=False)
class For(Node):
    initial: list[Node]
    test: Node | None
    step: Node | None
    body: Node


@dataclass(eq=False)
class While(Node):
    test: Node
    body: Node


@dataclass(eq=False)
class DoWhile(Node):
    body: Node
    test: Node


@dataclass(eq=False)
class Jump(Node):
    """break or continue"""

    word: str


@dataclass(eq=False)
class ReturnOf(Node):
    value: Node | None


@dataclass(eq=False)
class EnumDefinition(Node):
    """`name` "": it has none; `base`: the type that is written behind a colon."""

    name: str
    scoped: bool
    base: Specifiers | None
    items: list[tuple[At, str, Node | None]]


@dataclass(eq=False)
class CaseLabel(Node):
    value: Node | None  # None: default


@dataclass(eq=False)
class SwitchOf(Node):
    value: Node
    body: list[Node]  # CaseLabel among the statements


@dataclass(eq=False)
class TemplateParameter(Node):
    """`type` None: a type, else the type of a value. `function`: the type is that of a pointer to a function
    of this kind, as a parameter of a __device__ function is declared."""

    name: str
    type: TypeName | None
    default: Node | None
    function: TypeName | None = None


@dataclass(eq=False)
class FunctionDefinition(Node):
    """`body` None: declared only. `instance`: it is that of one instance of a template, written
    template <> f<float>, of which `arguments` are in the declarator; without a body, that is asked for.

    Of a method, `form` is "method", "constructor", "conversion" (its type is that of the declarator) or
    "default" (a constructor or operator that is left to the compiler); `initials`: : name(...), ...
    """

    specifiers: Specifiers
    declarator: Declarator
    body: BlockOf | None
    template: list[TemplateParameter] | None = None
    external_c: bool = False
    instance: bool = False
    form: str = ""
    const: bool = False
    initials: list[One] = field(default_factory=list)
    fault: Fault | None = None  # of a template's body, for those who use it


@dataclass(eq=False)
class Lambda(Node):
    """`default`: "", "=" or "&"; `captures`: names, and whether each is held by its address."""

    default: str
    captures: list[tuple[At, str, bool]]
    method: FunctionDefinition


@dataclass(eq=False)
class TranslationUnit:
    """A whole source."""

    items: list[Node]


def first_at(node: Node) -> At:
    """Where an expression begins."""
    while True:
        if isinstance(node, Infix | Assignment):
            node = node.left
        elif isinstance(node, Ternary):
            node = node.test
        elif isinstance(node, Index | Dot):
            node = node.base
        elif isinstance(node, Postfix):
            node = node.operand
        elif isinstance(node, CallOf):
            node = node.function
        else:
            return node.at
