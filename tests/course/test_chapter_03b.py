"""Chapter 03b, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import numpy as np
from graded import Exercises, ExerciseTests

from minilib import functional as F
from minilib import reference
from minilib.tensor import Tensor


class TestExercises(ExerciseTests):
    exercises = Exercises("03b_convolution")


def test_convolution_equals_the_library_s_both_ways():
    rng = np.random.default_rng(0)
    x, weight, grad = (rng.normal(size=s) for s in ((9, 3, 20, 17), (5, 3, 4, 3), (9, 5, 17, 15)))
    inputs = [Tensor(x, requires_grad=True), Tensor(weight, requires_grad=True)]
    out = F.conv2d(*inputs)
    (out * Tensor(grad)).sum().backward()
    np.testing.assert_allclose(out.data, reference.convolve(x, weight), atol=1e-12)
    for one, found in zip(inputs, reference.convolve_backward(grad, x, weight), strict=True):
        np.testing.assert_allclose(one.grad.data, found, atol=1e-12)
