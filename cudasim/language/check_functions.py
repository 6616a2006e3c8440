"""Functions: their heads and bodies, instances of templates, and who calls whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.errors import At, Fault, unsupported
from cudasim.language import syntax, tree
from cudasim.language.check_context import Context
from cudasim.language.check_expressions import ExpressionChecker
from cudasim.language.check_pointers import as_template
from cudasim.language.check_statements import StatementChecker
from cudasim.language.check_types import Written
from cudasim.language.intrinsics import INTRINSICS
from cudasim.language.scope import (
    FunctionName,
    Members,
    Overloads,
    ParameterType,
    Scope,
    TemplateName,
    VariableName,
)
from cudasim.language.templates import Bindings, bindings_of, key, spelled
from cudasim.language.tree import Variable
from cudasim.language.types import Array, Enum, Group, Pointer, Record, Type, Void

if TYPE_CHECKING:
    from cudasim.language.check import Checker

MOST_INSTANCES = 1_000  # of templates
MOST_PARAMETER = 4096  # bytes


def by_address(kind: ParameterType) -> bool:
    """Whether the function gets the address of its argument."""
    if isinstance(kind.type, Group):
        return False
    return kind.reference == "plain" or (kind.reference == "const" and isinstance(kind.type, Array))


def _same_parameters(one: FunctionName, other: FunctionName) -> bool:
    return one.const == other.const and [(p.type, p.reference) for p in one.parameters] == [
        (p.type, p.reference) for p in other.parameters
    ]


def _does_nothing(node: syntax.FunctionDefinition) -> bool:
    """Whether it is a constructor `T() {}`."""
    part = node.declarator.parts[0]
    assert isinstance(part, syntax.FunctionPart) and node.body is not None
    return not (part.parameters or node.initials or node.body.statements)


def _operator_takes(name: str, count: int, at: At) -> None:
    """Raise where an operator that is a method has too few or too many parameters."""
    mark = name.removeprefix("operator")
    either = {"+": (0, 1), "-": (0, 1), "*": (0, 1), "++": (0, 1), "--": (0, 1)}
    wanted = either.get(mark, (0,) if mark in ("!", "~", "->") else (1,))
    if mark != "()" and count not in wanted:
        raise Fault(at, f"too {'few' if count < wanted[0] else 'many'} parameters for this operator function")


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
            self._words(node)
            overloads.templates = [t for t in overloads.templates if t.definition.body is not None]
            overloads.templates.append(TemplateName(node, scope))
            return
        made = self._head(node, scope, self.qualified(name))
        if name.startswith("operator") and not name.isidentifier():
            self._own_operator(name, [parameter.type for parameter in made.parameters], made.at)
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
            self._words(node)
            if node.form == "conversion":
                raise unsupported(node.declarator.at, "conversions that are templates")
            overloads.templates.append(TemplateName(node, scope, record))
            return None
        if node.form == "constructor" and _does_nothing(node):
            members.default = True
        made = self._head(node, scope, f"{record}::{name or 'operator'}")
        kinds = [parameter.type for parameter in made.parameters]
        if node.form == "constructor" and kinds[:1] == [record]:
            raise unsupported(made.at, "copy constructors of your own", "write a method that copies")
        if name.startswith("operator") and not name.isidentifier():
            _operator_takes(name, len(kinds), made.at)
        self.file.methods.belongs(made, record)
        made.unfinished = True
        if node.form == "conversion":
            members.conversions.append(made)
            return made
        if any(_same_parameters(other, made) for other in overloads.functions):
            raise Fault(made.at, f"function '{made.name}' has already been declared")
        overloads.functions.append(made)
        return made

    def _head(self, node: syntax.FunctionDefinition, scope: Scope, name: str) -> FunctionName:
        checker = ExpressionChecker(Context(self.file, scope))
        words, at = node.specifiers.words, node.declarator.at
        self._words(node)
        kernel = "__global__" in words
        returned = Written(Void(), False)
        if node.form != "constructor":
            returned = checker.types.written(node.specifiers, node.declarator)
        if returned.auto:
            self._auto(node, returned)
        if kernel and not isinstance(returned.type, Void):
            hint = "a kernel writes its results into arrays: __global__ void"
            raise Fault(at, "a __global__ function must have a void return type", hint)
        if returned.reference == "&&":
            raise unsupported(at, "functions that return a reference with &&")
        if isinstance(returned.type, Array) and not returned.reference:
            raise Fault(at, "a function cannot return an array")
        part = node.declarator.parts[0]
        assert isinstance(part, syntax.FunctionPart)
        parameters: list[ParameterType] = []
        variables: list[Variable] = []
        for written in part.parameters:
            kind = self._parameter(checker, written, kernel)
            stored = Pointer(kind.type, kind.const) if by_address(kind) else kind.type
            parameters.append(kind)
            variables.append(
                Variable(written.declarator.name, stored, "param", written.declarator.at, kind.const)
            )
        result = Pointer(returned.type, returned.const) if returned.reference else returned.type
        function = tree.Function(name, result, variables, at, kernel)
        function.external_c = node.external_c
        function.max_threads = self._bounds(checker, node, kernel)
        defaults = self._defaults(checker, part.parameters, parameters)
        device = kernel or "__device__" in words
        made = FunctionName(
            name, returned.type, parameters, at, kernel, device, node, defaults, function, scope
        )
        made.reference, made.returns_const = bool(returned.reference), returned.const
        made.auto = returned.auto
        return made

    def _auto(self, node: syntax.FunctionDefinition, returned: Written) -> None:
        """A function whose first return gives its type."""
        if not isinstance(returned.type, Void) or returned.reference or "__global__" in node.specifiers.words:
            raise unsupported(node.specifiers.at, "functions that return auto * or auto &", "write the type")
        if node.body is None:
            raise unsupported(node.specifiers.at, "functions that return auto and are only declared")

    def _own_operator(self, name: str, kinds: list[Type], at: At) -> None:
        mark = name.removeprefix("operator")
        wanted = {"!": (1,), "~": (1,), "+": (1, 2), "-": (1, 2)}.get(mark, (2,))
        if len(kinds) not in wanted:
            few = "few" if len(kinds) < wanted[0] else "many"
            raise Fault(at, f"too {few} parameters for this operator function")
        if not any(isinstance(kind, Record | Enum) for kind in kinds):
            hint = "what an operator does to numbers cannot be changed"
            raise Fault(at, "nonmember operator requires a parameter with class or enum type", hint)

    def _words(self, node: syntax.FunctionDefinition) -> None:
        words = node.specifiers.words
        for word in (
            "__shared__",
            "__constant__",
            "typedef",
            "__restrict__",
            "__restrict",
            "alignas",
            "__align__",
        ):
            if word in words:
                raise Fault(words[word], f"'{word}' is not allowed on a function")
        if not words.keys() & {"__global__", "__device__"}:
            message = f"'{node.declarator.name}' is a host function, and a kernel's source has none"
            raise Fault(
                node.declarator.at, message, "write __global__ before a kernel, __device__ before a helper"
            )
        if "__global__" in words:
            for word in ("__device__", "__host__"):
                if word in words:
                    raise Fault(words[word], f"a __global__ function cannot be {word} as well")
            if "constexpr" in words:
                raise Fault(words["constexpr"], "a __global__ function cannot be constexpr")
        if node.specifiers.bounds and "__global__" not in words:
            message = "the __launch_bounds__ qualifier is only allowed on a __global__ function"
            raise Fault(words["__launch_bounds__"], message)

    def _parameter(self, checker: ExpressionChecker, node: syntax.Parameter, kernel: bool) -> ParameterType:
        at = node.declarator.at
        for word, place in node.specifiers.words.items():
            hint = "it stands behind the *: float* __restrict__ x" if "restrict" in word else ""
            raise Fault(place, f"'{word}' is not allowed here", hint)
        written = checker.types.written(node.specifiers, node.declarator)
        type_: Type = written.type
        if written.auto:
            raise Fault(at, "'auto' is not allowed here", "write template <typename T> and T")
        if isinstance(type_, Void):
            raise Fault(at, "a parameter cannot have type void")
        if isinstance(type_, Array) and not written.reference:
            return ParameterType(Pointer(type_.of, written.const))
        if isinstance(type_, Group) and kernel:
            raise unsupported(at, "groups as parameters of a kernel")
        if written.reference == "&&":
            raise unsupported(at, "references with &&")
        if written.reference and kernel:
            raise unsupported(at, "parameters of a kernel that are references", "take a pointer or a value")
        if kernel and type_.size > MOST_PARAMETER:
            raise unsupported(
                at, f"a parameter of a kernel of more than {MOST_PARAMETER:,} bytes", "take a pointer"
            )
        reference = "" if not written.reference else "const" if written.const else "plain"
        return ParameterType(type_, written.const, reference)

    def _bounds(
        self, checker: ExpressionChecker, node: syntax.FunctionDefinition, kernel: bool
    ) -> int | None:
        values = [
            checker.types.constant_integer(n, "__launch_bounds__ takes numbers")
            for n in node.specifiers.bounds
        ]
        return values[0] or None if values else None

    def _defaults(
        self, checker: ExpressionChecker, written: list[syntax.Parameter], kinds: list[ParameterType]
    ) -> int:
        count = 0
        for parameter, kind in zip(written, kinds):
            if parameter.default is not None:
                count += 1
                value = checker.operand(parameter.default)
                checker.initials.converted(value, kind.type, parameter.default.at)
            elif count:
                raise Fault(parameter.declarator.at, "default argument not at end of parameter list")
        return count

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
                meaning = VariableName(variable, kind.type, kind.const, by_address(kind))
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
        made = self._head(node, scope, spelled(node.declarator.name, bindings))
        made.unfinished = node.body is not None
        if template.owner is not None:
            self.file.methods.belongs(made, template.owner)
        template.instances[identity] = made
        self.found.append(made)
        return made

    def one_more_instance(self, name: str, at: At) -> None:
        """Raise where templates need too many instances, or each other without end."""
        if self.depth > 100:
            raise Fault(at, f"'{name}' needs itself again and again: the template never ends")
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
        made = self._head(node, scope, name)
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
        other = self._head(template.definition, scope, made.name)
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
