"""Errors of what is missing, in words: None where a value is wanted, and a tensor without a history."""

from __future__ import annotations

import ast
import re

from coursekit.grading.answer import Answer, named


def nothing_returned(message: str, answer: Answer) -> str | None:
    if "NoneType" not in message and "'None'" not in message:
        return None
    silent = answer.silent()
    if silent is None:
        if gradient := _no_gradient(message, answer):
            return gradient
        in_place = answer.line_with(r"=\s*[\w.]+\.(append|sort|extend|reverse|add|update|insert|fill)\(")
        if in_place:
            return (
                f"`{in_place}`: such a method changes its list and gives back None; call it on a "
                "line of its own."
            )
        return "Something is None where a value is wanted: an input that may be missing, or one never set?"
    if _prints(silent):
        return f"`{silent.name}` prints its result and gives back None: `return` it instead."
    return f"`{silent.name}` has no `return`, so it gives back None."


def _no_gradient(message: str, answer: Answer) -> str:
    """`p.grad.data` of a `grad` that nothing asks for None, named where it is the only one."""
    found = re.search(r"has no attribute '(\w+)'", message)
    if not found:
        return ""
    asked = {
        ast.unparse(one.left)
        for one in answer.nodes
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Is | ast.IsNot)
    }
    used = {
        ast.unparse(one): one
        for one in answer.nodes
        if isinstance(one, ast.Attribute) and one.attr == found[1]
        if isinstance(one.value, ast.Attribute) and one.value.attr == "grad"
        if ast.unparse(one.value) not in asked
    }
    if not used:
        return ""
    which = ""
    if len(used) == 1:
        (one,) = used.values()
        which = f": `{answer.code(one.lineno)}`"
    return f"`.grad` is None where no gradient has arrived, of what is frozen or not used{which}"


def _prints(function: ast.FunctionDef) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id == "print" for one in calls)


def no_history(message: str, answer: Answer) -> str | None:
    """`.data` or a new `Tensor(...)` on the way to a result that backward starts from."""
    if "nothing that this tensor was made of wants a gradient" not in message:
        return None
    cuts = [
        one
        for one in answer.nodes
        if isinstance(one, ast.Call)
        and (
            (isinstance(one.func, ast.Name) and one.func.id == "Tensor")
            or (isinstance(one.func, ast.Attribute) and one.func.attr in ("numpy", "detach"))
        )
    ]
    data = [
        one
        for one in answer.nodes
        if isinstance(one, ast.Attribute) and one.attr == "data" and isinstance(one.ctx, ast.Load)
    ]
    if not cuts:
        return None
    names = " and ".join(dict.fromkeys([*(named(one) for one in cuts[-1:]), *(["`.data`"] if data else [])]))
    return (
        f"Here the way back is cut: {names} keep{'' if ' and ' in names else 's'} numbers without what they "
        "were made of. Work with the tensors themselves."
    )
