"""Errors of shapes and indices in words."""

from __future__ import annotations

import ast
import math
import re

from coursekit.grading.answer import Answer, named

_REDUCES = r"\b(sum|mean|max|min|amax|amin|std|var|prod|any|all|norm|argmax|argmin|dot|reduce)\([^)]"


def look_at(answer: Answer, pattern: str) -> str:
    line = answer.line_with(pattern)
    return f" Look at `{line}`." if line else ""


def reshaped(message: str, answer: Answer) -> str | None:
    found = re.search(r"cannot reshape array of size (\d+) into shape \(([\d,-]*)\)", message)
    if not found:
        return None
    sizes = [int(n) for n in found[2].split(",") if n]
    wants = "" if -1 in sizes else f", which has {math.prod(sizes)}"
    return (
        f"{found[1]} numbers are to get the shape ({found[2]}){wants}: is too much or too little taken, "
        "or is it the shape of something else?" + look_at(answer, r"reshape\(|\.shape = ")
    )


def matrix_sizes(message: str, answer: Answer) -> str | None:
    if "mismatch in its core dimension" in message:
        own = any(isinstance(node, ast.MatMult) for node in answer.nodes)
        if not own and not re.search(r"\b(matmul|dot)\b", answer.source):
            return (
                "Below your lines two matrices are multiplied whose sizes do not fit: an array that you hand "
                "on has other axes than what takes it expects."
            )
        return (
            "`@` multiplies rows by columns: the last axis of the left must be as long as the "
            "last but one of the right. Is one of them to be transposed?"
        )
    found = re.search(r"could not be broadcast together with shapes? \(([\d,]*)\) \(([\d,]*)\)", message)
    if found:
        left, right = ([int(n) for n in text.split(",") if n] for text in found.groups())
        if half := _half_masked(answer):
            return half
        turned = answer.line_with(r"@ *[\w.]+\.T\b")
        if turned and any(len(one) == 2 and one[0] == one[1] for one in (left, right)) and left != right:
            return (
                f"`{turned}` takes each row with each, so it is square. For each row with its own of the "
                "other multiply number by number and sum along the last axis."
            )
        begins = left[: len(right)] == right or right[: len(left)] == left
        if len(left) != len(right) and begins and answer.line_with(_REDUCES):
            return (
                f"Shapes ({found[1]}) and ({found[2]}) do not fit: a reduction has lost its "
                "axis. `keepdims=True` keeps it, or `[:, None]` puts it back."
            )
        return (
            f"Shapes ({found[1]}) and ({found[2]}) do not fit: axes are compared from the last, "
            "and each pair must be equal or 1."
        )
    return None


def one_truth(message: str, answer: Answer) -> str | None:
    """`if D`, of an array: is it asked whether there is one, or what its numbers are?"""
    if "truth value of an array" not in message and "truth of a tensor" not in message:
        return None
    tests = (node.test for node in answer.nodes if isinstance(node, ast.If | ast.IfExp | ast.While))
    bare = (
        one.operand if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not) else one for one in tests
    )
    if asked := next((one for one in bare if isinstance(one, ast.Name | ast.Attribute)), None):
        return (
            f"`if {ast.unparse(asked)}` asks for the truth of its numbers, and several have no one truth: is "
            f"`{ast.unparse(asked)} is not None` meant, or `.all()`, or `.any()`?"
        )
    return (
        "An array is not one truth: `if`, `and` and `or` want one. Use `np.where`, `&`, `|`, `np.maximum`, "
        "or `.any()`."
    )


def _half_masked(answer: Answer) -> str | None:
    """`out[winner == i] += grad`: places are chosen on one side alone."""
    for one in answer.nodes:
        if not isinstance(one, ast.Assign | ast.AugAssign):
            continue
        target = one.target if isinstance(one, ast.AugAssign) else one.targets[0]
        masked = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Compare)
        by_a_mask = isinstance(one.value, ast.Subscript) and isinstance(one.value.slice, ast.Compare)
        if by_a_mask and isinstance(target, ast.Subscript) and not masked:
            return (
                f"{named(one)}: a mask gives the chosen numbers in one row, and the left side has all of its "
                "places; `np.where(mask, numbers, 0)` keeps the shape."
            )
        if isinstance(target, ast.Subscript) and masked and isinstance(one.value, ast.Name):
            chosen = ast.unparse(target.slice)
            return (
                f"{named(one)}: on the left are only the places where `{chosen}`; take the same of the "
                f"right, `{one.value.id}[{chosen}]`."
            )
    return None


def axis_gone(message: str, answer: Answer) -> str | None:
    if "out of bounds for array of dimension" in message:
        return (
            "An axis is named that is not there any more: each sum without `keepdims=True` "
            "takes one away, and those behind it move up."
        )
    return None


