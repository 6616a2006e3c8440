"""Habits with what is shared: the caller's inputs, one array for all results, places that stand twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from coursekit.grading.answer import Answer, named

VIEWS = ("reshape", "ravel", "transpose", "swapaxes", "view")  # of an array: the same memory, mostly
BUFFERS = ("empty", "zeros", "empty_like", "zeros_like")
PLACES = ("take_along_axis", "ravel_multi_index", "searchsorted", "digitize")  # give an array of places
CONSUMERS = ("list", "tuple", "sorted", "sum", "max", "min", "enumerate", "zip")


def _root(node: ast.AST) -> str:
    """The name whose memory `node` looks into: of `x.reshape(2)[i]` it is x."""
    while True:
        if isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
            node = node.func.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def _is_view(value: ast.AST) -> bool:
    called = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    return called and value.func.attr in VIEWS  # type: ignore[attr-defined]


def gradient_written_to(answer: Answer) -> Iterator[str]:
    """`grad = grad.reshape(-1, n)`, and then `grad[places] = 0`, in a backward."""
    for function in answer.functions:
        arguments = {one.arg for one in function.args.args if one.arg not in ("self", "ctx")}
        if function.name != "backward":
            continue
        for one in (node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AugAssign)):
            target = one.target if isinstance(one, ast.AugAssign) else one.targets[0]
            whole = isinstance(one, ast.AugAssign) and isinstance(target, ast.Name)
            name = _root(target) if isinstance(target, ast.Subscript) or whole else ""
            made = [
                node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and name and ast.unparse(node.targets[0]) == name
            ]
            if name in arguments and all(_is_view(value) and _root(value) == name for value in made):
                yield (
                    f"{named(one)} writes into the gradient that was handed in, which others still read"
                    f"{', and `reshape` copies nothing' if made else ''}: change an array of your own."
                )


def argument_written(source: str) -> str:
    """The line that writes into an argument, where there is one such argument; else ""."""
    found: dict[str, str] = {}
    for function in Answer(source).functions:
        arguments = (one.arg for one in (*function.args.posonlyargs, *function.args.args))
        own = {name: name for name in arguments if name not in ("self", "ctx")}
        for node in sorted(
            (one for one in ast.walk(function) if isinstance(one, ast.Assign | ast.AugAssign)),
            key=lambda one: one.lineno,
        ):
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
                same = isinstance(node.value, ast.Name) and own.get(node.value.id)
                own = {name: whose for name, whose in own.items() if name != target.id}
                own |= {target.id: same} if same else {}  # `result = x` copies nothing
            elif (name := _root(target)) in own and not isinstance(target, ast.Attribute):
                found.setdefault(own[name], ast.unparse(node))
    line = next(iter(found.values())) if len(found) == 1 else ""
    return f"`{line}` writes into `{next(iter(found))}` itself." if line and len(line) < 90 else ""


def names_copied(answer: Answer) -> Iterator[str]:
    """`model.state_dict().copy()`, and `dict(...)` of it."""
    for one in answer.nodes:
        if isinstance(one, ast.Call):
            text = ast.unparse(one)
            if re.fullmatch(r"[\w.]+\.state_dict\(\)\.copy\(\)|dict\([\w.]+\.state_dict\(\)\)", text):
                yield (
                    f"{named(one)} copies the dictionary alone: it holds the same tensors as the model, and "
                    "they go on changing. Copy each of them, or `copy.deepcopy` all."
                )


def place_in_a_selection(answer: Answer) -> Iterator[str]:
    """`start[i] = np.argmin(best[begins])`, which is no place in `best`."""
    lists = {
        ast.unparse(node.targets[0])
        for node in answer.nodes
        if isinstance(node, ast.Assign)
        if isinstance(node.value, ast.ListComp) or ast.unparse(node.value).startswith("np.flatnonzero")
    }
    for node in (one for one in answer.nodes if isinstance(one, ast.Assign | ast.Return)):
        found = node.value
        if isinstance(found, ast.Call) and ast.unparse(found.func) == "int" and found.args:
            found = found.args[0]
        if not isinstance(found, ast.Call) or len(found.args) != 1:
            continue
        taken, later = found.args[0], isinstance(node, ast.Assign) and ast.unparse(node.targets[0])
        if not re.fullmatch(r"np\.arg(min|max)", ast.unparse(found.func)) or not isinstance(
            taken, ast.Subscript
        ):
            continue
        chosen = ast.unparse(taken.slice)
        if chosen in lists and not (later and f"{chosen}[{later}]" in answer.source):
            yield (
                f"{named(found)} counts within the selection: the place in `{ast.unparse(taken.value)}` "
                f"is `{chosen}[{ast.unparse(found)}]`."
            )


def walked_twice(answer: Answer) -> Iterator[str]:
    """Two loops, one after the other, over what was promised to be an Iterable alone."""
    for function in answer.functions:
        for argument in function.args.args:
            kind = ast.unparse(argument.annotation) if argument.annotation else ""
            if not re.match(r"(Iterable|Iterator|Generator)\b", kind):
                continue
            name = argument.arg
            stored = any(
                isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
                for one in ast.walk(function)
            )
            loops = [one for one in function.body if isinstance(one, ast.For | ast.Assign | ast.AugAssign)]
            walks = [one for one in loops if _walks(one, name)]
            if len(walks) > 1 and not stored:
                yield (
                    f"`{name}` is walked through twice, and may be a generator, which the first walk uses "
                    "up: the second finds nothing. Walk once, or make a list of it first."
                )


def _walks(statement: ast.stmt, name: str) -> bool:
    for one in ast.walk(statement):
        if isinstance(one, ast.For | ast.comprehension) and ast.unparse(one.iter) == name:
            return True
        given = one.args if isinstance(one, ast.Call) and ast.unparse(one.func) in CONSUMERS else []
        if name in map(ast.unparse, given):
            return True
    return False


def left_at_an_empty_one(answer: Answer) -> Iterator[str]:
    """`if piece.size == 0: break` in a loop over pieces."""
    for loop in answer.nodes:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        name = re.escape(loop.target.id)
        empty = rf"(len\({name}\)|{name}\.size) == 0|not (len\({name}\)|{name}\.size)|0 == {name}\.size"
        for one in loop.body:
            if not isinstance(one, ast.If) or not isinstance(one.body[-1], ast.Break):
                continue
            if re.fullmatch(empty, ast.unparse(one.test)):
                yield (
                    f"`break` under `if {ast.unparse(one.test)}` leaves the loop, and what comes behind an "
                    "empty one is never looked at: is `continue` meant?"
                )


def added_once(answer: Answer) -> Iterator[str]:
    """`out[places] += grad`, with an array of places outside of any loop."""
    for function in answer.functions:
        loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.While)]
        repeated = {id(inner) for one in loops for inner in ast.walk(one)}
        places = {
            ast.unparse(node.targets[0])
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and _gives_places(node.value)
        }
        for one in ast.walk(function):
            if not isinstance(one, ast.AugAssign) or not isinstance(one.op, ast.Add | ast.Sub):
                continue
            target = one.target.slice if isinstance(one.target, ast.Subscript) else None
            if target and id(one) not in repeated and ast.unparse(target) in places:
                yield (
                    f"{named(one)}: to a place that stands in {named(target)} several times this adds only "
                    "once. `np.add.at(array, places, numbers)` adds each time."
                )


def _gives_places(value: ast.AST) -> bool:
    calls = [one for one in ast.walk(value) if isinstance(one, ast.Call)]
    return any(ast.unparse(one.func).split(".")[-1] in PLACES for one in calls)


def one_result_for_all(answer: Answer) -> Iterator[str]:
    """A list or array made once, filled anew in each call, and given back each time."""
    for one, where in (*_buffers_of_the_module(answer), *_buffers_of_objects(answer)):
        yield (
            f"{named(one)} gives back the same array or list in each call, made {where}: what an earlier "
            "call gave is overwritten by the next. Make a new one in the call, or give back a copy."
        )


def _buffers_of_the_module(answer: Answer) -> Iterator[tuple[ast.Return, str]]:
    made: set[str] = set()
    for one in getattr(answer.tree, "body", ()):
        if isinstance(one, ast.Assign):
            pairs = [(target, one.value) for target in one.targets]
            if isinstance(one.targets[0], ast.Tuple) and isinstance(one.value, ast.Tuple):
                pairs = list(zip(one.targets[0].elts, one.value.elts))
            made |= {ast.unparse(target) for target, value in pairs if _makes(value)}
    for function in getattr(answer.tree, "body", ()):
        if isinstance(function, ast.FunctionDef):
            own = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and _stored(one)}
            own |= {argument.arg for argument in function.args.args}
            written = {
                _root(one) for one in ast.walk(function) if isinstance(one, ast.Subscript) and _stored(one)
            }
            for one in ast.walk(function):
                if isinstance(one, ast.Return) and _handed_back(one) & made & written - own:
                    yield one, "outside of the function"


def _buffers_of_objects(answer: Answer) -> Iterator[tuple[ast.Return, str]]:
    for method in answer.functions:
        kept = {
            ast.unparse(inner.targets[0])
            for branch in ast.walk(method)
            if isinstance(branch, ast.If)
            for inner in branch.body
            if isinstance(inner, ast.Assign) and _makes(inner.value)
        }
        always = {ast.unparse(one.targets[0]) for one in method.body if isinstance(one, ast.Assign)}
        for one in ast.walk(method):
            found = {name for name in _handed_back(one) if name.startswith("self.")} & kept - always
            if isinstance(one, ast.Return) and any(_asked_before(method, name) for name in found):
                yield one, "only where there was none that fits"


def _asked_before(method: ast.FunctionDef, name: str) -> bool:
    """Whether a condition asks for `self.name is None`."""
    tests = (ast.unparse(one.test) for one in ast.walk(method) if isinstance(one, ast.If))
    return any(f"{name} is None" in test for test in tests)


def _makes(value: ast.AST) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).split(".")[-1] in BUFFERS
    return isinstance(value, ast.List | ast.ListComp | ast.Dict) or (
        isinstance(value, ast.BinOp) and isinstance(value.left, ast.List)
    )


def _stored(one: ast.AST) -> bool:
    return isinstance(getattr(one, "ctx", None), ast.Store)


def _handed_back(one: ast.AST) -> set[str]:
    value = one.value if isinstance(one, ast.Return) else None
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return {ast.unparse(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}


def guarded_by_the_whole(answer: Answer) -> Iterator[str]:
    """`row * n + col < m * n` in C: at col = n the place is one of the next row."""
    w = r"(\w+)"
    pattern = rf"\b{w} ?\* ?{w} ?\+ ?{w} ?< ?(?:{w} ?\* ?\2|\2 ?\* ?{w})\b"
    line = answer.line_with(pattern) if answer.cuda else ""
    found = re.search(pattern, line)
    if found:
        row, width, column, *_ = found.groups()
        yield (
            f"`{found[0]}` asks whether a place is in the array, and not whether it is in its row: at "
            f"`{column}` = `{width}` the next row begins. Ask for `{row}` and for `{column}` alone."
        )


def counted_in_vectors(answer: Answer) -> Iterator[str]:
    """`((float2*)out)[2 * i]`: the pointer counts in twos already."""
    pattern = r"\(\s*(?:const )?(\w*?([234])) ?\* ?\)\s*\w+\s*\)\s*\[\s*(?:\2 ?\* ?(\w+)|(\w+) ?\* ?\2)\s*\]"
    line = answer.line_with(pattern) if answer.cuda else ""
    found = re.search(pattern, line)
    if found:
        yield (
            f"A pointer to {found[1]} counts in steps of {found[2]} numbers already: number "
            f"`{found[3] or found[4]}` of them is at `[{found[3] or found[4]}]`. Look at `{line}`."
        )


RULES = (
    walked_twice, gradient_written_to, one_result_for_all, left_at_an_empty_one, added_once,
    guarded_by_the_whole, counted_in_vectors,
)  # fmt: skip
