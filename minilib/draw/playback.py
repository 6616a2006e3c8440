"""The backward pass, step by step: `step_backward`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from minilib.draw.graph import Graph, Node, _derivatives, _full_names, _inputs, _read, number
from minilib.draw.layout import Card, _arrange, _label_width, _width
from minilib.draw.palette import GLOW, MARGIN, MINUS, NOTHING, ROW, TIMES
from minilib.draw.pictures import Link, Picture, _base64, _cards, _compose, _count
from minilib.draw.shapes import Box, Curve, Scene, Text

# What is played


def step_backward(value: Node, names: Mapping[str, Any] | None = None, *, max_nodes: int = 20) -> Playback:
    """Play the backward pass from `value`, one picture per node that passes its gradient on.

    In each step one node tells its inputs their share: the local derivative times its own gradient. Nodes
    without a name are called v1, v2, ... The gradients start empty and are worked out here; those of the
    graph are neither read nor changed. `names` and `max_nodes` are as for `draw_graph`.
    """
    graph = _read(value, names, max_nodes, "step_backward")
    titles = _full_names(graph)
    moments = list(_moments(graph, titles))
    plain = _cards(graph, titles)
    cards = [_at(moment, plain) for moment in moments]
    links = [_links(moment, len(graph.edges)) for moment in moments]
    # One layout for all steps, with room for the widest text that will ever stand there: nothing moves.
    sizes = [
        (max(width for width, _ in sizes), sizes[0][1])
        for sizes in _columns([[c.size for c in cs] for cs in cards])
    ]
    widths = [_label_width(*(link.label for link in column)) for column in _columns(links)]
    layout = _arrange(sizes, graph.edges, widths)
    scenes = [_compose(layout, *looks) for looks in zip(cards, links, strict=True)]
    return _playback(scenes, [moment.caption for moment in moments])


# The steps


@dataclass(frozen=True)
class Share:
    """What one node tells one input: its own gradient times a local derivative."""

    edge: int
    receiver: int
    factor: float
    gradient: float

    @property
    def amount(self) -> float:
        return self.factor * self.gradient

    @property
    def product(self) -> str:
        return f"{number(self.factor)} {TIMES} {number(self.gradient)}"

    def __str__(self) -> str:
        return f"{self.product} = {number(self.amount)}"


@dataclass(frozen=True)
class Moment:
    """One step: its caption, the gradients after it as text, and who tells whom what."""

    caption: str
    gradients: tuple[str, ...]
    speaker: int | None = None
    shares: tuple[Share, ...] = ()


def _moments(graph: Graph, names: Sequence[str]) -> Iterator[Moment]:
    """Every step of the pass. The gradients are worked out here: the graph's own stay as they are."""
    gradients: list[float | None] = [None] * len(graph.nodes)
    root = len(graph.nodes) - 1
    yield Moment("Before: no value knows its gradient yet.", _texts(gradients, {}))
    gradients[root] = 1.0
    start = f"{names[root]} starts with 1: its derivative with respect to itself."
    yield Moment(start, _texts(gradients, {}))
    for speaker in range(root, -1, -1):
        shares = _shares(graph, speaker, gradients[speaker] or 0.0)
        if shares:
            news = _receive(gradients, shares)
            caption = _caption(names, speaker, shares, news, gradients)
            yield Moment(caption, _texts(gradients, news), speaker, shares)
    leaves = [i for i, node in enumerate(graph.nodes) if not _inputs(node)]
    known = ", ".join(f"{names[i]}.grad = {number(gradients[i] or 0.0)}" for i in leaves)
    yield Moment(f"Done: every value has spoken. {known}.", _texts(gradients, {}))


def _shares(graph: Graph, speaker: int, gradient: float) -> tuple[Share, ...]:
    edges = [i for i, (_, head) in enumerate(graph.edges) if head == speaker]
    factors = _derivatives(graph.nodes[speaker]) if edges else ()
    return tuple(
        Share(i, graph.edges[i][0], factor, gradient) for i, factor in zip(edges, factors, strict=True)
    )


def _receive(gradients: list[float | None], shares: Sequence[Share]) -> dict[int, str]:
    """Add the shares to the receivers' gradients. Returns the sums as they are written: `0.5 + 1.5`."""
    news: dict[int, str] = {}
    for share in shares:
        before = gradients[share.receiver]
        told = news.get(share.receiver, "" if before is None else number(before))
        amount = number(share.amount)
        sign = f" {MINUS} " if amount.startswith(MINUS) else " + "
        news[share.receiver] = told + sign + amount.removeprefix(MINUS) if told else amount
        gradients[share.receiver] = (before or 0.0) + share.amount
    return news


