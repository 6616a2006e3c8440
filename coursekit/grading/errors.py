"""Errors in words: what a teacher says who sees an error beside the answer that raised it.

Python's messages name types; these sentences name the mistake: a missing `return`, `^` for a power, a
function that calls itself. They are a fixed list, filled with names and lines of the answer itself alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from coursekit.grading.answer import Answer, named
from coursekit.grading.c_errors import cuda
from coursekit.grading.missing_errors import no_history, nothing_returned
from coursekit.grading.name_errors import inherited, misspelt, not_in_class, not_installed, rebound
from coursekit.grading.shape_errors import (
    axis_gone,
    look_at,
    matrix_sizes,
    no_mask,
    one_truth,
    out_of_range,
    reshaped,
    several_results,
    too_many_indices,
    unpacked,
)

Rule = Callable[[str, Answer], str | None]


def explained(error: str, source: str) -> str:
    """What `error`, raised by the answer `source`, means; "" where there is no more to say than it says."""
    answer = Answer(source)
    kind, _, message = error.partition(": ")
    try:
        return next((said for rule in RULES.get(kind, ()) if (said := rule(message, answer))), "")
    except RecursionError:  # an expression nested too deep to be written out
        return ""


def endless(source: str) -> str:
    """The loops of an answer that took too long, of which one may never end; "" where it has no `while`."""
    answer = Answer(source)
    loops = [one for one in answer.nodes if isinstance(one, ast.While)]
    if not loops:
        return ""
    which = " or ".join(f"`while` {named(one.test)}" for one in loops[:2])
    if all(map(_counts, loops)):
        return (
            f"Does {which} come to its end, and after how many turns where numbers are large? What takes a "
            "turn for each may have a formula."
        )
    return f"Does {which} come to its end? In each turn something that it asks has to change."


def _counts(loop: ast.While) -> bool:
    """Whether a turn of a loop takes a step up or down with a name that it asks."""
    asked = {one.id for one in ast.walk(loop.test) if isinstance(one, ast.Name)}
    steps = (one for one in ast.walk(loop) if isinstance(one, ast.AugAssign))
    moved = (one.target for one in steps if isinstance(one.op, ast.Add | ast.Sub))
    return any(isinstance(one, ast.Name) and one.id in asked for one in moved)


def returned_in_a_loop(message: str, answer: Answer) -> str | None:
    """A `return` that every turn of a `for` reaches, so that there is but one: an indentation too far."""
    loops = [one for one in answer.nodes if isinstance(one, ast.For) and isinstance(one.body[-1], ast.Return)]
    always = (one for one in loops if not any(isinstance(inner, ast.Continue) for inner in ast.walk(one)))
    line = next((answer.code(one.body[-1].lineno) for one in always), "")
    if not line:
        return None
    return f"`{line}` stands inside the loop and ends it in its first turn: does it belong behind the loop?"


# Types and operators


def compared_nodes(message: str, answer: Answer) -> str | None:
    if not message.startswith("Compare, ") or "has no value" not in message:
        return None
    line = answer.line_with(r"^(?!.*\bfor\b).*(\bin\b|==)")
    return (
        "`==` of two nodes makes a third one, and `in` asks `==`: compare with `is`, as in "
        f"`any(node is x for x in inputs)`, or keep nodes in a set.{f' Look at `{line}`.' if line else ''}"
    )


def ampersand(message: str, answer: Answer) -> str | None:
    found = re.search(r"for ([&|]): ", message)
    line = answer.line_with(rf"[=<>]=?[^{found[1]}]*{re.escape(found[1])}[^=<>]*[=<>]") if found else ""
    if not found or not line:
        return None
    word = {"&": "and", "|": "or"}[found[1]]
    return (
        f"`{found[1]}` binds tighter than a comparison: write `{word}`, or for arrays brackets round each "
        f"comparison: `{line}`."
    )


def caret(message: str, answer: Answer) -> str | None:
    if "for ^" not in message:
        return None
    line = answer.line_with(r"\^")
    return f"In Python a power is `**`; `^` works on bits{f': `{line}`' if line else ''}."


def list_for_array(message: str, answer: Answer) -> str | None:
    operands = (
        r"can't multiply sequence by non-int|unsupported operand type\(s\) for [-/*+@]+:? .*'(list|tuple)'"
    )
    if re.search(operands, message):
        if "'tuple'" in message and "'list'" not in message:
            return (
                "A tuple holds values and is none itself: take the one that you want out of it, as in "
                "`x[0]`, or give each a name, as in `(x,) = ...`."
            )
        return (
            "A list is no array: on lists `*` repeats and `-` does not exist. Make it "
            "`np.array(...)`, or use a loop."
        )
    if "only concatenate" in message or "can only concatenate" in message:
        return "A list is no array: `+` joins lists. Make it `np.array(...)`, or add in a loop."
    if re.search(r"list indices must be integers or slices, not tuple", message):
        return "A list of lists takes one index at a time, `x[i][j]`; `x[i, j]` is for arrays."
    return None


def rows_of_a_list(message: str, answer: Answer) -> str | None:
    """`for number in x.tolist()`, where x has two axes."""
    if "can't multiply sequence by non-int of type 'list'" not in message:
        return None
    for one in answer.nodes:
        if isinstance(one, ast.For | ast.comprehension) and re.search(
            r"\.tolist\(\)$", ast.unparse(one.iter)
        ):
            return (
                f"{named(one.iter)} gives numbers where there is one axis; of two it gives rows, and then "
                f"{named(one.target)} is a list. Work with whole arrays, whatever their axes."
            )
    return None


def one_name(message: str, answer: Answer) -> str | None:
    """A fixed name for an array of a graph, in an answer that is asked more than once."""
    keys = [key for one in answer.nodes if isinstance(one, ast.Dict) for key in one.keys]
    texts = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    text = next((text for text in texts if re.search(rf"\b{re.escape(text)}\b", message)), None)
    if text is None:
        return None
    return (
        f"`{text}` is one name in the whole graph: where your answer works twice, the second array takes the "
        "first one's place. Make the name from one that is there once, such as the result's."
    )


def value_and_number(message: str, answer: Answer) -> str | None:
    found = re.search(r"unsupported operand type\(s\) for (\S+?):? '(\w+)' and '(\w+)'", message)
    if not found:
        return None
    operator, left, right = found.groups()
    name = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__"}.get(operator, "")
    if left == right and name and any(one.name == name for one in answer.functions):
        return f"{left} has no `{name}` yet: is `@add_to({left})` missing above yours?"
    if left == right and name:
        return f"{left} does not know `{operator}` here: work with what it holds, `.data`."
    if {left, right} & {"int", "float"}:
        other = right if left in ("int", "float") else left
        return (
            f"A plain number meets a {other} at `{operator}`: work with the numbers inside, or "
            "make both the same kind."
        )
    return None


def not_callable(message: str, answer: Answer) -> str | None:
    found = re.match(r"'(\w+)' object is not callable", message)
    if found and found[1] in ("int", "float", "ndarray", "Tensor", "Value", "list", "tuple", "str"):
        return (
            f"A value ({found[1]}) stands before a bracket as if it were a function: is a `*` "
            "missing, or does a name hide a function?"
        )
    return None


def not_indexed(message: str, answer: Answer) -> str | None:
    if re.match(r"'(builtin_function_or_method|function|method|type)' object is not subscriptable", message):
        return "A function stands before `[...]`: it is called with `(...)`."
    if one := re.match(r"object of type '(\w+)' has no len", message):
        return f"One {one[1]} alone stands where several are wanted: `(x,)` is a tuple of one."
    if re.match(r"'(int|float)' object is not (subscriptable|iterable)", message):
        return (
            "A single number is used as if it were a list: is `range(n)` meant, the list itself, or a "
            "tuple of one, `(n,)`?"
        )
    return None


def arguments(message: str, answer: Answer) -> str | None:
    found = re.match(r"(?:\w+\.)*(\w+)\(\) (missing|takes|got)", message)
    if not found:
        return None
    own = next((one for one in answer.functions if one.name == found[1]), None)
    if own is None:
        line = answer.line_with(rf"\b{found[1]}\(")
        return f"`{line}`: `help({found[1]})` says which arguments it wants." if line else None
    names = [argument.arg for argument in own.args.args]
    if (
        names[:1] != ["self"]
        and "given" in message
        and not any("@" in x for x in map(ast.unparse, own.decorator_list))
    ):
        inside = any(isinstance(node, ast.ClassDef) and own in node.body for node in answer.nodes)
        added = any("add_to" in ast.unparse(one) for one in own.decorator_list)
        if inside or added:
            return f"`{own.name}` belongs to a class: its first parameter is `self`."
    return (
        f"`{own.name}` is called with other arguments than `def {own.name}({', '.join(names)})` "
        "takes: keep the signature of the task."
    )


# Loops, recursion, syntax


def itself(message: str, answer: Answer) -> str | None:
    operators = {
        "__add__": ast.Add,
        "__mul__": ast.Mult,
        "__sub__": ast.Sub,
        "__truediv__": ast.Div,
        "__pow__": ast.Pow,
    }
    for one in answer.functions:
        inner = list(ast.walk(one))
        sign = operators.get(one.name)
        for node in inner:
            if sign and isinstance(node, ast.BinOp) and isinstance(node.op, sign) and _of_self(node):
                return (
                    f"`{ast.unparse(node)}` inside of `{one.name}` calls `{one.name}` again, "
                    "and so on: use the numbers, `self.data`."
                )
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == one.name:
                return (
                    f"`{one.name}` calls itself, deeper than Python lets functions call each other. "
                    "Either no call comes nearer to a case that it answers without another, or the way "
                    "there is long: a loop with a list of its own has no such limit."
                )
            if one.name in ("__getattr__", "__setattr__") or (sign is None and _asks_itself(one, node)):
                return f"`{one.name}` asks for itself again and again."
    return (
        "A function calls itself without end: where does it stop? On a long chain even a right "
        "recursion is too deep; a loop with a list of its own is not."
    )


def _of_self(node: ast.BinOp) -> bool:
    return ast.unparse(node.left) == "self"


def _asks_itself(one: ast.FunctionDef, node: ast.AST) -> bool:
    own = any(ast.unparse(x) == "property" for x in one.decorator_list)
    return (
        own
        and isinstance(node, ast.Attribute)
        and node.attr == one.name
        and ast.unparse(node.value) == "self"
    )


def too_early(message: str, answer: Answer) -> str | None:
    found = re.search(r"local variable '(\w+)'|^'(\w+)' is used before", message)
    if not found:
        return None
    name = found[1] or found[2]
    return (
        f"`{name}` is used before it has a value: it is assigned only further down, or only in a "
        "branch that was not taken. Give it a value first."
    )


def given_kernel(message: str, answer: Answer) -> str | None:
    """A fault in a kernel that is not the answer's: its author has guarded what is to be guarded."""
    if answer.cuda or "__global__" in answer.source:
        return None
    return (
        "Where the kernel is given it is right: it was launched with what does not fit together, such as the "
        "sizes of another array, one that is too small, or arguments in another order."
    )


