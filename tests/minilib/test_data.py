"""Data sets and loaders."""

from __future__ import annotations

import io
import threading
import urllib.error
import urllib.request
from itertools import chain

import numpy as np
import pytest

from minilib import data
from minilib.data import (
    DataLoader,
    Subset,
    TensorDataset,
    checksum,
    default_collate,
    digits,
    random_split,
    stratified_split,
    topics,
)
from minilib.tensor import Generator, Tensor, arange, tensor


def numbers(n=10):
    return TensorDataset(arange(n), arange(n) * 10)


def seen(loader):
    return [batch[0].tolist() for batch in loader]


def test_batches_hold_the_items_in_order():
    assert seen(DataLoader(numbers(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]


def test_the_columns_of_a_batch_belong_together():
    for first, second in DataLoader(numbers(), 4, shuffle=True, generator=Generator(1)):
        assert (first * 10).tolist() == second.tolist()


def test_drop_last_leaves_out_what_fills_no_batch():
    loader = DataLoader(numbers(7), 3, drop_last=True)
    assert seen(loader) == [[0, 1, 2], [3, 4, 5]] and len(loader) == 2


@pytest.mark.parametrize(("n", "length"), [(0, 0), (1, 1), (6, 2), (7, 3)])
def test_a_loader_knows_its_length(n, length):
    loader = DataLoader(numbers(n), 3)
    assert len(loader) == len(seen(loader)) == length


def test_each_epoch_shuffles_anew_and_holds_everything_once():
    loader = DataLoader(numbers(50), 8, shuffle=True, generator=Generator(0))
    first, second = (list(chain(*seen(loader))) for _ in range(2))
    assert first != second and sorted(first) == sorted(second) == list(range(50))


def test_the_same_seed_gives_the_same_order():
    orders = [seen(DataLoader(numbers(50), 8, shuffle=True, generator=Generator(5))) for _ in range(2)]
    assert orders[0] == orders[1]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_worker_threads_change_nothing_but_the_thread(workers):
    threads = set()

    class Watching(list):
        def __getitem__(self, i):
            threads.add(threading.get_ident())
            return super().__getitem__(i)

    items = Watching(range(40))
    alone = DataLoader(items, 4, shuffle=True, generator=Generator(2))
    helped = DataLoader(items, 4, shuffle=True, generator=Generator(2), num_workers=workers)
    assert [b.tolist() for b in helped] == [b.tolist() for b in alone]
    assert threads - {threading.get_ident()}


def test_workers_end_when_the_loop_is_left_early():
    before = threading.active_count()
    for _ in DataLoader(list(range(100)), 2, num_workers=2):
        break
    assert threading.active_count() <= before + 2


def test_an_error_in_a_worker_reaches_the_loop():
    class Broken(list):
        def __getitem__(self, i):
            raise KeyError("item 3")

    with pytest.raises(KeyError, match="item 3"):
        list(DataLoader(Broken(range(4)), 2, num_workers=2))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop", [1, 3, 6, 7])
def test_a_loader_goes_on_where_another_stood(stop, workers):
    def loader():
        return DataLoader(numbers(50), 8, shuffle=True, generator=Generator(4), num_workers=workers)

    whole = loader()
    expected = seen(whole) + seen(whole)
    first = loader()
    batches = []
    for batch in first:
        batches.append(batch[0].tolist())
        if len(batches) == stop:
            state = first.state_dict()
            break
    second = DataLoader(numbers(50), 8, shuffle=True, generator=Generator(99), num_workers=workers)
    second.load_state_dict(state)
    while len(batches) < 14:
        batches += seen(second)
    assert batches[:14] == expected


def test_collate_stacks_what_it_knows():
    batch = default_collate([{"x": tensor([1.0, 2.0]), "y": 3}, {"x": tensor([4.0, 5.0]), "y": 6}])
    assert batch["x"].tolist() == [[1.0, 2.0], [4.0, 5.0]] and batch["y"].tolist() == [3, 6]
    assert default_collate([(1.5, True), (2.5, False)])[0].dtype == np.float32
    with pytest.raises(TypeError, match=r"str.*collate_fn"):
        default_collate(["a", "b"])


def test_a_data_set_item_by_item_and_all_at_once_are_the_same():
    data = numbers(9)
    quick = DataLoader(data, 4)
    slow = DataLoader(data, 4, collate_fn=default_collate)
    assert [[t.tolist() for t in batch] for batch in quick] == [[t.tolist() for t in batch] for batch in slow]


def test_random_split_parts_are_disjoint_and_whole():
    parts = random_split(list(range(11)), [0.5, 0.25, 0.25], Generator(0))
    assert [len(part) for part in parts] == [6, 3, 2]  # the rest goes round, as in PyTorch
    assert sorted(part[i] for part in parts for i in range(len(part))) == list(range(11))
    assert [len(part) for part in random_split(list(range(11)), [8, 3])] == [8, 3]
    with pytest.raises(ValueError, match="do not add up to 11"):
        random_split(list(range(11)), [8, 4])


def test_a_subset_of_a_subset_names_the_original():
    data = Subset(Subset([10, 11, 12, 13], [3, 1, 0]), [0, 2])
    assert [data[i] for i in range(len(data))] == [13, 10]


def test_a_stratified_split_holds_out_the_same_part_of_each_class():
    labels = tensor([0] * 50 + [1] * 20 + [2] * 10)
    kept, held = stratified_split(labels, 0.2, Generator(0))
    assert sorted(kept + held) == list(range(80))
    assert np.bincount(labels.numpy()[held]).tolist() == [10, 4, 2]


@pytest.mark.slow
def test_digits_are_scikit_learns():
    images, labels = digits().tensors
    from sklearn.datasets import load_digits  # a second

    raw = load_digits()
    assert images.shape == (1797, 1, 8, 8) and images.dtype == np.float32
    assert np.array_equal(images.numpy()[:, 0] * 16, raw.images) and labels.tolist() == raw.target.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TensorDataset(arange(3), arange(4)), "one length"),
        (lambda: TensorDataset(), "one length"),
        (lambda: DataLoader(numbers(), 0), "batch_size must be at least 1"),
        (lambda: DataLoader(numbers(), 1, num_workers=-1), "num_workers"),
        (lambda: stratified_split(Tensor([0, 1]), 1.5), "between 0 and 1"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_topics_is_prose_in_printable_ascii():
    text = topics()
    assert 300_000 < len(text) < 700_000
    assert {c for c in text if not " " <= c <= "~"} == {"\n"}
    assert 'The "assert" statement' in text and text.endswith("\n")


def test_topics_has_each_paragraph_once_and_is_the_same_each_time():
    paragraphs = topics().split("\n\n")
    assert len(set(paragraphs)) == len(paragraphs)
    assert topics() == topics()


def test_a_checksum_is_sha_256():
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert checksum("") == checksum(b"") == empty
    assert checksum("\u00e9") == checksum(b"\xc3\xa9") != empty


@pytest.fixture
def small_shakespeare(monkeypatch):
    """What the network sends; and its checksum is the one that is expected."""
    play = b"First Citizen:\nBefore we proceed any further, hear me speak.\n"
    monkeypatch.setattr(data, "SHAKESPEARE_SHA256", checksum(play))
    asked = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: asked.append(1) or io.BytesIO(play))
    return play.decode(), asked


def test_shakespeare_is_downloaded_once(small_shakespeare, tmp_path):
    play, asked = small_shakespeare
    assert [data.shakespeare(tmp_path / "texts") for _ in range(3)] == [play] * 3
    assert len(asked) == 1


def test_another_text_than_shakespeare_is_refused(small_shakespeare, monkeypatch, tmp_path):
    (tmp_path / "tinyshakespeare.txt").write_text("something else")
    with pytest.raises(ValueError, match=r"checksum.*tinyshakespeare.txt: delete it, and call again$"):
        data.shakespeare(tmp_path)
    monkeypatch.setattr(data, "SHAKESPEARE_SHA256", "0")
    with pytest.raises(ValueError, match="checksum is not that of tiny Shakespeare in what https://"):
        data.shakespeare(tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


def test_without_a_network_shakespeare_says_what_to_do(monkeypatch, tmp_path):
    def no_network(*args, **kwargs):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    with pytest.raises(
        OSError, match=r"^cannot download https://.*no route to host.*use topics\(\)"
    ) as caught:
        data.shakespeare(tmp_path)
    assert "\n" not in str(caught.value)
