"""Statements and declarations: a whole source as a tree of what is written (`syntax`)."""

from __future__ import annotations

from cudasim.errors import At, Fault, unsupported
from cudasim.language import half
from cudasim.language.lexer import Token, unquoted
from cudasim.language.parse_expressions import ExpressionParser
from cudasim.language.parse_tokens import KEYWORDS, STORAGE_WORDS
from cudasim.language.parse_types import undefined_type
from cudasim.language.preprocess import HALF_HEADER, UNROLL, UNROLL_END
from cudasim.language.syntax import (
    Alias,
    BlockOf,
    Braces,
    CaseLabel,
    Declaration,
    Declarator,
    DoWhile,
    ExpressionStatement,
    For,
    FunctionDefinition,
    FunctionPart,
    HalfHeader,
    IfElse,
    Jump,
    Name,
    Node,
    Nothing,
    One,
    ReturnOf,
    Specifiers,
    StaticAssert,
    StructDefinition,
    SwitchOf,
    TemplateParameter,
    Unit,
    Unroll,
    While,
)

FOR_HINT = "the three parts of a for are separated by ;"


class Parser(ExpressionParser):
    def __init__(self, stream: list[Token]) -> None:
        super().__init__(stream)
        self.extras: list[Node] = []  # structs defined inside a declaration

    # -------------------------------------------------------------------------------------------- file scope

    def unit(self) -> Unit:
        items: list[Node] = []
        while self.token.kind != "end":
            items += self._top()
        return Unit(items)

    def _top(self, external_c: bool = False) -> list[Node]:
        if self.takes(";"):
            return []
        if self.sees(HALF_HEADER):
            return [self._half_header()]
        if self.takes(UNROLL):
            while not self.takes(UNROLL_END):
                self.next()
            return []
        if self.sees("}"):
            raise Fault(self.at, "expected a declaration", "this '}' has no '{'")
        if self.sees("extern") and self.ahead().kind == "string":
            return self._linkage()
        if self.sees("template"):
            return [self._template()]
        if self.sees("static_assert"):
            return [self._static_assert()]
        if self.sees("using"):
            return [self._using()]
        if self._struct_follows():
            return self._struct()
        return self._declaration_or_function(external_c)

    def _half_header(self) -> Node:
        for name in half.TYPES + half.OTHER_TYPES:
            self.scopes[0].setdefault(name, "type")
        return HalfHeader(self.next().at)

    def _linkage(self) -> list[Node]:
        self.place += 1
        language = self.next()
        if unquoted(language) not in ("C", "C++"):
            raise Fault(language.at, f"unknown linkage {language.text}", 'write extern "C"')
        is_c = unquoted(language) == "C"
        if not self.sees("{"):
            if self.sees("template"):
                raise Fault(
                    self.at, 'this declaration may not have extern "C" linkage', "a template has no C name"
                )
            return self._top(is_c)
        opened = self.next().at
        items: list[Node] = []
        while not self.sees("}"):
            if self.token.kind == "end":
                raise self.expected("}", opened)
            if self.sees("template") and is_c:
                raise Fault(
                    self.at, 'this declaration may not have extern "C" linkage', "a template has no C name"
                )
            items += self._top(is_c)
        self.place += 1
        return items

    def _template(self) -> Node:
        at = self.next().at
        if not self.sees("<"):
            raise unsupported(at, "explicit instantiation of templates", "pass name_expressions instead")
        self.scopes.append({})
        parameters = self._template_parameters()
        if not parameters:
            raise unsupported(at, "explicit specialization of templates", "write an overload")
        if self.sees("struct", "class", "union"):
            raise unsupported(self.at, "templates of structs and classes", "only functions may be templates")
        if self.sees("using", "template"):
            raise unsupported(self.at, f"'{self.token.text}' after template<...>")
        specifiers = self._base_specifiers()
        declarator = self.declarator()
        if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
            raise unsupported(declarator.at, "templates of variables", "only functions may be templates")
        self.scopes[-2][declarator.name] = "template"
        node = self._function(specifiers, declarator, False)
        self.scopes.pop()
        node.template = parameters
        return node

    def _template_parameters(self) -> list[TemplateParameter]:
        self.must("<")
        self.no_greater = True
        result: list[TemplateParameter] = []
        while not self.sees(">"):
            result.append(self._template_parameter())
            if not self.takes(","):
                break
        self.no_greater = False
        self.close_angle()
        return result

    def _template_parameter(self) -> TemplateParameter:
        at = self.at
        if self.sees("template"):
            raise unsupported(at, "templates as parameters of templates")
        if self.takes("typename", "class"):
            if self.sees("..."):
                raise unsupported(self.at, "templates with a variable number of parameters")
            name = self.identifier().text if self.token.kind == "name" else ""
            self.declare(name, "type")
            default: Node | None = self.type_name() if self.takes("=") else None
            return TemplateParameter(at, name, None, default)
        if not self.starts_type():
            hint = "as in template <typename T> or template <int N>"
            if (
                self.token.kind == "name"
                and self.token.text not in KEYWORDS
                and not self.kind_of(self.token.text)
            ):
                raise Fault(at, f"identifier '{self.token.text}' is undefined", hint)
            raise Fault(at, "expected a parameter of the template", hint)
        specifiers = self.specifiers(storage=False)
        declarator = self.declarator(None)
        self.declare(declarator.name)
        type_ = self.bare_type(specifiers)
        type_.declarator.parts = declarator.parts
        default = self._ternary() if self.takes("=") else None
        return TemplateParameter(at, declarator.name, type_, default)

    def _base_specifiers(self) -> Specifiers:
        specifiers = self.specifiers()
        if specifiers.base is None:
            raise self._no_type(specifiers)
        return specifiers

    def _no_type(self, specifiers: Specifiers) -> Fault:
        token, after = self.token, self.ahead()
        if token.kind == "name" and token.text not in KEYWORDS and not self.kind_of(token.text):
            if after.kind == "name" or after.text in ("*", "&", "::"):
                return undefined_type(token.text, token.at)
            if after.text == "(" and specifiers.words:
                message = f"the type that '{token.text}' returns is missing"
                return Fault(token.at, message, "a kernel returns void: __global__ void name(...)")
        if token.kind == "name" and token.text in KEYWORDS and self.place:
            return Fault(
                token.at, "expected a declaration", f"'{token.text}' cannot stand outside of a function"
            )
        if token.kind == "end":
            return Fault(self.after_last(), "expected a declaration", "the source ends too early")
        hint = (
            "outside of functions only declarations may stand"
            if not specifiers.words
            else "a type is missing"
        )
        return Fault(token.at, "this declaration has no type", hint)

    def _declaration_or_function(self, external_c: bool) -> list[Node]:
        at = self.at
        specifiers = self._base_specifiers()
        if self.sees(";"):
            raise unsupported(at, "a declaration that declares nothing", "a name is missing")
        declarator = self.declarator()
        if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
            if self.kind_of(declarator.name) != "template":
                self.declare(declarator.name)
            return [self._function(specifiers, declarator, external_c)]
        return [self._rest_of_declaration(at, specifiers, declarator)]

    def _function(
        self, specifiers: Specifiers, declarator: Declarator, external_c: bool
    ) -> FunctionDefinition:
        self.refuse_word()
        node = FunctionDefinition(specifiers.at, specifiers, declarator, None, None, external_c)
        if self.takes(";"):
            return node
        if not self.sees("{"):
            message = (
                "expected a '{'"
                if not self.sees(",")
                else "unsupported: several functions in one declaration"
            )
            last = self.after_last()
            at = last if last.line != self.at.line else self.at
            raise Fault(at, message, "the body of a function stands between { and }", self.sees(","))
        self.scopes.append({})
        part = declarator.parts[0]
        assert isinstance(part, FunctionPart)
        for parameter in part.parameters:
            self.declare(parameter.declarator.name)
        node.body = self.block(scope=False)
        self.scopes.pop()
        return node

    def _rest_of_declaration(
        self, at: At, specifiers: Specifiers, first: Declarator, hint: str = "a statement ends with ;"
    ) -> Declaration:
        kind = "type" if "typedef" in specifiers.words else "other"
        ones = [self._one(first, kind)]
        while self.takes(","):
            ones.append(self._one(self.declarator(), kind))
        self._end_of_statement(hint)
        return Declaration(at, specifiers, ones)

    def _one(self, declarator: Declarator, kind: str) -> One:
        self.declare(declarator.name, kind)
        if self.takes("="):
            return One(declarator, self.braces() if self.sees("{") else self.assignment(), "=")
        if self.sees("{"):
            return One(declarator, self.braces(), "{")
        if self.sees("("):
            at = self.at
            parts = self.arguments()
            if not parts:
                raise Fault(at, "expected an expression")
            if len(parts) > 1:
                return One(declarator, Braces(at, parts), "(")
            return One(declarator, parts[0], "(")
        return One(declarator)

    def _end_of_statement(self, hint: str = "a statement ends with ;") -> None:
        if self.takes(";"):
            return
        if self.token.text in STORAGE_WORDS and self.ahead().text in (";", ",", "="):
            raise unsupported(self.at, f"'{self.token.text}' behind a name", "it stands before the type")
        if self.token.kind == "name" and self.token.text not in KEYWORDS and self.place:
            last = self.stream[self.place - 1]
            if last.at.line == self.at.line and last.kind == "name":
                hint = f"an operator or a ; is missing before '{self.token.text}'"
        raise self.expected(";", hint=hint)

    # ------------------------------------------------------------------------------- other declarations

    def _static_assert(self) -> Node:
        at = self.next().at
        opened = self.must("(").at
        test = self.constant()
        message = ""
        if self.takes(","):
            if self.token.kind != "string":
                raise Fault(self.at, "expected a string")
            while self.token.kind == "string":
                message += unquoted(self.next())
        self.must(")", opened)
        self._end_of_statement()
        return StaticAssert(at, test, message)

    def _using(self) -> Node:
        at = self.next().at
        if self.sees("namespace"):
            raise unsupported(at, "using namespace", "a kernel has no namespaces, std neither")
        name = self.identifier()
        if self.sees("::"):
            raise unsupported(at, "using declarations")
        self.must("=")
        type_ = self.type_name()
        self._end_of_statement()
        self.declare(name.text, "type")
        return Alias(at, name.text, type_)

    def _struct_follows(self) -> bool:
        i = 1 if self.sees("typedef") else 0
        if self.ahead(i).text != "struct" or self.ahead(i).kind != "name":
            return False
        i += 1
        if self.ahead(i).text in ("__align__", "alignas"):
            return True
        return self.ahead(i).text == "{" or self.ahead(i + 1).text in ("{", ":", ";", "final")

    def _struct(self) -> list[Node]:
        at = self.at
        typedef = self.takes("typedef")
        self.must("struct")
        align: Node | None = None
        if self.sees("__align__", "alignas"):
            holder = Specifiers(self.at, None)
            self._storage_word(holder)
            align = holder.align
        name = self.identifier().text if not self.sees("{") else f"<unnamed of line {at.line}>"
        if not self.sees("{"):
            raise unsupported(self.at, "structs with bases, or declared before they are defined")
        self.declare(name, "type")
        fields = self._fields()
        result: list[Node] = [StructDefinition(at, name, fields, align)]
        if self.takes(";"):
            return result
        specifiers = Specifiers(at, Name(at, name))
        if typedef:
            specifiers.words["typedef"] = at
        elif self.token.kind != "name" and not self.sees("*"):
            raise self.expected(";", hint="the definition of a struct ends with };")
        result.append(self._rest_of_declaration(at, specifiers, self.declarator()))
        return result

    def _fields(self) -> list[Declaration]:
        opened = self.must("{").at
        self.scopes.append({})
        fields: list[Declaration] = []
        while not self.sees("}"):
            if self.token.kind == "end":
                raise self.expected("}", opened)
            if self.sees("__device__", "__host__", "~", "template", "public", "private", "operator", "using"):
                raise unsupported(
                    self.at, "structs with methods", "write a __device__ function that takes the struct"
                )
            if self.takes(";"):
                continue
            at = self.at
            specifiers = self._base_specifiers()
            if self.sees("("):
                raise unsupported(self.at, "structs with methods", "write a __device__ function")
            self.refuse_word()
            declarator = self.declarator()
            if self.sees("=", "{"):
                raise unsupported(self.at, "initial values in structs")
            if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
                raise unsupported(declarator.at, "structs with methods", "write a __device__ function")
            if self.sees(":"):
                raise unsupported(self.at, "bit fields")
            fields.append(self._rest_of_declaration(at, specifiers, declarator))
        self.scopes.pop()
        self.place += 1
        return fields

    # -------------------------------------------------------------------------------------------- statements

    def block(self, scope: bool = True) -> BlockOf:
        opened = self.must("{").at
        if scope:
            self.scopes.append({})
        statements: list[Node] = []
        while not self.sees("}"):
            if self.token.kind == "end":
                raise self.expected("}", opened)
            self._not_a_function(opened)
            statements += self.statements()
        if scope:
            self.scopes.pop()
        return BlockOf(opened, statements, self.next().at)

    def _not_a_function(self, opened: At) -> None:
        if self.sees("__global__"):
            hint = (
                f"a '}}' seems to be missing before this line: the '{{' of line {opened.line} is still open"
            )
            raise Fault(self.at, "a __global__ function cannot stand inside another function", hint)

    def statements(self) -> list[Node]:
        if self._struct_follows():
            return self._struct()
        return [self.statement()]

    def _scoped(self) -> Node:
        """The body of an if or of a loop: declarations end with it."""
        self.scopes.append({})
        if self.sees("}") or self.token.kind == "end":
            raise Fault(self.at, "expected a statement")
        node = self.statement()
        self.scopes.pop()
        return node

    def statement(self) -> Node:
        token = self.token
        at = token.at
        if self.sees("{"):
            return self.block()
        if self.takes(";"):
            return Nothing(at)
        if self.sees(UNROLL):
            return self._unroll()
        if token.kind == "name":
            method = {
                "if": self._if, "for": self._for, "while": self._while, "do": self._do,
                "switch": self._switch,
                "return": self._return, "break": self._jump, "continue": self._jump,
                "static_assert": self._static_assert, "using": self._using,
            }.get(token.text)  # fmt: skip
            if method:
                return method()
            if token.text in ("case", "default"):
                raise Fault(at, f"a {token.text} label may only be used within a switch")
            if token.text == "else":
                raise Fault(
                    at, "expected a statement", "this else has no if: one statement or { } stands before it"
                )
            if token.text not in ("new", "throw"):
                self.refuse_word()
            if self.ahead().text == ":" and token.text not in KEYWORDS and self.ahead().kind == "mark":
                raise unsupported(at, "labels")
            if self._starts_declaration():
                return self._local_declaration()
            self._undefined_type()
        node = self.expression()
        self._end_of_statement()
        return ExpressionStatement(at, node)

    def _unroll(self) -> Node:
        at = self.next().at
        count = None if self.sees(UNROLL_END) else self.expression()
        if not self.takes(UNROLL_END):
            raise unsupported(self.at, "text after the number of #pragma unroll")
        return Unroll(at, count, Nothing(at) if self.sees("}") else self.statement())

    def _starts_declaration(self) -> bool:
        if not self.starts_type():
            return False
        after = self.ahead()
        if after.text == "(":
            return self.ahead(2).text in ("*", "&") or self.token.text in ("alignas", "__align__")
        return after.text != "{" or self.token.text == "struct"

    def _undefined_type(self) -> None:
        """`flaot x = 3;` and `std::vector v`: an unknown name where a type would make sense."""
        token, after = self.token, self.ahead()
        if token.text in KEYWORDS or self.kind_of(token.text):
            return
        two_names = after.kind == "name" and after.text not in KEYWORDS
        pointer = (
            after.text in ("*", "&") and self.ahead(2).kind == "name" and self.ahead(3).text in ("=", ";")
        )
        if two_names or pointer or after.text == "::":
            raise undefined_type(token.text, token.at)

    def _local_declaration(self) -> Node:
        at = self.at
        specifiers = self._base_specifiers()
        if self.sees(";"):
            raise unsupported(at, "a declaration that declares nothing", "a name is missing")
        declarator = self.declarator()
        if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
            if self.sees("{"):
                hint = "is a '}' missing above? Functions cannot stand inside functions"
                raise Fault(self.at, "expected a ';'", hint)
            raise unsupported(declarator.at, "declaring a function inside a function")
        return self._rest_of_declaration(at, specifiers, declarator)

    def _condition(self) -> Node:
        opened = self.must("(", hint="a condition stands between ( and )").at
        if self.starts_type() and self._starts_declaration():
            raise unsupported(self.at, "a declaration as a condition", "declare it on the line before")
        test = self.expression()
        self.must(")", opened)
        return test

    def _if(self) -> Node:
        at = self.next().at
        constexpr = self.takes("constexpr")
        self.scopes.append({})
        initial, test = self._if_condition()
        yes = self._scoped()
        no = self._scoped() if self.takes("else") else None
        self.scopes.pop()
        return IfElse(at, initial, test, yes, no, constexpr)

    def _if_condition(self) -> tuple[Node | None, Node]:
        """(test) or (first; test)"""
        opened = self.must("(", hint="a condition stands between ( and )").at
        initial: Node | None = None
        if self.starts_type() and self._starts_declaration():
            at, specifiers = self.at, self._base_specifiers()
            one = self._one(self.declarator(), "other")
            if not self.takes(";"):
                raise unsupported(at, "a declaration as a condition", "declare it on the line before")
            initial = Declaration(at, specifiers, [one])
        elif self.takes(";"):
            initial = Nothing(opened)
        test = self.expression()
        if initial is None and self.takes(";"):
            initial, test = ExpressionStatement(test.at, test), self.expression()
        self.must(")", opened)
        return initial, test

    def _for(self) -> Node:
        at = self.next().at
        opened = self.must("(").at
        self.scopes.append({})
        initial: list[Node] = []
        if self.starts_type() and self._starts_declaration():
            initial.append(self._for_declaration())
        elif not self.takes(";"):
            self._undefined_type()
            initial.append(ExpressionStatement(self.at, self.expression()))
            self._for_semicolon()
        test = None if self.sees(";") else self.expression()
        self._for_semicolon()
        step = None if self.sees(")") else self.expression()
        if self.sees(";"):
            raise Fault(self.at, "expected a ')'", "a for has three parts: for (start; test; step)")
        self.must(")", opened)
        body = self._scoped()
        self.scopes.pop()
        return For(at, initial, test, step, body)

    def _for_semicolon(self) -> None:
        self.must(";", hint=FOR_HINT)

    def _for_declaration(self) -> Node:
        at = self.at
        specifiers = self._base_specifiers()
        declarator = self.declarator()
        if self.sees(":"):
            raise unsupported(self.at, "for over a range", "count with an index")
        return self._rest_of_declaration(at, specifiers, declarator, FOR_HINT)

    def _while(self) -> Node:
        at = self.next().at
        return While(at, self._condition(), self._scoped())

    def _do(self) -> Node:
        at = self.next().at
        body = self._scoped()
        if not self.sees("while"):
            raise self.expected("while", hint="do { ... } while (condition);")
        self.place += 1
        test = self._condition()
        self._end_of_statement()
        return DoWhile(at, body, test)

    def _jump(self) -> Node:
        token = self.next()
        self._end_of_statement()
        return Jump(token.at, token.text)

    def _return(self) -> Node:
        at = self.next().at
        value: Node | None = None
        if not self.sees(";"):
            value = self.braces() if self.sees("{") else self.expression()
        self._end_of_statement()
        return ReturnOf(at, value)

    def _switch(self) -> Node:
        at = self.next().at
        value = self._condition()
        if not self.sees("{"):
            raise unsupported(self.at, "a switch without { }")
        opened = self.next().at
        self.scopes.append({})
        body: list[Node] = []
        while not self.sees("}"):
            if self.token.kind == "end":
                raise self.expected("}", opened)
            if self.sees("case", "default"):
                body.append(self._case())
            else:
                body += self.statements()
        self.place += 1
        self.scopes.pop()
        return SwitchOf(at, value, body)

    def _case(self) -> Node:
        token = self.next()
        value = self.constant() if token.text == "case" else None
        if not self.takes(":"):
            raise self.expected(":", hint="a label of a switch ends with :")
        return CaseLabel(token.at, value)
