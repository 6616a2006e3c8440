"""Pictures of graphs: what they say, that nothing is cut off, and that they work on any machine."""

from __future__ import annotations

import io
import math
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip("graphviz")
pytest.importorskip("matplotlib")

from PIL import Image

from minilib.draw import describe, draw_graph, number, palette, step_backward
from minilib.draw.plain import arrange
from minilib.draw.shapes import Box, Curve, Text


class Node:
    """The least that a picture asks of a value."""

    def __init__(self, data, op="", inputs=(), derivatives=()):
        self.data, self.grad, self.op = float(data), 0.0, op
        self.inputs, self.derivatives = tuple(inputs), tuple(derivatives)

    def __add__(self, other):
        return Node(self.data + other.data, "+", (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Node(self.data * other.data, "*", (self, other), (other.data, self.data))

    def relu(self):
        return Node(max(0.0, self.data), "relu", (self,), (float(self.data > 0),))

    def __eq__(self, other):
        raise AssertionError("pictures compare nodes by identity")

    __hash__ = None


def product_and_sum():
    """a * b + c, as the notebook's variables would be."""
    a, b, c = Node(2.0), Node(-3.0), Node(10.0)
    d = a * b
    e = d + c
    return e, {"a": a, "b": b, "c": c, "d": d, "e": e}


def squares():
    a = Node(3.0)
    b = a * a
    c = b * b
    return c, {"a": a, "b": b, "c": c}


def neuron():
    x, w = [Node(0.5), Node(-1.25)], [Node(0.7071), Node(-0.3)]
    y = (w[0] * x[0] + w[1] * x[1] + Node(0.1)).relu()
    return y, {"x1": x[0], "x2": x[1], "w1": w[0], "w2": w[1], "y": y}


def chain(length):
    value = Node(1.0)
    for _ in range(length):
        value = value.relu()
    return value


EXAMPLES = [product_and_sum, squares, neuron]


@pytest.fixture(params=["dot", "pygraphviz", "plain"])
def engine(request, monkeypatch, tmp_path):
    """Each of the three ways to lay out a graph."""
    if request.param == "dot" and not shutil.which("dot"):
        pytest.skip("no program `dot` on this machine; apt-get install graphviz")
    if request.param == "pygraphviz":
        pytest.importorskip("pygraphviz", minversion="2.0")
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "pygraphviz", None)
    if request.param != "dot":
        monkeypatch.setenv("PATH", str(tmp_path))
    return request.param


def texts(picture):
    return [shape.text for shape in picture.scene.shapes if isinstance(shape, Text)]


# What stands on a node


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (24.70408163265306, "24.70"),
        (138.83381924198252, "138.8"),
        (2.0, "2"),
        (0.5, "0.5"),
        (-3.0, "\N{MINUS SIGN}3"),
        (0.1 + 0.2, "0.3000"),
        (-0.0, "0"),
        (12345.0, "12345"),
        (1e6, "1e6"),
        (1234567.0, "1.235e6"),
        (1.2344e-7, "1.234e-7"),
        (1999.6, "2000"),
        (math.nan, "nan"),
        (-math.inf, "\N{MINUS SIGN}inf"),
    ],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_a_scalar_shows_data_and_gradient():
    node = Node(24.70408163265306)
    node.grad = -1.5
    assert describe(node) == (("data", "24.70"), ("grad", "\N{MINUS SIGN}1.5"))


def test_an_array_shows_shape_dtype_and_bytes():
    np = pytest.importorskip("numpy")
    node = Node(0.0)
    node.data = np.zeros((3, 4), np.float32)
    assert describe(node) == (("float32", "3 \N{MULTIPLICATION SIGN} 4"), ("bytes", "48"))


def test_a_numpy_scalar_is_a_scalar():
    np = pytest.importorskip("numpy")
    node = Node(0.0)
    node.data = np.float64(1.5)
    assert describe(node)[0] == ("data", "1.5")


def test_names_are_those_of_the_graphs_own_nodes():
    value, names = product_and_sum()
    others = {"_": value, "_hidden": names["a"], "twin": Node(2.0), "number": 2.0, "math": math}
    titles = [
        shape.text
        for shape in draw_graph(value, {**others, **names}).scene.shapes
        if getattr(shape, "bold", 0)
    ]
    assert sorted(set(titles) - {"+", "\N{MULTIPLICATION SIGN}"}) == ["a", "b", "c", "d", "e"]


