"""Chapter 03c, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit.course import find_course
from coursekit.grading.assemble import assemble, load_chapter
from coursekit.grading.control import Conditions, control, misconceptions_of, mistaken
from coursekit.grading.hints import bundles
from coursekit.grading.sandbox import Box
from coursekit.grading.submissions import Submission

COURSE = find_course(Path(__file__).parent)
CHAPTER = load_chapter(COURSE.solutions / "03c_optimisers.ipynb")
MISTAKES = misconceptions_of(CHAPTER)
CORE = {"3.21", "3.22", "3.23", "3.24", "3.25"}

# Right answers by another way than the reference's.
OTHERS = {
    "3.19": """
def largest_rate(H):
    return 2 / float(np.linalg.norm(H, 2))
""",
    "3.20": """
def place_of_rest(lr, momentum, n):
    place = velocity = 0.0
    for k in range(10_000):
        velocity = momentum * velocity + (k < n)
        place -= lr * velocity
    return place
""",
    "3.21": """
def nesterov(grad, velocity, momentum):
    velocity[...] = momentum * velocity + grad
    return (1 + momentum) * grad + momentum * (velocity - grad)
""",
    "3.22": """
def bias_corrected(lr, betas, eps, step):
    one, two = (-math.expm1(step * math.log(beta)) for beta in betas)
    return lr * two**0.5 / one, eps * two**0.5
""",
    "3.23": """
@add_to(WarmupCosine)
def rate(self, initial, step):
    if step >= self.total:
        return self.min_lr
    if step < self.warmup:
        return (step + 1) * initial / (1 + self.warmup)
    angle = math.pi * (step - self.warmup) / (self.total - self.warmup)
    return self.min_lr + (initial - self.min_lr) * math.cos(angle / 2) ** 2
""",
    "3.24": """
def clip_grad_norm_(parameters, max_norm):
    with_gradient = [p for p in _listed(parameters) if p.grad is not None]
    total = grad_norm(with_gradient)
    factor = max_norm / (total + 1e-6)
    factor = 1.0 if factor > 1 else factor
    for p in with_gradient:
        np.multiply(p.grad.data, factor, out=p.grad.data)
    return tensor(total, dtype=with_gradient[0].grad.dtype if with_gradient else None)
""",
    "3.25": """
def adamw(x, grad, mean, square, step, lr, betas, eps, decay):
    stepped, mean, square = adamw_with_a_bug(x, grad, mean, square, step, lr, betas, eps, 0.0)
    return stepped - lr * decay * x, mean, square
""",
    "3.26": """
def lion(x, grad, mean, *, lr, betas, weight_decay):
    x *= 1 - lr * weight_decay
    work = np.subtract(grad, mean)
    np.multiply(work, 1 - betas[0], out=work)
    np.add(work, mean, out=work)
    np.sign(work, out=work)
    x -= np.multiply(work, lr, out=work)
    mean *= betas[1]
    mean += np.multiply(grad, 1 - betas[1], out=work)
""",
}


@pytest.fixture(scope="module")
def graded():
    """Results by name: mistakes-0, ..., others. `control` raises where a stub earns a point."""
    conditions = Conditions(COURSE, seed=7, box=Box.off(), workers=1)
    _, measure = control(CHAPTER, conditions)
    made = {f"mistakes-{k}": mistaken(CHAPTER, bundle) for k, bundle in enumerate(bundles(MISTAKES))}
    runs = conditions.run(made | {"others": assemble(CHAPTER, OTHERS)})
    return {
        name: {
            one.exercise.number: one
            for one in measure.result(Submission(name, name, name, OTHERS, {}), run).exercises
        }
        for name, run in runs.items()
    }


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.exercise} {one.hint[:40]}")
def test_a_wrong_answer_loses_points_and_earns_its_hint(graded, mistake):
    place = next(k for k, bundle in enumerate(bundles(MISTAKES)) if mistake in bundle.values())
    result = graded[f"mistakes-{place}"][mistake.exercise]
    assert result.points < result.exercise.points
    assert result.hint == mistake.hint


@pytest.mark.parametrize("exercise", CHAPTER.exercises, ids=lambda one: one.number)
def test_another_right_answer_earns_all_points(graded, exercise):
    result = graded["others"][exercise.number]
    assert (result.points, result.messages) == (exercise.points, ())


def test_each_core_exercise_knows_three_mistakes_and_each_exercise_has_points():
    counts = {one.number: sum(m.exercise == one.number for m in MISTAKES) for one in CHAPTER.exercises}
    assert all(counts[number] >= 3 for number in CORE)
    assert len(CHAPTER.exercises) >= 8 and all(one.points for one in CHAPTER.exercises)
