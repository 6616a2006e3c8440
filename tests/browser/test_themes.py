"""What a notebook shows as HTML can be read in JupyterLab's light and dark theme: contrast as WCAG wants it.

nbconvert makes of a notebook a page with JupyterLab's own rules and colours, and the browser says what colour
each letter has and what lies below it. A picture is an image on a ground of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbconvert import HTMLExporter

from coursekit.grading import progress
from coursekit.grading.assemble import load_chapter
from coursekit.grading.feedback import feedback
from coursekit.grading.report import Run, report
from coursekit.grading.results import UNSOLVED, ExerciseResult, Result
from coursekit.grading.submissions import Submission
from coursekit.install import doctor
from minilib.draw import step_backward
from minilib.scalar import Value
from warplens import RawKernel, cp, profile
from warplens.magic import listing

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted(path.name for path in (ROOT / "chapters").glob("*.ipynb"))
FEW = ("04a_threads.ipynb", "06b_attention.ipynb", "06c_gpt.ipynb", "07a_state_spaces.ipynb")
LEAST = 4.5
KERNEL = """
extern "C" __global__ void reverse(const float* x, float* y) {
    __shared__ float tile[64];
    int i = threadIdx.x;
    tile[i] = x[i];  // nobody waits
    y[i] = tile[63 - i];
}
"""
STRIDED = """
extern "C" __global__ void column(const float* x, float* y) {
    __shared__ float tile[1024];
    int i = threadIdx.x;
    tile[i * 32 % 1024] = x[i * 32];
    __syncthreads();
    if (i < 32) atomicAdd(&y[i], tile[i * 32]);
    printf("%d", i);
}
"""

# Every text of an output with its contrast, folds open. What is dimmed by `opacity` is out of use on purpose.
CONTRASTS = r"""
const done = arguments[arguments.length - 1];
const canvas = document.createElement("canvas"), pen = canvas.getContext("2d", { willReadFrequently: true });
canvas.width = canvas.height = 1;
const over = (below, colour) => {  // the browser mixes: it knows every way to write a colour
  pen.globalCompositeOperation = "copy";
  pen.fillStyle = `rgb(${below.join(" ")})`;
  pen.fillRect(0, 0, 1, 1);
  pen.globalCompositeOperation = "source-over";
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const luminance = colour => colour.map(c => c / 255)
  .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const isShape = node => node instanceof SVGElement && node.tagName !== "svg";
const paint = node => {
  const style = getComputedStyle(node);
  return isShape(node) ? style.fill : style.backgroundColor;
};
const dimmed = node => node && (getComputedStyle(node).opacity < 1 || dimmed(node.parentElement));
const look = (holder, text) => {
  holder.scrollIntoView({ block: "center", inline: "center" });
  const range = document.createRange();
  range.selectNodeContents(text);
  const box = range.getClientRects()[0];
  if (!box || !box.width || !box.height) return null;
  const at = [box.x + Math.min(box.width / 2, 20), box.y + box.height / 2];
  const stack = document.elementsFromPoint(...at);
  const here = stack.findIndex(node => node === holder || holder.contains(node));
  if (here < 0) return null;  // scrolled out of a box
  const below = stack.slice(here).filter(node => !(isShape(node) && node.closest("text")));
  const ground = below.reverse().reduce((ground, node) => over(ground, paint(node)), [255, 255, 255]);
  const ink = isShape(holder) ? getComputedStyle(holder).fill : getComputedStyle(holder).color;
  const letters = over(ground, ink);
  return { text: text.data.trim().slice(0, 40), within: holder.tagName + "." + holder.className,
           letters, ground, contrast: contrast(letters, ground) };
};
const bare = image => {  // whether a picture lets the page shine through
  pen.canvas.width = pen.canvas.height = 20;
  pen.clearRect(0, 0, 20, 20);
  pen.drawImage(image, 0, 0, 20, 20);
  const pixels = pen.getImageData(4, 4, 12, 12).data;
  pen.canvas.width = pen.canvas.height = 1;
  return pixels.some((value, i) => i % 4 === 3 && value < 255);
};
const seen = () => {
  const texts = [], images = [], sliders = [];
  for (const output of document.querySelectorAll(".jp-OutputArea-output")) {
    if (output.matches(".jp-RenderedText")) continue;
    output.querySelectorAll("details").forEach(fold => { fold.removeAttribute("name"); fold.open = true; });
    const walk = document.createTreeWalker(output, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const text = walk.currentNode, holder = text.parentElement;
      if (!text.data.trim() || holder.closest("script, style, title, desc") || dimmed(holder)) continue;
      const found = look(holder, text);
      if (found) texts.push(found);
    }
    output.querySelectorAll("img").forEach(image => images.push([image.alt.slice(0, 60), bare(image)]));
    output.querySelectorAll("input[type=range]").forEach(
      slider => sliders.push([slider.outerHTML, slider.hasAttribute("data-lm-suppress-shortcuts")]));
  }
  return { texts, images, sliders };
};
const loaded = [...document.images].map(image => image.decode().catch(() => {}));
Promise.all(loaded).then(() => done(seen()));
"""

# Of the page and of the report: how wide it is, and how much of that is seen.
WIDTHS = """
return [document.documentElement, document.querySelector(".cuda-report")]
  .map(node => [node.scrollWidth, node.clientWidth]);
"""


def seen(browser: Any, folder: Path, notebook: Any, theme: str) -> dict[str, Any]:
    """What the browser makes of the outputs of a notebook in JupyterLab's `theme`."""
    exporter = HTMLExporter(template_name="lab", theme=theme)
    exporter.mathjax_url = exporter.require_js_url = exporter.mermaid_js_url = ""  # no network
    page, _ = exporter.from_notebook_node(notebook)
    file = folder / f"{theme}.html"
    file.write_text(page, encoding="utf-8")
    browser.get(file.as_uri())
    found: dict[str, Any] = browser.execute_async_script(CONTRASTS)
    return found


def assert_readable(found: Mapping[str, Any]) -> None:
    assert [text for text in found["texts"] if text["contrast"] < LEAST] == []
    assert [alt for alt, is_bare in found["images"] if is_bare] == []


def page_of(one: Any) -> str:
    if hasattr(one, "_repr_html_"):
        return str(one._repr_html_())
    return str(one._repr_mimebundle_()[0]["text/html"])


def assert_page_follows_the_system(browser: Any) -> None:
    for theme in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )
        found = browser.execute_async_script(CONTRASTS.replace(".jp-OutputArea-output", "body"))
        assert len(found["texts"]) > 30
        assert_readable(found)
        assert (max(found["texts"][0]["ground"]) < 50) == (theme == "dark")


