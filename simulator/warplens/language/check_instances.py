"""Instances of function templates, made at first use, and the bodies of functions, checked when needed."""

from __future__ import annotations

from warplens.errors import At, Fault
from warplens.language import tree
from warplens.language.check_context import Context, File
from warplens.language.check_signatures import head, make_method
from warplens.language.check_types import Bindings, identity_of, scope_with, spelled
from warplens.language.scope import FunctionName, Scope, TemplateName, VariableName


def function_instance(file: File, template: TemplateName, bindings: Bindings, at: At) -> FunctionName:
    """The instance of a template for some arguments, made at first use."""
    made = instance_head(file, template, bindings, at)
    finish(file, made)
    return made


def instance_head(file: File, template: TemplateName, bindings: Bindings, at: At) -> FunctionName:
    """The same without its body, which need not make sense unless the instance is chosen for a call."""
    node = template.definition
    identity = identity_of(bindings)
    if identity in template.instances:
        return template.instances[identity]
    file.one_more_instance(node.declarator.name, at)
    scope = scope_with(template.scope, bindings)
    scope.parameters = set(bindings)
    made = head(file, node, scope, spelled(node.declarator.name, bindings))
    made.unfinished = node.body is not None
    if template.owner is not None:
        make_method(made, template.owner)
    template.instances[identity] = made
    file.functions.append(made)
    return made


def finish(file: File, made: FunctionName) -> None:
    """The body of an instance that is used."""
    if made.refused is not None:
        raise made.refused
    if made.unfinished:
        made.unfinished = False
        file.depth += 1
        define(file, made)
        file.depth -= 1


def try_body(file: File, made: FunctionName) -> None:
    """The body of a function that nobody calls so far: what we lack for it matters once it is called."""
    made.unfinished = False
    try:
        define(file, made)
    except Fault as fault:
        if not fault.unsupported:
            raise
        made.refused, made.waiting = fault, []


def define(file: File, name: FunctionName) -> None:
    """The body of a function, once its head is known."""
    node, function = name.definition, name.function
    assert function is not None and name.scope is not None and node.body is not None
    if node.fault is not None:
        raise node.fault
    context = Context(file, Scope(name.scope), name)
    for variable, kind in zip(function.parameters, name.parameters):
        if variable.name:
            meaning = VariableName(variable, kind.type, kind.const, kind.by_address)
            context.declare(variable.name, meaning, variable.at)
    [body] = context.statement(node)
    assert isinstance(body, tree.Block)
    function.body = body
