# An exercise to begin with: copy the cells from "### 9.1" on into the text of a notebook in solutions/ (`make edit NN=01
# ARGS=--solution` opens it), and change them. This file is a whole notebook, and the tests grade it: what it shows works.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "hidden-setup", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
# Once in a notebook. The grader puts a generator of its own, `rng`, before each hidden test, with a fresh seed.
from coursekit.box.probe import probe

rng = np.random.default_rng(1)
### END HIDDEN TESTS

# %% [markdown]
# ### 9.1 Softmax that survives (core, 6 minutes)
#
# The task, in at most five sentences, with the shapes. Write `softmax(x)` for scores of shape `(N, C)`: each row of the
# result is positive and sums to one, also where the scores are as large as 1,000. About 3 lines.
#
# <details><summary>A question</summary>What does a row become when the same number is subtracted from all of its scores?</details>
# <details><summary>The idea</summary>Nothing changes, so choose a number with which no exponential can overflow.</details>
# <details><summary>The first line</summary>Begin with the largest score of each row, and keep its axis.</details>


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "points": 0, "schema_version": 3, "solution": true, "task": false}
# exercise: 9.1
# (`#| export` on a line of its own here sends the answer to the module that the notebook names: a core exercise has it.)
def softmax(x: np.ndarray) -> np.ndarray:
    """Each row of `x`, of shape (N, C), as probabilities."""
    ### BEGIN SOLUTION
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "softmax-checks", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
# Two to four checks that the learner sees. Their messages name the likely mistake.
assert np.allclose(softmax(np.zeros((1, 4))), 0.25), "four equal scores share one equally: divide by the sum"
assert np.isfinite(softmax(np.array([[1000.0, 0.0]]))).all(), (
    "exp(1000) overflows: what can you subtract first?"
)

# %% nbgrader={"grade": true, "grade_id": "softmax-hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
# They show values, and never assert: the grader compares them with those of the reference, outside of the student's
# process. Draw from `rng`, so that nothing can be guessed, and try what the visible checks leave out.
probe("rows", softmax(rng.normal(size=(3, 5))))
probe("large scores", softmax(1000 + rng.normal(size=(2, 4))))
probe("one column", softmax(rng.normal(size=(4, 1))) * rng.normal(size=(4, 1)))
### END HIDDEN TESTS

# Wrong answers go to solutions/misconceptions/NN_name.py: at least three for a core exercise, each with the hint that it
# earns. One is an edit of the answer above (`- ` goes, `+ ` comes, two spaces stay), or a whole program:
#
#   # %% exercise=9.1 hint="You divide by the sum of the whole array. Each row has a sum of its own: axis=1."
#   -     return e / e.sum(axis=1, keepdims=True)
#   +     return e / e.sum()
#
#   # %% exercise=9.1 hint="exp of a large score overflows. Subtract the largest score of its row first."
#   -     e = np.exp(x - x.max(axis=1, keepdims=True))
#   +     e = np.exp(x)
#
#   # %% exercise=9.1 hint="Your rows do not sum to one: divide by the sum of the exponentials, not by the largest."
#   -     return e / e.sum(axis=1, keepdims=True)
#   +     return e / e.max(axis=1, keepdims=True)
