"""Programs that are written down first and run later, by TensorFlow 1's names: `import minilib.graph as tf`."""

from minilib.graph import nn, train
from minilib.graph.functions import *
from minilib.graph.gradients import gradients
from minilib.graph.nodes import (
    Graph, Node, constant, control_dependencies, get_default_graph, name_scope, reset_default_graph,
)  # fmt: skip
from minilib.graph.passes import optimise
from minilib.graph.plan import Plan, compile
from minilib.graph.session import InteractiveSession, Session
from minilib.graph.tracing import Program, trace
from minilib.graph.variables import (
    Variable, assign, assign_add, assign_sub, global_variables, global_variables_initializer, group, no_op,
    trainable_variables, variables_initializer,
)  # fmt: skip

Tensor = Node