def not_implemented(message: str, answer: Answer) -> str | None:
    if re.search(r"\braise NotImplemented(Error)?\b", answer.source):
        return (
            "`raise NotImplementedError` stops everything; where a case is left to somebody else, it is "
            "`return NotImplemented`."
        )
    return None


def written_to(message: str, answer: Answer) -> str | None:
    if "is read-only" not in message:
        return None
    given = {argument.arg for one in answer.functions for argument in one.args.args}
    places: list[tuple[ast.stmt, ast.expr]]
    places = [(one, one.target) for one in answer.nodes if isinstance(one, ast.AugAssign)]
    places += [(one, one.targets[0]) for one in answer.nodes if isinstance(one, ast.Assign)]
    for one, target in places:
        whole = isinstance(one, ast.Assign) and isinstance(target, ast.Name)
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name) and target.id in given and not whole:
            return (
                f"{named(one)} writes into an array that was handed in, and whoever holds it sees "
                "that: make a new one."
            )
    return "An array that was handed in is written to, and whoever holds it sees that: make a new one."


def not_defined_there(message: str, answer: Answer) -> str | None:
    if not re.search(r"math domain error|expected a (positive|nonnegative) input", message):
        return None
    return (
        "A logarithm is taken of 0 or less, or a root of less than 0: can a number be rounded to 0 there, "
        "as a small probability is?" + look_at(answer, r"\b(log\w*|sqrt|acos|asin)\(")
    )


