"""A picture in several frames, and a slider that goes through them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from coursekit.pictures.attention import Described


@dataclass(frozen=True, repr=False)
class Stepper(Described):
    """The last frame; where scripts may run, a slider that goes through all of them."""

    frames: tuple[str, ...]
    alts: tuple[str, ...]
    label: str  # of the slider
    about: str  # what it moves, for those who do not see it

    def html(self) -> str:
        key = "frames-" + hashlib.sha256("".join(self.frames).encode()).hexdigest()[:8]
        last = len(self.frames) - 1
        images = "".join(
            f'<img src="data:image/png;base64,{frame}" alt="{escape(alt)}"'
            f' style="display: {"block" if i == last else "none"}">'
            for i, (frame, alt) in enumerate(zip(self.frames, self.alts))
        )
        slider = (
            f'<label>{escape(self.label)} <input type="range" min="0" max="{last}" value="{last}" step="1" '
            f'aria-label="{escape(self.about)}" style="width: 240px"> <output>{last}</output></label>'
        )
        place = f'<div id="{key}" data-picture>{slider}{images}</div>'
        return f'{place}\n<script>({_STEP})("{key}")</script>'

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_()
        return {"text/html": self.html(), **data}, metadata


def stepper(frames: Sequence[Described], alt: str, label: str, about: str) -> Stepper:
    """A slider through `frames`; `alt` tells all that they show."""
    alts = (*(frame.alt for frame in frames[:-1]), alt)
    return Stepper(frames[-1].png, alt, tuple(frame.data() for frame in frames), alts, label, about)


_STEP = """(id) => {
  const place = document.getElementById(id);
  if (!place) return;
  const slider = place.querySelector("input"), images = place.querySelectorAll("img");
  slider.oninput = () => {
    images.forEach((image, i) => { image.style.display = i == slider.value ? "block" : "none"; });
    place.querySelector("output").textContent = slider.value;
  };
}"""
