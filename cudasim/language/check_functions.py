"""Functions: their heads and bodies, instances of templates, and who calls whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.errors import At, Fault, unsupported
from cudasim.language import syntax, tree
from cudasim.language.check_context import Context
from cudasim.language.check_expressions import ExpressionChecker
from cudasim.language.check_statements import StatementChecker
from cudasim.language.intrinsics import INTRINSICS
from cudasim.language.scope import FunctionName, Overloads, ParameterType, Scope, TemplateName, VariableName
from cudasim.language.templates import Bindings, key, spelled
from cudasim.language.tree import Variable
from cudasim.language.types import Array, Pointer, Type, Void

if TYPE_CHECKING:
    from cudasim.language.check import Checker

MOST_INSTANCES = 1_000  # of templates


def by_address(kind: ParameterType) -> bool:
    """Whether the function gets the address of its argument."""
    return kind.reference == "plain" or (kind.reference == "const" and isinstance(kind.type, Array))


class FunctionChecker:
    """The functions of a source; each body is checked in a context of its own."""

    def __init__(self, file: Checker) -> None:
        self.file = file
        self.found: list[FunctionName] = []  # instances of templates as well
        self.callees: dict[tree.Function, list[tree.Function]] = {}
        self.depth = 0  # of templates that need each other
        self.instances = 0

    def function(self, node: syntax.FunctionDefinition) -> None:
        """A function or a template of functions at file scope, declared or defined."""
        name = node.declarator.name
        old = self.file.scope.names.get(name)
        if old is not None and not isinstance(old, Overloads):
            raise Fault(node.declarator.at, f"'{name}' has already been declared in the current scope")
        overloads = old or Overloads()
        self.file.scope.names[name] = overloads
        self.file.scope.places.setdefault(name, node.declarator.at)
        if node.template is not None:
            self._words(node)
            overloads.templates = [t for t in overloads.templates if t.definition.body is not None]
            overloads.templates.append(TemplateName(node))
            return
        made = self._head(node, self.file.scope, name)
        for other in overloads.functions:
            if [p.type for p in other.parameters] == [p.type for p in made.parameters] and [
                p.reference for p in other.parameters
            ] == [p.reference for p in made.parameters]:
                self._again(other, made)
                made = other
                break
        else:
            self._one_c_name(node, overloads)
            overloads.functions.append(made)
            self.found.append(made)
        if node.body is not None:
            self._body(made)

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

    def _head(self, node: syntax.FunctionDefinition, scope: Scope, name: str) -> FunctionName:
        checker = ExpressionChecker(Context(self.file, scope))
        words, at = node.specifiers.words, node.declarator.at
        self._words(node)
        kernel = "__global__" in words
        returned = checker.types.written(node.specifiers, node.declarator)
        if returned.auto:
            raise unsupported(node.specifiers.at, "functions that return auto", "write the type")
        if kernel and not isinstance(returned.type, Void):
            hint = "a kernel writes its results into arrays: __global__ void"
            raise Fault(at, "a __global__ function must have a void return type", hint)
        if returned.reference:
            raise unsupported(at, "functions that return a reference")
        if isinstance(returned.type, Array):
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
        function = tree.Function(name, returned.type, variables, at, kernel)
        function.external_c = node.external_c
        function.max_threads = self._bounds(checker, node, kernel)
        defaults = self._defaults(checker, part.parameters, parameters)
        device = kernel or "__device__" in words
        return FunctionName(
            name, returned.type, parameters, at, kernel, device, node, defaults, function, scope
        )

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
        if written.reference == "&&":
            raise unsupported(at, "references with &&")
        if written.reference and kernel:
            raise unsupported(at, "parameters of a kernel that are references", "take a pointer or a value")
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

    def _body(self, name: FunctionName) -> None:
        node, function = name.definition, name.function
        assert function is not None and name.scope is not None and node.body is not None
        context = Context(self.file, Scope(name.scope), name)
        for variable, kind in zip(function.parameters, name.parameters):
            if variable.name:
                meaning = VariableName(variable, kind.type, kind.const, by_address(kind))
                context.declare(variable.name, meaning, variable.at)
        function.body = StatementChecker(context).block(node.body, scope=False)

    # ---------------------------------------------------------------------------------------------- templates

    def instance(self, template: TemplateName, bindings: Bindings, at: At) -> FunctionName:
        """The instance of a template for some arguments, made at first use."""
        node = template.definition
        identity = tuple(key(meaning) for meaning in bindings.values())
        if identity in template.instances:
            return template.instances[identity]
        if self.depth > 100:
            raise Fault(at, f"'{node.declarator.name}' needs itself again and again: the template never ends")
        self.instances += 1
        if self.instances > MOST_INSTANCES:
            raise unsupported(at, f"more than {MOST_INSTANCES:,} instances of templates")
        scope = Scope(self.file.scope)
        scope.names.update(bindings)
        scope.parameters = set(bindings)
        made = self._head(node, scope, spelled(node.declarator.name, bindings))
        template.instances[identity] = made
        self.found.append(made)
        if node.body is not None:
            self.depth += 1
            self._body(made)
            self.depth -= 1
        return made

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
