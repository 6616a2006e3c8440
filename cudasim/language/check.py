"""A whole source: its functions, its variables at file scope, and the kernels that it offers."""

from __future__ import annotations

from cudasim.errors import At, Fault, unsupported
from cudasim.language import half, syntax, tree
from cudasim.language.check_context import Context
from cudasim.language.check_expressions import ExpressionChecker
from cudasim.language.check_statements import StatementChecker
from cudasim.language.constant import fold
from cudasim.language.intrinsics import INTRINSICS
from cudasim.language.scope import (
    FunctionName,
    Overloads,
    ParameterType,
    Scope,
    TemplateName,
    TypeMeaning,
    VariableName,
)
from cudasim.language.templates import Bindings, key, spelled
from cudasim.language.tree import Variable
from cudasim.language.types import HALF, Array, Pointer, Record, Scalar, Type, Void

_VARIABLE_WORDS = ("__global__", "__forceinline__", "__noinline__", "__launch_bounds__", "__host__")


MOST_INSTANCES = 1_000  # of templates
# Bytes: of a variable that is __constant__, and of one that is __device__.
MOST_CONSTANT, MOST_DEVICE = 1 << 16, 1 << 30


def holds_half(type_: Type) -> bool:
    """Whether it is half, or has parts that are."""
    if isinstance(type_, Array):
        return holds_half(type_.of)
    return type_ == HALF or (isinstance(type_, Record) and any(holds_half(f.type) for f in type_.fields))


