"""Programs that are written down first and run later, by TensorFlow 1's names.

import minilib.graph as tf
"""

from minilib.graph import functions, nn, train
from minilib.graph.control import cond
from minilib.graph.functions import *  # noqa: F403
from minilib.graph.gradients import gradients
from minilib.graph.names import absent
from minilib.graph.nodes import Node, constant
from minilib.graph.passes import optimise
from minilib.graph.plan import Plan, compile
from minilib.graph.programs import (
    Graph,
    get_default_graph,
    get_default_session,
    name_scope,
    reset_default_graph,
)
from minilib.graph.session import InteractiveSession, Session
from minilib.graph.tracing import Program, trace
from minilib.graph.variables import (
    Variable,
    assign,
    assign_add,
    assign_sub,
    control_dependencies,
    global_variables,
    global_variables_initializer,
    group,
    no_op,
    trainable_variables,
    variables_initializer,
)

Tensor = Node

__all__ = [
    "Graph", "InteractiveSession", "Node", "Plan", "Program", "Session", "Tensor", "Variable", "assign",
    "assign_add", "assign_sub", "compile", "cond", "constant", "control_dependencies", "get_default_graph",
    "get_default_session",
    "global_variables", "global_variables_initializer", "gradients", "group", "name_scope", "nn", "no_op",
    "optimise", "reset_default_graph", "trace", "train", "trainable_variables", "variables_initializer",
]  # fmt: skip
__all__ += functions.__all__
__getattr__ = absent(__name__, __all__)
