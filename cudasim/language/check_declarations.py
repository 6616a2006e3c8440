"""Local variables and their first values."""

from __future__ import annotations

from cudasim.errors import At, Fault, unsupported
from cudasim.language import syntax, tree
from cudasim.language.check_calls import Calls
from cudasim.language.check_expressions import type_hint
from cudasim.language.check_types import Written, first_at
from cudasim.language.constant import fold
from cudasim.language.conversion import Value, address, implicit, rvalue
from cudasim.language.scope import Overloads, TypeMeaning, VariableName
from cudasim.language.tree import Variable
from cudasim.language.types import DIM3, HALF, UINT, Array, Pointer, Record, Scalar, Type, Void

MOST_LOCAL = 1 << 19  # bytes, of one variable: what a GPU has for all that is local to a thread
Initial = tree.Expression | list[object]

_SHARED_HINT = (
    "a __shared__ array has a length that is known when compiling; "
    "for one that the launch chooses write extern __shared__ float name[];"
)


class Declarations(Calls):
    def local(self, node: syntax.Declaration) -> list[tree.Statement]:
        words = node.specifiers.words
        if "typedef" in words:
            self.typedef(node)
            return []
        for word in ("__device__", "__constant__"):
            if word in words and "__shared__" not in words:
                message = f"a '{word}' variable declaration is not allowed inside a function body"
                raise Fault(words[word], message, "it stands outside of all functions")
        for word in (
            "__global__",
            "__host__",
            "inline",
            "__forceinline__",
            "__launch_bounds__",
            "__noinline__",
        ):
            if word in words:
                raise Fault(words[word], f"'{word}' is not allowed on a variable")
        result: list[tree.Statement] = []
        if node.specifiers.base == "auto" and len(node.ones) > 1:
            raise unsupported(node.at, "several variables in one declaration with auto")
        for one in node.ones:
            if one.declarator.parts and isinstance(one.declarator.parts[0], syntax.FunctionPart):
                name = one.declarator.name
                hint = f"a variable without a value is {name}, one that is zero {name}{{}}"
                raise Fault(one.declarator.at, f"'{name}' is a function, declared within another one", hint)
            statement = self._shared(node, one) if "__shared__" in words else self._automatic(node, one)
            result += [statement] if statement else []
        return result

    def typedef(self, node: syntax.Declaration) -> None:
        for one in node.ones:
            written = self.written(node.specifiers, one.declarator)
            if one.style:
                raise Fault(one.declarator.at, "a typedef has no initial value")
            if written.reference or written.auto:
                raise unsupported(one.declarator.at, "typedefs of references")
            old = self.scope.names.get(one.declarator.name)
            if isinstance(old, TypeMeaning) and (old.type, old.const) == (written.type, written.const):
                continue
            self.declare(one.declarator.name, TypeMeaning(written.type, written.const), one.declarator.at)

    # ------------------------------------------------------------------------------------------------ shared

    def shared_variable(self, node: syntax.Declaration, one: syntax.One) -> VariableName:
        declarator, words = one.declarator, node.specifiers.words
        at = declarator.at
        written = self._shared_type(node.specifiers, declarator)
        if one.style:
            hint = "let one thread write the first value, then call __syncthreads()"
            raise Fault(at, "an initializer is not allowed for a __shared__ variable", hint)
        if written.const:
            raise Fault(at, f"const variable '{declarator.name}' requires an initializer")
        open_ended = isinstance(written.type, Array) and written.type.length is None
        if "extern" in words and not open_ended:
            raise unsupported(at, "extern __shared__ variables other than arrays without a length")
        if open_ended and "extern" not in words:
            raise Fault(
                at, "incomplete type is not allowed", "write a length, or extern __shared__ float name[];"
            )
        if open_ended and isinstance(self.file.scope.names.get(declarator.name), Overloads):
            message = f"declaration is incompatible with previous '{declarator.name}', which is a function"
            raise Fault(at, message, "what is extern needs a name of its own")
        storage = "dynamic" if open_ended else "shared"
        return VariableName(Variable(declarator.name, written.type, storage, at), written.type, False)

    def _shared_type(self, specifiers: syntax.Specifiers, declarator: syntax.Declarator) -> Written:
        try:
            written = self.written(specifiers, declarator)
        except Fault as fault:
            if fault.message == "expression must have a constant value":
                fault.hint = _SHARED_HINT
            raise
        if written.reference or written.auto or isinstance(written.type, Void):
            raise Fault(declarator.at, "a __shared__ variable needs a type that can be stored")
        return written

    def _shared(self, node: syntax.Declaration, one: syntax.One) -> tree.Statement:
        meaning = self.shared_variable(node, one)
        self.declare(one.declarator.name, meaning, one.declarator.at)
        return tree.Declare(one.declarator.at, meaning.variable)

    # --------------------------------------------------------------------------------------------- automatic

    def _automatic(self, node: syntax.Declaration, one: syntax.One) -> tree.Statement | None:
        declarator, words = one.declarator, node.specifiers.words
        at, name = declarator.at, declarator.name
        written = self.written(node.specifiers, declarator)
        if "extern" in words:
            raise unsupported(at, "extern variables other than __shared__")
        constexpr = "constexpr" in words
        if "static" in words and not (constexpr or written.const):
            raise unsupported(at, "static variables in functions")
        if written.auto:
            written = self._auto(written, one)
        if written.reference:
            return self._reference(written, one)
        const = written.const or constexpr
        if isinstance(written.type, Void):
            raise Fault(at, f"incomplete type is not allowed: '{name}' cannot be void")
        if written.type == HALF and words.keys() & {"constexpr", "static"}:
            message = "expression must have a constant value: a half is made by a running kernel"
            raise Fault(at, message, "write const half")
        if const and not one.style:
            raise Fault(
                at, f"const variable '{name}' requires an initializer", f"as in const ... {name} = 1;"
            )
        storage = "local" if isinstance(written.type, Array) else "register"
        variable = Variable(name, written.type, storage, at, const)
        meaning = VariableName(variable, written.type, const)
        self.declare(name, meaning, at)
        if written.type.size > MOST_LOCAL:
            hint = "use global memory, or shared memory"
            raise unsupported(at, f"a local variable of more than {MOST_LOCAL:,} bytes", hint)
        if not one.style:
            if isinstance(written.type, Array) and written.type.length is None:
                raise Fault(at, "incomplete type is not allowed", "write the length of the array: name[16]")
            return tree.Declare(at, variable)
        initial = self.initial(written.type, one)
        if isinstance(written.type, Array) and written.type.length is None:
            assert isinstance(initial, list)
            variable.type = meaning.type = Array(written.type.of, len(initial))
        if const:
            self._remember(meaning, initial, constexpr, one)
        return tree.Declare(at, variable, initial)

    def _remember(self, meaning: VariableName, initial: Initial, constexpr: bool, one: syntax.One) -> None:
        """Keeps the value of a constant that is known."""
        if not isinstance(meaning.type, Scalar) or isinstance(initial, list):
            return
        value = fold(initial)
        if value is None and constexpr:
            hint = "a constexpr is worked out when compiling; use const for a value of the running kernel"
            assert one.initial is not None
            self.no_calls(Value(initial), one.initial)
            raise Fault(first_at(one.initial), "expression must have a constant value", hint)
        if value is not None and (meaning.type.is_integer or constexpr):
            meaning.constant = value

    def _auto(self, written: Written, one: syntax.One) -> Written:
        at = one.declarator.at
        if one.initial is None:
            raise Fault(
                at, "a variable of type 'auto' requires an initializer", "write = and its first value"
            )
        if isinstance(one.initial, syntax.Braces):
            raise unsupported(at, "auto with braces")
        value = self.operand(one.initial)
        const = written.const
        if written.reference:
            type_ = value.type
            const = const or value.const
        else:
            type_ = rvalue(value).type
        if isinstance(written.type, Pointer):
            if not isinstance(type_, Pointer) or isinstance(written.type.to, Pointer):
                raise Fault(at, f"cannot deduce 'auto *' from a value of type '{type_}'")
            type_ = Pointer(type_.to, type_.const or written.type.const)
        if isinstance(type_, Void):
            raise Fault(at, "a variable cannot have type void", "the function returns nothing")
        return Written(type_, const, written.reference)

    def _reference(self, written: Written, one: syntax.One) -> tree.Statement:
        declarator = one.declarator
        at, name = declarator.at, declarator.name
        if one.initial is None:
            raise Fault(
                at, f"reference variable '{name}' requires an initializer", "it stands for another variable"
            )
        if isinstance(one.initial, syntax.Braces):
            raise unsupported(at, "references with braces")
        if written.reference == "&&":
            raise unsupported(at, "references with &&")
        value = self.operand(one.initial)
        if value.place is not None and value.type == written.type and (written.const or not value.const):
            pointer = Pointer(written.type, written.const)
            target = Value(place=value.place, const=written.const)
            variable = Variable(name, pointer, "register", at, True)
            self.declare(name, VariableName(variable, written.type, written.const, reference=True), at)
            return tree.Declare(at, variable, address(target, at))
        if not written.const:
            hint = f"'{name}' could change it; write const before the type"
            if value.lost:
                raise unsupported(at, "a reference to the result of an assignment")
            message = "initial value of reference to non-const must be an lvalue"
            if value.place is not None:
                source = f"{'const ' * value.const}{value.type}"
                wanted = f"a reference of type '{written.type} &'"
                message = f"{wanted} cannot be initialized with a value of type '{source}'"
            raise Fault(at, message, hint)
        initial = self.converted(value, written.type, at)
        variable = Variable(name, written.type, "register", at, True)
        self.declare(name, VariableName(variable, written.type, True), at)
        return tree.Declare(at, variable, initial)

    # ------------------------------------------------------------------------------------------- first values

    def initial(self, type_: Type, one: syntax.One) -> Initial:
        node = one.initial
        assert node is not None
        if isinstance(node, syntax.Braces):
            if one.style == "(":
                return self._constructed(type_, node)
            if isinstance(type_, Array):
                return self._array(type_, node)
            return self.braces_value(node, type_)
        if isinstance(type_, Array):
            if isinstance(node, syntax.Text):
                raise unsupported(node.at, "strings")
            hint = "the values of an array stand in braces: {1, 2, 3}"
            raise Fault(first_at(node), "an array is initialized with values in braces", hint)
        return self.converted(self.operand(node), type_, first_at(node))

    def converted(self, value: Value, type_: Type, at: At) -> tree.Expression:
        result = implicit(value, type_)
        if result is None:
            source = rvalue(value).type
            message = f"a value of type '{source}' cannot be used to initialize an entity of type '{type_}'"
            raise Fault(at, message, type_hint(source, type_))
        return result

    def _constructed(self, type_: Type, node: syntax.Braces) -> tree.Expression:
        if type_ == DIM3:
            return self._dim3(node)
        raise Fault(
            node.at, f"no constructor of '{type_}' takes {len(node.parts)} values", "use braces: {a, b}"
        )

    def make(self, node: syntax.Make) -> Value:
        written = self.type_name(node.type)
        braces = syntax.Braces(node.at, node.parts)
        if isinstance(written.type, Void) and not node.parts:
            raise Fault(node.at, "a value of type void has no use")
        if not node.braces and node.parts:
            return Value(self._constructed(written.type, braces))
        return Value(self.braces_value(braces, written.type))

    def _dim3(self, node: syntax.Braces) -> tree.Expression:
        if len(node.parts) > 3:
            raise Fault(node.at, "too many values: a dim3 has x, y and z")
        parts: list[tree.Expression] = []
        for part in node.parts:
            parts.append(self.converted(self.operand(part), UINT, part.at))
        while len(parts) < 3:
            parts.append(tree.Literal(node.at, UINT, 1))
        return tree.MakeRecord(node.at, DIM3, parts)

    def braces_value(self, node: syntax.Braces, to: Type) -> tree.Expression:
        if to == DIM3:
            return self._dim3(node)
        if isinstance(to, Record):
            parts = list(node.parts)
            if len(parts) == 1 and not isinstance(parts[0], syntax.Braces):
                value = self.operand(parts[0])
                if value.type == to:
                    return rvalue(value)
            result = self._record(to, parts, node.at)
            self._none_left(parts)
            return result
        if len(node.parts) > 1:
            raise Fault(node.parts[1].at, "too many initializer values", f"a variable of type '{to}' has one")
        if not node.parts:
            return self.zero(to, node.at)
        if isinstance(node.parts[0], syntax.Braces):
            raise unsupported(node.at, "braces within braces for a single value")
        return self._element(to, node.parts[0])

    def zero(self, to: Type, at: At) -> tree.Expression:
        if isinstance(to, Record):
            return tree.MakeRecord(at, to, [self.zero(field.type, at) for field in to.fields])
        value = implicit(Value(tree.Literal(at, UINT, 0), null=True), to)
        if value is None:
            raise Fault(at, f"a value of type '{to}' cannot be made of nothing")
        return value

    def _record(self, record: Record, parts: list[syntax.Node], at: At) -> tree.Expression:
        values: list[tree.Expression] = []
        for field in record.fields:
            if not parts:
                values.append(self.zero(field.type, at))
            else:
                value = self._next(field.type, parts)
                assert isinstance(value, tree.Expression)
                values.append(value)
        return tree.MakeRecord(at, record, values)

    def _array(self, type_: Array, node: syntax.Braces) -> list[object]:
        parts = list(node.parts)
        if type_.length is None and not parts:
            raise Fault(node.at, "an array of unknown length needs at least one value")
        result = self._elements(type_, parts)
        self._none_left(parts)
        return result

    def _none_left(self, parts: list[syntax.Node]) -> None:
        if parts:
            raise Fault(first_at(parts[0]), "too many initializer values")

    def _elements(self, type_: Array, parts: list[syntax.Node]) -> list[object]:
        result: list[object] = []
        while parts and (type_.length is None or len(result) < type_.length):
            result.append(self._next(type_.of, parts))
        return result

    def _next(self, type_: Type, parts: list[syntax.Node]) -> Initial:
        """Takes what the next element needs off `parts`: braces of its own may be left out."""
        if isinstance(parts[0], syntax.Braces):
            part = parts.pop(0)
            assert isinstance(part, syntax.Braces)
            return self._array(type_, part) if isinstance(type_, Array) else self.braces_value(part, type_)
        if isinstance(type_, Array):
            return self._elements(type_, parts)
        if isinstance(type_, Record):
            value = self.operand(parts[0])
            if implicit(value, type_) is None:
                return self._record(type_, parts, parts[0].at)
        return self._element(type_, parts.pop(0))

    def _element(self, to: Type, node: syntax.Node) -> tree.Expression:
        # NVRTC lets braces narrow, with a warning
        value = self.operand(node)
        result = self.converted(value, to, first_at(node))
        return result
