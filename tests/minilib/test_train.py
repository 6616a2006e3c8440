"""Training: shards, checkpoints, interruptions, what is told when a loss is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from thinned import slow_where

from minilib import functional as F
from minilib import nn, optim, train
from minilib.data import DataLoader, TensorDataset
from minilib.tensor import Generator, Tensor, default_generator, manual_seed, mode

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
INPUTS = RNG.standard_normal((70, 12)).astype(np.float32)
TARGETS = RNG.integers(0, 4, 70)
TARGETS[::5] = -100  # ignored, and not equally many in each shard


def network(dropout=0.5):
    return nn.Sequential(
        nn.Linear(12, 32), nn.GELU(), nn.Dropout(dropout), nn.LayerNorm(32), nn.Linear(32, 4)
    )


def trainer(shards=1, workers="threads", callbacks=(), lr=1e-2, model=None, **options):
    manual_seed(0)
    model = model or network()
    loader = DataLoader(
        TensorDataset(Tensor(INPUTS), Tensor(TARGETS)), 16, shuffle=True, generator=Generator(3)
    )
    optimizer = optim.AdamW(model.parameters(), lr)
    schedule = optim.WarmupCosine(optimizer, 3, 60)
    return train.Trainer(
        model,
        optimizer,
        loader,
        scheduler=schedule,
        callbacks=callbacks,
        shards=shards,
        workers=workers,
        **options,
    )


def parameters(t):
    return [p.data.copy() for p in t.model.parameters()]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(parameters(a), parameters(b), strict=True))


# Shards


@pytest.mark.parametrize("workers", ["threads", "processes"])
@pytest.mark.parametrize("shards", slow_where([2, 3, 5], lambda shards: shards > 2))
def test_shards_give_the_gradients_of_one_batch(shards, workers):
    """Ignored targets and dropout included."""
    gradients = {}
    for n in (1, shards):
        t = trainer(n, workers)
        t.fit(steps=1)
        gradients[n] = [p.grad.data for p in t.model.parameters()]
    for whole, shared in zip(gradients[1], gradients[shards], strict=True):
        np.testing.assert_allclose(shared, whole, atol=1e-6, rtol=0)


def test_dropout_falls_differently_in_each_step_and_layer():
    masks = []
    for step in (0, 0, 1):
        with F.keyed_dropout(7, step, 0):
            masks += [F.dropout_mask((4, 6), 0.5, np.float32) for _ in range(2)]
    assert np.array_equal(masks[0], masks[2]) and np.array_equal(masks[1], masks[3])
    assert not np.array_equal(masks[0], masks[1]) and not np.array_equal(masks[0], masks[4])


@pytest.mark.parametrize("size", [1, 7, 8, 9, 100])
def test_a_sample_keeps_its_mask_in_any_shard(size):
    with F.keyed_dropout(1, 2, 0):
        whole = F.dropout_mask((10, size), 0.3, np.float32)
    with F.keyed_dropout(1, 2, 6):
        assert np.array_equal(F.dropout_mask((4, size), 0.3, np.float32), whole[6:])


@pytest.mark.parametrize("p", [0.0, 2**-24, 0.1, 0.5, 1.0])
def test_a_mask_is_what_numpy_draws_as_float32(p):
    key = np.random.SeedSequence((7, 3, 0)).generate_state(2, np.uint64)
    drawn = np.random.Generator(np.random.Philox(key=key)).random(400, dtype=np.float32)
    with F.keyed_dropout(7, 3, 0):
        mask = F.dropout_mask((1, 400), p, np.float32)
    assert np.array_equal(mask[0] > 0, drawn >= p if p < 1 else np.zeros(400, bool))


def test_batches_smaller_than_the_number_of_shards_work():
    t = trainer(5)
    t.loader = DataLoader(TensorDataset(Tensor(INPUTS[:3]), Tensor(TARGETS[:3])), 3)
    t.fit(steps=2)
    assert np.isfinite(t.loss)


def test_parts_differ_by_one_sample_at_most_and_keep_the_order():
    pieces = train.parts({"x": Tensor(np.arange(10)), "y": (Tensor(np.arange(10)),)}, 4)
    assert [len(piece["x"]) for piece in pieces] == [2, 3, 2, 3]
    assert [i for piece in pieces for i in piece["y"][0].tolist()] == list(range(10))


def test_an_error_in_a_process_is_told_and_ends_them():
    def broken(model, batch):
        raise ZeroDivisionError("in the loss")

    t = trainer(2, "processes", loss=broken)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: in the loss"):
        t.fit(steps=1)


def test_parameters_are_their_own_again_after_processes():
    t = trainer(2, "processes").fit(steps=2)
    for p in t.model.parameters():
        p.data += 1  # would crash on memory that is gone


def test_a_shard_thread_takes_over_the_mode_of_its_caller():
    seen = []

    def loss(model, batch):
        seen.append(mode.grad_enabled)
        return train.classification(model, batch)

    trainer(2, loss=loss).fit(steps=1)
    assert seen == [True, True]


# What is learned may change


class Freezing(train.Callback):
    """From step 4 on the first layer is frozen, from step 7 on learned again, as in the loop below."""

    def on_step(self, trainer):
        thaw_or_freeze(trainer.model, trainer.step)


def thaw_or_freeze(model, done):
    if done in (3, 6):
        model[0].requires_grad_(done == 6)


@pytest.mark.parametrize(
    ("shards", "workers"),
    [(1, "threads"), (2, "threads"), pytest.param(2, "processes", marks=pytest.mark.slow)],
)
def test_freezing_within_fit_is_what_a_loop_by_hand_does(shards, workers):
    """The optimiser has momentum: it must not go on with what it was given before, nor mix parameters up."""
    t = trainer(shards, workers, callbacks=[Freezing()], model=network(0.0))
    manual_seed(0)
    model = network(0.0)
    model.load_state_dict(t.model.state_dict())
    optimizer, schedule = optim.AdamW(model.parameters(), 1e-2), None
    schedule = optim.WarmupCosine(optimizer, 3, 60)
    loader = DataLoader(
        TensorDataset(Tensor(INPUTS), Tensor(TARGETS)), 16, shuffle=True, generator=Generator(3)
    )
    batches = [batch for _ in range(3) for batch in loader]
    for step, (x, y) in enumerate(batches[:10]):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        frozen = 3 <= step < 6
        assert (model[0].weight.grad is None) == frozen
        optimizer.step()
        schedule.step()
        thaw_or_freeze(model, step + 1)
    t.fit(steps=10)
    for name, p in t.model.state_dict().items():
        np.testing.assert_allclose(p.data, model.state_dict()[name].data, atol=2e-6, rtol=0, err_msg=name)


def test_an_optimiser_of_another_model_is_refused():
    """As when the cell of the model is run again in a notebook."""
    t = trainer()
    t.model = network()
    with pytest.raises(
        ValueError, match=r"6 parameters that are not the model's, and lacks 0\.weight and 5 more"
    ):
        t.fit(steps=1)
    with pytest.raises(ValueError, match="was the model, or a part of it, made anew"):
        t.train_step((Tensor(INPUTS), Tensor(TARGETS)))


def test_a_part_that_was_made_anew_is_refused():
    t = trainer()
    t.model.last = nn.Linear(4, 4)
    t.fit(steps=1)  # more than the optimiser knows: as in PyTorch, it is left as it is
    setattr(t.model, "4", nn.Linear(32, 4))
    with pytest.raises(ValueError, match=r"2 parameters that are not the model's, and lacks 4\.weight"):
        t.fit(steps=2)


def test_a_part_of_the_model_and_more_than_the_model_may_be_learned():
    t = trainer()
    others = [Tensor(np.zeros(2, np.float32), requires_grad=True)]
    for params in (t.model[0].parameters(), [*t.model.parameters(), *others]):
        t.optimizer, t.scheduler = optim.SGD(params, lr=0.1), None
        t.fit(steps=t.step + 1)


def test_a_mean_over_nothing_is_refused():
    t = trainer()
    used_up = iter(HELD_OUT)
    assert t.evaluate(used_up) > 0
    ignored = [(Tensor(INPUTS), Tensor(np.full(70, -100)))]
    for nothing in ([], used_up, ignored):
        with pytest.raises(ValueError, match="no targets, so no mean"):
            t.evaluate(nothing)


@pytest.mark.parametrize("goal", [{"epochs": -1}, {"steps": -3}, {"epochs": 0.5}, {"steps": 2.0}])
def test_what_is_no_goal_is_refused(goal):
    with pytest.raises(ValueError, match="whole numbers from 0 on"):
        trainer().fit(**goal)


# Checkpoints


@pytest.mark.parametrize("stop", [3, 5, 7, 10])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, stop, shards):
    whole = trainer(shards).fit(steps=12)
    trainer(shards).fit(steps=stop).save(tmp_path / "c")
    default_generator.manual_seed(99)
    resumed = trainer(shards).load(tmp_path / "c")
    assert resumed.step == stop
    resumed.fit(steps=12)
    assert same(whole, resumed) and whole.losses == resumed.losses and whole.epoch == resumed.epoch


HELD_OUT = [
    (Tensor(RNG.standard_normal((30, 12)).astype(np.float32)), Tensor(RNG.integers(0, 4, 30)))
]  # noise: the loss on it rises again soon


class Cut(train.Callback):
    """Ends a training at a step, as a power cut would: the others are not asked."""

    def __init__(self, at):
        self.at = at

    def on_step(self, trainer):
        if trainer.step == self.at:
            raise InterruptedError


def stopping(path, *others):
    """A training that an EarlyStopping ends after some epochs; with checkpoints, whatever the order."""
    early, seen = train.EarlyStopping(HELD_OUT, patience=3), train.Validation(HELD_OUT)
    checkpoint = train.Checkpoint(path, every=1)
    return trainer(lr=3e-3, callbacks=[checkpoint, early, *others, seen]), early, seen


@pytest.mark.thorough
# An epoch has 5 steps; the best loss is after 20.
@pytest.mark.parametrize("at", slow_where([4, 5, 7, 20, 24, 30], lambda at: at != 20))
def test_early_stopping_goes_on_after_a_cut_as_if_there_had_been_none(tmp_path, at):
    whole, early, seen = stopping(tmp_path / "whole")
    whole.fit(epochs=40)
    assert whole.step == 35 and early.waited == 3 and early.best == seen.losses[3] == min(seen.losses)
    with pytest.raises(InterruptedError):
        stopping(tmp_path / "c", Cut(at))[0].fit(epochs=40)
    resumed, again, seen_again = stopping(tmp_path / "c")
    resumed.load(tmp_path / "c").fit(epochs=40)
    assert resumed.step == whole.step and resumed.losses == whole.losses and same(whole, resumed)
    assert (again.best, again.waited) == (early.best, early.waited)
    assert (seen_again.steps, seen_again.losses) == (seen.steps, seen.losses)


def test_a_checkpoint_holds_the_last_parameters_not_those_that_were_put_back(tmp_path):
    t, early, _ = stopping(tmp_path / "c")
    t.fit(epochs=40)
    resumed = stopping(tmp_path / "c")[0].load(tmp_path / "c")
    assert resumed.step == t.step and not same(t, resumed)
    put_back = {name: tensor.numpy() for name, tensor in early.state.items()}
    assert all(np.array_equal(a, b) for a, b in zip(parameters(t), put_back.values(), strict=True))


def test_a_checkpoint_of_other_callbacks_is_refused_and_touches_nothing(tmp_path):
    stopping(tmp_path / "c")[0].fit(steps=7)
    t = trainer(callbacks=[train.Validation(HELD_OUT)])
    before = parameters(t)
    with pytest.raises(train.CheckpointError, match=r"EarlyStopping.*Validation.* and you have"):
        t.load(tmp_path / "c")
    assert all(np.array_equal(a, b) for a, b in zip(before, parameters(t), strict=True))
    assert t.step == 0 and t.callbacks[0].losses == []


def test_a_refused_checkpoint_leaves_the_callbacks_as_they_were(tmp_path):
    stopping(tmp_path / "c")[0].fit(steps=7)
    t, early, seen = stopping(tmp_path / "other")
    early.best, seen.losses = 0.25, [0.25]
    half = list(t.model.parameters())
    t.optimizer = optim.AdamW([{"params": half[:2]}, {"params": half[2:]}])
    with pytest.raises(train.CheckpointError, match="another model or optimiser"):
        t.load(tmp_path / "c")
    assert early.best == 0.25 and early.state == {} and seen.losses == [0.25]


def test_what_a_callback_remembers_may_be_nested(tmp_path):
    class Memory(train.Callback):
        remembers = ("kept",)
        kept: object = None

    one, other = Memory(), Memory()
    one.kept = {"a": {"b.c": Tensor([1.5, 2.5]), "tensor": "text"}, "n": [1, None], "scalar": Tensor(3)}
    trainer(callbacks=[one]).fit(steps=1).save(tmp_path / "c")
    trainer(callbacks=[other]).load(tmp_path / "c")
    assert other.kept["a"]["b.c"].tolist() == [1.5, 2.5] and other.kept["a"]["tensor"] == "text"
    assert other.kept["n"] == [1, None] and other.kept["scalar"].shape == ()


def test_a_model_with_buffers_of_no_axis_is_resumed(tmp_path):
    model = nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4))  # counts its batches in a tensor of shape ()
    trainer(model=model).fit(steps=3).save(tmp_path / "c")
    again = trainer(model=nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4))).load(tmp_path / "c")
    assert again.model[1].num_batches_tracked.item() == 3


def test_callbacks_are_told_in_order_the_last_one_first_at_the_end_and_an_epoch_before_its_step():
    told = []

    class Teller(train.Callback):
        def __init__(self, name):
            self.name = name

        def on_step(self, trainer):
            told.append(f"{self.name} step")

        def on_epoch(self, trainer):
            told.append(f"{self.name} epoch")

        def on_end(self, trainer):
            told.append(f"{self.name} end")

    trainer(callbacks=[Teller("a"), Teller("b")]).fit(epochs=1)
    assert told == ["a step", "b step"] * 4 + ["a epoch", "b epoch", "a step", "b step", "b end", "a end"]


def test_a_new_checkpoint_replaces_the_old_one(tmp_path):
    t = trainer().fit(steps=2)
    t.save(tmp_path / "c")
    t.fit(steps=4)
    t.save(tmp_path / "c")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c-4.safetensors", "c.json"]


def test_a_save_that_breaks_off_leaves_the_old_checkpoint_good(tmp_path, monkeypatch):
    t = trainer().fit(steps=2)
    t.save(tmp_path / "c")
    t.fit(steps=4)
    real = os.replace

    def full(source, target):
        if str(target).endswith(".json"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        t.save(tmp_path / "c")
    monkeypatch.undo()
    assert trainer().load(tmp_path / "c").step == 2


def flips(data, count):
    """The bytes with one bit flipped, at places all over them."""
    rng = np.random.default_rng(0)
    for at, bit in zip(rng.integers(0, len(data), count), rng.integers(0, 8, count)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(bit)
        yield bytes(flipped)


def test_a_flipped_bit_in_the_json_is_refused_or_changes_nothing(tmp_path):
    """It may fall into a blank."""
    path = trainer().fit(steps=7).save(tmp_path / "c")
    data, t = path.read_bytes(), trainer()
    whole = json.loads(data)
    before, refused = parameters(t), 0
    for flipped in flips(data, 300):
        path.write_bytes(flipped)
        try:
            t.load(path)
        except train.CheckpointError:
            refused += 1
            assert (
                all(np.array_equal(a, b) for a, b in zip(before, parameters(t), strict=True)) and t.step == 0
            )
        else:
            assert json.loads(flipped) == whole
            t = trainer()
    assert refused > 250


@pytest.mark.parametrize("part", ["callbacks", "optimizer", "scheduler", "loader", "generator"])
def test_whatever_does_not_fit_nothing_has_changed(tmp_path, part, monkeypatch):
    """A file that is whole, and of something else: the part that refuses it comes after others."""
    path = stopping(tmp_path / "c")[0].fit(steps=7).save(tmp_path / "c")
    t, _, seen = stopping(tmp_path / "other")
    t.fit(steps=2)
    before = t._remembered()
    seen.losses = [0.25]

    def refuses(state):
        raise ZeroDivisionError("does not fit")

    owner = {"callbacks": seen, "generator": default_generator}.get(part) or getattr(t, part)
    real, broken = type(owner), "set_state" if part == "generator" else "load_state_dict"
    calls = []

    def once(self, state):
        calls.append(state)
        return refuses(state) if len(calls) == 1 else original(self, state)

    original = getattr(real, broken)
    if part == "generator":  # the loader's generator comes first
        monkeypatch.setattr(default_generator.__class__, broken, original)
        monkeypatch.setattr(
            train.trainer, "default_generator", type("Broken", (), {"set_state": lambda self, state: 1 / 0})()
        )
    else:
        monkeypatch.setattr(real, broken, once)
    with pytest.raises(train.CheckpointError, match="another model or optimiser"):
        t.load(path)
    monkeypatch.undo()
    seen.losses.pop()
    tensors, numbers = t._remembered()
    assert tensors.keys() == before[0].keys()
    assert all(
        np.array_equal(tensors[name], array) for name, array in before[0].items() if "model" not in name
    )
    assert json.dumps(numbers, default=str) == json.dumps(before[1], default=str)


def spoiled(tmp_path, what):
    path = trainer().fit(steps=2).save(tmp_path / "c")
    tensors = tmp_path / "c-2.safetensors"
    state = json.loads(path.read_text())
    if what == "truncated tensors":
        tensors.write_bytes(tensors.read_bytes()[:-10])
    elif what == "one bit flipped":
        data = bytearray(tensors.read_bytes())
        data[-1] ^= 1
        tensors.write_bytes(bytes(data))
    elif what == "tensors gone":
        tensors.unlink()
    elif what == "truncated json":
        path.write_text(path.read_text()[:100])
    elif what == "foreign json":
        path.write_text('{"weights": 3}')
    elif what == "empty json":
        path.write_text("")
    elif what == "a field gone":
        del state["loader"], state[train.SEAL]
        path.write_bytes(train.sealed(state))
    elif what == "older":
        path.write_text(json.dumps(state | {"format": "minilib checkpoint 1"}))
    elif what == "another number":
        path.write_text(json.dumps(state | {"step": 3}))
    elif what == "nothing":
        path.unlink()
    return path


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("truncated tensors", "truncated or changed"),
        ("one bit flipped", "truncated or changed"),
        ("tensors gone", "cannot be read"),
        ("truncated json", "damaged"),
        ("empty json", "damaged"),
        ("foreign json", "is not a 'minilib checkpoint"),
        ("a field gone", "lacks loader"),
        ("older", "is not a 'minilib checkpoint 2', but 'minilib checkpoint 1'"),
        ("another number", "damaged"),
        ("nothing", "no such checkpoint"),
    ],
)
def test_a_bad_checkpoint_is_refused_and_touches_nothing(tmp_path, what, reason):
    path = spoiled(tmp_path, what)
    t = trainer(lr=0.5).fit(steps=1)
    before, state = parameters(t), json.dumps(t.loader.state_dict())
    with pytest.raises(train.CheckpointError, match=reason):
        t.load(path)
    assert all(np.array_equal(a, b) for a, b in zip(before, parameters(t), strict=True))
    assert t.step == 1 and json.dumps(t.loader.state_dict()) == state


@pytest.mark.parametrize("other", ["another width", "another optimiser"])
def test_a_checkpoint_of_another_model_is_refused_and_touches_nothing(tmp_path, other):
    path = trainer().fit(steps=2).save(tmp_path / "c")
    model = network() if other == "another optimiser" else nn.Sequential(nn.Linear(12, 31), nn.Linear(31, 4))
    t = trainer(model=model)
    if other == "another optimiser":
        half = list(model.parameters())
        t.optimizer = optim.AdamW([{"params": half[:2]}, {"params": half[2:]}])
    before = parameters(t)
    with pytest.raises(train.CheckpointError, match="another model"):
        t.load(path)
    assert all(np.array_equal(a, b) for a, b in zip(before, parameters(t), strict=True))


def test_other_circumstances_are_warned_of(tmp_path):
    trainer(1).fit(steps=2).save(tmp_path / "c")
    with pytest.warns(UserWarning, match="shards 1 -> 2"):
        trainer(2).load(tmp_path / "c")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer(1).load(tmp_path / "c")


@pytest.mark.slow
def test_ctrl_c_keeps_the_last_checkpoint(tmp_path):
    script = f"""
    import sys
    sys.path[:0] = [{str(ROOT / "tests" / "minilib")!r}, {str(ROOT / "tests" / "helpers")!r}]
    from test_train import trainer
    from minilib.train import Callback, Checkpoint
    class Tell(Callback):
        def on_step(self, t):
            if t.step == 5: print("go", flush=True)
    trainer(callbacks=[Checkpoint({str(tmp_path / "c")!r}, every=5), Tell()]).fit(steps=10**7)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    resumed = trainer().load(tmp_path / "c")
    assert resumed.step >= 5 and len(resumed.losses) == resumed.step


