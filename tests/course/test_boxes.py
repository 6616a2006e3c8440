"""What of the library an exercise finds in its box: never the finished thing, nor what would work it out."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest
from graded import COURSE, Exercises

from coursekit.grading.assemble import Chapter, Exercise, assemble, imports_from_outside, load_chapter
from coursekit.grading.compare import against
from coursekit.grading.flow import info
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box, make_library
from coursekit.notebooks import cuda_line

CHAPTERS = sorted(COURSE.solutions.glob("*.ipynb"))
WOKEN_BY_DAY = {"06b_attention"}

# Gradients and sums worked out by hand, on arrays: the engine would do it.
BY_HAND = {"6.5", "6.8", "6.9", "6.18", "6.21", "7.5", "7.9", "7.12"}
KEPT = {"3.16": ["forward"]}  # of a class that is given with a bug elsewhere
# Where the simulator, which the others of the notebook need, knows nothing of what is asked.
SIMULATED = {"6.19", "7.16", "8.7", "8.15"}
ENGINE = {"tensor/core.py", "operations.py"}

FINISHED = """
def finished():
    import sys

    for name in [name for name in sys.modules if name.startswith("minilib")]:
        del sys.modules[name]
    import minilib.operations
    import minilib.functional.scan

    return minilib.functional
"""
WOKEN = {  # answers that import the library once more when they are called, and let that do the work
    "6.5": """
@add_to(Embedding)
def backward(self, grad):
    return finished().layers.Embedding.backward(self, grad)
""",
    "6.8": """
def attend(*arrays):
    return finished().attention.attend(*arrays)
""",
    "6.9": """
def attend_backward(*arrays):
    return finished().attention.attend_backward(*arrays)
""",
    "6.18": """
def both_ways(x, gamma, beta, W, b, targets, eps=1e-5):
    F = finished()
    from minilib.tensor import Tensor

    leaves = [Tensor(array, requires_grad=True) for array in (x, gamma, beta, W, b)]
    logits = F.linear(F.layer_norm(leaves[0], (x.shape[1],), *leaves[1:3], eps), *leaves[3:])
    logits.retain_grad()
    loss = F.cross_entropy(logits, Tensor(targets))
    loss.backward()
    return loss.item(), tuple(leaf.grad.data for leaf in (logits, *leaves))
""",
    "6.21": """
def attend_new(q, k, v):
    return finished().attention.attend(q, k, v)[0]
""",
    "7.5": """
def fft_convolve_backward(*arrays):
    return finished().scan.fft_convolve_backward(*arrays)
""",
    "7.9": """
def sample_backward(dy, x, delta, A, B, C, carried, size):
    scan = finished().scan
    dy, x, delta, B, C, carried = (each[:, None] for each in (dy, x, delta, B, C, carried))
    room = np.empty((3, size + 1, 1, *A.T.shape))
    grads = scan.batch_backward(
        dy, x, delta, A.T, B, C, carried.swapaxes(2, 3), size, scan.scan_loop, room
    )
    return *(grads[k][:, 0] for k in (0, 1)), grads[2].T, *(grads[k][:, 0] for k in (3, 4))
""",
    "7.12": """
class CausalConv(Function):
    def forward(self, *arrays):
        return finished().layers.CausalConv.forward(self, *arrays)

    def backward(self, grad):
        return finished().layers.CausalConv.backward(self, grad)
""",
}


@functools.cache
def bodies(source: str) -> dict[str, str]:
    """What the functions in a text do, each with its name; those of a short line, or that print, aside."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if isinstance(node.body[0], ast.Expr) else node.body
            done = ast.dump(ast.Module(body, []))
            if len(done) > 300 and node.name != "extra_repr":
                found[done] = node.name
    return found


def seen(chapter: Chapter, exercise: Exercise) -> str:
    """The set-up cells that an answer runs after."""
    cells = [cell for cell in assemble(chapter, {}).cells if exercise.room in info(cell).get("rooms", ())]
    lines = [line for cell in cells if not cuda_line(cell.source) for line in cell.source.split("\n")]
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_box_holds_what_its_exercises_ask_for(path: Path, tmp_path: Path) -> None:
    chapter = load_chapter(path)
    libraries = {
        room: make_library(tmp_path / room, COURSE.library, modules)
        for room, modules in chapter.libraries.items()
    }
    for exercise in chapter.exercises:
        if exercise.cuda:
            continue
        wanted = bodies(exercise.reference)
        files = (libraries[exercise.room] / "minilib").rglob("*.py")
        texts = {str(file): file.read_text(encoding="utf-8") for file in files}
        texts["the set-up"] = seen(chapter, exercise)
        given = [wanted[one] for text in texts.values() for one in bodies(text) if one in wanted]
        assert given == KEPT.get(exercise.number, []), exercise.name


def test_the_engine_is_in_no_box_where_one_works_by_hand(tmp_path: Path) -> None:
    checked = set()
    for chapter in map(load_chapter, CHAPTERS):
        for exercise in chapter.exercises:
            if exercise.number not in BY_HAND:
                continue
            modules = chapter.libraries[exercise.room]
            library = make_library(tmp_path / exercise.number, COURSE.library, modules) / "minilib"
            assert not {str(file.relative_to(library)) for file in library.rglob("*.py")} & ENGINE
            checked.add(exercise.number)
    assert checked == BY_HAND == set(WOKEN)


@pytest.mark.thorough
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_box_holds_what_its_reference_needs(path: Path) -> None:
    Exercises(path.stem).control()


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_tool_counts_what_is_to_be_predicted(path: Path, tmp_path: Path) -> None:
    chapter = load_chapter(path)
    for exercise in chapter.exercises:
        if exercise.title.startswith("Predict") and not exercise.cuda:
            modules = chapter.libraries[exercise.room]
            box = make_library(tmp_path / exercise.number, COURSE.library, modules)
            assert not (box / "warplens").exists() or exercise.number in SIMULATED, exercise.name


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in WOKEN_BY_DAY else [pytest.mark.nightly])
        for path in CHAPTERS
    ],
)
def test_a_library_that_is_imported_again_earns_nothing(path: Path) -> None:
    chapter = load_chapter(path)
    woken = {
        one.number: f"# exercise: {one.number}{FINISHED}{WOKEN[one.number]}"
        for one in chapter.exercises
        if one.number in WOKEN
    }
    if not woken:
        pytest.skip("no exercise by hand")
    made = {"reference": assemble(chapter, chapter.reference()), "woken": assemble(chapter, woken)}
    for notebook in made.values():
        notebook.cells = [
            cell
            for cell in notebook.cells
            if info(cell)["role"] != "hidden" or info(cell)["exercise"] in woken
        ]
    runs = run_notebooks(made, course=COURSE, seed=7, box=Box.required(), workers=1)
    assert {cell.status for cell in runs["reference"].cells} == {"ok"}
    decide = against(runs["reference"], {})
    for cell in runs["woken"].cells:
        assert decide(cell), cell.grade_id
        assert "No module named 'minilib." in cell.error, cell.error


def test_a_room_imports_what_its_notebook_imports_from_outside() -> None:
    cells = ("import math\n%load_ext x\nfrom minilib import nn\n", "import minilib.nn\nfrom a import b, c\n")
    assert imports_from_outside(cells).split("\n")[1:] == ["import math", "from a import b, c"]
