"""Functions and methods as they are declared and defined, and templates of them."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language import syntax
from warplens.language.check_context import Context, File
from warplens.language.check_deduction import bindings_of
from warplens.language.check_instances import define, function_instance, try_body
from warplens.language.check_signatures import (
    as_template,
    check_words,
    head,
    make_method,
    method_operator_takes,
    operator_takes,
)
from warplens.language.check_types import Bindings, identity_of, scope_with, spelled
from warplens.language.intrinsics import INTRINSICS
from warplens.language.scope import FunctionName, Members, Overloads, TemplateName
from warplens.language.types import Record


def declare_function(context: Context, node: syntax.FunctionDefinition) -> None:
    """A function or a template of functions at file scope or in a namespace, declared or defined."""
    file, scope = context.file, context.scope
    name = node.declarator.name
    old = scope.names.get(name)
    if old is not None and not isinstance(old, Overloads):
        raise Fault(node.declarator.at, f"'{name}' has already been declared in the current scope")
    overloads = old or Overloads()
    scope.names[name] = overloads
    scope.places.setdefault(name, node.declarator.at)
    if node.instance:
        _instance_of(context, node, overloads)
        return
    if node.declarator.arguments is not None:
        raise Fault(node.declarator.at, "an explicit template argument list is not allowed here")
    node = as_template(context, node)
    if node.template is not None:
        check_words(node)
        overloads.templates = [t for t in overloads.templates if t.definition.body is not None]
        overloads.templates.append(TemplateName(node, scope))
        return
    made = head(file, node, scope, "::".join([*file.namespaces, name]))
    if name.startswith("operator") and not name.isidentifier():
        operator_takes(name, [parameter.type for parameter in made.parameters], made.at)
    for other in overloads.functions:
        if _same_parameters(other, made):
            _again(other, made)
            made = other
            break
    else:
        _one_c_name(node, overloads)
        overloads.functions.append(made)
        file.functions.append(made)
    if node.body is not None and made.kernel:
        define(file, made)
    elif node.body is not None:
        try_body(file, made)


def _instance_of(context: Context, node: syntax.FunctionDefinition, overloads: Overloads) -> None:
    """The instance of a template that is written out by itself; or, without a body, asked for."""
    file, name, at = context.file, node.declarator.name, node.declarator.at
    if node.body is None:  # where it runs has been said with the template
        for template in overloads.templates:
            for word in {"__device__", "__global__"} & template.definition.specifiers.words.keys():
                node.specifiers.words.setdefault(word, at)
    made = head(file, node, context.scope, name)
    for template in overloads.templates:
        explicit = node.declarator.arguments or []
        bindings = bindings_of(context, template.definition, explicit, made, template.scope)
        if bindings is None or not _alike(file, made, template, bindings):
            continue
        if node.body is None:
            function_instance(file, template, bindings, at)
            return
        made.name = spelled(name, bindings)
        identity = identity_of(bindings)
        if identity in template.instances and not template.instances[identity].unfinished:
            raise Fault(at, f"'{made.name}' has already been instantiated", "write it before its first use")
        template.instances[identity] = made
        file.functions.append(made)
        define(file, made)
        return
    message = f"'{name}' is not an instance of a function template that is declared before"
    raise Fault(at, message, "the parameters must be those of the template, with its types filled in")


def _alike(file: File, made: FunctionName, template: TemplateName, bindings: Bindings) -> bool:
    """Whether a function is declared as that instance of a template."""
    scope = scope_with(template.scope, bindings)
    other = head(file, template.definition, scope, made.name)
    return (made.returns, made.kernel) == (other.returns, other.kernel) and [
        (p.type, p.reference) for p in made.parameters
    ] == [(p.type, p.reference) for p in other.parameters]


def _one_c_name(node: syntax.FunctionDefinition, others: Overloads) -> None:
    """Of the functions of one name, one may have a C name, and those that are built in have one."""
    name = node.declarator.name
    if node.external_c and (
        any(other.definition.external_c for other in others.functions) or name in INTRINSICS
    ):
        hint = f"'{name}' is built in; take another name" if name in INTRINSICS else ""
        message = f"more than one instance of overloaded function '{name}' has \"C\" linkage"
        raise Fault(node.declarator.at, message, hint)


def _again(old: FunctionName, new: FunctionName) -> None:
    """A function declared before is declared or defined now."""
    if old.definition.body is not None and new.definition.body is not None:
        line = old.at.line
        raise Fault(
            new.at, f"function '{new.name}' has already been defined", f"the other one is in line {line}"
        )
    if old.returns != new.returns:
        raise Fault(new.at, f"cannot overload functions distinguished by return type alone: '{new.name}'")
    if old.kernel != new.kernel:
        raise Fault(new.at, f"'{new.name}' is a __global__ function in one place only")
    if new.definition.body is not None:
        assert old.function is not None and new.function is not None
        old.definition, old.scope = new.definition, new.scope
        old.function.parameters, old.function.at = new.function.parameters, new.at
        old.function.max_threads = new.function.max_threads or old.function.max_threads
        old.device = old.device or new.device


def declare_method(file: File, record: Record, node: syntax.FunctionDefinition) -> FunctionName | None:
    """A method of a class, to be finished; of a template, none so far."""
    members: Members = record.members
    name, scope = node.declarator.name, members.scope
    overloads = members.constructors
    if node.form == "default":
        part = node.declarator.parts[0]
        if isinstance(part, syntax.FunctionPart) and not part.parameters:
            members.default = True
        return None
    if node.form == "method":
        old = scope.names.get(name)
        if old is not None and not isinstance(old, Overloads):
            raise Fault(node.declarator.at, f"'{name}' has already been declared in the current scope")
        overloads = old or Overloads(owner=record)
        scope.names[name] = overloads
    node = as_template(Context(file, scope), node)
    if node.template is not None:
        check_words(node)
        if node.form == "conversion":
            raise unsupported(node.declarator.at, "conversions that are templates")
        overloads.templates.append(TemplateName(node, scope, record))
        return None
    if node.form == "constructor" and _does_nothing(node):
        members.default = True
    made = head(file, node, scope, f"{record}::{name or 'operator'}")
    kinds = [parameter.type for parameter in made.parameters]
    if node.form == "constructor" and kinds[:1] == [record]:
        raise unsupported(made.at, "copy constructors of your own", "write a method that copies")
    if name.startswith("operator") and not name.isidentifier():
        method_operator_takes(name, len(kinds), made.at)
    make_method(made, record)
    made.unfinished = True
    if node.form == "conversion":
        members.conversions.append(made)
        return made
    if any(_same_parameters(other, made) for other in overloads.functions):
        raise Fault(made.at, f"function '{made.name}' has already been declared")
    overloads.functions.append(made)
    return made


def _same_parameters(one: FunctionName, other: FunctionName) -> bool:
    def told(f: FunctionName) -> list[tuple[object, ...]]:
        return [(p.type, p.reference, p.volatile and bool(p.reference)) for p in f.parameters]

    return one.const == other.const and told(one) == told(other)


def _does_nothing(node: syntax.FunctionDefinition) -> bool:
    """Whether it is a constructor `T() {}`."""
    part = node.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart) and node.body is not None
    return not (part.parameters or node.initials or node.body.statements)
