"""The tree of a checked program: every name is resolved, every conversion is a node, templates are gone.

`check` makes it, `generate` turns it into NumPy. An expression has a `type` and gives a value; a *place* can
be read (`Load`), written (`Assign`) and pointed to (`AddressOf`). References are pointers here, arrays decay
by `Decay`, and `p[i]` is `Deref(PointerAdd(p, i))`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.errors import At
from warplens.language.types import VOID, Pointer, Record, Type


@dataclass(eq=False)
class Variable:
    """`storage`: "param", "register" (a local scalar, pointer or record), "local" (a local array), "shared",
    "dynamic" (extern __shared__), "constant" or "device" (at file scope).

    `taken`: somebody takes its address, so it must live in memory.
    """

    name: str
    type: Type
    storage: str
    at: At
    const: bool = False
    taken: bool = False
    initial: Expression | list[object] | None = None  # of constants and variables at file scope
    volatile: bool = False


# ------------------------------------------------------------------------------------------------ expressions


@dataclass(eq=False)
class Expression:
    at: At
    type: Type


@dataclass(eq=False)
class Literal(Expression):
    value: bool | int | float


@dataclass(eq=False)
class TextLiteral(Expression):
    """A string literal, which only printf takes."""

    value: str


@dataclass(eq=False)
class Special(Expression):
    """threadIdx, blockIdx, blockDim, gridDim along "x", "y", "z" (unsigned int); with the axis "" warpSize
    (int), and of groups blockRank, the number of a thread in its block, and blockSize (unsigned int)."""

    name: str
    axis: str


@dataclass(eq=False)
class Unary(Expression):
    """`op`: - ~ !  (! has an operand of type bool)"""

    op: str
    operand: Expression


@dataclass(eq=False)
class Binary(Expression):
    """`op`: + - * / % & | ^ of two operands of the result's type; << >> where only the left one is;
    == != < <= > >= of two operands of one type (numbers or pointers) with a result of type bool."""

    op: str
    left: Expression
    right: Expression


@dataclass(eq=False)
class Logical(Expression):
    """`op`: && or ||, both operands of type bool; the right one is evaluated only where it matters."""

    op: str
    left: Expression
    right: Expression


@dataclass(eq=False)
class Conditional(Expression):
    """test ? yes : no; each arm is evaluated only where it is chosen."""

    test: Expression
    yes: Expression
    no: Expression


@dataclass(eq=False)
class Comma(Expression):
    left: Expression
    right: Expression


@dataclass(eq=False)
class Convert(Expression):
    """A number in another type, by C's rules; a pointer as bool; anything as void."""

    operand: Expression


@dataclass(eq=False)
class Reinterpret(Expression):
    """A pointer as a pointer to another type (also from or to unsigned long long; 0 is the null pointer)."""

    operand: Expression


@dataclass(eq=False)
class PointerAdd(Expression):
    """pointer + index, counted in what it points to; `index` is any integer; `negative` for pointer - i."""

    pointer: Expression
    index: Expression
    negative: bool = False


@dataclass(eq=False)
class PointerDifference(Expression):
    """left - right, counted in what they point to; long."""

    left: Expression
    right: Expression


@dataclass(eq=False)
class Load(Expression):
    """The value that a place holds."""

    place: Place


@dataclass(eq=False)
class AddressOf(Expression):
    place: Place


@dataclass(eq=False)
class Decay(Expression):
    """A place that holds an array, as a pointer to its first element."""

    place: Place


@dataclass(eq=False)
class Assign(Expression):
    """place = value, or with `op` place = (type of place)((`compute`)place op value); gives the new value.

    `value` has the type of the place, or with `op` the type `compute` (a shift's: its own; a pointer's += and
    -=: an integer, and `compute` is the pointer's type).
    """

    place: Place
    value: Expression
    op: str = ""
    compute: Type = VOID


@dataclass(eq=False)
class Increment(Expression):
    """++ and --: `step` is 1 or -1; the value is the old one where `postfix`."""

    place: Place
    step: int
    postfix: bool


