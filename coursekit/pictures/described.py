"""Pictures that say in words what they show, and move where scripts may run."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib.pyplot as plt

# For every slider: the arrow keys move it, and not JupyterLab's selection.
OWN_KEYS = "data-lm-suppress-shortcuts"


@dataclass(frozen=True, repr=False)
class Described:
    """A picture as PNG, and in words for those who cannot see it; `page` is what moves where scripts run.

    Without scripts (GitHub, a notebook that is not trusted) the still picture stays.
    """

    png: bytes
    alt: str
    page: str = ""  # HTML that holds the still picture, until its script takes that away
    width: int | None = None

    def __repr__(self) -> str:
        return f"<picture: {self.alt}>"

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        shown: dict[str, Any] = {"alt": self.alt} | ({"width": self.width} if self.width else {})
        data = {"image/png": as_text(self.png), "text/plain": repr(self)}
        return data | ({"text/html": self.page} if self.page else {}), {"image/png": shown}


def described(figure: Any, alt: str, page: str = "", dpi: int = 72) -> Described:
    """The figure, closed. In `page` the word STILL is where the still picture goes."""
    png = drawn(figure, dpi)
    return Described(png, alt, page.replace("STILL", f'<img alt="{escape(alt)}" src="{_address(png)}">'))


def show_described(alt: str) -> None:
    """Show the current figure with this alternative text."""
    from IPython.display import display

    image = {"image/png": as_text(drawn(plt.gcf(), 90)), "text/plain": alt}
    display(image, metadata={"image/png": {"alt": alt}}, raw=True)  # type: ignore[no-untyped-call]


def drawn(figure: Any, dpi: int, box: str | None = "tight") -> bytes:
    """The figure as PNG, closed: what is drawn, or its whole page where `box` is None."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, bbox_inches=box)
    plt.close(figure)
    return file.getvalue()


def as_text(png: bytes) -> str:
    return base64.b64encode(png).decode("ascii")


def _address(png: bytes) -> str:
    return f"data:image/png;base64,{as_text(png)}"


# What moves


def moving(name: str, script: str, data: str, png: bytes, alt: str, width: int | None = None) -> Described:
    """A still picture, and a script that puts another in its place, which it makes of the arguments `data`.

    `script` is a function of JavaScript; its first argument is the id of the element that holds the picture.
    """
    key = f"{name}-{_key(data)}"
    size = f' width="{width}"' if width else ""
    image = f'<img src="{_address(png)}"{size} alt="{escape(alt)}">'
    place = f'<div id="{key}" data-picture>{image}</div>'
    return Described(png, alt, f'{place}\n<script>({script})("{key}", ...{data})</script>', width)


def stepper(
    frames: Sequence[Described], label: str, about: str, still: Described | None = None, play: bool = False
) -> Described:
    """A slider through `frames`. Where no script runs stands `still`, or the last frame.

    `label` stands beside the slider; `about` says what it moves, for those who do not see it. With `play` a
    button shows one after the other.
    """
    still, last = still or frames[-1], len(frames) - 1
    key = f"frames-{_key(''.join(as_text(frame.png) for frame in frames))}"
    images = "".join(
        f'<img src="{_address(frame.png)}"{_wide(frame)} alt="{escape(frame.alt)}"'
        f' style="display: {"block" if i == last else "none"}">'
        for i, frame in enumerate(frames)
    )
    slider = (
        f'<label>{escape(label)} <input type="range" min="0" max="{last}" value="{last}" step="1" '
        f'{OWN_KEYS} aria-label="{escape(about)}" style="width: 240px"> <output>{last}</output></label>'
    )
    button = '<button style="margin-right: 1em">play</button>' if play else ""
    place = f'<div id="{key}" data-picture>{button}{slider}{images}</div>'
    return Described(still.png, still.alt, f'{place}\n<script>({_STEP})("{key}")</script>', still.width)


def chooser(
    frames: Mapping[tuple[str, ...], Described], choices: Mapping[str, Sequence[str]], still: Described
) -> Described:
    """Buttons, a row for each choice, that bring the frame whose key is chosen. First stands `still`."""
    key = f"choice-{_key(''.join(as_text(frame.png) for frame in frames.values()))}"
    chosen = next(names for names, frame in frames.items() if frame is still)
    rows = "".join(
        f'<fieldset style="border: 0; padding: 2px 0; margin: 0"><legend style="float: left; padding: 0">'
        f"{escape(label)}&nbsp;</legend>"
        + "".join(
            f'<label style="margin-left: 8px"><input type="radio" name="{key}-{i}" value="{escape(option)}" '
            f"{OWN_KEYS}{' checked' if option == chosen[i] else ''}> {escape(option)}</label>"
            for option in options
        )
        + "</fieldset>"
        for i, (label, options) in enumerate(choices.items())
    )
    images = "".join(
        f'<img src="{_address(frame.png)}" alt="{escape(frame.alt)}" data-chosen="{escape("|".join(names))}"'
        f' style="display: {"block" if frame is still else "none"}">'
        for names, frame in frames.items()
    )
    place = f'<div id="{key}" data-picture>{rows}{images}</div>'
    return Described(still.png, still.alt, f'{place}\n<script>({_CHOOSE})("{key}")</script>')


def _wide(frame: Described) -> str:
    return f' width="{frame.width}"' if frame.width else ""


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


_STEP = """(id) => {
  const place = document.getElementById(id);
  if (!place) return;
  const slider = place.querySelector("input"), images = place.querySelectorAll("img");
  slider.oninput = () => {
    images.forEach((image, i) => { image.style.display = i == slider.value ? "block" : "none"; });
    place.querySelector("output").textContent = slider.value;
  };
  const button = place.querySelector("button");
  let clock = 0;
  const stop = () => { clearInterval(clock); clock = 0; button.textContent = "play"; };
  if (button) button.onclick = () => {
    if (clock) { stop(); return; }
    if (slider.value == slider.max) slider.value = 0; else slider.stepUp();
    slider.oninput();
    button.textContent = "stop";
    clock = setInterval(() => {
      if (slider.value == slider.max || !place.isConnected) { stop(); return; }
      slider.stepUp();
      slider.oninput();
    }, 400);
  };
}"""

_CHOOSE = """(id) => {
  const place = document.getElementById(id);
  if (!place) return;
  place.onchange = () => {
    const chosen = [...place.querySelectorAll("input:checked")].map((one) => one.value).join("|");
    place.querySelectorAll("img").forEach((image) => {
      image.style.display = image.dataset.chosen === chosen ? "block" : "none";
    });
  };
}"""
