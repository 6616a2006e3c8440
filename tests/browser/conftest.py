"""A browser may stumble: a test that fails runs once more, from the very start, and both are told."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from selenium import webdriver

FIRST = "first attempt"
SECONDS = 300  # for a script in the page
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
SEEN = """
const text = kind => [...document.querySelectorAll(kind)].map(node => node.innerText.trim()).filter(Boolean);
return {
  title: document.title,
  dialogs: text('.jp-Dialog'),
  notices: text('.Toastify__toast, .jp-toast-text'),
  kernel: [...document.querySelectorAll('.jp-Notebook-ExecutionIndicator')].map(node => node.dataset.status),
  prompts: text('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell .jp-InputPrompt').join(' '),
  errors: ['error', 'stderr'].flatMap(kind => text(`[data-mime-type="application/vnd.jupyter.${kind}"]`)),
  terminal: text('.jp-Terminal .xterm-accessibility-tree'),
};
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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
        opened.set_script_timeout(SECONDS)
        # A window that nobody sees has the focus only in some builds, and JupyterLab's current tab is the one
        # with the focus.
        opened.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        yield opened
        opened.quit()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run `item`; where it fails, put away all fixtures (the copy of the tree, JupyterLab, the browser) and
    run it again."""
    if item.get_closest_marker("browser") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        told = "\n".join(said(report) for report in reports if report.failed)
        item.session._setupstate.teardown_exact(None)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            if report.when == "call" or report.failed:
                report.user_properties.append((FIRST, told))
        if any(report.failed for report in reports):
            item.session._setupstate.teardown_exact(None)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def said(report: pytest.TestReport) -> str:
    return "\n".join(
        [report.longreprtext, *(text for name, text in report.sections if name == "the browser")]
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """With a failure comes what is seen at that time."""
    report = yield
    if report.failed and call.when == "call":
        report.sections.append(("the browser", "\n".join(seen(getattr(item, "funcargs", {})))))
    return report


def seen(fixtures: dict[str, Any]) -> Iterator[str]:
    if browser := fixtures.get("browser"):
        try:
            shown = browser.execute_script(SEEN)
            yield from (f"{name}: {what}" for name, what in shown.items())
        except Exception as error:  # it may be what has failed
            yield f"the browser does not answer: {error}"
    if lab := fixtures.get("lab"):
        yield f"the end of JupyterLab's log:\n{lab.log.read_text()[-2000:]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report for kind in ("passed", "failed", "error") for report in terminalreporter.getreports(kind)
    ]
    for report in reports:
        for name, text in report.user_properties:
            if name == FIRST:
                ended = "passed" if report.passed else "failed again"
                terminalreporter.section(f"RUN TWICE: {report.nodeid} failed, then {ended}", yellow=True)
                terminalreporter.write_line(str(text))
