"""An editor over the text form of a notebook, and the saves that are brought back while it runs."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.errors import CourseError
from coursekit.make.desk import Desk

PAUSE = 0.2  # seconds between two looks at the file
AT_ONCE = 2.0  # an editor that ends sooner has handed the file to a window that is open already
# Editors that fill the terminal: what there is to say waits until they end.
_IN_TERMINAL = ("vi", "vim", "nvim", "nano", "pico", "micro", "hx", "helix", "kak", "joe", "mg", "ed")


@dataclass
class Session:
    """The editor, if there is one, and the saves of its file."""

    desk: Desk
    command: str  # of the editor, with its options; empty for none
    editor: subprocess.Popen[bytes] | None = None
    failed: bool = False  # the last save was not brought back
    _seen: object = None
    _held: list[str] = field(default_factory=list)

    @property
    def fills_terminal(self) -> bool:
        words = shlex.split(self.command)
        return bool(words) and (Path(words[0]).name in _IN_TERMINAL or "-nw" in words)

    @property
    def is_open(self) -> bool:
        return self.editor is not None and self.editor.poll() is None

    def open(self) -> None:
        """Start the editor, or say what to do where there is none."""
        self._seen = self._stamp()
        if not self.command:
            self.say("set $EDITOR to open it here; or open it yourself. Each save counts, until Ctrl-C")
            return
        try:
            self.editor = subprocess.Popen([*shlex.split(self.command), str(self.desk.text)])
        except (OSError, ValueError) as error:
            self.say(f"{self.command}: cannot be started ({error}); open it yourself. Ctrl-C ends")

    def watch(self) -> None:
        """Bring each save back: while the editor runs, without one until Ctrl-C."""
        started, saves = time.monotonic(), 0
        while True:
            try:
                was_open = self.is_open  # asked first: the last save comes before the editor's end
                saves += self.look()
                if self.editor is not None and not was_open:
                    if saves or time.monotonic() - started > AT_ONCE or not sys.stdin.isatty():
                        break
                    self.editor = None
                    self.say("the editor left at once; if it shows the file, each save counts, until Ctrl-C")
                time.sleep(PAUSE)
            except KeyboardInterrupt:
                if not (self.is_open and self.fills_terminal):  # then it was meant for the editor
                    print(flush=True)
                    break
        self._release()

    def look(self) -> bool:
        """Bring the file back if it was saved since the last look."""
        stamp = self._stamp()
        if stamp in (None, self._seen):
            return False
        while (later := self._after(PAUSE)) != stamp or later is None:  # some editors write in several steps
            stamp = later
        self._seen = stamp
        self.bring()
        return True

    def bring(self) -> None:
        try:
            for line in self.desk.bring():
                self.say(line)
            self.failed = False
        except CourseError as error:
            self.say(f"error: {error}")
            self.failed = True

    def _after(self, seconds: float) -> object:
        time.sleep(seconds)
        return self._stamp()

    def _stamp(self) -> object:
        try:
            found = self.desk.text.stat()
        except OSError:
            return None  # some editors write another file, and rename it
        return found.st_mtime_ns, found.st_size, found.st_ino

    def say(self, line: str) -> None:
        if self.is_open and self.fills_terminal:
            self._held.append(line)
        else:
            self._release()
            print(line, flush=True)

    def _release(self) -> None:
        while self._held:
            print(self._held.pop(0), flush=True)
