"""Part 3c, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import numpy as np
from graded import Exercises, ExerciseTests

from minilib import reference
from minilib.nn import Module, ModuleList, Parameter
from minilib.tensor import manual_seed, randn


class TestExercises(ExerciseTests):
    exercises = Exercises("03c_modules")


def network(base, several):
    """A module over `base`, whose list of parts is `several(parts)`, with a tied weight."""

    class Layer(base):
        def __init__(self, size):
            self.weight, self.bias = Parameter(randn(size, size)), Parameter(randn(size))

    class Network(base):
        def __init__(self):
            self.gain, self.layers, self.last = Parameter(randn(2)), several([Layer(2), Layer(3)]), Layer(2)
            self.last.weight = self.layers[0].weight

    manual_seed(0)
    return Network()


def test_a_part_finds_and_saves_what_a_module_does():
    part, module = network(reference.Part, list), network(Module, ModuleList)
    found = [[(path, p.numpy()) for path, p in one.named_parameters()] for one in (part, module)]
    assert [path for path, _ in found[0]] == [path for path, _ in found[1]]
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(*found))
    states = [part.state_dict(), {path: t.numpy() for path, t in module.state_dict().items()}]
    assert [*states[0]] == [*states[1]] and all(np.array_equal(states[0][p], states[1][p]) for p in states[0])