@dataclass(eq=False)
class Call(Expression):
    """A call of a __device__ function; each argument has the type of its parameter.

    Of a method, the first argument is the object or its address, as the function's `this` is. `object`: where
    the object lies that the method gets and may change.
    """

    function: Function
    arguments: list[Expression]
    object: Place | None = None


@dataclass(eq=False)
class Intrinsic(Expression):
    """A call of something that is built in, by the one name that `intrinsics` lists it under."""

    name: str
    arguments: list[Expression]
    text: str = ""  # the format of printf, the condition of assert
    step: int = 1  # of memcpy and memset: how many bytes are moved at a time


@dataclass(eq=False)
class MakeRecord(Expression):
    """A record of its fields' values, in their order; of a union, of the first one."""

    parts: list[Expression]


@dataclass(eq=False)
class MakeArray(Expression):
    """An array within a record: the values of all its elements."""

    parts: list[Expression]


@dataclass(eq=False)
class Member(Expression):
    """A field of a record that is a value and no place: f().x"""

    record: Expression
    field: str


# ----------------------------------------------------------------------------------------------------- places


@dataclass(eq=False)
class Place:
    at: At
    type: Type

    @property
    def volatile(self) -> bool:
        """Whether each access must happen, as others may see it or change what is there."""
        return False


@dataclass(eq=False)
class VariablePlace(Place):
    variable: Variable

    @property
    def volatile(self) -> bool:
        return self.variable.volatile


@dataclass(eq=False)
class Deref(Place):
    pointer: Expression

    @property
    def volatile(self) -> bool:
        return isinstance(self.pointer.type, Pointer) and self.pointer.type.volatile


@dataclass(eq=False)
class MemberPlace(Place):
    """A field of the record that `record` holds."""

    record: Place
    field: str

    @property
    def volatile(self) -> bool:
        members = self.record.type.members if isinstance(self.record.type, Record) else None
        return self.record.volatile or (members is not None and self.field in members.volatile)


# ------------------------------------------------------------------------------------------------- statements


@dataclass(eq=False)
class Statement:
    at: At


@dataclass(eq=False)
class Block(Statement):
    statements: list[Statement]


@dataclass(eq=False)
class Declare(Statement):
    """`initial`: an expression of the variable's type; for an array a list, as deep as the array, of such
    expressions (what is missing is 0); None: nothing is written. Shared variables have none."""

    variable: Variable
    initial: Expression | list[object] | None = None


@dataclass(eq=False)
class Evaluate(Statement):
    expression: Expression


@dataclass(eq=False)
class If(Statement):
    test: Expression  # bool
    yes: Statement
    no: Statement | None = None


@dataclass(eq=False)
class Loop(Statement):
    """for, while ("before": `test` comes before the body), do-while ("after"). `continue` goes to `step`."""

    initial: list[Statement]  # in a scope of their own
    test: Expression | None  # bool; None: forever
    step: Expression | None
    body: Statement
    test_comes: str = "before"


@dataclass(eq=False)
class Break(Statement):
    pass


@dataclass(eq=False)
class Continue(Statement):
    pass


@dataclass(eq=False)
class Return(Statement):
    value: Expression | None = None


@dataclass(eq=False)
class Case:
    values: list[int]
    default: bool
    statements: list[Statement]  # without a break at the end, the next case follows


@dataclass(eq=False)
class Switch(Statement):
    value: Expression
    cases: list[Case]


# ---------------------------------------------------------------------------------------------------- program


@dataclass(eq=False)
class Function:
    """A __global__ (`kernel`) or __device__ function; of a template, one instance. `name` is that of the
    source, with the arguments of a template: "scale<float, 4>"."""

    name: str
    returns: Type
    parameters: list[Variable]
    at: At
    kernel: bool
    body: Block | None = None
    max_threads: int | None = None  # __launch_bounds__
    external_c: bool = False  # extern "C": CuPy finds it by its name
    this: Variable | None = (
        None  # of a method: the object (which is given back with the result) or its address
    )


@dataclass(eq=False)
class Program:
    """All that one source says. `functions` holds every instance that a kernel needs, callees before callers
    where there is no recursion."""

    name: str
    source: str
    kernels: dict[str, Function]
    functions: list[Function] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)  # at file scope: constant and device
