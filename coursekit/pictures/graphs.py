"""Pictures of programs that are written down first: their nodes, a run of them, and what gradients add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from coursekit.pictures.described import Described, described, stepper
from coursekit.pictures.plots import BLUE, GREY, INK, ORANGE, RED
from minilib.draw import Card, Picture, draw_cards, palette

WAITING, DONE, NOW, UNUSED = palette.SAND, palette.BLUE, palette.GLOW, palette.GREY


# The nodes of a program


def draw_program(nodes: Sequence[Any], names: Mapping[str, Any] | None = None) -> Picture:
    """The nodes of a program in their order: what each does, and its shape where it tells one."""
    cards = [_card(node, _called(node, names), _told(node), DONE) for node in nodes]
    sources = [
        replace(card, colours=WAITING) if not node.inputs else card for card, node in zip(cards, nodes)
    ]
    words = "; ".join(_in_words(node, names) for node in nodes)
    return draw_cards([sources], _edges(nodes), [f"A program of {len(nodes)} nodes. {words}"])[0]


def _called(node: Any, names: Mapping[str, Any] | None) -> str:
    """The name that a notebook's variables give a node, else its own, else none."""
    found = [name for name, one in (names or {}).items() if one is node and not name.startswith("_")]
    return found[0] if found else getattr(node, "name", "")


def _does(node: Any) -> str:
    value = getattr(node.f, "value", None)
    return node.f.name if value is None or np.ndim(value) else f"{value:g}"


def _told(node: Any) -> str:
    shape = getattr(node, "shape", None)
    return "" if shape is None else str(shape)


def _card(node: Any, name: str, row: str, colours: tuple[str, str]) -> Card:
    does = _does(node)
    title = does if not name or name.partition("_")[0] == does else f"{name} = {does}"
    return Card(title, ((row, ""),) if row else (), "", colours)


def _edges(nodes: Sequence[Any]) -> list[tuple[int, int]]:
    places = {id(node): i for i, node in enumerate(nodes)}
    return [(places[id(x)], i) for i, node in enumerate(nodes) for x in node.inputs if id(x) in places]


def _in_words(node: Any, names: Mapping[str, Any] | None) -> str:
    inputs = ", ".join(_called(x, names) or _does(x) for x in node.inputs)
    shape = f" of shape {_told(node)}" if _told(node) else ""
    return (
        f"{_called(node, names) or _does(node)} is {_does(node)}" + (f"({inputs})" if inputs else "") + shape
    )


# A run


def step_run(
    program: Sequence[Any],
    run: Sequence[Any],
    values: Mapping[Any, Any],
    names: Mapping[str, Any] | None = None,
) -> Described:
    """A run, node by node: `run` are the nodes in the order in which they ran, `values` what each one made.

    What is in `values` and not in `run` was fed. Nodes of the program that are in neither stay grey.
    """
    ran, frames, alts = set(run), [], []
    fed = {node for node in program if node in values and node not in ran}
    for step in range(len(run) + 1):
        done, now = {*fed, *run[:step]}, run[step - 1] if step else None
        cards = []
        for node in program:
            known, used = node in done, node in ran or node in fed
            colours = NOW if node is now else DONE if known else WAITING if used else UNUSED
            row = _number(values[node]) if known else palette.NOTHING if used else "not needed"
            cards.append(_card(node, _called(node, names), row, colours))
        frames.append(cards)
        alts.append(_moment(program, done, ran.union(fed), now, values, names))
    pictures = draw_cards(frames, _edges(program), alts)
    shown = [Described(p.png(), p.alt, width=round(p.scene.width)) for p in pictures]
    return stepper(shown, "nodes run", "how many nodes of the program have run", play=True)


def _number(value: Any) -> str:
    return f"{float(value):.4g}" if np.ndim(value) == 0 else "numbers " + str(np.shape(value))


def _moment(
    program: Sequence[Any], done: set[Any], used: set[Any], now: Any, values: Mapping[Any, Any],
    names: Mapping[str, Any] | None,
) -> str:  # fmt: skip
    def listed(nodes: Sequence[Any]) -> str:
        return ", ".join(_called(node, names) or _does(node) for node in nodes) or "none"

    has = [f"{_called(n, names) or _does(n)} is {_number(values[n])}" for n in program if n in done]
    begin = "Before the first node." if now is None else f"{_called(now, names) or _does(now)} runs."
    return (
        f"{begin} {', '.join(has) or 'No node has a value'}; waiting: "
        f"{listed([n for n in program if n in used and n not in done])}; not needed: "
        f"{listed([n for n in program if n not in used])}"
    )


