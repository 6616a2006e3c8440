"""Names: what each stands for, declared in the source or built in; and what is said of unknown ones."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, half, headers, syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_members import captured, object_of, own_field
from warplens.language.check_types import meaning_of, type_meaning
from warplens.language.conversion import Value
from warplens.language.intrinsics import (
    CACHED_LOADS,
    CACHED_STORES,
    COPIES,
    HOST_ONLY,
    INTRINSICS,
    is_unsupported,
)
from warplens.language.parse_tokens import OF_TEXTURES
from warplens.language.preprocess import ASSERT
from warplens.language.scope import (
    CapturedName,
    ClassTemplate,
    ConstantName,
    FieldName,
    NamespaceName,
    Overloads,
    PartName,
    TypeMeaning,
    VariableName,
)
from warplens.language.types import DIM3, INT, LONG, UINT, VECTORS, Enum, Record

OWN = ("register", "param", "local")  # where variables lie that a lambda must capture

# Built in, and not listed as functions with types.
OTHERS = (*CACHED_LOADS, *CACHED_STORES, *COPIES, "printf", ASSERT)
SPECIALS = {"threadIdx": VECTORS["uint3"], "blockIdx": VECTORS["uint3"], "blockDim": DIM3, "gridDim": DIM3}


def check_name(context: Context, node: syntax.Name) -> Value:
    """What a name stands for, where a value is expected."""
    if node.arguments is not None:
        return _template(context, node)
    meaning = meaning_of(context, node)
    if isinstance(meaning, VariableName):
        return _variable(context, meaning, node)
    if isinstance(meaning, ConstantName):
        if isinstance(meaning.type, Record):  # a pointer to a function
            return Value(tree.MakeRecord(node.at, meaning.type, []))
        return Value(tree.Literal(node.at, meaning.type, meaning.value))
    if isinstance(meaning, Overloads):
        return _function(context, meaning, node)
    if isinstance(meaning, PartName):
        return Value(place=replace(meaning.place, at=node.at), const=meaning.const, name=node.name)
    if isinstance(meaning, CapturedName):
        return captured(context, meaning, node)
    if isinstance(meaning, FieldName):
        return own_field(context, meaning, node)
    if isinstance(meaning, NamespaceName):
        raise Fault(node.at, f"'{node.name}' is a namespace, and a value is expected")
    if isinstance(meaning, TypeMeaning | ClassTemplate):
        raise Fault(node.at, "type name is not allowed", f"'{node.name}' is a type, and a value is expected")
    return _built_in(context, node)


def _variable(context: Context, meaning: VariableName, node: syntax.Name) -> Value:
    variable, at = meaning.variable, node.at
    own = meaning.owner is None or meaning.owner is context.function
    if not own and variable.storage in OWN and meaning.constant is None:
        message = f"'{node.name}' is a variable of the function around, which cannot be referenced here"
        raise Fault(at, message, "a lambda captures it: [&] or [=]; a method takes it as an argument")
    place: tree.Place = tree.VariablePlace(at, variable.type, variable)
    if meaning.reference:
        place = tree.Deref(at, meaning.type, tree.Load(at, variable.type, place))
    return Value(place=place, const=meaning.const, constant=meaning.constant, name=node.name)


def _built_in(context: Context, node: syntax.Name) -> Value:
    name, at = node.name, node.at
    if node.of is not None and node.of.name:
        raise _no_member(context, node)
    if name in SPECIALS:
        parts: list[tree.Expression] = [tree.Special(at, UINT, name, axis) for axis in "xyz"]
        return Value(tree.MakeRecord(at, SPECIALS[name], parts), special=name, name=name)
    if name == "NULL":
        return Value(tree.Literal(at, LONG, 0), null=True)
    if name == "warpSize":
        return Value(tree.Special(at, INT, "warpSize", ""), name=name)
    if name in half.NAMES and not context.file.has_half:
        raise Fault(at, f"identifier '{name}' is undefined", half.INCLUDE_IT)
    if name in bfloat.NAMES and not context.file.has_bfloat:
        raise Fault(at, f"identifier '{name}' is undefined", bfloat.INCLUDE_IT)
    if name in INTRINSICS or name in OTHERS or (name.startswith("make_") and name[5:] in VECTORS):
        return Value(function=Overloads(), name=name)
    others = context.file.has_bfloat and bfloat.is_other_function(name)
    if is_unsupported(name) or others or (context.file.has_half and half.is_other_function(name)):
        raise unsupported(at, name)
    raise _undefined(context, name, at)


def _no_member(context: Context, node: syntax.Name) -> Fault:
    assert node.of is not None
    meaning = type_meaning(context, node.of)
    if isinstance(meaning, NamespaceName):
        return Fault(node.at, f"namespace '{node.of.name}' has no member '{node.name}'")
    if isinstance(meaning, TypeMeaning):
        what = "enum" if isinstance(meaning.type, Enum) else "class"
        return Fault(node.at, f"{what} '{meaning.type}' has no member '{node.name}'")
    return Fault(node.at, f"name followed by '::' must be a class or namespace name: '{node.of.name}'")


def _undefined(context: Context, name: str, at: At) -> Fault:
    hint = HOST_ONLY.get(name, "")
    if include := headers.include_for(name):
        hint = f"write {include} in the first line"
    if not hint:
        known = context.scope.all_names() | {*SPECIALS, *INTRINSICS, "printf", "warpSize"}
        lower = {candidate.lower(): candidate for candidate in known}
        close = [lower[name.lower()]] if name.lower() in lower else get_close_matches(name, known, 1, 0.75)
        if not close and name.startswith("__"):
            return unsupported(at, f"'{name}', if CUDA has it")
        hint = f"did you mean '{close[0]}'?" if close else "declare it before it is used"
    if name == "std":
        hint = "the C++ standard library does not exist in a kernel"
    return Fault(at, f"identifier '{name}' is undefined", hint)


def _template(context: Context, node: syntax.Name) -> Value:
    """A template with its arguments, before it is called."""
    meaning = meaning_of(context, node)
    if meaning is None and node.name.startswith(OF_TEXTURES):
        raise unsupported(node.at, node.name)
    if not isinstance(meaning, Overloads) or not meaning.templates:
        raise Fault(node.at, f"'{node.name}' is not a template")
    return _function(context, meaning, node)


def _function(context: Context, meaning: Overloads, node: syntax.Name) -> Value:
    this = object_of(context, meaning, node.at)
    return Value(function=meaning, name=node.name, object=this)