# What is said


def test_a_lost_loss_names_step_rate_and_largest_gradient():
    t = trainer(lr=1e20)
    with pytest.raises(
        FloatingPointError, match=r"(?s)step \d+.*learning rate.*largest gradient .* in \d\.\w+"
    ):
        t.fit(steps=30)


def test_a_gradient_that_is_not_finite_is_named():
    def loss(model, batch):
        total, count = train.classification(model, batch)
        return total + (model[0].bias.sum() - model[0].bias.sum()).sqrt() * 0.0, count

    with pytest.raises(FloatingPointError, match=r"0\.bias"):
        trainer(loss=loss).fit(steps=1)


def test_a_frozen_model_is_told():
    t = trainer(model=network().requires_grad_(False))
    t.optimizer = optim.SGD([Tensor(np.zeros(1, np.float32), requires_grad=True)])
    with pytest.raises(RuntimeError, match="does not depend on any parameter"):
        t.fit(steps=1)


@pytest.mark.parametrize("options", [{"shards": 0}, {"workers": "gpus"}])
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match="shards must be"):
        trainer(**options)


def test_fit_wants_one_goal():
    with pytest.raises(ValueError, match="either epochs or steps"):
        trainer().fit()


def test_lines_tell_step_loss_and_rate(capsys):
    trainer(callbacks=[train.Lines(every=5)]).fit(steps=10)
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2 and out[1].split()[:5] == ["epoch", "2", "step", "10", "loss"]


