"""A whole source: its functions, its variables at file scope, and the kernels that it offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.errors import At, Fault, unsupported
from warplens.language import (
    bfloat,
    check_calls,
    check_classes,
    check_declarations,
    check_expressions,
    check_initializers,
    check_lambdas,
    check_members,
    check_names,
    check_statements,
    half,
    syntax,
    tree,
)
from warplens.language.check_context import Checkers, Context, File, Statements
from warplens.language.check_conversions import converted
from warplens.language.check_declarations import check_typedef, shared_variable
from warplens.language.check_functions import declare_function
from warplens.language.check_initializers import initial_value
from warplens.language.check_types import written_type
from warplens.language.class_members import needs_making
from warplens.language.constant import fold
from warplens.language.conversion import Value
from warplens.language.function_pointers import no_functions
from warplens.language.scope import FunctionName, NamespaceName, Scope, TypeMeaning, VariableName
from warplens.language.tree import Variable
from warplens.language.types import NARROW, Array, Record, Scalar, Type, Void

_VARIABLE_WORDS = ("__global__", "__forceinline__", "__noinline__", "__launch_bounds__", "__host__")

# Bytes: of a variable that is __constant__, and of one that is __device__.
MOST_CONSTANT, MOST_DEVICE = 1 << 16, 1 << 30

EXPRESSIONS: dict[type[syntax.Node], Callable[[Context, Any], Value]] = {
    syntax.Number: check_expressions.check_number,
    syntax.Null: check_expressions.check_null,
    syntax.Text: check_expressions.check_text,
    syntax.Braces: check_expressions.check_braces,
    syntax.TypeName: check_expressions.check_typename,
    syntax.Name: check_names.check_name,
    syntax.Prefix: check_expressions.check_prefix,
    syntax.Postfix: check_expressions.check_increment,
    syntax.Infix: check_expressions.check_infix,
    syntax.Ternary: check_expressions.check_ternary,
    syntax.Assignment: check_expressions.check_assignment,
    syntax.Index: check_expressions.check_index,
    syntax.Dot: check_members.check_dot,
    syntax.Cast: check_expressions.check_cast,
    syntax.Make: check_initializers.check_make,
    syntax.CallOf: check_calls.check_call,
    syntax.SizeOf: check_expressions.check_sizeof,
    syntax.This: check_members.check_this,
    syntax.Lambda: check_lambdas.check_lambda,
}
STATEMENTS: dict[type[syntax.Node], Callable[[Context, Any], Statements]] = {
    syntax.BlockOf: check_statements.check_block,
    syntax.ExpressionStatement: check_statements.check_expression,
    syntax.Declaration: check_declarations.check_declaration,
    syntax.IfElse: check_statements.check_if,
    syntax.For: check_statements.check_for,
    syntax.While: check_statements.check_while,
    syntax.DoWhile: check_statements.check_do_while,
    syntax.Unroll: check_statements.check_unroll,
    syntax.Jump: check_statements.check_jump,
    syntax.ReturnOf: check_statements.check_return,
    syntax.SwitchOf: check_statements.check_switch,
    syntax.StaticAssert: check_declarations.check_static_assert,
    syntax.Bindings: check_declarations.check_bindings,
    syntax.Alias: check_declarations.check_alias,
    syntax.Using: check_declarations.check_using,
    syntax.StructDefinition: check_classes.check_class,
    syntax.EnumDefinition: check_declarations.check_enum,
    syntax.FunctionDefinition: check_statements.check_function_body,
}


def check_unit(unit: syntax.TranslationUnit) -> Context:
    """The context at file scope, once a whole source has been checked."""
    file = File(Checkers(EXPRESSIONS, STATEMENTS, converted))
    context = Context(file, file.scope)
    _items(context, unit.items)
    return context


# ------------------------------------------------------------------------------------------------- file scope


def _items(context: Context, items: list[syntax.Node]) -> None:
    for item in items:
        if isinstance(item, syntax.FunctionDefinition):
            declare_function(context, item)
        elif isinstance(item, syntax.Declaration):
            _variables(context, item)
        elif isinstance(item, syntax.NamespaceOf):
            _namespace(context, item)
        elif isinstance(item, syntax.GroupsHeader):
            context.file.group_headers.add(item.name)
        elif isinstance(item, syntax.HalfHeader):
            _half_header(context, item)
        else:
            context.statement(item)


def _namespace(context: Context, node: syntax.NamespaceOf) -> None:
    old = context.scope.names.get(node.name)
    if not isinstance(old, NamespaceName):
        old = NamespaceName(Scope(context.scope))
        context.declare(node.name, old, node.at)
    context.file.namespaces.append(node.name)
    with context.inside(old.scope):
        _items(context, node.items)
    context.file.namespaces.pop()


def _half_header(context: Context, node: syntax.HalfHeader) -> None:
    bf16 = node.name == bfloat.HEADER
    if not (context.file.has_bfloat if bf16 else context.file.has_half):
        context.file.has_half, context.file.has_bfloat = True, context.file.has_bfloat or bf16
        for name, type_ in (bfloat if bf16 else half).TYPES.items():
            context.declare(name, TypeMeaning(type_), node.at)


def _variables(context: Context, node: syntax.Declaration) -> None:
    words = node.specifiers.words
    if "typedef" in words:
        check_typedef(context, node)
        return
    for word in _VARIABLE_WORDS:
        if word in words:
            raise Fault(words[word], f"'{word}' is not allowed on a variable")
    for one in node.ones:
        if "__shared__" in words:
            meaning = shared_variable(context, node, one)
            context.declare(one.declarator.name, meaning, one.declarator.at)
            context.file.variables.append(meaning.variable)
        else:
            _variable(context, node, one)


def _variable(context: Context, node: syntax.Declaration, one: syntax.One) -> None:
    declarator, words = one.declarator, node.specifiers.words
    at, name = declarator.at, declarator.name
    written = written_type(context, node.specifiers, declarator)
    if written.auto or written.reference:
        raise unsupported(at, "references and auto outside of functions")
    if isinstance(written.type, Void):
        raise Fault(at, f"incomplete type is not allowed: '{name}' cannot be void")
    no_functions(written.type, at)
    if needs_making(written.type) and not one.style:
        raise unsupported(at, f"a variable of the class '{written.type}', which is made by a constructor")
    if "extern" in words:
        raise unsupported(at, "extern variables")
    constexpr = "constexpr" in words
    const = written.const or constexpr
    device = "__constant__" in words or "__device__" in words
    if not device and not const:
        hint = "write __device__ or __constant__ before it, or const where it never changes"
        message = f"the variable '{name}' belongs to the host, and a kernel's source has no host variables"
        raise Fault(at, message, hint)
    storage = "constant" if "__constant__" in words or not device else "device"
    if const and not one.style and "__constant__" not in words:
        raise Fault(at, f"const variable '{name}' requires an initializer")
    variable = Variable(name, written.type, storage, at, const, volatile=written.volatile)
    meaning = VariableName(variable, written.type, const)
    context.declare(name, meaning, at)
    initial = initial_value(context, written.type, one) if one.style else None
    if initial is not None and _holds_half(written.type):
        message = "dynamic initialization is not supported for a variable at file scope"
        raise Fault(at, message, "a half is made by a running kernel: leave out the first value")
    if isinstance(written.type, Array) and written.type.length is None:
        if not isinstance(initial, list):
            raise Fault(at, "incomplete type is not allowed", "write the length of the array")
        variable.type = meaning.type = Array(written.type.of, len(initial))
    most = MOST_CONSTANT if "__constant__" in words else MOST_DEVICE
    size = variable.type.size + sum(v.type.size for v in context.file.variables if v.storage == storage)
    if size > most:
        raise unsupported(at, f"{storage} variables of {size:,} bytes: at most {most:,} are possible")
    variable.initial = initial
    if isinstance(initial, tree.Expression) and isinstance(written.type, Scalar):
        value = fold(initial)
        if const and "__constant__" not in words and value is not None:
            meaning.constant = value
    _must_be_constant(initial, at)
    context.file.variables.append(variable)


def _holds_half(type_: Type) -> bool:
    """Whether it is half or bfloat16, or has parts that are."""
    if isinstance(type_, Array):
        return _holds_half(type_.of)
    return type_ in NARROW or (isinstance(type_, Record) and any(_holds_half(f.type) for f in type_.fields))


def _must_be_constant(initial: object, at: At) -> None:
    parts = initial.parts if isinstance(initial, tree.MakeRecord | tree.MakeArray) else initial
    if isinstance(parts, list):
        for part in parts:
            _must_be_constant(part, at)
    elif isinstance(parts, tree.Expression) and fold(parts) is None:
        message = "dynamic initialization is not supported for a variable at file scope"
        raise Fault(parts.at, message, "its first value is a constant")


# ---------------------------------------------------------------------------------------------------- program


def program(file: File, name: str, source: str, kernels: dict[str, FunctionName]) -> tree.Program:
    """The program that the kernels make, with all that they call; `kernels`: those asked for by name."""
    roots = {f.name: f for f in file.functions if f.kernel and "<" not in f.name}
    program = tree.Program(name, source, {}, [], file.variables)
    seen: set[tree.Function] = set()
    at = {f.function: f for f in file.functions if f.function is not None}
    for key_, root in {**roots, **kernels}.items():
        assert root.function is not None
        if root.function.body is not None:
            _reach(file, root.function, seen, program, at)
            program.kernels[key_] = root.function
    return program


def _reach(
    file: File,
    function: tree.Function,
    seen: set[tree.Function],
    program: tree.Program,
    names: dict[tree.Function, FunctionName],
) -> None:
    if function in seen:
        return
    seen.add(function)
    for callee in file.callees.get(function, []):
        if callee.body is None:
            what = f"the function '{callee.name}', which is declared and never defined"
            raise unsupported(names[callee].at, what, "write its body")
        _reach(file, callee, seen, program, names)
    if not function.kernel:
        program.functions.append(function)
