"""From source to a checked program: `compile_source`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from warplens.errors import At, CompileError, Fault
from warplens.language import groups, syntax, tree
from warplens.language.check import check_unit, program
from warplens.language.check_context import Context
from warplens.language.check_instances import function_instance
from warplens.language.check_types import explicit_only, meaning_of
from warplens.language.lexer import Token
from warplens.language.parse_tokens import Tokens
from warplens.language.parser import GRAMMAR, parse_unit
from warplens.language.preprocess import Preprocessor
from warplens.language.scope import FunctionName, Overloads

DEEPEST = 1450  # calls within each other that a source may take, whatever Python's own limit is


def compile_source(
    source: str, name: str = "kernel.cu", options: Iterable[str] = (), name_expressions: Iterable[str] = ()
) -> tree.Program:
    """Reads CUDA C and checks it.

    `options` are NVRTC's (-D and -U count, the others have no meaning here). `name_expressions` are the
    instances of templates that are wanted, as CuPy takes them: "scale<float>"; `Program.kernels` lists them
    under these names. Raises CompileError at the first mistake.
    """
    limit = sys.getrecursionlimit()
    # To check one instance of a template takes about fifteen calls within each other, and they nest. Counted
    # from here: a program that has raised the limit, as PyTorch's compiler does, gets the same refusals.
    sys.setrecursionlimit(_calls_open() + DEEPEST)
    try:
        preprocessor = Preprocessor(options)
        tokens = Tokens(list(groups.qualified(preprocessor.source(source))), GRAMMAR)
        context = check_unit(parse_unit(tokens))
        start = At(1, 1)
        kernels = {
            text: _named(text, preprocessor.expression(text, start), tokens, context)
            for text in name_expressions
        }
        return program(context.file, name, source, kernels)
    except Fault as fault:
        kind = "unsupported" if fault.unsupported else "error"
        raise CompileError(kind, fault.message, fault.at, name, source, fault.hint) from None
    except RecursionError:
        message = "unsupported: the source is nested too deeply"
        raise CompileError("unsupported", message, At(1, 1), name, source) from None
    finally:
        sys.setrecursionlimit(limit)


def _calls_open() -> int:
    frame, count = sys._getframe(), 0
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


def _named(text: str, stream: list[Token], outer: Tokens, context: Context) -> FunctionName:
    """The kernel that a name expression means."""
    start = At(1, 1)

    def wrong(why: str) -> Fault:
        return Fault(
            start, f"the name expression {text!r} {why}", "as in 'scale<float>' or 'scale<float, 4>'"
        )

    inner = Tokens(stream, GRAMMAR)
    inner.scopes, inner.members, inner.opened = [outer.scopes[0]], outer.members, outer.opened
    inner.takes("&")
    node = inner.assignment()
    if inner.token.kind != "end" or not isinstance(node, syntax.Name):
        raise wrong("is not the name of a kernel")
    meaning = meaning_of(context, node)
    if not isinstance(meaning, Overloads):
        raise wrong(f"names no function: identifier '{node.name}' is undefined")
    if node.arguments is None and meaning.functions:
        return meaning.functions[0]
    for template in meaning.templates:
        bindings = explicit_only(context, template.definition, node.arguments or [], template.scope)
        if bindings is not None:
            made = function_instance(context.file, template, bindings, start)
            if made.kernel:
                return made
    raise wrong("fits no __global__ template of the source")
