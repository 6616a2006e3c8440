"""A real browser: `make lab`, the first ten minutes of a learner, and every chapter with its pictures.

Run with `make test-all`. Needs Chromium and chromedriver (Debian: chromium, chromium-driver).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.common import exceptions
from selenium.webdriver import ActionChains, Keys

from coursekit import needs, notebooks

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted(path.name for path in (ROOT / "chapters").glob("*.ipynb"))
TOKEN = "browser-test"
HINT = "You nudge to one side only."
# A wait ends as soon as what it waits for is there; these only end one that would never end.
SECONDS = 300
AGAIN_SECONDS = 30  # a click or key without effect for so long was lost: a busy page loses some
TIMES, RUN_TIMES = 10, 30
# What a page that is still changing answers: look again.
NOT_YET = (
    exceptions.ElementClickInterceptedException,
    exceptions.ElementNotInteractableException,
    exceptions.JavascriptException,
    exceptions.MoveTargetOutOfBoundsException,
    exceptions.NoSuchElementException,
    exceptions.StaleElementReferenceException,
    exceptions.TimeoutException,
)
PICTURES = """
const outputs = '.jp-Notebook .jp-OutputArea';
const kinds = ['img', 'svg:not([data-icon])', '[data-picture]'];  // the last: one that moves, made of letters
return [...document.querySelectorAll(kinds.map(kind => `${outputs} ${kind}`).join(','))].map(node => {
  const box = node.getBoundingClientRect();
  const broken = node.tagName === 'IMG' && !(node.complete && node.naturalWidth > 0);
  return {broken: broken, visible: !broken && box.width > 0 && box.height > 0,
          source: (node.getAttribute('src') || node.tagName).slice(0, 40)};
});
"""
# JupyterLab shows errors and what goes to stderr alike; a progress bar there is no error.
ERRORS = """
const kinds = ['error', 'stderr'].map(kind => `[data-mime-type="application/vnd.jupyter.${kind}"]`);
const texts = [...document.querySelectorAll(kinds.join(','))].map(node => node.innerText);
return texts.filter(text => /Traceback|Error|Exception/.test(text)).map(text => text.slice(-300));
"""
PROMPTS = """
return [...document.querySelectorAll('.jp-Notebook .jp-CodeCell')]
  .filter(cell => cell.querySelector('.cm-content')?.innerText.trim())  // a folded cell shows no code
  .map(cell => cell.querySelector('.jp-InputPrompt').innerText.trim());
"""
CHANGED = "return [...document.querySelectorAll('.jp-mod-dirty')].map(tab => tab.innerText);"
# A stored count may be the new one too: only what JupyterLab writes there from now on counts.
NO_PROMPTS = """
for (const node of document.querySelectorAll('.jp-Notebook .jp-InputPrompt')) node.textContent = '';
"""
RUNNING, HAS_RUN = "[*]:", re.compile(r"\[\d+\]:").fullmatch
KERNEL_STATE = """
const status = document.querySelector('.jp-Toolbar .jp-Notebook-ExecutionIndicator');
return status ? status.getAttribute('data-status') : '';
"""


WITH_SLIDER = "05a_elements.ipynb"
FOCUS_SLIDER = """
const slider = document.querySelector('.jp-OutputArea input[type=range]');
slider.scrollIntoView({block: 'center'});
slider.closest('.jp-Cell').click();
slider.focus();
"""
# The place of the slider that has the focus, and which cell is selected.
SLIDER = """
const slider = document.querySelector('.jp-OutputArea input[type=range]');
const cells = [...document.querySelectorAll('.jp-Notebook .jp-Cell')];
return document.activeElement === slider
  ? [+slider.value, cells.findIndex(cell => cell.classList.contains('jp-mod-active'))] : null;
"""

# The notebook that is seen, of all that are open.
SEEN = "const seen = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)');"
NAME_SEEN = """
const tab = document.querySelector('#jp-main-dock-panel .lm-TabBar-tab.jp-mod-current .lm-TabBar-tabLabel');
return tab ? tab.innerText : '';
"""
IS_READY = f"""{SEEN}
const status = seen && seen.querySelector('.jp-Notebook-ExecutionIndicator');
return Boolean(status && status.getAttribute('data-status') === 'idle');
"""
# The code cell with this text; its editor is brought into view.
FIND_CELL = f"""{SEEN}
const cell = [...seen.querySelectorAll('.jp-CodeCell')]
  .find(cell => cell.querySelector('.cm-content')?.innerText.includes(arguments[0]));
