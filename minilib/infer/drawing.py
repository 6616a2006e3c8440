"""A graph in a terminal: a line a node, and a rail for each result that is still waited for."""

from __future__ import annotations

from minilib.infer.model import Graph

__all__ = ["rails"]


def rails(graph: Graph) -> list[str]:
    """The rails of each node: ● where its result begins, ├ where it reads one, ┴ the last time."""
    last = {name: i for i, node in enumerate(graph.nodes) for name in node.inputs}
    last |= {name: len(graph.nodes) for name in graph.outputs}
    tracks: list[str | None] = [name for name in graph.inputs if name in last]
    lines: list[list[str]] = []
    for i, node in enumerate(graph.nodes):
        marks = [" " if name is None else "├" if name in node.inputs else "│" for name in tracks]
        for at, name in enumerate(tracks):
            if name in node.inputs and last.get(name, i) <= i:
                marks[at], tracks[at] = "┴", None
        for name in node.outputs:
            if name in last:
                place = tracks.index(None) if None in tracks else len(tracks)
                if place == len(tracks):
                    tracks.append(None)
                    marks.append(" ")
                tracks[place], marks[place] = name, "●"
        if "●" not in marks:
            marks.append("●")
        while tracks and tracks[-1] is None:
            tracks.pop()
        lines.append(marks)
    wide = max(map(len, lines), default=0)
    return [" ".join([*marks, *[" "] * (wide - len(marks))]) for marks in lines]
