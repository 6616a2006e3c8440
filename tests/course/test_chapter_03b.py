"""Chapter 03b, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import numpy as np
from graded import Exercises, ExerciseTests

from minilib import functional as F
from minilib import reference
from minilib.tensor import Tensor


class TestExercises(ExerciseTests):
    exercises = Exercises("03b_convolution")


def test_convolution_equals_the_product_with_columns():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(9, 3, 20, 17)), rng.normal(size=(5, 3, 4, 3))
    np.testing.assert_allclose(
        F.conv2d(Tensor(x), Tensor(weight)).data, reference.column_conv2d(x, weight), atol=1e-12
    )