def unpacked(message: str, answer: Answer) -> str | None:
    found = re.match(r"(not enough|too many) values to unpack \(expected (\d+)", message)
    if not found:
        return None
    names = [
        ast.unparse(target).strip("()")
        for node in answer.nodes
        for target in getattr(node, "targets", [getattr(node, "target", None)])
        if isinstance(target, ast.Tuple) and len(target.elts) == int(found[2])
    ]
    where = f" at `{names[0]} = ...`" if len(set(names)) == 1 else ""
    come = "fewer" if found[1] == "not enough" else "more"
    return (
        f"{found[2]} values are expected{where}, and {come} come: is it always that many, as axes of a shape?"
    )


# Indices


def out_of_range(message: str, answer: Answer) -> str | None:
    if found := re.search(r"index (-\d+) is out of bounds", message):
        return (
            f"The index {found[1]} counts from the end, and there are not so many: a number that stands for "
            "something missing is no index. Leave such places out first."
        )
    if "out of range" not in message and "out of bounds" not in message:
        return None
    found = re.search(r"index (\d+) is out of bounds for axis (\d+) with size (\d+)", message)
    if found:
        index, axis, size = map(int, found.groups())
        there = f"Axis {axis} has {_places(size)}, and the index {index} is none of them"
        counted = _counted_by_size(answer)
        if counted:
            return (
                f"{there}. {counted} counts the numbers of all axes together: `len(x)` or `x.shape[i]` "
                "counts those along one."
            )
        off_by_one = answer.line_with(ONE_MORE) if index == size else ""
        return f"{there}{f', by one: look at `{off_by_one}`' if off_by_one else ''}."
    line = answer.line_with(ONE_MORE)
    more = f" Look at `{line}`." if line else ""
    return (
        "An index is too large, or what it looks into too short: of n items the last has the number "
        f"n - 1.{more}"
    )


ONE_MORE = r"range\(.*\+ ?1\)|\[\w+ ?\+ ?1\]"


def _places(size: int) -> str:
    return f"{size} places, 0 to {size - 1}" if size > 1 else "one place, 0" if size else "no place"


def _counted_by_size(answer: Answer) -> str:
    """The `x.size` that a `range` or `arange` ends at."""
    for one in answer.nodes:
        if isinstance(one, ast.Call) and ast.unparse(one.func).split(".")[-1] in ("range", "arange"):
            inner = [node for argument in one.args for node in ast.walk(argument)]
            sizes = [node for node in inner if isinstance(node, ast.Attribute) and node.attr == "size"]
            if sizes:
                return named(sizes[0])
    return ""


def too_many_indices(message: str, answer: Answer) -> str | None:
    found = re.search(r"array is (\d+)-dimensional, but (\d+) were indexed", message)
    if not found:
        return None
    axes, indices = map(int, found.groups())
    masked = _by_mask(answer)
    if masked:
        return masked
    return (
        f"{indices} indices stand in the brackets of an array with {axes or 'no'} "
        f"ax{'is' if axes == 1 else 'es'}: in this case it comes with fewer, or has lost one before."
    )


def no_mask(message: str, answer: Answer) -> str | None:
    return _by_mask(answer) if "boolean index did not match" in message else None


def _by_mask(answer: Answer) -> str | None:
    """`out[condition] = x[condition]`: both have to have the condition's shape."""
    for one in answer.nodes:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Subscript):
            target, value = one.targets[0], one.value
            mask = ast.unparse(value.slice) if isinstance(value.slice, ast.Name) else ""
            if mask and isinstance(target, ast.Subscript) and ast.unparse(target.slice) == mask:
                return (
                    f"{named(one)} wants arrays with the axes of `{mask}`. Where shapes differ, a row or one "
                    "number beside a matrix, nothing is broadcast: `np.where` does that."
                )
    return None


def several_results(message: str, answer: Answer) -> str | None:
    """`y = f(x)` of a function with two results, and then `y[:, -1]`."""
    if "tuple indices must be integers or slices, not tuple" not in message:
        return None
    given = {argument.arg for one in answer.functions for argument in one.args.args}
    indexed = {
        one.value.id
        for one in answer.nodes
        if isinstance(one, ast.Subscript)
        and isinstance(one.value, ast.Name)
        and isinstance(one.slice, ast.Tuple)
    }
    made = {
        target.id: one
        for one in answer.nodes
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        for target in one.targets
        if isinstance(target, ast.Name) and target.id in indexed - given
    }
    if len(made) != 1:
        return "A tuple of several results is indexed as if it were one array: give each a name first."
    name, one = made.popitem()
    return (
        f"{named(one)} gives a tuple of several results, and `{name}` names all of them: give each a name, "
        f"as in `{name}, other = ...`."
    )