class Checker:
    def __init__(self) -> None:
        self.scope = Scope()
        self.context = Context(self, self.scope)
        self.top = StatementChecker(self.context)
        self.functions: list[FunctionName] = []
        self.variables: list[Variable] = []
        self.callees: dict[tree.Function, list[tree.Function]] = {}
        self.depth = 0
        self.instances = 0  # of templates
        self.has_half = False  # whether cuda_fp16.h is included

    # --------------------------------------------------------------------------------------------- file scope

    def unit(self, unit: syntax.TranslationUnit) -> None:
        for item in unit.items:
            if isinstance(item, syntax.FunctionDefinition):
                self._function(item)
            elif isinstance(item, syntax.Declaration):
                self._variables(item)
            elif isinstance(item, syntax.StructDefinition):
                self.top.declarations.struct(item)
            elif isinstance(item, syntax.HalfHeader):
                self._half_header(item)
            else:
                self.top.statement(item)

    def _half_header(self, node: syntax.HalfHeader) -> None:
        if not self.has_half:
            self.has_half = True
            for name in half.TYPES:
                self.context.declare(name, TypeMeaning(HALF), node.at)

    def _variables(self, node: syntax.Declaration) -> None:
        words = node.specifiers.words
        if "typedef" in words:
            self.top.declarations.typedef(node)
            return
        for word in _VARIABLE_WORDS:
            if word in words:
                raise Fault(words[word], f"'{word}' is not allowed on a variable")
        for one in node.ones:
            if "__shared__" in words:
                meaning = self.top.declarations.shared_variable(node, one)
                self.context.declare(one.declarator.name, meaning, one.declarator.at)
                self.variables.append(meaning.variable)
            else:
                self._variable(node, one)

    def _variable(self, node: syntax.Declaration, one: syntax.One) -> None:
        declarator, words = one.declarator, node.specifiers.words
        at, name = declarator.at, declarator.name
        written = self.top.types.written(node.specifiers, declarator)
        if written.auto or written.reference:
            raise unsupported(at, "references and auto outside of functions")
        if isinstance(written.type, Void):
            raise Fault(at, f"incomplete type is not allowed: '{name}' cannot be void")
        if "extern" in words:
            raise unsupported(at, "extern variables")
        constexpr = "constexpr" in words
        const = written.const or constexpr
        device = "__constant__" in words or "__device__" in words
        if not device and not const:
            hint = "write __device__ or __constant__ before it, or const where it never changes"
            message = (
                f"the variable '{name}' belongs to the host, and a kernel's source has no host variables"
            )
            raise Fault(at, message, hint)
        storage = "constant" if "__constant__" in words or not device else "device"
        if const and not one.style and "__constant__" not in words:
            raise Fault(at, f"const variable '{name}' requires an initializer")
        variable = Variable(name, written.type, storage, at, const)
        meaning = VariableName(variable, written.type, const)
        self.context.declare(name, meaning, at)
        initial = self.top.initials.initial(written.type, one) if one.style else None
        if initial is not None and holds_half(written.type):
            message = "dynamic initialization is not supported for a variable at file scope"
            raise Fault(at, message, "a half is made by a running kernel: leave out the first value")
        if isinstance(written.type, Array) and written.type.length is None:
            if not isinstance(initial, list):
                raise Fault(at, "incomplete type is not allowed", "write the length of the array")
            variable.type = meaning.type = Array(written.type.of, len(initial))
        most = MOST_CONSTANT if "__constant__" in words else MOST_DEVICE
        size = variable.type.size + sum(v.type.size for v in self.variables if v.storage == storage)
        if size > most:
            raise unsupported(at, f"{storage} variables of {size:,} bytes: at most {most:,} are possible")
        variable.initial = initial
        if isinstance(initial, tree.Expression) and isinstance(written.type, Scalar):
            value = fold(initial)
            if const and "__constant__" not in words and value is not None:
                meaning.constant = value
        self._must_be_constant(initial, at)
        self.variables.append(variable)

    def _must_be_constant(self, initial: object, at: At) -> None:
        parts = initial.parts if isinstance(initial, tree.MakeRecord) else initial
        if isinstance(parts, list):
            for part in parts:
                self._must_be_constant(part, at)
        elif isinstance(parts, tree.Expression) and fold(parts) is None:
            message = "dynamic initialization is not supported for a variable at file scope"
            raise Fault(parts.at, message, "its first value is a constant")

    # ---------------------------------------------------------------------------------------------- functions

    def _function(self, node: syntax.FunctionDefinition) -> None:
        name = node.declarator.name
        old = self.scope.names.get(name)
        if old is not None and not isinstance(old, Overloads):
            raise Fault(node.declarator.at, f"'{name}' has already been declared in the current scope")
        overloads = old or Overloads()
        self.scope.names[name] = overloads
        self.scope.places.setdefault(name, node.declarator.at)
        if node.template is not None:
            self._words(node)
            overloads.templates = [t for t in overloads.templates if t.definition.body is not None]
            overloads.templates.append(TemplateName(node))
            return
        made = self._head(node, self.scope, name)
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
            self.functions.append(made)
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
        checker = ExpressionChecker(Context(self, scope))
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
            stored = Pointer(kind.type, kind.const) if self.by_address(kind) else kind.type
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

    def by_address(self, kind: ParameterType) -> bool:
        return kind.reference == "plain" or (kind.reference == "const" and isinstance(kind.type, Array))

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
        assert parameter.default is not None and target.scope is not None
        checker = ExpressionChecker(Context(self, target.scope))
        kind = target.parameters[target.definition_parameters().index(parameter)]
        return checker.calls.passed(checker.operand(parameter.default), kind)

    def _body(self, name: FunctionName) -> None:
        node, function = name.definition, name.function
        assert function is not None and name.scope is not None and node.body is not None
        context = Context(self, Scope(name.scope), name)
        for variable, kind in zip(function.parameters, name.parameters):
            if variable.name:
                meaning = VariableName(variable, kind.type, kind.const, self.by_address(kind))
                context.declare(variable.name, meaning, variable.at)
        function.body = StatementChecker(context).block(node.body, scope=False)

    # ---------------------------------------------------------------------------------------------- templates

    def instance(self, template: TemplateName, bindings: Bindings, at: At) -> FunctionName:
        node = template.definition
        identity = tuple(key(meaning) for meaning in bindings.values())
        if identity in template.instances:
            return template.instances[identity]
        if self.depth > 100:
            raise Fault(at, f"'{node.declarator.name}' needs itself again and again: the template never ends")
        self.instances += 1
        if self.instances > MOST_INSTANCES:
            raise unsupported(at, f"more than {MOST_INSTANCES:,} instances of templates")
        scope = Scope(self.scope)
        scope.names.update(bindings)
        scope.parameters = set(bindings)
        made = self._head(node, scope, spelled(node.declarator.name, bindings))
        template.instances[identity] = made
        self.functions.append(made)
        if node.body is not None:
            self.depth += 1
            self._body(made)
            self.depth -= 1
        return made

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

    # ------------------------------------------------------------------------------------------------ program

    def program(self, name: str, source: str, kernels: dict[str, FunctionName]) -> tree.Program:
        roots = {f.name: f for f in self.functions if f.kernel and "<" not in f.name}
        program = tree.Program(name, source, {}, [], self.variables)
        seen: set[tree.Function] = set()
        at = {f.function: f for f in self.functions if f.function is not None}
        for key_, root in {**roots, **kernels}.items():
            assert root.function is not None
            if root.function.body is not None:
                self._reach(root.function, seen, program, at)
                program.kernels[key_] = root.function
        return program

    def _reach(
        self,
        function: tree.Function,
        seen: set[tree.Function],
        program: tree.Program,
        names: dict[tree.Function, FunctionName],
    ) -> None:
        if function in seen:
            return
        seen.add(function)
        for callee in self.callees.get(function, []):
            if callee.body is None:
                what = f"the function '{callee.name}', which is declared and never defined"
                raise unsupported(names[callee].at, what, "write its body")
            self._reach(callee, seen, program, names)
        if not function.kernel:
            program.functions.append(function)