def test_a_progress_bar_shows_loss_and_rate(capsys):
    trainer(callbacks=[train.ProgressBar()]).fit(steps=6)
    assert "6/6" in capsys.readouterr().err


# Training and evaluating


def test_evaluation_is_a_mean_over_samples_not_over_batches():
    t = trainer(model=network(0.0))
    data = TensorDataset(Tensor(INPUTS), Tensor(TARGETS))
    with_seven, at_once = (t.evaluate(DataLoader(data, size)) for size in (7, 70))
    assert abs(with_seven - at_once) < 1e-6
    logits = t.model(Tensor(INPUTS)).data.astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    kept = TARGETS != -100
    assert abs(at_once + log_p[kept, TARGETS[kept]].mean()) < 1e-5


def test_evaluating_puts_each_module_back_into_its_own_mode():
    model = network()
    model[2].eval()
    with train.evaluating(model):
        assert not model.training and not mode.grad_enabled
    assert model.training and not model[2].training and mode.grad_enabled


def test_accuracy_counts():
    class Echo(nn.Module):
        def forward(self, x):
            return x

    scores = Tensor(np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 3]])
    assert train.accuracy(Echo(), [(scores, Tensor([0, 1, 2, 3, 0]))]) == 0.8


def test_a_small_network_learns_by_heart():
    manual_seed(0)
    kept = TARGETS != -100
    loader = DataLoader(TensorDataset(Tensor(INPUTS[kept]), Tensor(TARGETS[kept])), 56)
    model = network(0.0)
    t = train.Trainer(model, optim.AdamW(model.parameters(), 1e-2), loader).fit(steps=200)
    assert t.losses[0] > 1 and t.loss < 0.02 and train.accuracy(model, loader) == 1