def test_a_node_with_two_names_shows_both():
    a = Node(1.0)
    assert "a, b" in texts(draw_graph(a, {"a": a, "b": a}))


def test_edges_show_derivatives_when_asked():
    value, names = product_and_sum()
    assert "\N{MULTIPLICATION SIGN} \N{MINUS SIGN}3" not in texts(draw_graph(value, names))
    assert "\N{MULTIPLICATION SIGN} \N{MINUS SIGN}3" in texts(draw_graph(value, names, derivatives=True))


def test_labels_of_crossing_edges_do_not_cover_one_another(engine):
    a, b = Node(2.0), Node(3.0)
    shapes = draw_graph((a + b) * (a * b) + b * a, derivatives=True).scene.shapes
    labels = [s for s in shapes if isinstance(s, Box) and s.height == palette.ROW]
    assert len(labels) == 10
    for i, one in enumerate(labels):
        for other in labels[:i]:
            apart = abs(one.x - other.x) > (one.width + other.width) / 2 - 8
            assert apart or abs(one.y - other.y) > palette.TEXT


def test_a_repeated_input_has_two_edges_that_can_be_told_apart(engine):
    curves = [shape.points for shape in draw_graph(squares()[0]).scene.shapes if isinstance(shape, Curve)]
    assert len(curves) == 4
    assert len(set(curves)) == 4


def test_markup_in_names_and_operations_is_text():
    node = Node(1.0, "<b>&", (Node(2.0),), (1.0,))
    root = ET.fromstring(draw_graph(node, {"<script>": node}).svg())
    assert {"<script>", "<b>&"} <= {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}


# Any machine


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_no_text_leaves_its_box_or_the_page(engine, example):
    """Measured with the widest font that a reader may have."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    value, names = example()
    for picture in (draw_graph(value, names, derivatives=True), *step_backward(value, names).frames):
        shapes = picture.scene.shapes
        boxes = [shape for shape in shapes if isinstance(shape, Box)]
        for text in (shape for shape in shapes if isinstance(shape, Text)):
            font = FontProperties(
                family="DejaVu Sans", weight="bold" if text.bold else "normal", size=text.size
            )
            width = text_to_path.get_text_width_height_descent(text.text, font, ismath=False)[0]
            left = text.x - width * {"start": 0, "middle": 0.5, "end": 1}[text.anchor]
            assert any(
                box.x - box.width / 2 <= left
                and left + width <= box.x + box.width / 2
                and abs(box.y - text.y) + text.size / 2 <= box.height / 2
                for box in boxes
            ), text
        for box in boxes:
            assert box.width / 2 < box.x < picture.scene.width - box.width / 2
            assert box.height / 2 < box.y < picture.scene.height - box.height / 2


@pytest.mark.parametrize("hidden", ["pygraphviz", "graphviz"])
def test_without_graphviz_a_plain_layout_stands_in(monkeypatch, tmp_path, hidden):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, hidden, None)
    value, names = neuron()
    picture = draw_graph(value, names, derivatives=True)
    assert {"x1", "w2", "y"} <= set(texts(picture))


def test_a_wheel_that_misses_a_library_of_the_system_counts_as_missing(monkeypatch, tmp_path):
    """As pygraphviz's on a bare Debian: `libgobject-2.0.so.0: cannot open shared object file`."""
    (tmp_path / "pygraphviz.py").write_text("raise ImportError('libgobject-2.0.so.0: cannot open')")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "pygraphviz", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert draw_graph(neuron()[0]).scene.width > 100


def random_graph(seed):
    """Edges from earlier boxes to later ones, sizes as cards have them."""
    rng = random.Random(seed)
    count = rng.randint(1, 40)
    sizes = [(rng.uniform(40, 200), rng.uniform(30, 80)) for _ in range(count)]
    edges = [(rng.randrange(head), head) for head in range(1, count) for _ in range(rng.randint(1, 3))]
    return sizes, edges, [rng.choice([0.0, 32.0, 70.0]) for _ in edges]


