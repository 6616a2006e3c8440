"""Generating with a GPT: the cache changes the time and nothing else; what may be chosen; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minilib import gpt
from minilib.gpt import GPT, GPTConfig, LayerCache
from minilib.sampling import choose, probabilities
from minilib.tensor import Generator, Tensor, manual_seed, mode, no_grad

V, BLOCK = 11, 8


@pytest.fixture(scope="module")
def model():
    return drawn()


def drawn(block=BLOCK, dropout=0.3, seed=0):
    """A model whose scores differ enough that no two of them are equal."""
    manual_seed(seed)
    sizes = dict(n_layer=2, n_head=2, n_embd=12)
    made = GPT(GPTConfig(V, block, **sizes, attn_pdrop=dropout, resid_pdrop=dropout, embd_pdrop=dropout))
    for p in made.parameters():
        if p.ndim == 2:
            p.data *= 15
    return made


def prompt(shape, seed=0):
    return Tensor(np.random.default_rng(seed).integers(0, V, shape))


def plain(model, idx, new):
    """The likeliest token each time, all worked out anew: what the cache must not change."""
    modes = model.training
    model.eval()
    with no_grad():
        for _ in range(new):
            logits, _ = model(idx[:, -BLOCK:])
            token = logits.numpy()[:, -1].argmax(-1)
            idx = Tensor(np.concatenate([idx.numpy(), token[:, None]], 1))
    model.train(modes)
    return idx


# The cache


def test_logits_with_the_cache_equal_those_without_at_every_step(model):
    model.eval()
    idx = prompt((3, BLOCK))
    whole = model(idx)[0].numpy()
    for first in range(1, BLOCK + 1):
        with no_grad():
            caches = model.new_caches()
            parts = [model(idx[:, :first], caches=caches)[0].numpy()]
            for t in range(first, BLOCK):
                parts.append(model(idx[:, t : t + 1], caches=caches)[0].numpy())
        np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=1e-5)
        assert [cache.length for cache in caches] == [BLOCK, BLOCK]


def test_several_tokens_at_once_may_join_the_cache(model):
    model.eval()
    idx = prompt((2, BLOCK), seed=1)
    with no_grad():
        caches = model.new_caches()
        parts = [model(idx[:, a:b], caches=caches)[0].numpy() for a, b in ((0, 2), (2, 5), (5, 8))]
    np.testing.assert_allclose(np.concatenate(parts, 1), model(idx)[0].numpy(), atol=1e-5)


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.integers(1, 2 * BLOCK), st.integers(0, 2 * BLOCK), st.integers(0, 99))
def test_generated_tokens_are_those_of_working_all_out_anew(batch, length, new, seed):
    model, idx = drawn(seed=seed), prompt((batch, length), seed)
    assert model.generate(idx, new).tolist() == plain(model, idx, new).tolist()


def test_one_position_goes_through_the_blocks_for_each_new_token(model):
    seen = []
    handle = model.transformer.h[0].register_forward_pre_hook(lambda m, args: seen.append(args[0].shape[1]))
    model.generate(prompt((1, 3)), BLOCK)
    handle()
    assert seen == [3, *[1] * (BLOCK - 3), BLOCK, BLOCK]


def test_the_cache_holds_what_its_formula_says(model):
    caches = model.new_caches()
    with no_grad():
        model.eval()(prompt((1, BLOCK)), caches=caches)
    c = model.config
    assert sum(cache.k.nbytes + cache.v.nbytes for cache in caches) == 2 * c.n_layer * c.n_embd * 4 * BLOCK


def test_a_cache_keeps_what_was_there():
    cache, rng = LayerCache(6), np.random.default_rng(0)
    k, v = (rng.normal(size=(2, 6, 3)).astype(np.float32) for _ in "kv")
    for a, b in ((0, 3), (3, 4), (4, 6)):
        keys, values = cache.extend(Tensor(k[:, a:b]), Tensor(v[:, a:b]))
        np.testing.assert_array_equal(keys.numpy(), k[:, :b])
        np.testing.assert_array_equal(values.numpy(), v[:, :b])
        assert cache.length == b


def test_future_tokens_never_change_earlier_logits(model):
    model.eval()
    idx = prompt((1, BLOCK)).numpy()
    before = model(Tensor(idx))[0].numpy()
    for t in range(BLOCK):
        changed = idx.copy()
        changed[0, t] = (changed[0, t] + 1) % V
        after = model(Tensor(changed))[0].numpy()
        np.testing.assert_allclose(after[:, :t], before[:, :t], atol=1e-6)
        assert np.abs(after[:, t] - before[:, t]).max() > 1e-3


# Modes


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_off_and_the_modes_are_put_back(model, training):
    model.train(training)
    model.transformer.h[0].eval()
    modes = [module.training for module in model.modules()]
    first, second = (model.generate(prompt((2, 3)), 6).tolist() for _ in range(2))
    assert first == second
    assert [module.training for module in model.modules()] == modes


def test_no_graph_is_made(model):
    recording = []
    handle = model.transformer.register_forward_pre_hook(lambda *_: recording.append(mode.grad_enabled))
    made = model.train().generate(prompt((1, 2)), 3)
    handle()
    assert recording == [False] * 3 and not made.requires_grad and mode.grad_enabled


def test_modes_are_put_back_after_an_error(model, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(gpt, "choose", fails)
    model.train()
    with pytest.raises(KeyboardInterrupt):
        model.generate(prompt((1, 2)), 3)
    assert all(module.training for module in model.modules()) and mode.grad_enabled


# Choosing


def test_top_k_of_one_is_greedy(model):
    idx = prompt((3, 2))
    sampled = model.generate(idx, 12, do_sample=True, top_k=1, generator=Generator(3))
    assert sampled.tolist() == model.generate(idx, 12).tolist()


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-300])
def test_a_temperature_near_zero_is_greedy(model, temperature):
    idx = prompt((3, 2))
    sampled = model.generate(idx, 12, temperature, do_sample=True, generator=Generator(3))
    assert sampled.tolist() == model.generate(idx, 12).tolist()


def test_the_same_generator_draws_the_same_tokens(model):
    def made(seed):
        options = dict(temperature=1.5, do_sample=True, top_k=9, top_p=0.95)
        return model.generate(prompt((4, 2)), 20, **options, generator=Generator(seed)).tolist()

    assert made(5) == made(5) != made(6)


def test_without_a_generator_manual_seed_decides(model):
    made = [(manual_seed(4), model.generate(prompt((2, 2)), 9, do_sample=True).tolist())[1] for _ in "ab"]
    assert made[0] == made[1]


def test_tokens_are_drawn_as_often_as_their_probabilities_say():
    scores = np.log(np.array([0.5, 0.3, 0.2, 1e-9]))
    logits = Tensor(np.tile(scores, (20_000, 1)))
    drawn = choose(logits, do_sample=True, generator=Generator(0)).numpy()[:, 0]
    share = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(share, [0.5, 0.3, 0.2, 0], atol=0.02)


rows = st.lists(st.floats(-8, 8), min_size=1, max_size=9)


@given(rows, st.floats(0.01, 1.0))
def test_top_p_keeps_the_fewest_that_reach_it(row, top_p):
    p = probabilities(np.array([row]))[0]
    kept = probabilities(np.array([row]), top_p=top_p)[0] > 0
    assert p[kept].sum() >= top_p - 1e-9
    assert p[kept].sum() - p[kept].min() < top_p + 1e-9  # without the least likely it is not enough
    assert p[kept].min() >= p[~kept].max(initial=0) - 1e-12


@given(rows, st.integers(1, 9))
def test_top_k_keeps_the_largest_and_what_equals_them(row, k):
    scores = np.array([row])
    p = probabilities(scores, top_k=min(k, len(row)))[0]
    least = sorted(row)[-min(k, len(row))]
    assert ((p > 0) == (np.array(row) >= least)).all()
    np.testing.assert_allclose(p.sum(), 1)


def test_top_p_of_one_keeps_all():
    scores = np.random.default_rng(0).normal(size=(5, 40)) * 3
    np.testing.assert_allclose(probabilities(scores, top_p=1.0), probabilities(scores), atol=1e-15)


# Bad input


@pytest.mark.parametrize(
    ("idx", "options", "error", "words"),
    [
        ([[]], {}, ValueError, "prompt is empty"),
        ([[1, V]], {}, IndexError, "tokens are from 0 to 10, and idx has 1 to 11"),
        ([[-1, *[0] * 30]], {}, IndexError, "tokens are from 0 to 10"),
        ([[0] * 12 + [V] + [0] * 12], {}, IndexError, "tokens are from 0 to 10"),
        ([1, 2], {}, ValueError, r"idx must be integers of shape \(B, T\)"),
        ([[1.5]], {}, ValueError, "idx must be integers"),
        ([[1]], {"temperature": 0}, ValueError, "above 0, not 0; greedy is do_sample=False"),
        ([[1]], {"temperature": -1.0}, ValueError, "temperature must be above 0"),
        ([[1]], {"temperature": float("nan")}, ValueError, "temperature must be above 0"),
        ([[1]], {"top_k": 0}, ValueError, "top_k must be from 1 to 11"),
        ([[1]], {"top_k": V + 1}, ValueError, "top_k must be from 1 to 11, the tokens, not 12"),
        ([[1]], {"top_p": 0.0}, ValueError, "top_p must be above 0 and at most 1"),
        ([[1]], {"top_p": 1.1}, ValueError, "top_p must be above 0 and at most 1, not 1.1"),
        ([[1]], {"max_new_tokens": -1}, ValueError, "max_new_tokens must be 0 or more, not -1"),
    ],
)
def test_bad_input_is_one_clear_line(model, idx, options, error, words):
    with pytest.raises(error, match=words) as found:
        model.generate(Tensor(idx), **{"max_new_tokens": 2, **options})
    assert "\n" not in str(found.value)


def test_no_new_tokens_are_no_change(model):
    assert model.generate(prompt((2, 3)), 0).tolist() == prompt((2, 3)).tolist()