def test_clipping_bounds_the_step():
    lengths = []

    class Watch(train.Callback):
        def on_step(self, t):
            lengths.append(optim.grad_norm(list(t.model.parameters())))

    trainer(callbacks=[Watch()], clip=0.1).fit(steps=5)
    assert max(lengths) <= 0.1 + 1e-6


def test_what_is_added_is_added_to_the_display():
    validation = train.Validation(HELD_OUT)
    kinds = [type(one) for one in train.with_display([validation], True)]
    assert kinds == [train.Validation, train.Lines]
    assert train.with_display([validation], False) == [validation]
    assert train.with_display([], True) == []
    lines = train.Lines(every=2)
    assert train.with_display([lines], True) == [lines]


def test_accuracy_is_noted_and_told_after_each_epoch(capsys):
    held = train.Accuracy(HELD_OUT)
    t = trainer(callbacks=[held, train.Lines(every=1000)])
    t.fit(epochs=2)
    assert held.accuracies[-1] == train.accuracy(t.model, HELD_OUT) and len(held.accuracies) == 2
    told = [line.split() for line in capsys.readouterr().out.splitlines() if "accuracy" in line]
    assert [line[1] for line in told] == ["1", "2"]
    assert told[-1][-1] == f"{held.accuracies[-1]:.1%}"


