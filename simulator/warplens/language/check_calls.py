"""Calls: which kind of function, or of object, is called."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language import syntax
from warplens.language.check_built_in_calls import (
    cached_load,
    cached_store,
    call_intrinsic,
    copy_memory,
    make_vector,
)
from warplens.language.check_context import Context
from warplens.language.check_groups import group_call
from warplens.language.check_overloads import Candidate, candidates_of, check_single, choose, ranked
from warplens.language.check_printf import call_assert, call_printf
from warplens.language.check_user_calls import call_argument, call_function, call_member_operator
from warplens.language.class_members import members_of
from warplens.language.conversion import Value
from warplens.language.intrinsics import CACHED_LOADS, CACHED_STORES, COPIES, Signature
from warplens.language.preprocess import ASSERT
from warplens.language.types import VECTORS, Record


def check_call(context: Context, node: syntax.CallOf) -> Value:
    """A call of any kind."""
    at = node.at
    if found := group_call(context, node):
        return found
    callee = context.value(node.function)
    if callee.function is None and isinstance(callee.type, Record):
        return _call_of_object(context, callee, node)
    if callee.function is None:
        hint = f"'{callee.name}' is no function" if callee.name else "a function's name stands before ("
        raise Fault(at, "expression preceding parentheses of apparent call must have function type", hint)
    if callee.name == ASSERT:
        return call_assert(context, node)
    if callee.name == "printf":
        if callee.function.functions or callee.function.templates:
            raise unsupported(at, "functions of your own that are called printf", "take another name")
        return call_printf(context, node)
    arguments = [call_argument(context, argument) for argument in node.arguments]
    if callee.name in CACHED_LOADS:
        return cached_load(callee.name, arguments, at)
    if callee.name in CACHED_STORES:
        return cached_store(callee.name, arguments, at)
    if callee.name in COPIES:
        return copy_memory(context, callee.name, arguments, at)
    candidates = candidates_of(context, callee, node.function, arguments)
    vector = VECTORS.get(callee.name.removeprefix("make_")) if callee.name.startswith("make_") else None
    if vector and all(ranked(one, arguments) is None for one in candidates):
        return make_vector(vector, arguments, node)
    chosen = choose(context, callee.name, candidates, arguments, node)
    if isinstance(chosen.target, Signature):
        return Value(call_intrinsic(context, chosen.target, arguments, at))
    return call_function(context, chosen, arguments, at, callee.object)


def _call_of_object(context: Context, callee: Value, node: syntax.CallOf) -> Value:
    """A call of a pointer to a function, or of an object with an operator ()."""
    arguments = [call_argument(context, argument) for argument in node.arguments]
    members = members_of(callee.type)
    if members is not None and members.target is not None:
        target = members.target
        candidate = Candidate(target.parameters, len(target.parameters), target)
        check_single(context, target.name, candidate, arguments, node)
        return call_function(context, candidate, arguments, node.at)
    own = call_member_operator(context, "()", callee, arguments, node)
    if own is None:
        message = "call of an object of a class type without appropriate operator() or conversion functions"
        raise Fault(node.at, f"{message} to pointer-to-function type", f"'{callee.type}' has none")
    return own
