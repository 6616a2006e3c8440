"""Variables in functions, and types that are declared."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_initializers import Initial, first_steps, initial_value
from warplens.language.check_types import (
    Written,
    base_type,
    constant_integer,
    key,
    meaning_of,
    named_type,
    no_calls,
    written_type,
)
from warplens.language.class_members import has_constructors, needs_making
from warplens.language.constant import fold, in_type
from warplens.language.conversion import Value, address, as_bool, rvalue
from warplens.language.function_pointers import fitted, no_functions, wants_function
from warplens.language.scope import (
    ClassTemplate,
    ConstantName,
    NamespaceName,
    Overloads,
    PartName,
    TypeMeaning,
    VariableName,
)
from warplens.language.syntax import first_at
from warplens.language.tree import Variable
from warplens.language.types import (
    INT,
    LONG,
    NARROW,
    UINT,
    ULONG,
    Array,
    Enum,
    Group,
    Pointer,
    Record,
    Scalar,
    Type,
    Void,
)

MOST_LOCAL = 1 << 19  # bytes, of one variable: what a GPU has for all that is local to a thread
_SHARED_HINT = (
    "a __shared__ array has a length that is known when compiling; "
    "for one that the launch chooses write extern __shared__ float name[];"
)


def check_declaration(context: Context, node: syntax.Declaration) -> list[tree.Statement]:
    """The variables of a declaration in a function."""
    words = node.specifiers.words
    if "typedef" in words:
        check_typedef(context, node)
        return []
    for word in ("__device__", "__constant__"):
        if word in words and "__shared__" not in words:
            message = f"a '{word}' variable declaration is not allowed inside a function body"
            raise Fault(words[word], message, "it stands outside of all functions")
    for word in (
        "__global__",
        "__host__",
        "inline",
        "__forceinline__",
        "__launch_bounds__",
        "__noinline__",
    ):
        if word in words:
            raise Fault(words[word], f"'{word}' is not allowed on a variable")
    result: list[tree.Statement] = []
    deduced: list[str] = []  # what `auto` stands for: the same in all of them
    for one in node.ones:
        if one.declarator.parts and isinstance(one.declarator.parts[0], syntax.FunctionPart):
            name = one.declarator.name
            hint = f"a variable without a value is {name}, one that is zero {name}{{}}"
            raise Fault(one.declarator.at, f"'{name}' is a function, declared within another one", hint)
        shared = "__shared__" in words
        result.append(_shared(context, node, one) if shared else _automatic(context, node, one, deduced))
    return result


# ------------------------------------------------------------------------------------------ types and names


def check_enum(context: Context, node: syntax.EnumDefinition) -> None:
    """An enum: its constants, which inside the braces are integers, and from then on of its type."""
    values: dict[str, tuple[int, At]] = {}
    context.push()
    for at, name, written in node.items:
        last = [value for value, _ in values.values()][-1:]
        value = last[0] + 1 if last else 0
        if written is not None:
            value = constant_integer(context, written, "the value of an enumerator is an integer")
        context.declare(name, ConstantName(value, LONG), at)
        values[name] = value, at
    context.pop()
    base = _enum_base(context, node, [value for value, _ in values.values()])
    kind = Enum(node.name, base.dtype, base.rank, base, node.scoped, (node.at.line, node.at.column))
    context.declare(node.name, TypeMeaning(kind), node.at)
    for name, (value, at) in values.items():
        meaning = ConstantName(value, kind)
        kind.constants[name] = meaning
        if not node.scoped:
            context.declare(name, meaning, at)


def _enum_base(context: Context, node: syntax.EnumDefinition, values: list[int]) -> Scalar:
    """The type that an enum is made of: the one behind the colon, or the first that holds its values."""
    candidates = [INT] if node.scoped else [INT, UINT, LONG, ULONG]
    if node.base is not None:
        base = base_type(context, node.base).type
        if not isinstance(base, Scalar) or not base.is_integer or isinstance(base, Enum):
            raise Fault(node.base.at, "the type behind the colon of an enum must be an integer type")
        candidates = [base]
    for kind in candidates:
        if all(in_type(value, kind) == value for value in values):
            return kind
    at = next(at for at, _, _ in node.items)
    raise Fault(at, f"enumeration value is out of range of '{candidates[-1]}'")


def check_typedef(context: Context, node: syntax.Declaration) -> None:
    for one in node.ones:
        written = written_type(context, node.specifiers, one.declarator)
        if one.style:
            raise Fault(one.declarator.at, "a typedef has no initial value")
        if written.reference or written.auto:
            raise unsupported(one.declarator.at, "typedefs of references")
        old = context.scope.names.get(one.declarator.name)
        meaning = TypeMeaning(written.type, written.const, written.volatile)
        if not (isinstance(old, TypeMeaning) and key(old) == key(meaning)):
            context.declare(one.declarator.name, meaning, one.declarator.at)


def check_alias(context: Context, node: syntax.Alias) -> None:
    """using name = type;"""
    if node.template is not None:
        context.declare(node.name, ClassTemplate(node, context.scope), node.at)
        return
    written = named_type(context, node.type)
    meaning = TypeMeaning(written.type, written.const, written.volatile)
    context.declare(node.name, meaning, node.at)


def check_using(context: Context, node: syntax.Using) -> None:
    """using namespace name; using name; namespace alias = name;"""
    meaning = meaning_of(context, node.name)
    if meaning is None:
        raise Fault(node.at, f"identifier '{node.name.name}' is undefined")
    if node.whole:
        if not isinstance(meaning, NamespaceName):
            raise Fault(node.at, f"'{node.name.name}' is not a namespace")
        context.scope.used.append(meaning.scope)
        return
    name = node.alias or node.name.name
    if context.scope.names.get(name) is not meaning:
        context.declare(name, meaning, node.at)


def check_static_assert(context: Context, node: syntax.StaticAssert) -> None:
    test = fold(as_bool(context.value(node.test), first_at(node.test)))
    if test is None:
        raise Fault(
            first_at(node.test),
            "expression must have a constant value",
            "static_assert is checked when compiling",
        )
    if not test:
        raise Fault(node.at, "static assertion failed" + (f": {node.message}" if node.message else ""))


# --------------------------------------------------------------------------------------------------- shared


def shared_variable(context: Context, node: syntax.Declaration, one: syntax.One) -> VariableName:
    """What the name of a __shared__ variable means."""
    declarator, words = one.declarator, node.specifiers.words
    at = declarator.at
    written = _shared_type(context, node.specifiers, declarator)
    if one.style:
        hint = "let one thread write the first value, then call __syncthreads()"
        raise Fault(at, "an initializer is not allowed for a __shared__ variable", hint)
    if written.const:
        raise Fault(at, f"const variable '{declarator.name}' requires an initializer")
    open_ended = isinstance(written.type, Array) and written.type.length is None
    if "extern" in words and not open_ended:
        raise unsupported(at, "extern __shared__ variables other than arrays without a length")
    if open_ended and "extern" not in words:
        raise Fault(
            at, "incomplete type is not allowed", "write a length, or extern __shared__ float name[];"
        )
    if open_ended and isinstance(context.file.scope.names.get(declarator.name), Overloads):
        message = f"declaration is incompatible with previous '{declarator.name}', which is a function"
        raise Fault(at, message, "what is extern needs a name of its own")
    storage = "dynamic" if open_ended else "shared"
    variable = Variable(declarator.name, written.type, storage, at, volatile=written.volatile)
    return VariableName(variable, written.type, False)


def _shared_type(context: Context, specifiers: syntax.Specifiers, declarator: syntax.Declarator) -> Written:
    try:
        written = written_type(context, specifiers, declarator)
    except Fault as fault:
        if fault.message == "expression must have a constant value":
            fault.hint = _SHARED_HINT
        raise
    if needs_making(written.type):
        message = "initializer not allowed for __shared__ variable"
        raise Fault(declarator.at, message, f"'{written.type}' has a constructor; leave it out")
    if written.reference or written.auto or isinstance(written.type, Void):
        raise Fault(declarator.at, "a __shared__ variable needs a type that can be stored")
    return written


def _shared(context: Context, node: syntax.Declaration, one: syntax.One) -> tree.Statement:
    meaning = shared_variable(context, node, one)
    context.declare(one.declarator.name, meaning, one.declarator.at)
    return tree.Declare(one.declarator.at, meaning.variable)


# ------------------------------------------------------------------------------------------------ automatic


def _automatic(
    context: Context, node: syntax.Declaration, one: syntax.One, deduced: list[str]
) -> tree.Statement:
    declarator, words = one.declarator, node.specifiers.words
    at, name = declarator.at, declarator.name
    written = written_type(context, node.specifiers, declarator)
    if "extern" in words:
        raise unsupported(at, "extern variables other than __shared__")
    constexpr = "constexpr" in words
    if "static" in words and not (constexpr or written.const):
        raise unsupported(at, "static variables in functions")
    if written.auto:
        written = _auto_type(context, written, one, deduced)
    if (wanted := wants_function(written.type)) is not None:
        if one.initial is None or isinstance(one.initial, syntax.Braces):
            raise unsupported(at, "a pointer to a function that changes", "give it its function here")
        value = context.operand(one.initial)
        written = Written(fitted(value, wanted, first_at(one.initial)), written.const)
    no_functions(written.type, at)
    if written.reference:
        return _reference(context, written, one)
    const = written.const or constexpr
    if isinstance(written.type, Void):
        raise Fault(at, f"incomplete type is not allowed: '{name}' cannot be void")
    if written.type in NARROW and words.keys() & {"constexpr", "static"}:
        message = "expression must have a constant value: a half is made by a running kernel"
        raise Fault(at, message, "write const half")
    if isinstance(written.type, Record) and not written.type.complete:
        raise Fault(at, f"incomplete type '{written.type}' is not allowed", "define it before")
    if const and not one.style and not needs_making(written.type):
        raise Fault(at, f"const variable '{name}' requires an initializer", f"as in const ... {name} = 1;")
    storage = "local" if isinstance(written.type, Array) else "register"
    variable = Variable(name, written.type, storage, at, const, volatile=written.volatile)
    meaning = VariableName(variable, written.type, const)
    context.declare(name, meaning, at)
    if written.type.size > MOST_LOCAL:
        hint = "use global memory, or shared memory"
        raise unsupported(at, f"a local variable of more than {MOST_LOCAL:,} bytes", hint)
    if isinstance(written.type, Array) and written.type.length is None and not one.style:
        raise Fault(at, "incomplete type is not allowed", "write the length of the array: name[16]")
    made = needs_making(written.type) and (not one.style or not isinstance(written.type, Array))
    made = made or (bool(one.style) and has_constructors(written.type))
    if made and (has_constructors(written.type) or not one.style):
        place = tree.VariablePlace(at, written.type, variable)
        steps = first_steps(context, place, one, at)
        return tree.Block(at, [tree.Declare(at, variable), *(tree.Evaluate(s.at, s) for s in steps)])
    if not one.style:
        if isinstance(written.type, Group) and written.type.kind != "any":
            hint = "as in auto tile = cooperative_groups::tiled_partition<32>(block);"
            raise Fault(at, f"no default constructor exists for class '{written.type}'", hint)
        if isinstance(written.type, Group):
            raise unsupported(
                at, "a thread_group that is set later", "give it its value where it is declared"
            )
        return tree.Declare(at, variable)
    initial = initial_value(context, written.type, one)
    if isinstance(written.type, Array) and written.type.length is None:
        assert isinstance(initial, list)
        variable.type = meaning.type = Array(written.type.of, len(initial))
    if const and not written.volatile:
        _remember(meaning, initial, constexpr, one)
    return tree.Declare(at, variable, initial)


def _remember(meaning: VariableName, initial: Initial, constexpr: bool, one: syntax.One) -> None:
    """Keeps the value of a constant that is known."""
    if not isinstance(meaning.type, Scalar) or isinstance(initial, list):
        return
    value = fold(initial)
    if value is None and constexpr:
        hint = "a constexpr is worked out when compiling; use const for a value of the running kernel"
        assert one.initial is not None
        no_calls(Value(initial), one.initial)
        raise Fault(first_at(one.initial), "expression must have a constant value", hint)
    if value is not None and (meaning.type.is_integer or constexpr):
        meaning.constant = value


def _auto_type(context: Context, written: Written, one: syntax.One, deduced: list[str]) -> Written:
    at = one.declarator.at
    if one.initial is None:
        raise Fault(at, "a variable of type 'auto' requires an initializer", "write = and its first value")
    if isinstance(one.initial, syntax.Braces):
        raise unsupported(at, "auto with braces")
    value = context.operand(one.initial)
    const, volatile = written.const, written.volatile
    type_ = value.type if written.reference else rvalue(value).type
    own: Type = type_  # what `auto` itself stands for, with the words that the source has not written
    is_const = is_volatile = False
    if written.reference:
        is_const, is_volatile = value.const and not const, value.volatile and not volatile
        const, volatile = const or value.const, volatile or value.volatile
    if isinstance(written.type, Pointer):
        if isinstance(written.type.to, Pointer):
            raise unsupported(at, "auto with several *", "write one *, or none")
        if not isinstance(type_, Pointer):
            raise Fault(at, f"cannot deduce 'auto *' from a value of type '{type_}'")
        outer = written.type
        own, is_const = type_.to, type_.const and not outer.const
        is_volatile = type_.volatile and not outer.volatile
        type_ = Pointer(type_.to, type_.const or outer.const, type_.volatile or outer.volatile)
    deduced.append(f"{'const ' * is_const}{'volatile ' * is_volatile}{own}")
    if deduced[-1] != deduced[0]:
        before = f'"auto" type is "{deduced[-1]}" for this entity, but was previously implied to be'
        raise Fault(at, f'{before} "{deduced[0]}"', "one declaration for each type")
    if isinstance(type_, Void):
        raise Fault(at, "a variable cannot have type void", "the function returns nothing")
    return Written(type_, const, written.reference, volatile=volatile)


def check_bindings(context: Context, node: syntax.Bindings) -> tree.Statement:
    """auto [a, b] = value: names for the members of a copy, or with & of the object itself."""
    at, value = node.at, context.operand(node.value)
    record = value.type
    if not isinstance(record, Record) or record.union or any(f.name[0] == "<" for f in record.fields):
        raise unsupported(at, "names in brackets for parts of anything but a struct")
    if len(record.fields) != len(node.names):
        message = f"'{record}' has {len(record.fields)} members, and here are {len(node.names)} names"
        raise Fault(at, message, "one name for each member")
    volatile = value.volatile or node.volatile
    kind: Type = Pointer(record, value.const, volatile) if node.reference else record
    variable = Variable("<parts>", kind, "register", at, volatile=node.volatile and not node.reference)
    place: tree.Place = tree.VariablePlace(at, kind, variable)
    if node.reference:
        if value.place is None:
            raise Fault(at, "initial value of reference to non-const must be an lvalue", "leave out the &")
        initial, place = address(value, at), tree.Deref(at, record, tree.Load(at, kind, place))
    else:
        initial = rvalue(value)
    const = node.const or (node.reference and value.const)
    for field, (name_at, name) in zip(record.fields, node.names):
        part = tree.MemberPlace(name_at, field.type, place, field.name)
        context.declare(name, PartName(part, const), name_at)
    return tree.Declare(at, variable, initial)


def _reference(context: Context, written: Written, one: syntax.One) -> tree.Statement:
    declarator = one.declarator
    at, name = declarator.at, declarator.name
    if one.initial is None:
        raise Fault(
            at, f"reference variable '{name}' requires an initializer", "it stands for another variable"
        )
    if isinstance(one.initial, syntax.Braces):
        raise unsupported(at, "references with braces")
    if written.reference == "&&":
        raise unsupported(at, "references with &&")
    value = context.operand(one.initial)
    if value.volatile and not written.volatile and value.type == written.type:
        message = f"qualifiers dropped in binding reference of type '{written.type} &'"
        raise Fault(at, message, "write volatile before the type")
    if isinstance(written.type, Group) and value.place is not None:  # nobody changes it
        written = Written(written.type, True, "&")
    elif value.place is not None and value.type == written.type and (written.const or not value.const):
        pointer = Pointer(written.type, written.const, written.volatile)
        target = Value(place=value.place, const=written.const)
        variable = Variable(name, pointer, "register", at, True)
        context.declare(name, VariableName(variable, written.type, written.const, reference=True), at)
        return tree.Declare(at, variable, address(target, at))
    if written.const and written.volatile:
        message = "initial value of reference to const volatile must be an lvalue"
        raise Fault(at, message, f"of the type '{written.type}'")
    if not written.const:
        hint = f"'{name}' could change it; write const before the type"
        if value.lost:
            raise unsupported(at, "a reference to the result of an assignment")
        message = "initial value of reference to non-const must be an lvalue"
        if value.place is not None:
            source = f"{'const ' * value.const}{value.type}"
            wanted = f"a reference of type '{written.type} &'"
            message = f"{wanted} cannot be initialized with a value of type '{source}'"
        raise Fault(at, message, hint)
    initial = context.initializer(value, written.type, at)
    variable = Variable(name, written.type, "register", at, True)
    context.declare(name, VariableName(variable, written.type, True), at)
    return tree.Declare(at, variable, initial)