cell?.scrollIntoView({{block: 'center'}});
return cell;
"""
WRITE = """
const content = arguments[0].querySelector('.cm-content');
const view = (content.cmView ?? content.cmTile).view;
const from = view.state.doc.toString().indexOf(arguments[1]);
view.dispatch({changes: {from: from, to: from + arguments[1].length, insert: arguments[2]}});
"""
TERMINAL = ".jp-Terminal"


def kinds(name: str) -> set[str]:
    """What the cells of a chapter show, and how: types of output, magics, the pictures that move."""
    found = set()
    for cell in json.loads((ROOT / "chapters" / name).read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            found |= set(re.findall(r"(?m)^%%?\w+", source))
        for output in cell.get("outputs", []):
            found |= output.get("data", {}).keys() | {str(output.get("name"))}
            html = "".join(output.get("data", {}).get("text/html", ""))
            if "<script" in html:
                found |= {f"{drawn}, moving" for drawn in re.findall(r"draw_\w+", source)}
            if "<progress" in html:
                found.add("a progress bar")
    return found


SHORT = "04a_threads.ipynb"  # runs within seconds, by day


@functools.cache
def few_with_all_kinds() -> tuple[str, ...]:
    """The chapters to run here: as few as bring every kind. nbval runs the cells of all."""
    anywhere = [name for name in CHAPTERS if not needs.of_notebook(notebooks.read(ROOT / "chapters" / name))]
    brought = {name: kinds(name) for name in anywhere if not name.startswith("00")}
    missing, few = set().union(*brought.values()), []
    while missing:
        few.append(max(brought, key=lambda name: len(brought[name] & missing)))
        missing -= brought[few[-1]]
    return tuple(sorted(few))


@dataclass
class Lab:
    """A running JupyterLab."""

    root: Path
    address: str
    log: Path


def copy_of_the_tree(target: Path) -> None:
    """What a clone of the working tree would hold."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def comes(seen: Callable[[], Any], seconds: float) -> Any:
    """What `seen` gives once that is something; None where nothing comes in time."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(*NOT_YET):
            if found := seen():
                return found
        if time.monotonic() > end:
            return None
        time.sleep(0.2)


def wait_for(
    what: str,
    seen: Callable[[], Any],
    shows: Callable[[], str] = lambda: "",
) -> Any:
    """What `seen` gives once that is something. Where nothing comes, `shows` says what is there instead."""
    return comes(seen, SECONDS) or pytest.fail(f"waited {SECONDS} s for {what}{shows()}")


def insist(what: str, act: Callable[[], Any], seen: Callable[[], Any], times: int = TIMES) -> Any:
    """Do `act`, and again whenever its effect is not `seen` for a while."""
    for _ in range(times):
        with contextlib.suppress(*NOT_YET):
            act()
        if found := comes(seen, AGAIN_SECONDS):
            return found
    pytest.fail(f"tried {times} times, {AGAIN_SECONDS} s each: {what}")


def answers(lab: Lab) -> bool:
    try:
        with urllib.request.urlopen(f"{lab.address}/api?token={TOKEN}", timeout=10) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def end_kernels(lab: Lab) -> bool:
    """What one test leaves running must not take memory and time from the next."""
    address = f"{lab.address}/api/kernels"
    try:
        with urllib.request.urlopen(f"{address}?token={TOKEN}", timeout=SECONDS) as reply:
            running = [kernel["id"] for kernel in json.load(reply)]
        for kernel in running:
            request = urllib.request.Request(f"{address}/{kernel}?token={TOKEN}", method="DELETE")
            urllib.request.urlopen(request, timeout=SECONDS).close()
    except (urllib.error.URLError, OSError):  # one that is starting or ending
        return False
    return not running


def stop(process: subprocess.Popen[bytes]) -> None:
    """End `make` and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(30)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """`make lab` in a copy of the tree, with this Python, a home of its own and no screen."""
    if not CHAPTERS:
        pytest.skip("there is no chapter yet")
    for program in ("make", "git"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder:
        root, home, port = Path(folder, "kürs eins"), Path(folder, "home"), free_port()
        copy_of_the_tree(root)
        settings = home / "settings"
        # All cells must be in the page, not only those in view.
        tracker = settings / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
        tracker.parent.mkdir(parents=True)
        tracker.write_text('{"windowingMode": "none"}\n')
        # Its text can be read: the terminal draws on a canvas.
        terminal = settings / "@jupyterlab" / "terminal-extension" / "plugin.jupyterlab-settings"
        terminal.parent.mkdir(parents=True)
        terminal.write_text('{"screenReaderMode": true}\n')
        flags = ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.token={TOKEN}"]
        if hasattr(os, "getuid") and os.getuid() == 0:
            flags.append("--allow-root")
        running = Lab(root, f"http://127.0.0.1:{port}", Path(folder, "lab.log"))
        environment = {
            **os.environ,
            "HOME": str(home),
            "JUPYTERLAB_SETTINGS_DIR": str(settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "PYTHONPATH": str(root),
        }
        with open(running.log, "w") as log:
            process = subprocess.Popen(
                ["make", "lab", f"PYTHON={sys.executable}", f"LAB_FLAGS={' '.join(flags)}"],
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_for("JupyterLab", lambda: answers(running) or process.poll() is not None)
            assert process.poll() is None, running.log.read_text()
            yield running
        finally:
            stop(process)


@pytest.fixture(autouse=True)
def told(lab: Lab) -> Iterator[None]:
    """After each test: what JupyterLab said in the terminal, and the end of its kernels."""
    yield
    log = lab.log.read_text()
    assert "without encryption" not in log
    assert "not trusted" not in log
    comes(lambda: end_kernels(lab), AGAIN_SECONDS)


def stored_pictures(path: Path) -> int:
    """How many outputs of the notebook hold a picture."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in outputs)


def open_chapter(browser: Any, lab: Lab, name: str) -> None:
    browser.get(f"{lab.address}/lab/workspaces/auto-test/tree/chapters/{name}?token={TOKEN}&reset")
    wait_for("the notebook's cells", lambda: browser.execute_script(PROMPTS))
    wait_for("an idle kernel", lambda: browser.execute_script(KERNEL_STATE) == "idle")


def run_all_cells(browser: Any) -> None:
    """Menu Run, Run All Cells, until all have run or one has failed. JupyterLab may lose the click, and the
    cells too while its kernel connects: then no cell waits for its turn, or the kernel has nothing to do, and
    it is told again."""
    menu = '//div[contains(@class, "lm-MenuBar-itemLabel") and text()="Run"]'
    command = '.lm-Menu-item[data-command="runmenu:run-all"]'

    def click() -> None:
        waits = RUNNING in browser.execute_script(PROMPTS)
        if not waits or browser.execute_script(KERNEL_STATE) == "idle":  # then they are lost
            browser.execute_script(NO_PROMPTS)
            browser.find_element("xpath", menu).click()
            wait_for("the menu", lambda: browser.find_elements("css selector", command))[0].click()

    def over() -> bool:
        return all(map(HAS_RUN, browser.execute_script(PROMPTS))) or browser.execute_script(ERRORS)

    insist("Run All Cells", click, over, times=RUN_TIMES)


def assert_pictures(browser: Any, expected: int) -> None:
    """At least as many pictures are seen as outputs hold one, and none is broken."""

    def complete(pictures: list[dict[str, Any]]) -> bool:
        seen = sum(picture["visible"] for picture in pictures)
        return seen >= expected and not any(picture["broken"] for picture in pictures)

    comes(lambda: complete(browser.execute_script(PICTURES)), AGAIN_SECONDS)  # some are drawn a moment later
    pictures = browser.execute_script(PICTURES)
    assert complete(pictures), (expected, pictures)


def stands(command: str, shown: str, before: str) -> bool:
    """Whether a terminal that showed `before` shows `command` behind it, and nothing else. It breaks lines
    anywhere, and drops blanks there."""
    letters = [r"(?: \n?|\n)" if letter == " " else re.escape(letter) for letter in command]
    found = re.search(r"\n?".join(letters) + r"\s*$", shown)
    return bool(found) and shown[: found.start()].split() == before.split()


class Learner:
    """Does what a learner does with mouse and keyboard, in the notebook that is seen."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def reaches(self, name: str) -> None:
        """Wait until the notebook `name` is seen and its kernel waits."""
        wait_for(name, lambda: self.browser.execute_script(NAME_SEEN) == name)
        wait_for("an idle kernel", lambda: self.browser.execute_script(IS_READY))

    def follows(self, target: str) -> None:
        """Click the link to the notebook `target`, and reach it."""
        path = f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-RenderedMarkdown a[href*='{target}']"

        def click() -> None:
            link = wait_for(target, lambda: self.browser.find_elements("css selector", path))[-1]
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
            link.click()

        insist(f"follow {target}", click, lambda: self.browser.execute_script(NAME_SEEN) == target)
        self.reaches(target)

    def cell(self, text: str) -> Any:
        """The code cell that holds `text`."""
        return wait_for(text, lambda: self.browser.execute_script(FIND_CELL, text))

    def runs(self, text: str, *told: str) -> str:
        """Run the code cell that holds `text`, and give back what it shows: when all of `told` is there."""

        def press() -> None:
            cell = self.cell(text)
            if self._prompt(text) != RUNNING:
                self.browser.execute_script(NO_PROMPTS)
                cell.find_element("css selector", ".cm-content").click()
                keys = ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.ENTER)
                keys.key_up(Keys.SHIFT).perform()

        def shown() -> str:
            return str(self.cell(text).find_element("css selector", ".jp-Cell-outputWrapper").text)

        insist(f"run {text}", press, lambda: HAS_RUN(self._prompt(text)))
        wait_for("an idle kernel", lambda: self.browser.execute_script(IS_READY))
        if told:
            wait_for(
                f"{told} below {text}",
                lambda: all(one in shown() for one in told),
                lambda: f"; got:\n{shown()}",
            )
        return shown()

    def _prompt(self, text: str) -> str:
        """The prompt of a cell. Who was quicker than the kernel is asked for one first."""
        for button in self.browser.find_elements("css selector", ".jp-Dialog-button.jp-mod-accept"):
            button.click()
        return str(self.cell(text).find_element("css selector", ".jp-InputPrompt").text).strip()

    def writes(self, text: str, old: str, new: str) -> None:
        """Put `new` in the place of `old`, in the code cell that holds `text`."""
        self.browser.execute_script(WRITE, self.cell(text), old, new)

    def saves(self, into: Path, text: str) -> None:
        """Press Ctrl-S until the file `into` holds `text`."""

        def press() -> None:
            ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("s").key_up(Keys.CONTROL).perform()

        insist(f"save {into.name}", press, lambda: text in into.read_text(encoding="utf-8"))

    def opens_a_terminal(self) -> None:
        """Menu File, New, Terminal."""

        def click() -> None:
            if self.browser.find_elements("css selector", TERMINAL):
                return
            ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()  # a menu that is open from before
            for name in ("File", "New", "Terminal"):
                place = "MenuBar-itemLabel" if name == "File" else "Menu-itemLabel"
                path = f'//div[contains(@class, "lm-{place}") and text()="{name}"]'
                comes(lambda path=path: self.browser.find_elements("xpath", path), AGAIN_SECONDS)
                entry = self.browser.find_elements("xpath", path)[-1:]
                for one in entry:
                    ActionChains(self.browser).move_to_element(one).click().perform()

        insist("open a terminal", click, self.terminal_shows)

    def types(self, command: str, seen: Callable[[], Any]) -> None:
        """Type into the terminal and press Enter, with a look at what stands there before: a terminal that
        is still opening loses letters, and half a command is another command. `seen`: its first effect."""
        keys = self.browser.find_element("css selector", f"{TERMINAL} textarea")
        before = ""

        def write() -> None:
            nonlocal before
            keys.send_keys(Keys.CONTROL, "u", Keys.NULL)
            before = comes(self.terminal_waits, AGAIN_SECONDS) or ""
            keys.send_keys(command)

        insist(f"type {command!r}", write, lambda: stands(command, self.terminal_shows(), before))
        insist(f"enter {command!r}", lambda: keys.send_keys(Keys.ENTER), seen)

    def terminal_waits(self) -> str:
        """The lines that the terminal shows, once the last is a prompt and nothing else."""
        shown = self.terminal_shows()
        return shown if re.search(r"[$#%>]$", shown) else ""

    def terminal_shows(self) -> str:
        """The lines that the terminal shows now."""
        found = self.browser.find_elements("css selector", f"{TERMINAL} .xterm-accessibility-tree")
        return "\n".join(str(one.get_attribute("innerText")) for one in found).replace("\xa0", " ").strip()


def test_the_first_ten_minutes(browser: Any, lab: Lab) -> None:
    """Open 00, go to 01, run, go to its exercises, answer wrongly, read what is wrong, mend, check."""
    learner = Learner(browser)
    browser.get(
        f"{lab.address}/lab/workspaces/auto-first/tree/chapters/00_start_here.ipynb?token={TOKEN}&reset"
    )
    learner.reaches("00_start_here.ipynb")
    wait_for("an idle kernel", lambda: browser.execute_script(KERNEL_STATE) == "idle")
    comes(lambda: browser.execute_script(CHANGED), 5)  # the kernel tells what it is a little later
    assert comes(lambda: not browser.execute_script(CHANGED), 20), "opens as changed"  # autosave: at 120 s
    learner.runs("from coursekit.grading import progress")
    learner.runs("progress.table()", "A number that knows its derivative")

    learner.follows("01_scalar.ipynb")
    for cell in ("importlib.util", "from coursekit import add_to"):
        learner.runs(cell)
    assert learner.runs("width, height, nudge =", "1.99").strip().endswith("1.9999999999997797")
    learner.runs("class Value:")

    learner.follows("01_exercises.ipynb")
    for cell in (
        "#| default_exp",
        "from itertools",
        "from coursekit.given",
        "from coursekit.box",
        "# helpers",
    ):
        learner.runs(cell)
    learner.writes("# exercise: 1.1", 'raise Unsolved("1.1")', "return (f(x + h) - f(x)) / h")
    learner.runs("# exercise: 1.1")
    assert "Error" not in learner.runs("assert abs(derivative(", HINT)
    learner.writes("# exercise: 1.1", "(f(x + h) - f(x)) / h", "(f(x + h) - f(x - h)) / (2 * h)")
    learner.runs("# exercise: 1.1")
    assert "Error" not in learner.runs("assert abs(derivative(", "1.1 passed")
    learner.saves(lab.root / "work" / "exercises" / "01_exercises.ipynb", "f(x - h)")

    learner.follows("01_scalar.ipynb")
    learner.opens_a_terminal()
    answer, over = lab.root / "work" / "answer.txt", lab.root / "work" / "over.txt"
    # What it says may be longer than the terminal is high.
    learner.types("make check NN=01 2>&1 | tee answer.txt; touch over.txt", answer.exists)
    wait_for(
        "the end of make check",
        over.exists,
        lambda: f"; it said:\n{answer.read_text()}\nand the terminal shows:\n{learner.terminal_shows()}",
    )
    said = answer.read_text()
    assert re.search(r"1\.1 .*? (\d+)/\1\s", said), (
        f"{said}\nand the terminal shows:\n{learner.terminal_shows()}"
    )
    assert "***" not in said


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] if name != SHORT else [])
        for name in sorted({SHORT, *few_with_all_kinds()})
    ],
)
def test_a_chapter_shows_its_pictures_and_runs_without_an_error(browser: Any, lab: Lab, name: str) -> None:
    expected = stored_pictures(ROOT / "chapters" / name)
    open_chapter(browser, lab, name)
    assert_pictures(browser, expected)  # before anything has run
    run_all_cells(browser)
    assert browser.execute_script(ERRORS) == []
    wait_for("an idle kernel", lambda: browser.execute_script(KERNEL_STATE) == "idle")
    assert_pictures(browser, expected)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({*CHAPTERS} - {SHORT, *few_with_all_kinds()}))