@pytest.mark.parametrize("seed", range(30))
def test_the_plain_layout_goes_right_and_covers_no_box(seed):
    sizes, edges, rooms = random_graph(seed)
    centres, curves, spots = arrange(sizes, edges, rooms)
    boxes = [(x, y, w, h) for (x, y), (w, h) in zip(centres, sizes, strict=True)]
    assert all(x - w / 2 >= -1e-9 and y - h / 2 >= -1e-9 for x, y, w, h in boxes)
    for i, (x, y, w, h) in enumerate(boxes):
        for a, b, c, d in boxes[:i]:
            assert abs(x - a) >= (w + c) / 2 + 10 or abs(y - b) >= (h + d) / 2 + 10
    for (tail, head), curve, spot, room in zip(edges, curves, spots, rooms, strict=True):
        start, end = boxes[tail][0] + sizes[tail][0] / 2, boxes[head][0] - sizes[head][0] / 2
        assert (curve[0][0], curve[-1][0]) == (start, end) and end - start >= room
        assert [x for x, _ in curve] == sorted(x for x, _ in curve) and start < spot[0] < end
        for at, (x, y) in enumerate(curve[3:-1:3]):  # its lanes keep clear of the boxes of their column
            for box, (a, b, c, d) in enumerate(boxes):
                assert box in (tail, head) or abs(x - a) > c / 2 + 1 or abs(y - b) > d / 2, (at, box)


def test_the_plain_layout_brings_neighbours_together():
    """Two chains that share no box do not cross."""
    sizes = [(50.0, 30.0)] * 6
    centres, _, _ = arrange(sizes, [(0, 2), (2, 4), (1, 3), (3, 5)], [0.0] * 4)
    sides = [centres[a][1] < centres[b][1] for a, b in ((0, 1), (2, 3), (4, 5))]
    assert len(set(sides)) == 1


def test_a_broken_dot_program_is_passed_over(monkeypatch, tmp_path):
    pytest.importorskip("pygraphviz", minversion="2.0")
    broken = tmp_path / "dot"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert draw_graph(product_and_sum()[0]).scene.width > 100


