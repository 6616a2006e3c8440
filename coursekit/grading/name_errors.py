"""Errors of names and attributes in words: misspelt, another language's, or of another kind of thing."""

from __future__ import annotations

import ast
import builtins
import difflib
import re

from coursekit.grading.answer import Answer


def misspelt(message: str, answer: Answer) -> str | None:
    found = re.match(r"name '(\w+)' is not defined", message)
    if not found:
        return None
    name = found[1]
    if name in FROM_ELSEWHERE:
        return FROM_ELSEWHERE[name]
    if name in ("In", "Out") or re.search(r"^\s*(In \[|>>> )", answer.source, re.M):
        return "The cell has a prompt (`>>>` or `In [1]:`) in it that was copied along: take it out."
    if name in ("data", "grad", "inputs"):
        return f"`{name}` belongs to an object: write `self.{name}`, or what it belongs to."
    known = {n.id for n in answer.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known |= {n.arg for n in answer.nodes if isinstance(n, ast.arg)} | {one.name for one in answer.functions}
    near = difflib.get_close_matches(name, sorted((known | set(dir(builtins))) - {name}), 1, 0.75)
    return f"`{name}` is nowhere defined: is `{near[0]}` meant?" if near else None


FROM_ELSEWHERE = {
    "true": "In Python it is `True`, with a capital letter.",
    "false": "In Python it is `False`, with a capital letter.",
    "null": "In Python nothing is `None`.",
    "NULL": "In Python nothing is `None`.",
    "nil": "In Python nothing is `None`.",
    "this": "In Python the object itself is `self`.",
    "sqrt": "`sqrt` is in a module: `math.sqrt` for a number, `np.sqrt` for an array.",
    "exp": "`exp` is in a module: `math.exp` for a number, `np.exp` for an array.",
    "log": "`log` is in a module: `math.log` for a number, `np.log` for an array.",
    "tanh": "`tanh` is in a module: `math.tanh` for a number, `np.tanh` for an array.",
    "expf": "`expf` is CUDA C's: in Python it is `math.exp` or `np.exp`.",
    "pi": "`pi` is in a module: `math.pi`.",
    "inf": "`inf` is in a module: `math.inf`.",
    "printf": "In Python it is `print`, and an exercise returns its result.",
    "np": "NumPy is not imported there: `import numpy as np` comes first; for one number `math` will do.",
    "torch": "PyTorch is not there: the exercise is written with NumPy or the course's own library.",
}


def not_installed(message: str, answer: Answer) -> str | None:
    """A package that a learner may have, as scikit-learn brings SciPy, and no grader."""
    found = re.match(r"No module named '(\w+)", message)
    if not found or found[1] == "minilib" or not answer.line_with(rf"^(import|from)\b.*\b{found[1]}\b"):
        return None
    return (
        f"Your machine may have `{found[1]}`, and it is not there while answers are graded: "
        "write it with NumPy and plain Python."
    )


def rebound(message: str, answer: Answer) -> str | None:
    """A name that was an object's, and is given to what was worked out of it."""
    found = re.match(r"'(float|int|float64|float32|ndarray)' object has no attribute '(\w+)'", message)
    if not found:
        return None
    for node in answer.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            own = [one for one in ast.walk(node.value) if isinstance(one, ast.Attribute)]
            if any(ast.unparse(one.value) == name for one in own):
                return (
                    f"`{ast.unparse(node)}` gives the name `{name}` to a number, and the object that it "
                    f"named stays as it was. Assign to what the object holds: `{name}.data = ...`."
                )
    return None


def inherited(message: str, answer: Answer) -> str | None:
    found = re.match(
        r"property '(\w+)' of '(\w+)' object has no setter|can't set attribute '?(\w*)'?", message
    )
    if not found:
        return None
    name = found[1] or found[3] or "it"
    return f"`{name}` is a property of the class that yours is derived from: choose another name."


def not_in_class(message: str, answer: Answer) -> str | None:
    found = re.search(r"'(\w+)' object has no attribute '(\w+)'", message)
    if not found:
        return None
    kind, name = found.groups()
    top = [one for one in getattr(answer.tree, "body", ()) if isinstance(one, ast.FunctionDef)]
    own = next(
        (one for one in top if one.name == name and one.args.args[:1] and one.args.args[0].arg == "self"),
        None,
    )
    if own is not None and not own.decorator_list:
        return (
            f"`{name}` is a function of its own, outside of the class: `@add_to(...)` above it, with the "
            "name of the class, puts it there."
        )
    return OTHER_LANGUAGES.get((kind if kind in ("list", "str", "ndarray") else "", name)) or _kind_of(
        kind, name
    )


OTHER_LANGUAGES = {
    ("ndarray", "append"): "An array does not grow: collect in a list, and make it an array at the end.",
    ("list", "push"): "A list grows with `append`.",
    ("list", "length"): "The length is `len(x)`.",
    ("list", "size"): "The length of a list is `len(x)`; `size` is an array's.",
    ("ndarray", "length"): "The length is `len(x)`, or `x.size` for all numbers.",
    ("str", "length"): "The length is `len(x)`.",
}


def _kind_of(kind: str, name: str) -> str | None:
    if kind in ("list", "tuple") and name in [
        "shape",
        "sum",
        "mean",
        "max",
        "min",
        "T",
        "dtype",
        "ndim",
        "reshape",
        "data",
    ]:
        return f"There is a {kind} where an array or tensor is wanted: `.{name}` is theirs."
    numbers = ("float", "int", "float64", "float32")
    if kind in numbers and name in ["data", "grad", "inputs", "op", "backward", "shape", "sum"]:
        return (
            f"A plain number came where a value with `.{name}` is wanted: wrap it first, or take "
            "the number as it is."
        )
    if kind == "ndarray" and name in [
        "backward",
        "requires_grad",
        "grad",
        "detach",
        "exp",
        "log",
        "tanh",
        "sqrt",
    ]:
        return (
            f"An array came where a tensor is wanted; of arrays it is `np.{name}(x)`, if there "
            "is such a function."
        )
    return None