def too_large(message: str, answer: Answer) -> str | None:
    return (
        "A number is beyond what a float can hold, as exp(1000) is: take something out before it grows."
        + look_at(answer, r"\b(exp|cosh|pow)\(|\*\*")
    )


def divided(message: str, answer: Answer) -> str | None:
    more = look_at(answer, r"(?<!/)/(?!/)|%|//")
    return f"Something is divided by 0: is that the right number, and if so, what holds where it is 0?{more}"


def no_key(message: str, answer: Answer) -> str | None:
    key = message.strip() if len(message) < 40 else ""
    return (
        f"A dictionary has no {f'`{key}`' if key else 'such key'}: ask with `in` before `[...]`, or take "
        "`.get(...)`, which gives None."
    )


def floating(message: str, answer: Answer) -> str | None:
    if "overflow" in message:
        return too_large(message, answer)
    if "divide by zero" in message:
        return "Something is divided by 0, or a logarithm is taken of 0: what should come out there?"
    if "invalid value" in message:
        return "0 / 0, infinity minus infinity, or a root or logarithm of less than 0: which numbers do that?"
    return None


def syntax(message: str, answer: Answer) -> str | None:
    for pattern, words in IN_PYTHON:
        line = answer.line_with(pattern)
        if line:
            return f"{words} `{line}`"
    return None