@pytest.mark.slow
def test_the_png_needs_no_fonts_on_the_machine_and_says_nothing(tmp_path):
    """In a process of its own, whose font configuration is empty: the same bytes, and no warning."""
    (tmp_path / "fonts.conf").write_text("<fontconfig></fontconfig>")
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]; import hashlib; from test_draw import *\n"
        "value, names = product_and_sum(); print(hashlib.sha256(draw_graph(value, names).png()).hexdigest())"
    )
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", program, str(here), str(here.parents[1])],
        env={
            "FONTCONFIG_FILE": str(tmp_path / "fonts.conf"),
            "PATH": "",
            "HOME": str(tmp_path),
            "PYTHONHASHSEED": "7",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    if not shutil.which("dot"):
        import hashlib

        value, names = product_and_sum()
        assert done.stdout.strip() == hashlib.sha256(draw_graph(value, names).png()).hexdigest()


@pytest.mark.thorough
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_same_graph_gives_the_same_bytes(engine, example):
    first, second = (draw_graph(*example())._repr_mimebundle_() for _ in range(2))
    assert first == second
    assert step_backward(*example()).html() == step_backward(*example()).html()


@pytest.mark.slow
def test_the_readers_matplotlib_settings_do_not_matter():
    import matplotlib

    before = draw_graph(*product_and_sum()).png()
    settings = {"text.usetex": True, "font.family": "serif", "path.sketch": (1, 100, 2), "savefig.dpi": 300}
    with matplotlib.rc_context(settings):
        assert draw_graph(*product_and_sum()).png() == before


def test_importing_loads_nothing_heavy():
    heavy = {"graphviz", "pygraphviz", "matplotlib", "PIL"}
    program = f"import sys, minilib.draw; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# What notebooks get


def test_a_notebook_gets_svg_png_and_words(engine):
    picture = draw_graph(*product_and_sum())
    bundle, metadata = picture._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml", "image/png", "text/plain"]
    assert bundle["text/plain"] == "<graph of 5 values, 2 operations>" == repr(picture)
    root = ET.fromstring(bundle["image/svg+xml"])
    assert root.find("{http://www.w3.org/2000/svg}title").text == picture.alt
    image = Image.open(io.BytesIO(picture.png()))
    assert image.mode == "P"
    shown = metadata["image/png"]
    assert image.width == pytest.approx(shown["width"] * picture.scene.scale, abs=1)
    assert (shown["width"], shown["height"]) == (round(picture.scene.width), round(picture.scene.height))


def test_wide_pictures_keep_their_size():
    assert draw_graph(chain(30))._repr_mimebundle_()[1]["image/png"]["unconfined"] is True
    assert "unconfined" not in draw_graph(chain(3))._repr_mimebundle_()[1]["image/png"]


def test_the_alternative_text_tells_the_graph():
    assert draw_graph(*product_and_sum()).alt == (
        "graph of 5 values, 2 operations: a, data 2, grad 0; b, data \N{MINUS SIGN}3, grad 0; "
        "d = *(a, b), data \N{MINUS SIGN}6, grad 0; c, data 10, grad 0; e = +(d, c), data 4, grad 0"
    )


def test_a_single_leaf_can_be_drawn(engine):
    assert repr(draw_graph(Node(1.0))) == "<graph of 1 value, 0 operations>"


def test_pictures_are_saved_as_their_suffix_says(tmp_path):
    picture = draw_graph(*product_and_sum())
    picture.save(tmp_path / "graph.svg")
    picture.save(str(tmp_path / "graph.png"))
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == picture.svg()
    assert (tmp_path / "graph.png").read_bytes() == picture.png()
    with pytest.raises(ValueError, match=r"must end in \.svg or \.png"):
        picture.save(tmp_path / "graph.pdf")


def test_png_keeps_the_colours_that_carry_meaning():
    image = Image.open(io.BytesIO(draw_graph(*product_and_sum()).png())).convert("RGB")
    found = {"#{:02x}{:02x}{:02x}".format(*colour) for _, colour in image.getcolors(1000)}
    assert {palette.PAGE, *palette.SAND, *palette.BLUE, palette.GRADIENT, palette.INK} <= found


def test_text_has_enough_contrast():
    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    inks_on = {
        ground: (palette.INK, palette.MUTED, palette.GRADIENT)
        for ground in (palette.SAND[0], palette.BLUE[0], palette.GLOW[0], palette.GREY[0])
    }
    inks_on |= {
        palette.BLUE[1]: (palette.PAGE,),
        palette.GLOW[1]: (palette.PAGE,),
        palette.PAGE: (palette.MUTED, palette.INK),
    }
    for ground, inks in inks_on.items():
        for ink in inks:
            dark, bright = sorted((light(ground), light(ink)))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


# What cannot be drawn


def test_a_large_graph_is_refused_with_its_size():
    with pytest.raises(ValueError, match=r"301 nodes .* draw a smaller expression, or pass max_nodes=301"):
        draw_graph(chain(300))


@pytest.mark.slow
def test_a_graph_of_100_000_nodes_is_refused_without_recursion():
    deep = chain(100_000)
    with pytest.raises(ValueError, match="100,001 nodes"):
        draw_graph(deep)
    while deep.inputs:  # taken apart from the top: freeing a deep chain would recurse in the interpreter
        deep, deep.inputs = deep.inputs[0], deep.inputs[0].inputs


@pytest.mark.parametrize("thing", [3.0, "a", None, [1, 2]])
def test_what_is_no_node_is_refused(thing):
    with pytest.raises(TypeError, match="a node needs `inputs` and `op`"):
        draw_graph(thing)


def test_micrograds_values_can_be_drawn():
    engine = pytest.importorskip("micrograd.engine")
    pictures = []
    for _ in range(2):
        a, b = engine.Value(2.0), engine.Value(-3.0)
        c = (a * b + a**2).relu()
        c.backward()
        pictures.append(draw_graph(c, {"a": a, "b": b, "c": c}).svg())
    assert pictures[0] == pictures[1]
    assert "ReLU" in pictures[0]


def test_stepping_needs_derivatives():
    engine = pytest.importorskip("micrograd.engine")
    with pytest.raises(TypeError, match="has no `derivatives`"):
        step_backward(engine.Value(2.0) * 3)
    with pytest.raises(ValueError, match="1 inputs but 2 derivatives"):
        step_backward(Node(1.0, "f", (Node(2.0),), (1.0, 2.0)))


# The backward pass


def plain(text):
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{MULTIPLICATION SIGN}", "x")


def test_the_captions_tell_the_backward_pass():
    assert [plain(caption) for caption in step_backward(*product_and_sum()).captions] == [
        "Before: no value knows its gradient yet.",
        "e starts with 1: its derivative with respect to itself.",
        "e tells d: 1 x 1 = 1, so d.grad = 1; and c: 1 x 1 = 1, so c.grad = 1.",
        "d tells a: -3 x 1 = -3, so a.grad = -3; and b: 2 x 1 = 2, so b.grad = 2.",
        "Done: every value has spoken. a.grad = -3, b.grad = 2, c.grad = 1.",
    ]


def test_a_second_share_is_shown_as_a_sum():
    play = step_backward(*squares())
    assert plain(play.captions[3]) == "b tells a: 3 x 18 = 54 and 3 x 18 = 54, so a.grad = 54 + 54 = 108."
    assert "54 + 54" in texts(play.frames[3])
    assert "108" in texts(play.frames[4])


def test_a_negative_second_share_is_subtracted():
    a = Node(2.0)
    play = step_backward(Node(0.0, "-", (a, a), (1.0, -1.0)), {"a": a})
    assert plain(play.captions[2]) == "v1 tells a: 1 x 1 = 1 and -1 x 1 = -1, so a.grad = 1 - 1 = 0."


def test_a_node_speaks_only_after_all_that_listen_to_it():
    """b = a + a, c = b * b + b: b hears from both before it tells a."""
    a = Node(1.0)
    b = a + a
    c = b * b + b
    captions = [plain(caption) for caption in step_backward(c, {"a": a, "b": b, "c": c}).captions]
    assert captions[-1] == "Done: every value has spoken. a.grad = 10."
    assert [caption.split(" tells ")[0] for caption in captions[2:-1]] == ["c", "v1", "b"]


def test_the_graphs_own_gradients_stay_as_they_are():
    value, names = product_and_sum()
    for i, node in enumerate(names.values()):
        node.grad = 100.0 + i
    step_backward(value, names).html()
    assert [node.grad for node in names.values()] == [100.0, 101.0, 102.0, 103.0, 104.0]


def test_unnamed_nodes_get_names_that_are_free():
    a, other = Node(1.0), Node(2.0)
    value = (a + other) * other
    play = step_backward(value, {"v1": other})
    assert {"v1", "v2", "v3", "v4"} <= set(texts(play.frames[0]))


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_moves_between_the_steps(engine, example):
    def places(scene):
        nodes = (s for s in scene.shapes if isinstance(s, Box) and s.height != palette.ROW)
        return scene.width, scene.height, [(node.x, node.y, node.width, node.height) for node in nodes]

    first, *others = (places(frame.scene) for frame in step_backward(*example()).frames)
    assert all(other == first for other in others)


def test_the_speaker_and_what_it_says_are_lit():
    scene = step_backward(*product_and_sum()).frames[3].scene
    lit = [shape for shape in scene.shapes if isinstance(shape, Curve) and shape.colour == palette.GLOW[1]]
    assert [curve.arrow for curve in lit] == ["start", "start"]
    said = [plain(shape.text) for shape in scene.shapes if isinstance(shape, Text)]
    assert {"-3 x 1", "2 x 1"} <= set(said)


def test_a_notebook_pages_without_scripts():
    """Only tags and attributes that JupyterLab keeps in a notebook that is not trusted."""
    bundle, _ = step_backward(*product_and_sum())._repr_mimebundle_()
    html = bundle["text/html"]
    assert set(re.findall(r"<(\w+)", html)) == {"div", "details", "summary", "img"}
    assert html.count("<details") == html.count('alt="step') == html.count("data:image/png;base64,") == 5
    assert html.count(" open>") == 1
    assert html.index(" open>") < html.index("Before:")
    assert bundle["text/plain"].splitlines()[:2] == [
        "<backward pass in 4 steps>",
        "0. Before: no value knows its gradient yet.",
    ]


@pytest.mark.slow
def test_ten_steps_take_less_than_300_kilobytes():
    value = Node(0.5)
    names = {"x": value}
    for i, name in enumerate("abcd"):
        names[name] = Node(1.5 + i)
        value = (value * names[name]).relu()
    play = step_backward(value, names)
    assert len(play.frames) == 11
    assert len(play.html()) < 300_000


def test_a_file_of_the_pass_has_all_steps(tmp_path):
    play = step_backward(*product_and_sum())
    play.save(tmp_path / "steps.svg")
    words = (tmp_path / "steps.svg").read_text(encoding="utf-8")
    assert all(f"{i}. " in words for i in range(5))
    assert Image.open(io.BytesIO(play.png())).height > 5 * 200


def test_a_long_pass_is_refused():
    with pytest.raises(ValueError, match="step_backward: this graph has 31 nodes"):
        step_backward(chain(30))


def test_the_librarys_own_values_agree_with_their_backward():
    scalar = pytest.importorskip("minilib.scalar")
    a, b = scalar.Value(2.0), scalar.Value(-0.5)
    c = (a * b + b).tanh() * a
    play = step_backward(c, {"a": a, "b": b})
    c.backward()
    assert play.captions[-1].endswith(f"a.grad = {number(a.grad)}, b.grad = {number(b.grad)}.")
    assert describe(a) == (("data", "2"), ("grad", number(a.grad)))


# Tensors


def training_step():
    """One step of a small network with its loss, as the notebook's variables would be."""
    library = pytest.importorskip("minilib.tensor")
    library.manual_seed(0)
    x, y = library.randn(32, 2), library.randn(32, 1)
    w1, w2 = library.randn(2, 16, requires_grad=True), library.randn(16, 1, requires_grad=True)
    h = (x @ w1).relu()
    loss = ((h @ w2 - y) ** 2).sum()
    return loss, {"x": x, "y": y, "w1": w1, "w2": w2, "h": h, "loss": loss}


def test_a_tensor_stands_for_its_operation_with_shape_dtype_bytes_and_what_it_saved():
    loss, names = training_step()
    picture = draw_graph(loss, names)
    assert repr(picture) == "<graph of 11 values, 6 operations>"
    assert {"x", "y", "w1", "w2", "h = ReLU", "MatMul", "Sub", "Pow", "loss = Sum"} <= set(texts(picture))
    assert plain(picture.alt).endswith(
        "v1 = MatMul(x, w1), float32 32 x 16, bytes 2,048, saved 256; "
        "h = ReLU(v1), float32 32 x 16, bytes 2,048, saved 2,048; w2, float32 16 x 1, bytes 64; "
        "v2 = MatMul(h, w2), float32 32 x 1, bytes 128, saved 2,112; y, float32 32 x 1, bytes 128; "
        "v3 = Sub(v2, y), float32 32 x 1, bytes 128; v4, data 2; "
        "v5 = Pow(v3, v4), float32 32 x 1, bytes 128, saved 132; loss = Sum(v5), float32 (), bytes 4"
    )


def test_after_backward_a_picture_shows_that_what_was_saved_is_freed():
    loss, names = training_step()
    assert "freed" not in texts(draw_graph(loss, names))
    loss.backward()
    assert texts(draw_graph(loss, names)).count("freed") == 4


def test_a_graph_of_tensors_goes_down(engine):
    loss, names = training_step()
    boxes = [s for s in draw_graph(loss, names).scene.shapes if isinstance(s, Box)]
    assert max(boxes, key=lambda box: box.line).y == max(box.y for box in boxes)
    for one in boxes:
        for other in boxes:
            beside = abs(one.x - other.x) > (one.width + other.width) / 2
            assert one is other or beside or abs(one.y - other.y) > (one.height + other.height) / 2


def test_leaves_that_want_no_gradient_are_grey():
    loss, names = training_step()
    boxes = [s for s in draw_graph(loss, names).scene.shapes if isinstance(s, Box)]
    assert [
        sum(box.fill == colours[0] for box in boxes) for colours in (palette.GREY, palette.SAND, palette.BLUE)
    ] == [
        3,
        2,
        6,
    ]


def test_a_tensor_that_is_a_leaf_can_be_drawn():
    library = pytest.importorskip("minilib.tensor")
    assert texts(draw_graph(library.zeros(2, 3))) == ["float32", "2 \N{MULTIPLICATION SIGN} 3", "bytes", "24"]


def test_stepping_through_tensors_says_what_is_missing():
    with pytest.raises(TypeError, match="has no `derivatives`"):
        step_backward(training_step()[0])