def _texts(gradients: Sequence[float | None], news: Mapping[int, str]) -> tuple[str, ...]:
    known = [NOTHING if gradient is None else number(gradient) for gradient in gradients]
    return tuple(news.get(i, text) for i, text in enumerate(known))


def _caption(
    names: Sequence[str],
    speaker: int,
    shares: Sequence[Share],
    news: Mapping[int, str],
    gradients: Sequence[float | None],
) -> str:
    """`b tells a: 3 x 2 = 6, so a.grad = 6.`"""
    parts = []
    for i, told in news.items():
        said = " and ".join(str(share) for share in shares if share.receiver == i)
        total = number(gradients[i] or 0.0)
        parts.append(
            f"{names[i]}: {said}, so {names[i]}.grad = {told if told == total else f'{told} = {total}'}"
        )
    return f"{names[speaker]} tells " + "; and ".join(parts) + "."


# Their pictures


def _columns(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))


def _at(moment: Moment, plain: Sequence[Card]) -> list[Card]:
    """The cards at this moment: its gradients on them, and the speaker lit."""
    cards = [
        replace(card, rows=tuple((word, text if word == "grad" else old) for word, old in card.rows))
        for card, text in zip(plain, moment.gradients, strict=True)
    ]
    for share in moment.shares:
        cards[share.receiver] = replace(cards[share.receiver], news=True)
    if moment.speaker is not None:
        cards[moment.speaker] = replace(cards[moment.speaker], colours=GLOW, line=2.4)
    return cards


def _links(moment: Moment, edges: int) -> list[Link]:
    said = {share.edge: Link(share.product, lit=True) for share in moment.shares}
    return [said.get(i, Link()) for i in range(edges)]


# The playback


@dataclass(frozen=True, repr=False)
class Playback(Picture):
    """The backward pass as pictures. A notebook shows one fold per step; `frames[i]` is one of them alone.

    Folds (`<details>`) need no JavaScript, which notebooks that are not trusted lose. Where the frontend
    keeps the attribute `name`, opening one closes the others. In a file, all steps stand below one another.
    """

    captions: tuple[str, ...]
    frames: tuple[Picture, ...]

    def __repr__(self) -> str:
        return "\n".join(
            [f"<{self.summary}>", *(f"{i}. {caption}" for i, caption in enumerate(self.captions))]
        )

    def html(self) -> str:
        key = hashlib.sha256("".join(frame.svg() for frame in self.frames).encode()).hexdigest()[:8]
        folds = (self._fold(i, key) for i in range(len(self.frames)))
        return "<div>\n" + "\n".join(folds) + "\n</div>"

    def _fold(self, i: int, key: str) -> str:
        frame = self.frames[i]
        opened = " open" if i == 0 else ""
        free = ' style="max-width: none"' if frame.scene.is_wide else ""
        return (
            f'<details name="steps-{key}"{opened}><summary>{i}. {escape(self.captions[i])}</summary>'
            f'<div style="overflow-x: auto"><img src="data:image/png;base64,{_base64(frame.png())}" '
            f'width="{frame.scene.width:.0f}" alt="{escape(frame.alt)}"{free}></div></details>'
        )

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        return {"text/html": self.html(), "text/plain": repr(self)}, {}


def _playback(scenes: Sequence[Scene], captions: Sequence[str]) -> Playback:
    frames = [
        Picture(scene, f"step {i} of {len(scenes) - 1}: {caption}", f"step {i}: {caption}")
        for i, (scene, caption) in enumerate(zip(scenes, captions, strict=True))
    ]
    summary = f"backward pass in {_count(len(scenes) - 1, 'step')}"
    alt = f"{summary}. " + " ".join(f"{i}. {caption}" for i, caption in enumerate(captions))
    return Playback(_strip(scenes, captions), alt, summary, tuple(captions), tuple(frames))


def _strip(scenes: Sequence[Scene], captions: Sequence[str]) -> Scene:
    """All steps below one another, each under its caption."""
    shapes: list[Box | Text | Curve] = []
    width = max(scenes[0].width, *(_width(caption) + 4 * MARGIN for caption in captions))
    top = MARGIN
    for i, (scene, caption) in enumerate(zip(scenes, captions, strict=True)):
        shapes.append(Text(MARGIN, top + ROW / 2, f"{i}. {caption}", anchor="start"))
        shapes += [_lowered(shape, top + ROW) for shape in scene.shapes]
        top += ROW + scene.height
    return Scene(math.ceil(width), math.ceil(top), tuple(shapes))


def _lowered(shape: Box | Text | Curve, dy: float) -> Box | Text | Curve:
    if isinstance(shape, Curve):
        return replace(shape, points=tuple((x, y + dy) for x, y in shape.points))
    return replace(shape, y=shape.y + dy)
