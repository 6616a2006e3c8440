"""Talk to one kernel in its box. What comes back is untrusted: bounded in size, read as data only."""

from __future__ import annotations

import json
import math
import re
import secrets
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.session import Session

from coursekit.box.probe import MIME
from coursekit.box.seal import lock, signer
from coursekit.grading import sandbox
from coursekit.grading.model import MALFORMED, Probe

MAX_BYTES = 2 * 2**20  # of all messages during one cell; of a longer one ZeroMQ hangs up at once
MAX_MESSAGES = 2000
MAX_WAITING = 64  # messages that ZeroMQ reads ahead; then the kernel waits
LOUD = 8  # times as much may come from an answer: plots, progress bars, animations
MAX_BACKLOG = 256 * 2**20  # by which a message without an end may let this process grow
MAX_PROBE = 2**20
MAX_DEPTH = 64
MAX_LINE = 200
START_TIMEOUT = 60.0
SEND_TIMEOUT = 5.0
TICK = 0.05  # seconds between looks at the process
Mark = Callable[[dict[str, Any]], str]
DELIMITER = b"<IDS|MSG>"

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")  # another in each run
_CELL_FILE = re.compile(r"\d+\.py, line (\d+)")  # the name that IPython gives a cell


@dataclass
class Shown:
    """What one request gave. `status` is "ok", "error", "timeout", "died" or "flood"."""

    status: str = "ok"
    error_type: str = ""
    error: str = ""
    probes: list[Probe] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def lost(self) -> bool:
        """Whether the kernel cannot be used any more."""
        return self.status in ("timeout", "died", "flood")