def test_a_chapter_shows_its_pictures(browser: Any, lab: Lab, name: str) -> None:
    open_chapter(browser, lab, name)
    assert_pictures(browser, stored_pictures(ROOT / "chapters" / name))


def test_the_learner_finds_lessons_and_exercises(lab: Lab) -> None:
    work = lab.root / "work"
    assert [path.name for path in sorted((work / "chapters").glob("*.ipynb"))] == CHAPTERS
    exercises = sorted(path.name for path in (ROOT / "exercises").glob("*.ipynb"))
    assert [path.name for path in sorted((work / "exercises").glob("*.ipynb"))] == exercises


def test_the_arrow_keys_move_a_slider_and_not_the_selected_cell(browser: Any, lab: Lab) -> None:
    open_chapter(browser, lab, WITH_SLIDER)

    def focus() -> None:
        browser.execute_script(FOCUS_SLIDER)

    insist("focus the slider", focus, lambda: browser.execute_script(SLIDER) is not None)
    before = browser.execute_script(SLIDER)
    for key, by in ((Keys.ARROW_DOWN, -1), (Keys.ARROW_LEFT, -2), (Keys.ARROW_UP, -1)):
        ActionChains(browser).send_keys(key).perform()
        assert browser.execute_script(SLIDER) == [before[0] + by, before[1]]
