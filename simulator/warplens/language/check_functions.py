"""Functions: declared, defined and made of templates, and who calls whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_expressions import ExpressionChecker
from warplens.language.check_heads import check_words, head, method_operator_takes, operator_takes
from warplens.language.check_pointers import as_template
from warplens.language.check_statements import StatementChecker
from warplens.language.intrinsics import INTRINSICS
from warplens.language.scope import (
    FunctionName,
    Members,
    Overloads,
    Scope,
    TemplateName,
    VariableName,
)
from warplens.language.templates import Bindings, bindings_of, key, spelled
from warplens.language.types import Record

if TYPE_CHECKING:
    from warplens.language.check import Checker

MOST_INSTANCES = 1_000  # of templates
MOST_DEPTH = 100  # of templates that need each other


def _same_parameters(one: FunctionName, other: FunctionName) -> bool:
    def told(f: FunctionName) -> list[tuple[object, ...]]:
        return [(p.type, p.reference, p.volatile and bool(p.reference)) for p in f.parameters]

    return one.const == other.const and told(one) == told(other)


def _does_nothing(node: syntax.FunctionDefinition) -> bool:
    """Whether it is a constructor `T() {}`."""
    part = node.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart) and node.body is not None
    return not (part.parameters or node.initials or node.body.statements)


class FunctionChecker:
    """The functions of a source; each body is checked in a context of its own."""

    def __init__(self, file: Checker) -> None:
        self.file = file
        self.found: list[FunctionName] = []  # instances of templates as well
        self.callees: dict[tree.Function, list[tree.Function]] = {}
        self.depth = 0  # of templates that need each other
        self.instances = 0

    def function(self, node: syntax.FunctionDefinition) -> None:
        """A function or a template of functions at file scope or in a namespace, declared or defined."""
        name, scope = node.declarator.name, self.file.context.scope
        old = scope.names.get(name)
        if old is not None and not isinstance(old, Overloads):
            raise Fault(node.declarator.at, f"'{name}' has already been declared in the current scope")
        overloads = old or Overloads()
        scope.names[name] = overloads
        scope.places.setdefault(name, node.declarator.at)
        if node.instance:
            self._instance_of(node, overloads)
            return
        if node.declarator.arguments is not None:
            raise Fault(node.declarator.at, "an explicit template argument list is not allowed here")
        node = as_template(ExpressionChecker(Context(self.file, scope)).types, node)
        if node.template is not None:
            check_words(node)
            overloads.templates = [t for t in overloads.templates if t.definition.body is not None]
            overloads.templates.append(TemplateName(node, scope))
            return
        made = head(self.file, node, scope, self.qualified(name))
        if name.startswith("operator") and not name.isidentifier():
            operator_takes(name, [parameter.type for parameter in made.parameters], made.at)
        for other in overloads.functions:
            if _same_parameters(other, made):
                self._again(other, made)
                made = other
                break
        else:
            self._one_c_name(node, overloads)
            overloads.functions.append(made)
            self.found.append(made)
        if node.body is not None and made.kernel:
            self.body(made)
        elif node.body is not None:
            self.try_body(made)

    def qualified(self, name: str) -> str:
        """A name with the namespaces around it."""
        return "::".join([*self.file.namespaces, name])

    def _one_c_name(self, node: syntax.FunctionDefinition, others: Overloads) -> None:
        """Of the functions of one name, one may have a C name, and those that are built in have one."""
        name = node.declarator.name
        if node.external_c and (
            any(other.definition.external_c for other in others.functions) or name in INTRINSICS
        ):
            hint = f"'{name}' is built in; take another name" if name in INTRINSICS else ""
            message = f"more than one instance of overloaded function '{name}' has \"C\" linkage"
            raise Fault(node.declarator.at, message, hint)

    def _again(self, old: FunctionName, new: FunctionName) -> None:
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

    def method(self, record: Record, node: syntax.FunctionDefinition) -> FunctionName | None:
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
        node = as_template(ExpressionChecker(Context(self.file, scope)).types, node)
        if node.template is not None:
            check_words(node)
            if node.form == "conversion":
                raise unsupported(node.declarator.at, "conversions that are templates")
            overloads.templates.append(TemplateName(node, scope, record))
            return None
        if node.form == "constructor" and _does_nothing(node):
            members.default = True
        made = head(self.file, node, scope, f"{record}::{name or 'operator'}")
        kinds = [parameter.type for parameter in made.parameters]
        if node.form == "constructor" and kinds[:1] == [record]:
            raise unsupported(made.at, "copy constructors of your own", "write a method that copies")
        if name.startswith("operator") and not name.isidentifier():
            method_operator_takes(name, len(kinds), made.at)
        self.file.methods.belongs(made, record)
        made.unfinished = True
        if node.form == "conversion":
            members.conversions.append(made)
            return made
        if any(_same_parameters(other, made) for other in overloads.functions):
            raise Fault(made.at, f"function '{made.name}' has already been declared")
        overloads.functions.append(made)
        return made

    def default_argument(self, target: FunctionName, parameter: syntax.Parameter) -> tree.Expression:
        """The value of a parameter for which a call gives none."""
        assert parameter.default is not None and target.scope is not None
        checker = ExpressionChecker(Context(self.file, target.scope))
        kind = target.parameters[target.definition_parameters().index(parameter)]
        return checker.calls.passed(checker.operand(parameter.default), kind)

    def body(self, name: FunctionName) -> None:
        """The body of a function, once its head is known."""
        node, function = name.definition, name.function
        assert function is not None and name.scope is not None and node.body is not None
        if node.fault is not None:
            raise node.fault
        context = Context(self.file, Scope(name.scope), name)
        for variable, kind in zip(function.parameters, name.parameters):
            if variable.name:
                meaning = VariableName(variable, kind.type, kind.const, kind.by_address)
                context.declare(variable.name, meaning, variable.at)
        checker = StatementChecker(context)
        first = checker.declarations.objects.first_values(name) if node.form == "constructor" else []
        function.body = checker.block(node.body, scope=False)
        self.file.methods.settle(name)
        hidden = [tree.Declare(variable.at, variable) for variable in name.temporaries]
        function.body.statements[:0] = [*hidden, *first]

    # ---------------------------------------------------------------------------------------------- templates

    def instance(self, template: TemplateName, bindings: Bindings, at: At) -> FunctionName:
        """The instance of a template for some arguments, made at first use."""
        made = self.head_of_instance(template, bindings, at)
        self.finish(made)
        return made

    def head_of_instance(self, template: TemplateName, bindings: Bindings, at: At) -> FunctionName:
        """The same without its body, which need not make sense unless the instance is chosen for a call."""
        node = template.definition
        identity = tuple(key(meaning) for meaning in bindings.values())
        if identity in template.instances:
            return template.instances[identity]
        self.one_more_instance(node.declarator.name, at)
        scope = Scope(template.scope)
        scope.names.update(bindings)
        scope.parameters = set(bindings)
        made = head(self.file, node, scope, spelled(node.declarator.name, bindings))
        made.unfinished = node.body is not None
        if template.owner is not None:
            self.file.methods.belongs(made, template.owner)
        template.instances[identity] = made
        self.found.append(made)
        return made

    def one_more_instance(self, name: str, at: At) -> None:
        """Raise where templates need too many instances, or each other without end."""
        if self.depth > MOST_DEPTH:  # one that ends may be as deep: that is no mistake
            hint = f"templates need each other more than {MOST_DEPTH} deep: does '{name}' ever end?"
            raise unsupported(at, "the source is nested too deeply", hint)
        self.instances += 1
        if self.instances > MOST_INSTANCES:
            raise unsupported(at, f"more than {MOST_INSTANCES:,} instances of templates")

    def try_body(self, made: FunctionName) -> None:
        """The body of a function that nobody calls so far: what we lack for it matters once it is called."""
        made.unfinished = False
        try:
            self.body(made)
        except Fault as fault:
            if not fault.unsupported:
                raise
            made.refused, made.waiting = fault, []

    def finish(self, made: FunctionName) -> None:
        """The body of an instance that is used."""
        if made.refused is not None:
            raise made.refused
        if made.unfinished:
            made.unfinished = False
            self.depth += 1
            self.body(made)
            self.depth -= 1

    def _instance_of(self, node: syntax.FunctionDefinition, overloads: Overloads) -> None:
        """The instance of a template that is written out by itself; or, without a body, asked for."""
        name, at = node.declarator.name, node.declarator.at
        if node.body is None:  # where it runs has been said with the template
            for template in overloads.templates:
                for word in {"__device__", "__global__"} & template.definition.specifiers.words.keys():
                    node.specifiers.words.setdefault(word, at)
        scope = self.file.context.scope
        made = head(self.file, node, scope, name)
        checker = ExpressionChecker(Context(self.file, scope))
        for template in overloads.templates:
            explicit = node.declarator.arguments or []
            bindings = bindings_of(checker, template.definition, explicit, made, template.scope)
            if bindings is None or not self._alike(made, template, bindings):
                continue
            if node.body is None:
                self.instance(template, bindings, at)
                return
            made.name = spelled(name, bindings)
            identity = tuple(key(meaning) for meaning in bindings.values())
            if identity in template.instances and not template.instances[identity].unfinished:
                raise Fault(
                    at, f"'{made.name}' has already been instantiated", "write it before its first use"
                )
            template.instances[identity] = made
            self.found.append(made)
            self.body(made)
            return
        message = f"'{name}' is not an instance of a function template that is declared before"
        raise Fault(at, message, "the parameters must be those of the template, with its types filled in")

    def _alike(self, made: FunctionName, template: TemplateName, bindings: Bindings) -> bool:
        """Whether a function is declared as that instance of a template."""
        scope = Scope(template.scope)
        scope.names.update(bindings)
        other = head(self.file, template.definition, scope, made.name)
        return (made.returns, made.kernel) == (other.returns, other.kernel) and [
            (p.type, p.reference) for p in made.parameters
        ] == [(p.type, p.reference) for p in other.parameters]

    # ------------------------------------------------------------------------------------------------- calls

    def may_call(self, caller: FunctionName | None, target: FunctionName, at: At) -> None:
        """Remember a call. Raises where it is not allowed."""
        assert target.function is not None
        name = target.name
        if caller is None:
            raise unsupported(at, "calling a function in a constant expression")
        if target.kernel:
            hint = "only the host launches kernels; to share code, make it a __device__ function"
            raise unsupported(at, f"calling the __global__ function '{name}' from a kernel", hint)
        if caller.device and not target.device:
            word = "__global__" if caller.kernel else "__device__"
            by = f"a {word} function('{caller.name}')"
            message = f"calling a __host__ function('{name}') from {by} is not allowed"
            raise Fault(at, message, f"write __device__ before the definition of '{name}'")
        assert caller.function is not None
        self.callees.setdefault(caller.function, []).append(target.function)
