"""What is seldom meant: lines that Python takes, and that do something else than they seem to.

Of an answer that is wrong they are the first suspects, whatever its numbers are. No right answer of the
course has one (tested), so that a sentence here is no matter of taste.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from coursekit.grading import sharing
from coursekit.grading.answer import Answer, named

ARRAYS = ("np", "numpy", "cp", "xp", "torch", "t")  # modules: np.sort gives back what x.sort changes
IN_PLACE = ("append", "extend", "insert", "sort", "reverse", "shuffle")  # methods that give back None
NEW = ("reshape", "astype", "copy", "clip", "transpose", "swapaxes", "sum", "mean")  # and leave x as it is
FRESH = (ast.List, ast.Dict, ast.Set, ast.ListComp)
# NumPy's of each number by itself, which give a new array; a second argument would be where to put it.
ELEMENTWISE = ("sign", "exp", "log", "sqrt", "abs", "tanh", "square", "negative")
GROWS = ("add", "append", "extend", "insert", "update", "setdefault")
MAKERS = (
    *("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"),
    *("list", "dict", "set"),
)


def habit(source: str) -> str:
    """A line of the answer `source` that is hardly meant as it is, in a sentence; "" where there is none."""
    try:
        answer = Answer(source)
        return next((said for rule in RULES for said in rule(answer)), "")
    except RecursionError:  # an expression nested too deep to be written out
        return ""


def _assigned(answer: Answer) -> Iterator[ast.Assign]:
    return (node for node in answer.nodes if isinstance(node, ast.Assign))


def _classes(answer: Answer) -> Iterator[ast.ClassDef]:
    return (node for node in answer.nodes if isinstance(node, ast.ClassDef))


def _loops(answer: Answer) -> Iterator[ast.For]:
    return (node for node in answer.nodes if isinstance(node, ast.For))


def names_of_the_engine(answer: Answer) -> Iterator[str]:
    """What an operation calls its own, and the engine sets after forward."""
    set_there = {
        ast.unparse(one)
        for operation in _classes(answer)
        if "Function" in map(ast.unparse, operation.bases)
        for one in ast.walk(operation)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
    }
    for name in ("self.shape", "self.dtype", "self.inputs", "self.serial"):
        if name in set_there:
            yield (
                f"`{name}` is the engine's own: after `forward` it stands for what is known of the result. "
                "Keep yours under another name."
            )


def saved_alone(answer: Answer) -> Iterator[str]:
    """`self.saved = x`, an array, where the engine wants a tuple."""
    for one in _assigned(answer):
        name = one.value.id if isinstance(one.value, ast.Name) else ""
        if name and any(ast.unparse(target) in ("self.saved", "f.saved") for target in one.targets):
            forward = [f for f in answer.functions if f.name == "forward" and one in ast.walk(f)]
            if any(name == arg.arg for f in forward for arg in f.args.args):
                yield f"`saved` is a tuple, of one array too: {named(one)} wants a comma, `({name},)`."


def or_of_constants(answer: Answer) -> Iterator[str]:
    """`x == 1 or 2` and `("a" and "b") in x`: one of the constants alone decides, whatever x is."""
    for one in answer.nodes:
        if isinstance(one, ast.BoolOp) and isinstance(one.values[0], ast.Compare):
            last = one.values[-1]
            if isinstance(last, ast.Constant) and type(last.value) in (int, float, str):
                yield (
                    f"In {named(one)} the {named(last)} stands by itself, and is compared with nothing: "
                    "write the comparison out on both sides."
                )
        if isinstance(one, ast.Compare):
            sides = [each for each in (one.left, *one.comparators) if isinstance(each, ast.BoolOp)]
            for both in (x for x in sides if all(isinstance(y, ast.Constant) for y in x.values)):
                counts = both.values[-1 if isinstance(both.op, ast.And) else 0]
                word = " and " if isinstance(both.op, ast.And) else " or "
                each = (
                    ast.unparse(one).replace(f"({ast.unparse(both)})", ast.unparse(y)) for y in both.values
                )
                yield f"{named(both)} is {named(counts)} alone: write `{word.join(each)}`."


def equal_to_nan(answer: Answer) -> Iterator[str]:
    for one in answer.nodes:
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Eq | ast.NotEq):
            sides = [ast.unparse(side) for side in (one.left, *one.comparators)]
            if any(side in ("np.nan", "math.nan", "float('nan')", "cp.nan", "nan") for side in sides):
                always = "always" if isinstance(one.ops[0], ast.NotEq) else "never"
                yield f"nan equals nothing, itself included: {named(one)} is {always} true. Ask `np.isnan`."


def nothing_given_back(answer: Answer) -> Iterator[str]:
    """`order = numbers.shuffle(order)`: the method changes what it is called on, and gives back None."""
    for one in answer.nodes:
        value = one.value if isinstance(one, ast.Assign | ast.Return) else None
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        name, owner = value.func.attr, value.func.value
        module = isinstance(owner, ast.Name) and owner.id in ARRAYS
        chained = isinstance(one, ast.Return) and name in IN_PLACE[:3]  # as nn.Sequential's, which is its own
        if name in IN_PLACE and not module and not chained and not _defines(answer, name):
            yield (
                f"{named(one)}: `{name}` changes what it is given and gives back None; call it on a line of "
                "its own."
            )


def _defines(answer: Answer, name: str) -> bool:
    return any(one.name == name for one in answer.functions)


def nothing_kept(answer: Answer) -> Iterator[str]:
    """A line that works something out and drops it: `x.reshape(3)`, `sorted(x)`, `x == 3`."""
    for one in answer.nodes:
        if not isinstance(one, ast.Expr):
            continue
        value = one.value
        if isinstance(value, ast.Compare | ast.BinOp):
            yield f"{named(one)} works something out and drops it: is `=` meant, or `return`?"
        if not isinstance(value, ast.Call):
            continue
        if any(keyword.arg == "out" for keyword in value.keywords):
            continue
        owner, _, name = ast.unparse(value.func).rpartition(".")
        made = owner in ARRAYS and len(value.args) == 1 and name in ELEMENTWISE
        if made or (name in NEW if owner else name == "sorted"):
            yield f"{named(one)} gives a new one back, which nothing keeps, and leaves the old one as it is."


def one_under_many_names(answer: Answer) -> Iterator[str]:
    """`[[]] * n` and `a = b = []`."""
    for one in answer.nodes:
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
            for side in (one.left, one.right):
                if isinstance(side, ast.List) and any(isinstance(x, FRESH) for x in side.elts):
                    inner = ast.unparse(side.elts[0])
                    yield (
                        f"{named(one)} is one `{inner}`, many times over: done to one, done to all. "
                        f"Make each anew, `[{inner} for ...]`."
                    )
    for node in _assigned(answer):
        names = [one for one in node.targets if isinstance(one, ast.Name | ast.Attribute)]
        called = ast.unparse(node.value.func).split(".")[-1] if isinstance(node.value, ast.Call) else ""
        if len(names) > 1 and (called in MAKERS or isinstance(node.value, FRESH)):
            yield (
                f"{named(node)} makes one, under {len(names)} names: what is written into one stands in the "
                "others as well."
            )


def kept_between_calls(answer: Answer) -> Iterator[str]:
    for one in answer.functions:
        for value in (*one.args.defaults, *filter(None, one.args.kw_defaults)):
            if ast.unparse(value) in ("[]", "{}", "set()"):
                yield (
                    f"The default {named(value)} of `{one.name}` is made once, and all calls share it: take "
                    "None, and make one in the call."
                )


def one_for_all_objects(answer: Answer) -> Iterator[str]:
    """`kernels = {}` in the body of a class, and then `self.kernels[key] = ...`, or `seen`, and `.add`."""
    for one in _classes(answer):
        made = {
            target.id: node
            for node in one.body
            if isinstance(node, ast.Assign)
            and (
                isinstance(node.value, FRESH) or re.fullmatch(r"(set|list|dict)\(\)", ast.unparse(node.value))
            )
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        own = {ast.unparse(x) for x in ast.walk(one) if isinstance(getattr(x, "ctx", None), ast.Store)}
        called = {ast.unparse(x.func) for x in ast.walk(one) if isinstance(x, ast.Call)}
        for name, node in made.items():
            writes = {f"self.{name}.{method}" for method in GROWS}
            written = any(text.startswith(f"self.{name}[") for text in own) or writes & called
            if f"self.{name}" not in own and written:
                yield (
                    f"{named(node)} in the class is one for all of its objects, and what one writes there "
                    f"all find: make `self.{name}` in `__init__`."
                )


def counted_for_itself(answer: Answer) -> Iterator[str]:
    """`self.calls += 1` where `calls` is the class's, or its base's."""
    for one in _classes(answer):
        inner = list(ast.walk(one))
        counted = [node for node in inner if isinstance(node, ast.AugAssign)]
        stored = {*inner} - {node.target for node in counted}
        own = {
            ast.unparse(x) for x in stored if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)
        }
        shared = {
            x.id
            for node in one.body
            if isinstance(node, ast.Assign)
            for x in node.targets
            if isinstance(x, ast.Name)
        }
        for node in counted:
            if isinstance(node.target, ast.Attribute):
                target, name = ast.unparse(node.target), node.target.attr
                if target == f"self.{name}" and target not in own and (one.bases or name in shared):
                    owner = one.name if name in shared else ast.unparse(one.bases[0])
                    yield (
                        f"{named(node)} gives this object a number of its own. If `{name}` is the class's, "
                        f"that stays as it was: to count for all, write `{owner}.{name}`."
                    )


def changed_while_walked(answer: Answer) -> Iterator[str]:
    for loop in _loops(answer):
        for one in ast.walk(loop):
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                same = ast.unparse(one.func.value) == ast.unparse(loop.iter)
                if same and one.func.attr in ("remove", "pop", "insert", "discard"):
                    yield (
                        f"{named(one)} changes what the loop `for {ast.unparse(loop.target)} in "
                        f"{ast.unparse(loop.iter)}` walks through, which skips some then: take a copy."
                    )


def rounded_up_in_c(answer: Answer) -> Iterator[str]:
    """`(n + wide - 1) / wide`, which rounds up in C alone."""
    for one in answer.nodes:
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
            by = ast.unparse(one.right)
            if re.fullmatch(
                rf".+ \+ {re.escape(by)} - 1|.+ \+ \({re.escape(by)} - 1\)", ast.unparse(one.left)
            ):
                yield f"{named(one)} leaves a fraction in Python: whole numbers are divided by `//`."


def sign_behind(answer: Answer) -> Iterator[str]:
    line = answer.line_with(r"\w =\+ ") if any(isinstance(node, ast.UAdd) for node in answer.nodes) else ""
    if line:
        yield f"`=+` sets, and does not add: is `{line.partition('=')[0]}+= ...` meant?"


def filled_from_nothing(answer: Answer) -> Iterator[str]:
    """`total = np.empty(n)`, and then `total += ...`."""
    for function in answer.functions:
        made = {
            node.targets[0].id: node
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func).split(".")[-1] in ("empty", "empty_like")
        }
        whole = {
            ast.unparse(target.value)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Subscript)
        }
        handed = {
            ast.unparse(x)
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            for x in (*node.args, *(k.value for k in node.keywords))
        }
        for node in ast.walk(function):
            if isinstance(node, ast.AugAssign):
                target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
                name = ast.unparse(target)
                if name in made and name not in whole | handed:
                    yield (
                        f"{named(made[name])} holds whatever was in that memory, and {named(node)} adds to "
                        "it: begin with zeros."
                    )


def a_view_kept(answer: Answer) -> Iterator[str]:
    """`before = array[a:b]`, a change of the array, `array[a:b] = before`."""
    for function in answer.functions:
        kept: dict[str, str] = {}
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or len(node.targets) > 1:
                continue
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Subscript):
                sliced = any(isinstance(one, ast.Slice) for one in ast.walk(value.slice))
                kept |= {target.id: ast.unparse(value)} if sliced else {}
            back = isinstance(target, ast.Subscript) and isinstance(value, ast.Name)
            if back and kept.get(name := ast.unparse(value)) == ast.unparse(target):
                yield (
                    f"`{name} = {kept[name]}` copies no numbers of an array: a slice looks into the same "
                    "memory. Take `.copy()`."
                )


def larger_set(answer: Answer) -> Iterator[str]:
    """`max(queues)` of sets."""
    sets = {
        ast.unparse(target)
        for node in _assigned(answer)
        for target in node.targets
        if isinstance(node.value, ast.ListComp) and ast.unparse(node.value.elt) == "set()"
    }
    for one in answer.nodes:
        if not isinstance(one, ast.Call) or ast.unparse(one.func) not in ("max", "min", "sorted"):
            continue
        if one.args and not one.keywords and {*map(ast.unparse, one.args)} <= sets:
            yield f"{named(one)}: of two sets one is larger if it holds the other; compare `len(...)`."


def looked_up_late(answer: Answer) -> Iterator[str]:
    """A function made in a loop, kept, that reads what the loop counts."""
    for loop in _loops(answer):
        names = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
        for node in ast.walk(loop):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            for made in node.args if node.func.attr == "append" else []:
                if isinstance(made, ast.Lambda):
                    own = {one.arg for one in (*made.args.args, *made.args.kwonlyargs)}
                    read = {one.id for one in ast.walk(made.body) if isinstance(one, ast.Name)}
                    for name in sorted((names & read) - own):
                        yield (
                            f"{named(made)} looks `{name}` up when it is called, behind the loop: "
                            f"all find its last. Hand it in, `lambda ..., {name}={name}: ...`."
                        )


def braces_without_f(answer: Answer) -> Iterator[str]:
    """`raise ValueError("not {self.data}")`: the braces stay as they are."""
    names = {one.id for one in answer.nodes if isinstance(one, ast.Name)}
    names |= {one.arg for one in answer.nodes if isinstance(one, ast.arg)}
    for one in answer.nodes:
        if not isinstance(one, ast.Raise) or not isinstance(one.exc, ast.Call):
            continue
        for text in one.exc.args:
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found = re.search(r"\{(\w+)[^{}]*\}", text.value)
                if found and found[1] in names:
                    yield (
                        f"{named(text)} has no `f` before its quotes: the message holds the letters "
                        f"`{found[0]}`, not what they stand for."
                    )


def chained_in_c(answer: Answer) -> Iterator[str]:
    """`0 <= row < rows` in C."""
    value = r"[\w.\[\]]+"
    chain = rf"\b({value}) ?(<=?) ?({value}) ?(<=?) ?({value})(?![\w.\[\]>])"  # no vector<vector<int>>
    line = answer.line_with(chain) if answer.cuda else ""
    found = re.search(chain, line)
    if found and "<<" not in line:
        first, one, middle, other, last = found.groups()
        yield (
            f"C compares from the left: in `{found[0]}` the answer of the first comparison, 0 or 1, is "
            f"compared with `{last}`. Write `{first} {one} {middle} && {middle} {other} {last}`."
        )


RULES: tuple[Callable[[Answer], Iterator[str]], ...] = (
    or_of_constants, equal_to_nan, nothing_given_back, one_under_many_names, kept_between_calls, sign_behind,
    one_for_all_objects,
    sharing.names_copied,
    sharing.place_in_a_selection,
    rounded_up_in_c,
    changed_while_walked, a_view_kept, filled_from_nothing, larger_set, looked_up_late, counted_for_itself,
    nothing_kept, names_of_the_engine, saved_alone, braces_without_f, chained_in_c,
    *sharing.RULES,
)  # fmt: skip
