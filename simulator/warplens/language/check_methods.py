"""Methods: whether each is given the object itself, in variables of Python, or the object's address.

A method takes the object and gives it back where that makes no difference: so what is in no memory stays out
of it. Where the address of the object is taken, here or there, it takes the address.
"""

from __future__ import annotations

from dataclasses import replace

from warplens.errors import At
from warplens.language import tree
from warplens.language.check_context import File
from warplens.language.check_instances import finish
from warplens.language.conversion import Value, address
from warplens.language.operators import root
from warplens.language.scope import FunctionName
from warplens.language.types import Pointer


def this_object(caller: FunctionName, at: At) -> Value:
    """The object of the method that is checked, as a place."""
    assert caller.function is not None and caller.function.this is not None and caller.owner is not None
    variable = caller.function.this
    place: tree.Place = tree.VariablePlace(at, variable.type, variable)
    if isinstance(variable.type, Pointer):
        place = tree.Deref(at, caller.owner, tree.Load(at, variable.type, place))
    return Value(place=place, const=caller.const, name="this")


def settle_calls(file: File, caller: FunctionName) -> None:
    """At the end of a body: which of its calls take an object, and which an address."""
    waiting, caller.waiting = caller.waiting, []
    again = True
    while again:
        again = False
        for item in list(waiting):
            call, place, method = item
            if _needs_address(place, method):
                waiting.remove(item)
                _by_address(file, caller, call, place, method)
                again = True
    for call, place, method in waiting:
        file.may_call(caller, method, call.at)
        call.arguments.insert(0, tree.Load(call.at, place.type, place))
        if not method.const:
            call.object = place


def _needs_address(place: tree.Place, method: FunctionName) -> bool:
    this = method.function.this if method.function else None
    assert this is not None
    outer = place
    while isinstance(outer, tree.MemberPlace):
        outer = outer.record
    if isinstance(this.type, Pointer) or this.taken or not isinstance(outer, tree.VariablePlace):
        return True
    return outer.variable.taken or root(place) not in ("register", "param")


def _by_address(
    file: File, caller: FunctionName, call: tree.Call, place: tree.Place, method: FunctionName
) -> None:
    """Make a call one that takes the address of its object."""
    other = _addressed(method)
    finish(file, other)
    assert other.function is not None
    call.function = other.function
    call.arguments.insert(0, address(Value(place=place, const=method.const), call.at))
    file.may_call(caller, other, call.at)


def _addressed(method: FunctionName) -> FunctionName:
    """The same method, for an address."""
    function = method.function
    assert function is not None and function.this is not None and method.owner is not None
    if isinstance(function.this.type, Pointer):
        return method
    if method.addressed is None:
        this = tree.Variable("this", Pointer(method.owner, method.const), "param", method.at)
        parameters = [
            tree.Variable(v.name, v.type, v.storage, v.at, v.const, volatile=v.volatile)
            for v in function.parameters
        ]
        other = tree.Function(function.name, function.returns, parameters, function.at, False, this=this)
        method.addressed = replace(method, function=other, unfinished=True, waiting=[], temporaries=[])
    return method.addressed