class Kernel:
    """One running kernel: its process and two sockets."""

    def __init__(self, launch: sandbox.Launch, library: Path, folder: Path) -> None:
        """Start it. `folder` (private, its path short) gets the sockets."""
        key = uuid.uuid4().hex
        self.session = Session(key=key.encode())
        self.context: zmq.Context[Any] = zmq.Context()
        self.context.linger = 0
        self.own_memory = sandbox.resident("self")
        self.lost = ""  # "died" or "flood" once it was ended for what it held or sent
        self.why = ""
        self.secret, self.number = secrets.token_bytes(32), 0  # of hidden tests, which are numbered
        self.student = False  # whether it has run an answer
        self.closed = threading.Event()
        with listen(folder / "shell") as shell, listen(folder / "iopub") as iopub:
            self.process = launch.spawn(library, folder, shell.fileno(), iopub.fileno(), key)
        # closed here, open in the kernel alone: so its end is noticed
        self.shell = self.connect(zmq.DEALER, folder / "shell")
        self.iopub = self.connect(zmq.SUB, folder / "iopub")
        self.poller = zmq.Poller()
        self.hang_ups = [one.get_monitor_socket(zmq.EVENT_DISCONNECTED) for one in (self.shell, self.iopub)]
        for one in (self.shell, self.iopub, *self.hang_ups):
            self.poller.register(one, zmq.POLLIN)
        threading.Thread(target=self.watch, args=(bool(launch.wrapper),), daemon=True).start()

    def watch(self, boxed: bool) -> None:
        """End the kernel where it holds or sends too much, also while nobody has asked for anything."""
        while not self.closed.wait(TICK):
            if sandbox.memory(self.process, boxed) > sandbox.MEMORY:
                self.lost, self.why = "died", "used more memory than is allowed"
            elif self.student and sandbox.resident("self") > self.own_memory + MAX_BACKLOG:
                self.lost = "flood"
            if self.lost and not self.closed.is_set():
                return sandbox.stop(self.process)

    def connect(self, kind: int, path: Path) -> zmq.Socket[Any]:
        one: zmq.Socket[Any] = self.context.socket(kind)
        one.setsockopt(zmq.MAXMSGSIZE, MAX_BYTES)
        one.setsockopt(zmq.RCVHWM, MAX_WAITING)
        one.setsockopt(zmq.SNDTIMEO, int(1000 * SEND_TIMEOUT))  # where nobody listens any more
        one.setsockopt(zmq.RECONNECT_IVL, -1)
        if kind == zmq.SUB:
            one.setsockopt(zmq.SUBSCRIBE, b"")
        one.connect(f"ipc://{path}")
        return one

    def wait_until_ready(self) -> Shown:
        """Ask until an answer comes on both sockets: the first may be published before anyone listens."""
        start = time.monotonic()
        while True:
            shown = self.request("kernel_info_request", {}, timeout=5.0)
            if shown.status != "timeout" or time.monotonic() > start + START_TIMEOUT:
                return shown

    def execute(self, code: str, timeout: float, *, first: Sequence[Any] = (), loud: bool = False) -> Shown:
        """Run `code` and return what it showed; a kernel that was lost on the way is dead afterwards.

        `first` is a request to `coursekit.box.kernel`, with its arguments, that comes before the code. Much
        may come of `loud` code, and is passed over.
        """
        mark = None
        if tuple(first[:1]) == ("mark",):
            first = ["mark", self.secret.hex(), *first[1:]]
        elif tuple(first[:1]) == ("hidden",):
            self.number += 1
            told = json.dumps({"code": code, "about": list(first[1:])})
            first, code = ["test", lock(self.secret, self.number, told)], ""
            mark = signer(self.secret, self.number)
        elif first and first[0] in ("restore", "answer"):
            self.number += 1
            first = [first[0], lock(self.secret, self.number, str(first[0])), *first[1:]]
        content = {
            "code": code,
            "silent": not code,
            "store_history": False,
            "user_expressions": {"coursekit": list(first)} if first else {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        if not self.student and tuple(first[:1]) == ("answer",):
            self.student, self.own_memory = True, sandbox.resident("self")
        shown = self.request("execute_request", content, timeout, LOUD if loud else 1, mark)
        if shown.lost:
            self.close()
        return shown

    def request(
        self, kind: str, content: dict[str, Any], timeout: float, loudness: int = 1, mark: Mark | None = None
    ) -> Shown:
        message = self.session.msg(kind, content)
        message["header"]["msg_id"] = uuid.uuid4().hex  # not to be guessed: nobody can answer ahead
        start = time.monotonic()
        conversation = Conversation(message["header"]["msg_id"], loudness, mark)
        try:
            if self.lost or self.process.poll() is not None:
                conversation.shown.status = "died"
            else:
                self.session.send(self.shell, message)
                self.listen(conversation, start + timeout)
        except zmq.ZMQError:
            conversation.shown.status = "died"
        if self.lost and not conversation.complete:
            conversation.shown.status, conversation.shown.error = self.lost, self.why
        if mark and conversation.shown.status == "ok" and not conversation.ended:
            conversation.shown.status = "died"  # what else it does is not to be waited for
            conversation.shown.error = "the answer kept its hidden test from coming to its end"
        conversation.shown.seconds = time.monotonic() - start
        return conversation.shown

    def listen(self, conversation: Conversation, deadline: float) -> None:
        """Read messages into `conversation` until it is complete, too much, too late, or the kernel died."""
        while not conversation.complete:
            ready = dict(self.poller.poll(int(1000 * TICK)))
            for channel in (self.iopub, self.shell):
                if channel in ready:
                    conversation.read(channel.recv_multipart())
            if conversation.shown.lost or conversation.complete:
                return
            if self.process.poll() is not None:
                conversation.shown.status = "died"
                return
            if any(one in ready for one in self.hang_ups):
                conversation.shown.status = "died" if self.ends_within(1.0) else "flood"
                return
            if time.monotonic() > deadline:
                conversation.shown.status = "timeout"
                return

    def ends_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Kill it with all that it started."""
        self.closed.set()
        sandbox.kill(self.process)
        if not self.context.closed:
            for one in (self.shell, self.iopub):
                one.disable_monitor()
            self.context.destroy(linger=0)


class Conversation:
    """The messages that belong to one request. With a `mark`, what is shown is signed, its end too."""

    def __init__(self, msg_id: str, loudness: int = 1, mark: Mark | None = None) -> None:
        self.msg_id = msg_id
        self.loudness = loudness
        self.mark = mark
        self.ended = False
        self.shown = Shown()
        self.replied = self.idle = False
        self.bytes = self.messages = 0
        self.open: dict[str, list[Any] | None] = {}  # series that have begun, None where one has ended

    @property
    def complete(self) -> bool:
        return self.replied and self.idle

    def read(self, frames: list[bytes]) -> None:
        self.messages += 1
        self.bytes += sum(map(len, frames))
        if self.messages > self.loudness * MAX_MESSAGES or self.bytes > self.loudness * MAX_BYTES:
            self.shown.status = "flood"
            return
        try:
            parts = frames[frames.index(DELIMITER) + 2 :]
            header, parent = json.loads(parts[0]), json.loads(parts[1])
            if parent.get("msg_id") == self.msg_id:
                self.take(str(header["msg_type"]), parts[3])
        except Exception:  # not a message of Jupyter: someone else's words, of no meaning
            return

    def take(self, kind: str, content: bytes) -> None:
        if kind == "display_data" and MIME.encode() in content and self.loudness == 1:
            if len(content) > MAX_PROBE:
                self.shown.status = "flood"
            else:
                self.show(content)
        elif kind == "error":
            self.fail(json.loads(content))
        elif kind == "status":
            self.idle = self.idle or json.loads(content)["execution_state"] == "idle"
        elif kind.endswith("_reply"):
            self.replied = True
            reply = json.loads(content)
            if reply["status"] != "ok":
                self.fail(reply)

    def show(self, content: bytes) -> None:
        """Take up one value, or one of a series: its items become one list, in the place of its begin."""
        signed = self.signed(content)
        if signed and self.mark and "end" in json.loads(content)["data"].get(MIME, {}):
            return self.end(json.loads(content)["data"][MIME])
        for one in as_probes(content) if signed else [Probe(MALFORMED, None)]:
            place = None if one.name == MALFORMED else placed(content)
            if place is None:
                self.shown.probes.append(one)
            elif place == (0, False):
                items: list[Any] = []
                self.open[one.name] = None if one.name in self.open else items
                self.shown.probes.append(replace(one, value={"list": items}))
            else:
                self.go_on(one, *place)

    def end(self, data: dict[str, Any]) -> None:
        """The last that a hidden test shows: that it has come to its end, by which error."""
        self.ended = True
        if data["error"]:
            self.fail(dict(zip(("ename", "evalue"), data["error"], strict=True)))

    def signed(self, content: bytes) -> bool:
        """Whether what is shown is the test's own, and the next."""
        if self.mark is None:
            return True
        data = json.loads(content)["data"]
        if MIME not in data:
            return True
        shown = data[MIME]
        return isinstance(shown, dict) and shown.pop("mark", None) == self.mark(shown)

    def go_on(self, one: Probe, place: int, last: bool) -> None:
        """The next item of a series, or its end. One that is missing, or comes after the end, spoils all."""
        items = self.open.get(one.name)
        if items is None or place != len(items) + (not last):
            self.shown.probes.append(Probe(MALFORMED, None))
        elif last:
            self.open[one.name] = None
        else:
            items.append(one.value)

    def fail(self, content: dict[str, Any]) -> None:
        if self.shown.status == "ok":
            self.shown.status = "error"
            self.shown.error_type = one_line(content.get("ename"))
            message = f"{content.get('ename')}: {content.get('evalue')}"
            if self.shown.error_type == "CompileError":  # without the line and the caret under it
                first, *more = message.split("\n")
                message = "; ".join([first, *(line.strip() for line in more if "hint: " in line)])
            message = _ADDRESS.sub("0x...", _CELL_FILE.sub(r"line \1 of the cell", message))
            self.shown.error = one_line(message).removesuffix(":")


def as_probes(content: bytes) -> list[Probe]:
    """The probe in one display message, as bounded data. What is malformed gets a name that no test has."""
    try:
        data = json.loads(content)["data"]
        if MIME not in data:
            return []
        data = data[MIME]
        name, value, tolerance = data["name"], data["value"], data["tolerance"]
        if not isinstance(name, str) or name != one_line(name) or too_deep(value):
            raise ValueError
        if type(tolerance) not in (int, float) or not 0 <= tolerance < math.inf:
            raise ValueError
        of = data.get("of", [])
        if not isinstance(of, list) or not all(isinstance(one, str) for one in of):
            raise ValueError
        json.dumps([value, of], ensure_ascii=False).encode()  # no half of a surrogate pair
        return [Probe(name, value, float(tolerance), tuple(map(one_line, of)))]
    except Exception:
        return [Probe(MALFORMED, None)]


def placed(content: bytes) -> tuple[int, bool] | None:
    """The number of an item of a series, and whether it is the end; None of any other value."""
    data = json.loads(content)["data"].get(MIME, {})
    if not isinstance(data, dict) or "place" not in data:
        return None
    place = data["place"]
    return (place if type(place) is int else -1), data.get("last") is True


def too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (list, dict))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def one_line(text: Any) -> str:
    """`text` as one short printable line: no control characters for terminals, pages and spreadsheets."""
    clean = "".join(letter if letter.isprintable() else " " for letter in str(text)[: 4 * MAX_LINE])
    clean = " ".join(clean.split())
    return clean if len(clean) <= MAX_LINE else clean[: MAX_LINE - 1] + "…"


def listen(path: Path) -> socket.socket:
    """A listening Unix socket at `path`, in place of the last kernel's."""
    path.unlink(missing_ok=True)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    one.bind(str(path))
    one.listen(8)
    return one