IN_PYTHON = (
    (r"=>|=<", "At least is `>=`, at most is `<=`, with the `=` behind:"),
    (r"\+\+\s*$|\w\+\+|\+\+\w", "Python has no `++`: it is `+= 1`."),
    (r"&&|\|\|", "In Python it is `and` and `or`."),
    (r"\belse if\b", "In Python it is `elif`."),
    (r"!\w", "In Python it is `not`."),
    (r"^\s*(In \[\d*\]:|>>> )", "A prompt was copied along: take it out."),
    (r"^\s*(if|for|while|def|else|elif|class)\b[^:]*$", "A `:` is missing at the end of this line:"),
    (r"^\s*(if|while)\s[^=!<>]*[^=!<>]=[^=]", "`=` gives a value to a name; `==` compares:"),
    (r"^\s*for\s*\(", "A loop is `for i in range(n):`"),
    (r"^\s*(int|float|double|auto)\s+\w+\s*=", "Python's names have no types: `x = 1`."),
)


RULES: dict[str, tuple[Rule, ...]] = {
    "TypeError": (
        caret, ampersand, compared_nodes, nothing_returned, rows_of_a_list, list_for_array,
        several_results, arguments, value_and_number, not_callable, not_indexed, returned_in_a_loop,
    ),
    "AttributeError": (nothing_returned, rebound, inherited, not_in_class, returned_in_a_loop),
    "NameError": (misspelt,),
    "ModuleNotFoundError": (not_installed,),
    "NotImplementedError": (not_implemented,),
    "UnboundLocalError": (too_early,),
    "RecursionError": (itself,),
    "IndexError": (returned_in_a_loop, too_many_indices, no_mask, out_of_range),
    "AxisError": (axis_gone,),
    "ValueError": (
        matrix_sizes, one_truth, reshaped, axis_gone, unpacked, written_to, not_defined_there,
        returned_in_a_loop,
    ),
    "KeyError": (returned_in_a_loop, no_key),
    "OverflowError": (too_large,),
    "FloatingPointError": (floating,),
    "ZeroDivisionError": (divided,),
    "SyntaxError": (syntax,),
    "IndentationError": (syntax,),
    "RuntimeError": (one_truth, no_history),
    "ModelError": (one_name,),
    "CompileError": (cuda,),
    "KernelFault": (given_kernel,),
}  # fmt: skip