def draw_runs_of(counts: Mapping[str, Sequence[int]], size: Sequence[int]) -> Described:
    """How often an operation ran, over the number of nodes in the program, for each way to run it."""
    figure, ax = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    for (name, ran), (style, colour) in zip(counts.items(), (("--", RED), ("-", BLUE), (":", GREY))):
        ax.semilogy(size, ran, style, marker="o", markersize=4, color=colour, label=name)
    ax.set(xlabel="additions in the program", ylabel="operations that ran")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    told = "; ".join(
        f"{name}: " + ", ".join(f"{n:,} of {m}" for m, n in zip(size, ran)) for name, ran in counts.items()
    )
    return described(figure, f"Operations that ran, by the additions in a program. {told}")


# What gradients add


def step_gradients(
    stages: Sequence[tuple[str, Sequence[Any]]], names: Mapping[str, Any] | None = None
) -> Described:
    """A program as it grows: each stage has a name and the nodes of the program after it."""
    last = list(stages[-1][1])
    frames, alts, before = [], [], 0
    for name, nodes in stages:
        here = set(nodes)
        cards = [_card(node, _called(node, names), "", DONE) for node in last]
        for i, node in enumerate(last):
            if node not in here:
                cards[i] = replace(cards[i], title="", colours=(palette.PAGE, palette.PAGE))
            elif i >= before and before:
                cards[i] = replace(cards[i], colours=NOW)
            elif not node.inputs:
                cards[i] = replace(cards[i], colours=WAITING)
        frames.append(cards)
        alts.append(f"{name}: {len(nodes)} nodes, of which {len(nodes) - before} are new")
        before = len(nodes)
    pictures = draw_cards(frames, _edges(last), alts)
    shown = [Described(p.png(), p.alt, width=round(p.scene.width)) for p in pictures]
    return stepper(shown, "derivatives taken", "how many times gradients were taken")


def draw_derivatives(x: Any, curves: Mapping[str, Any], along: str = "x") -> Described:
    """A function and its derivatives over x, which `along` names."""
    figure, ax = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    looks = ((INK, "-"), (BLUE, "-"), (ORANGE, "--"), (RED, ":"))
    for (name, y), (colour, style) in zip(curves.items(), looks):
        ax.plot(x, y, style, color=colour, linewidth=2, label=name)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set(xlabel=along)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    told = "; ".join(f"{name} from {np.min(y):.3g} to {np.max(y):.3g}" for name, y in curves.items())
    return described(figure, f"A function and its derivatives from {along} = {x[0]:g} to {x[-1]:g}. {told}")


def draw_trainings(losses: Mapping[str, Sequence[float]]) -> Described:
    """The loss over the steps of each training."""
    figure, ax = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(losses)))
    for (name, curve), colour in zip(losses.items(), colours):
        ax.semilogy(curve, color=colour, linewidth=1.6, label=name)
    ax.set(xlabel="step", ylabel="loss")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    told = "; ".join(f"{name}: {curve[0]:.2g} to {curve[-1]:.2g}" for name, curve in losses.items())
    return described(figure, f"Losses over {len(next(iter(losses.values())))} steps. {told}")


def draw_answers_of(scores: Any, points: Any, labels: Any) -> Described:
    """What a network with two inputs says over the square, and the points that it was taught."""
    figure, ax = plt.subplots(figsize=(4.2, 3.4), layout="constrained")
    ends = (-0.25, 1.25, -0.25, 1.25)
    shown = ax.imshow(scores, origin="lower", extent=ends, cmap="RdBu_r", vmin=0, vmax=1)
    ax.contour(scores, levels=[0.5], colors=INK, extent=ends, linewidths=1)
    for (u, v), label in zip(points, np.ravel(labels)):
        ax.text(u, v, f"{int(label)}", ha="center", va="center", fontsize=13, fontweight="bold",
                bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": INK})  # fmt: skip
    figure.colorbar(shown, label="says 1 with probability", shrink=0.85)
    ax.set(xlabel="first input", ylabel="second input")
    told = ", ".join(f"{int(u)} and {int(v)} make {int(k)}" for (u, v), k in zip(points, np.ravel(labels)))
    return described(figure, f"What the network says over the square; it was taught that {told}")
