"""Pictures of a computation: the graph of an expression, and its backward pass step by step.

    draw_graph(loss, vars())        # names the nodes after the notebook's variables
    step_backward(loss, vars())     # the same graph once per step, to page through

Graphviz decides where things stand: the program `dot` where it is installed, else the copy that the
wheels of pygraphviz bring along; without both a plainer layout stands in. The shapes draw themselves:
once as SVG, and once as PNG, because JupyterLab drops the SVG of a notebook that is not trusted. The PNG
uses the font that matplotlib ships, so that it looks the same on a machine without fonts.

Nothing here knows `Value` or `Tensor`: `graph.py` says what a node must have. Graphs of arrays go down.
"""

from __future__ import annotations

from minilib.draw.graph import describe, number
from minilib.draw.layout import Card as Card
from minilib.draw.pictures import Picture, draw_graph
from minilib.draw.pictures import draw_boxes as draw_boxes
from minilib.draw.pictures import draw_cards as draw_cards
from minilib.draw.playback import Playback, step_backward

__all__ = ["Picture", "Playback", "describe", "draw_graph", "number", "step_backward"]
