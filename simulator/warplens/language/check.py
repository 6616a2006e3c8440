"""A whole source: its functions, its variables at file scope, and the kernels that it offers."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, half, syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_declarations import DeclarationChecker
from warplens.language.check_expressions import ExpressionChecker
from warplens.language.check_functions import FunctionChecker
from warplens.language.check_methods import MethodChecker
from warplens.language.check_objects import needs_making
from warplens.language.check_pointers import no_functions
from warplens.language.check_statements import StatementChecker
from warplens.language.constant import fold
from warplens.language.scope import FunctionName, NamespaceName, Scope, TypeMeaning, VariableName
from warplens.language.tree import Variable
from warplens.language.types import NARROW, Array, Record, Scalar, Type, Void

_VARIABLE_WORDS = ("__global__", "__forceinline__", "__noinline__", "__launch_bounds__", "__host__")

# Bytes: of a variable that is __constant__, and of one that is __device__.
MOST_CONSTANT, MOST_DEVICE = 1 << 16, 1 << 30


def holds_half(type_: Type) -> bool:
    """Whether it is half or bfloat16, or has parts that are."""
    if isinstance(type_, Array):
        return holds_half(type_.of)
    return type_ in NARROW or (isinstance(type_, Record) and any(holds_half(f.type) for f in type_.fields))


class Checker:
    """The file scope: its variables, its functions, and the program that they make."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.context = Context(self, self.scope)
        self.top = StatementChecker(self.context)
        self.functions = FunctionChecker(self)
        self.methods = MethodChecker(self)
        self.namespaces: list[str] = []  # around what is checked at file scope
        self.variables: list[Variable] = []
        self.has_half = self.has_bfloat = False  # whether cuda_fp16.h, and cuda_bf16.h are included
        self.group_headers: set[str] = set()  # of cooperative groups

    # --------------------------------------------------------------------------------------------- file scope

    def unit(self, unit: syntax.TranslationUnit) -> None:
        self._items(unit.items)

    def declarations(self, scope: Scope, function: FunctionName | None = None) -> DeclarationChecker:
        """For what is declared in a scope of a template."""
        context = Context(self, scope, function)
        return DeclarationChecker(context, ExpressionChecker(context))

    def _namespace(self, node: syntax.NamespaceOf) -> None:
        old = self.context.scope.names.get(node.name)
        if not isinstance(old, NamespaceName):
            old = NamespaceName(Scope(self.context.scope))
            self.context.declare(node.name, old, node.at)
        self.namespaces.append(node.name)
        with self.context.inside(old.scope):
            self._items(node.items)
        self.namespaces.pop()

    def _items(self, items: list[syntax.Node]) -> None:
        for item in items:
            if isinstance(item, syntax.FunctionDefinition):
                self.functions.function(item)
            elif isinstance(item, syntax.Declaration):
                self._variables(item)
            elif isinstance(item, syntax.NamespaceOf):
                self._namespace(item)
            elif isinstance(item, syntax.GroupsHeader):
                self.group_headers.add(item.name)
            elif isinstance(item, syntax.HalfHeader):
                self._half_header(item)
            else:
                self.top.statement(item)

    def _half_header(self, node: syntax.HalfHeader) -> None:
        bf16 = node.name == bfloat.HEADER
        if not (self.has_bfloat if bf16 else self.has_half):
            self.has_half, self.has_bfloat = True, self.has_bfloat or bf16
            for name, type_ in (bfloat if bf16 else half).TYPES.items():
                self.context.declare(name, TypeMeaning(type_), node.at)

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
            message = (
                f"the variable '{name}' belongs to the host, and a kernel's source has no host variables"
            )
            raise Fault(at, message, hint)
        storage = "constant" if "__constant__" in words or not device else "device"
        if const and not one.style and "__constant__" not in words:
            raise Fault(at, f"const variable '{name}' requires an initializer")
        variable = Variable(name, written.type, storage, at, const, volatile=written.volatile)
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
        parts = initial.parts if isinstance(initial, tree.MakeRecord | tree.MakeArray) else initial
        if isinstance(parts, list):
            for part in parts:
                self._must_be_constant(part, at)
        elif isinstance(parts, tree.Expression) and fold(parts) is None:
            message = "dynamic initialization is not supported for a variable at file scope"
            raise Fault(parts.at, message, "its first value is a constant")

    # ------------------------------------------------------------------------------------------------ program

    def program(self, name: str, source: str, kernels: dict[str, FunctionName]) -> tree.Program:
        roots = {f.name: f for f in self.functions.found if f.kernel and "<" not in f.name}
        program = tree.Program(name, source, {}, [], self.variables)
        seen: set[tree.Function] = set()
        at = {f.function: f for f in self.functions.found if f.function is not None}
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
        for callee in self.functions.callees.get(function, []):
            if callee.body is None:
                what = f"the function '{callee.name}', which is declared and never defined"
                raise unsupported(names[callee].at, what, "write its body")
            self._reach(callee, seen, program, names)
        if not function.kernel:
            program.functions.append(function)
