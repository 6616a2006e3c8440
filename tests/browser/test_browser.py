"""A real browser: `make lab`, the first ten minutes of a learner, and every chapter with its pictures.

Run with `make test-browser`. Needs Chromium and chromedriver (Debian: chromium, chromium-driver).
"""

from __future__ import annotations

import contextlib
import functools
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

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted(path.name for path in (ROOT / "chapters").glob("*.ipynb"))
TOKEN = "browser-test"
HINT = "You nudge to one side only."
START_SECONDS, RUN_SECONDS = 120, 240
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
]

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
KERNEL_STATE = """
const status = document.querySelector('.jp-Toolbar .jp-Notebook-ExecutionIndicator');
return status ? status.getAttribute('data-status') : '';
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
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(0.3)
    return None


def wait_for(what: str, seen: Callable[[], Any], seconds: float) -> Any:
    return comes(seen, seconds) or pytest.fail(f"waited {seconds:.0f} s for {what}")


def answers(lab: Lab) -> bool:
    try:
        with urllib.request.urlopen(f"{lab.address}/api?token={TOKEN}", timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """End `make` and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(20)


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
            wait_for("JupyterLab", lambda: answers(running) or process.poll() is not None, START_SECONDS)
            assert process.poll() is None, running.log.read_text()
            yield running
        finally:
            stop(process)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("Chromium or chromedriver is not installed (Debian: chromium, chromium-driver)")
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in [*CHROMIUM_FLAGS, f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        opened.set_script_timeout(30)
        yield opened
        opened.quit()


def stored_pictures(path: Path) -> int:
    """How many outputs of the notebook hold a picture."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in outputs)


def open_chapter(browser: Any, lab: Lab, name: str) -> None:
    browser.get(f"{lab.address}/lab/workspaces/auto-test/tree/chapters/{name}?token={TOKEN}&reset")
    wait_for("the notebook's cells", lambda: browser.execute_script(PROMPTS), 60)
    wait_for("an idle kernel", lambda: browser.execute_script(KERNEL_STATE) == "idle", 60)


def run_all_cells(browser: Any) -> None:
    """Menu Run, Run All Cells; once more where JupyterLab was not ready for the first click."""
    by = "css selector"
    menu = '//div[contains(@class, "lm-MenuBar-itemLabel") and text()="Run"]'
    command = '.lm-Menu-item[data-command="runmenu:run-all"]'
    for _ in range(3):
        browser.find_element("xpath", menu).click()
        wait_for("the menu", lambda: browser.find_elements(by, command), 10)[0].click()
        if comes(lambda: browser.execute_script(KERNEL_STATE) == "busy", 15):
            return
    pytest.fail("no cell began to run")


def all_have_run(browser: Any) -> bool:
    prompts = browser.execute_script(PROMPTS)
    return not any(prompt in ("[*]:", "[ ]:") for prompt in prompts)


def assert_pictures(browser: Any, expected: int) -> None:
    """At least as many pictures are seen as outputs hold one, and none is broken."""
    pictures = browser.execute_script(PICTURES)
    assert [picture for picture in pictures if picture["broken"]] == []
    assert sum(picture["visible"] for picture in pictures) >= expected


class Learner:
    """Does what a learner does with mouse and keyboard, in the notebook that is seen."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def reaches(self, name: str) -> None:
        """Wait until the notebook `name` is seen and its kernel waits."""
        wait_for(name, lambda: self.browser.execute_script(NAME_SEEN) == name, 60)
        wait_for("an idle kernel", lambda: self.browser.execute_script(IS_READY), 90)

    def follows(self, target: str) -> None:
        """Click the link to the file `target`."""
        path = f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-RenderedMarkdown a[href*='{target}']"
        link = wait_for(target, lambda: self.browser.find_elements("css selector", path), 60)[-1]
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
        link.click()

    def cell(self, text: str) -> Any:
        """The code cell that holds `text`."""
        return wait_for(text, lambda: self.browser.execute_script(FIND_CELL, text), 60)

    def runs(self, text: str) -> str:
        """Run the code cell that holds `text`, and give back what it shows.

        Once more where JupyterLab was not ready for the keys.
        """
        for _ in range(4):
            cell = self.cell(text)
            # A stored count may be the new one too: only what JupyterLab writes there from now on counts.
            prompt = cell.find_element("css selector", ".jp-InputPrompt")
            self.browser.execute_script("arguments[0].textContent = ''", prompt)
            self._presses_shift_enter(cell)
            if comes(functools.partial(self._has_run, prompt), 20):
                wait_for("an idle kernel", lambda: self.browser.execute_script(IS_READY), 60)
                return str(cell.find_element("css selector", ".jp-Cell-outputWrapper").text)
        pytest.fail(f"{text}: did not run")

    def _presses_shift_enter(self, cell: Any) -> None:
        from selenium.webdriver import ActionChains, Keys

        cell.find_element("css selector", ".cm-content").click()
        ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()

    def writes(self, text: str, old: str, new: str) -> None:
        """Put `new` in the place of `old`, in the code cell that holds `text`."""
        self.browser.execute_script(WRITE, self.cell(text), old, new)

    def saves(self) -> None:
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("s").key_up(Keys.CONTROL).perform()

    def opens_a_terminal(self) -> None:
        """Menu File, New, Terminal."""
        from selenium.webdriver import ActionChains

        for name in ("File", "New", "Terminal"):
            place = "MenuBar-itemLabel" if name == "File" else "Menu-itemLabel"
            path = f'//div[contains(@class, "lm-{place}") and text()="{name}"]'
            entry = wait_for(
                f"the menu's {name}", lambda path=path: self.browser.find_elements("xpath", path), 10
            )
            ActionChains(self.browser).move_to_element(entry[-1]).click().perform()
        wait_for("the terminal's prompt", lambda: self.terminal_shows().strip(), 60)

    def types(self, command: str) -> None:
        """Type into the terminal, and press Enter."""
        self.browser.find_element("css selector", ".jp-Terminal textarea").send_keys(command + "\n")

    def terminal_shows(self) -> str:
        """The lines that the terminal shows now."""
        found = self.browser.find_elements("css selector", ".jp-Terminal .xterm-accessibility-tree")
        return "\n".join(str(one.get_attribute("innerText")) for one in found)

    def _has_run(self, prompt: Any) -> bool:
        """Whether a count stands in the prompt. Who was quicker than the kernel is asked for one first."""
        for button in self.browser.find_elements("css selector", ".jp-Dialog-button.jp-mod-accept"):
            button.click()
        return bool(re.fullmatch(r"\[\d+\]:", prompt.text.strip()))


def test_the_first_ten_minutes(browser: Any, lab: Lab) -> None:
    """Open 00, go to 01, run, go to its exercises, answer wrongly, read what is wrong, mend, check."""
    learner = Learner(browser)
    browser.get(
        f"{lab.address}/lab/workspaces/auto-first/tree/chapters/00_start_here.ipynb?token={TOKEN}&reset"
    )
    learner.reaches("00_start_here.ipynb")
    learner.runs("from coursekit.grading import progress")
    assert "A number that knows its derivative" in learner.runs("progress.table()")

    learner.follows("01_scalar.ipynb")
    learner.reaches("01_scalar.ipynb")
    for cell in ("importlib.util", "#| default_exp", "import gc"):
        learner.runs(cell)
    assert learner.runs("width, height, nudge =").strip().endswith("1.9999999999997797")
    learner.runs("class Value:")

    learner.follows("01_exercises.ipynb")
    learner.reaches("01_exercises.ipynb")
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
    told = learner.runs("assert abs(derivative(")
    assert HINT in told and "what do you divide by?" in told
    learner.writes("# exercise: 1.1", "(f(x + h) - f(x)) / h", "(f(x + h) - f(x - h)) / (2 * h)")
    learner.runs("# exercise: 1.1")
    told = learner.runs("assert abs(derivative(")
    assert "1.1 passed" in told and "Error" not in told
    learner.saves()

    mine = lab.root / "work" / "exercises" / "01_exercises.ipynb"
    wait_for("the saved answer", lambda: "f(x - h)" in mine.read_text(encoding="utf-8"), 30)
    learner.follows("01_scalar.ipynb")
    learner.reaches("01_scalar.ipynb")
    learner.opens_a_terminal()
    answer = lab.root / "work" / "answer.txt"  # what it says may be longer than the terminal is high
    for _ in range(3):  # a busy machine loses what is typed while the terminal opens
        learner.types("make check NN=01 2>&1 | tee answer.txt")
        if comes(answer.exists, 30):
            break
    wait_for("the points of 1.1", lambda: re.search(r"1\.1 .*? (\d+)/\1\s", answer.read_text()), 120)
    assert "***" not in answer.read_text()


@pytest.mark.parametrize("name", [name for name in CHAPTERS if not name.startswith("00")] or CHAPTERS)
def test_a_chapter_shows_its_pictures_and_runs_without_an_error(browser: Any, lab: Lab, name: str) -> None:
    expected = stored_pictures(ROOT / "chapters" / name)
    open_chapter(browser, lab, name)
    assert_pictures(browser, expected)  # before anything has run

    run_all_cells(browser)
    wait_for("all cells", lambda: all_have_run(browser) or browser.execute_script(ERRORS), RUN_SECONDS)
    assert browser.execute_script(ERRORS) == []
    wait_for("an idle kernel", lambda: browser.execute_script(KERNEL_STATE) == "idle", 60)
    assert_pictures(browser, expected)


def test_the_learner_finds_lessons_and_exercises(lab: Lab) -> None:
    work = lab.root / "work"
    assert [path.name for path in sorted((work / "chapters").glob("*.ipynb"))] == CHAPTERS
    exercises = sorted(path.name for path in (ROOT / "exercises").glob("*.ipynb"))
    assert [path.name for path in sorted((work / "exercises").glob("*.ipynb"))] == exercises


def test_the_terminal_shows_no_warning_about_trust_or_kernels(lab: Lab) -> None:
    log = lab.log.read_text()
    assert "without encryption" not in log
    assert "not trusted" not in log