def test_fit_says_that_all_is_done_already():
    t = trainer().fit(epochs=1)
    step = t.step
    with pytest.warns(UserWarning, match="epochs=1"):
        t.fit(epochs=1)
    assert t.step == step


@pytest.mark.parametrize("swapped", [True, False], ids=["model and optimizer", "a list of batches"])
def test_what_cannot_train_is_told_by_its_kind(swapped):
    t = trainer()
    if swapped:
        t.model, t.optimizer = t.optimizer, t.model
    else:
        t.loader = list(t.loader)
    with pytest.raises(TypeError, match="optimizer" if swapped else "DataLoader"):
        t.fit(epochs=1)


def test_a_model_that_returns_a_tuple_is_told_so():
    class Pair(nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(TypeError, match="tuple of tensors"):
        train.classification(Pair(), (Tensor(np.ones((2, 3), np.float32)), Tensor([0, 1])))


def test_reprs_tell_where_a_training_stands():
    t = trainer()
    t.fit(steps=3)
    assert (
        "step 3" in repr(t) and "AdamW" in repr(t.optimizer) and f"{len(t.loader)} batches" in repr(t.loader)
    )


def test_a_checkpoint_named_like_one_file_says_that_it_is_two(tmp_path):
    t = trainer()
    with pytest.warns(UserWarning, match=r"x\.pt\.json"):
        t.save(tmp_path / "x.pt")
