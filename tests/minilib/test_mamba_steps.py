"""A Mamba one token at a time: it says what it says of the whole text, and what it keeps never grows."""

from __future__ import annotations

import numpy as np
import pytest

from minilib.mamba import Mamba, MambaConfig
from minilib.tensor import Generator, Tensor, manual_seed, no_grad

SIZES = [{}, {"d_state": 1}, {"d_conv": 1}, {"d_conv": 2, "conv_bias": False}, {"expand": 3, "bias": True}]


def drawn(seed=0, d_model=8, n_layer=2, **more):
    """A model of 16 tokens whose weights are large enough to matter."""
    manual_seed(seed)
    model = Mamba(MambaConfig(d_model, n_layer, 16, **{"d_state": 4, **more}))
    with no_grad():
        for p in model.parameters():
            p += Tensor(0.3 * np.random.default_rng(seed).normal(size=p.shape).astype(p.dtype))
    return model


def tokens(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).integers(0, 16, shape))


def whole(model, ids):
    with no_grad():
        return model(ids).numpy()


@pytest.mark.parametrize("more", SIZES, ids=str)
def test_steps_say_what_the_whole_sequence_says(more):
    model, ids = drawn(**more), tokens(3, 12)
    state = model.init_state(3)
    said = [model.step(ids[:, t], state).numpy() for t in range(12)]
    np.testing.assert_allclose(np.stack(said, 1), whole(model, ids), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("more", SIZES, ids=str)
@pytest.mark.parametrize("cuts", [[12], [5, 7], [1, 1, 10], [9, 2, 1]], ids=str)
def test_stretches_say_what_the_whole_sequence_says(more, cuts):
    model, ids = drawn(**more), tokens(2, 12)
    state, start = model.init_state(2), 0
    for length in cuts:
        said = model.prefill(ids[:, start : start + length], state).numpy()
        start += length
        np.testing.assert_allclose(said, whole(model, ids[:, :start])[:, -1], atol=2e-5, rtol=1e-4)


def test_a_stretch_leaves_what_as_many_steps_leave():
    model, ids = drawn(), tokens(2, 9)
    once, steps = model.init_state(2), model.init_state(2)
    model.prefill(ids, once)
    for t in range(9):
        model.step(ids[:, t], steps)
    for a, b in zip([*once.windows, *once.states], [*steps.windows, *steps.states], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5, rtol=1e-4)


def test_what_is_kept_never_grows_and_stays_in_its_arrays():
    model = drawn()
    state = model.init_state(1)
    arrays, size = [*state.windows, *state.states], state.nbytes
    for _ in range(50):
        model.step(tokens(1), state)
    assert all(a is b for a, b in zip(arrays, [*state.windows, *state.states], strict=True))
    assert state.nbytes == size == 2 * 16 * (3 + 4) * 4


def test_a_state_is_of_the_models_dtype_and_begins_empty():
    state = drawn().to(np.float64).init_state(5)
    assert [a.shape for a in state.windows] == [(5, 16, 3)] * 2
    assert [a.shape for a in state.states] == [(5, 16, 4)] * 2
    assert all(a.dtype == np.float64 and not a.any() for a in [*state.windows, *state.states])


def test_texts_of_a_batch_do_not_hear_each_other():
    model, ids = drawn(), tokens(3, 8)
    together = model.generate(ids, 5).numpy()
    alone = [model.generate(ids[i : i + 1], 5).numpy()[0] for i in range(3)]
    assert np.array_equal(together, alone)


def test_greedy_tokens_are_those_of_the_whole_text_each_time():
    model, ids = drawn(), tokens(2, 4)
    slow = ids.numpy()
    for _ in range(10):
        slow = np.concatenate([slow, whole(model, Tensor(slow))[:, -1:].argmax(-1)], 1)
    assert np.array_equal(model.generate(ids, 10).numpy(), slow)


def test_draws_follow_the_generator():
    model, ids = drawn(), tokens(2, 4)
    one, same, other = (
        model.generate(ids, 20, 1.3, True, 9, 0.95, generator=Generator(seed)).tolist() for seed in (1, 1, 2)
    )
    assert one == same != other


def test_no_new_tokens_are_the_prompt():
    ids = tokens(2, 4)
    assert drawn().generate(ids, 0).tolist() == ids.tolist()


def test_steps_record_no_graph():
    model = drawn()
    assert not model.step(tokens(1), model.init_state(1)).requires_grad
    assert not model.prefill(tokens(1, 3), model.init_state(1)).requires_grad


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.step(tokens(3), m.init_state(2)), r"B = 2 texts: ids must be \(B,\), not \(3,\)"),
        (lambda m: m.step(tokens(2, 1), m.init_state(2)), r"ids must be \(B,\), not \(2, 1\)"),
        (lambda m: m.prefill(tokens(2), m.init_state(2)), r"ids must be \(B, T\), not \(2,\)"),
        (lambda m: m.prefill(tokens(2, 0), m.init_state(2)), r"ids must be \(B, T\), not \(2, 0\)"),
        (lambda m: m.generate(tokens(2, 0), 3), "at least one"),
        (lambda m: m.generate(tokens(1, 3), -1), "max_new_tokens must be 0 or more"),
        (lambda m: m.generate(tokens(1, 3), 1, 0.0), "temperature must be above 0"),
        (lambda m: m.generate(tokens(1, 3), 1, top_k=17), "top_k must be from 1 to 16"),
        (lambda m: m.generate(tokens(1, 3), 1, top_p=0.0), "top_p must be above 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call(drawn())
    assert "\n" not in str(caught.value)