@cache
def fresh() -> Any:
    """A notebook of everything that the course and the simulator show as HTML, made now."""
    x, y = cp.arange(64, dtype=np.float32), cp.zeros(64, np.float32)
    race = profile(RawKernel(KERNEL, "reverse"), (1,), (64,), (x, y))
    slow = profile(RawKernel(STRIDED, "column"), (1,), (64,), (cp.zeros(2048, np.float32), x))
    assert race.races and slow.costs
    a = Value(2.0)
    shown = [race, slow, race | slow, race.trace(0, 5), slow.trace(warp=0, steps=40), progress.table(),
             doctor.table(), step_backward(a * a)]  # fmt: skip
    pages = [page_of(one) for one in shown] + [listing(KERNEL, wrong=4)]
    outputs = [nbformat.v4.new_output("display_data", {"text/html": page}) for page in pages]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("shown", outputs=outputs)])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_shown_can_be_read(browser: Any, tmp_path: Path, theme: str) -> None:
    found = seen(browser, tmp_path, fresh(), theme)
    assert {"Races", "What costs most"} <= {text["text"] for text in found["texts"]}
    assert len(found["texts"]) > 300
    assert_readable(found)


def test_a_saved_report_can_be_read_and_scrolls_where_it_is_wide(browser: Any, tmp_path: Path) -> None:
    x = cp.zeros(64, np.float32)
    race = profile(RawKernel(KERNEL, "reverse"), (1,), (64,), (x, x))
    for name, saved in {"report.html": race, "two.html": race | race}.items():
        saved.save(tmp_path / name)
        browser.get((tmp_path / name).as_uri())
        assert_page_follows_the_system(browser)
        browser.set_window_size(400, 800)
        page, box = browser.execute_script(WIDTHS)
        browser.set_window_size(1400, 1000)
        assert page[0] <= page[1]
        assert box[0] > box[1]


def test_the_pages_of_a_grading_can_be_read(browser: Any, tmp_path: Path) -> None:
    chapter = load_chapter(ROOT / "solutions" / "04a_threads.ipynb")
    ends = [(None, ()), (0, ("wrong",)), (0, (UNSOLVED,)), (0.5, ("`y` is off by one",))]
    graded = tuple(
        ExerciseResult(one, one.points if points is None else points, said, hint="Look at `y`.")
        for one, (points, said) in zip(chapter.exercises, cycle(ends))
    )
    answers = {one.number: KERNEL for one in chapter.exercises}
    ada = Result(Submission("Ada", "ada", "ada.ipynb", answers), graded, comment="Well begun.")
    bob = Result(Submission("Bob", "bob", "bob.ipynb"), refused="`bob.ipynb` is no notebook")
    run = Run(chapter, (ada, bob), 0, "today", "a machine", 3.0, ("`eve.py` was passed over",))
    for name, page in {"feedback.html": feedback(chapter, ada), "report.html": report(run)}.items():
        (tmp_path / name).write_text(page, encoding="utf-8")
        browser.get((tmp_path / name).as_uri())
        assert_page_follows_the_system(browser)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in FEW else [pytest.mark.nightly]) for name in CHAPTERS],
)
def test_what_a_chapter_shows_can_be_read(browser: Any, tmp_path: Path, name: str, theme: str) -> None:
    found = seen(browser, tmp_path, nbformat.read(ROOT / "chapters" / name, as_version=4), theme)
    assert found["texts"] or found["images"]
    assert_readable(found)
    assert [slider for slider, keeps_its_keys in found["sliders"] if not keeps_its_keys] == []
