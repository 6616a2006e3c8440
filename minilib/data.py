"""Data sets, splits, and loaders whose epochs are known by one number.

Taught in chapters/03f_training.ipynb, solutions/03f_training.ipynb and solutions/06c_gpt.ipynb: what they
export is edited there, then `make promote`.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from minilib.tensor import Array, Generator, Tensor, default_generator, stack

# Data sets


Seed: TypeAlias = int | Sequence[int]


class Dataset(Protocol):
    """Anything with a length and items by number: a list will do."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class TensorDataset:
    """Tensors of one length, item by item: item i is the i-th of each."""

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors or any(len(t) != len(tensors[0]) for t in tensors):
            raise ValueError(f"a data set needs tensors of one length, not {[len(t) for t in tensors]}")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)


class CharDataset(TensorDataset):
    """Each stretch of `block_size` characters of a text, and the same one place on, as their numbers.

    A character's number is its place in `characters`, sorted. The first `context` targets of a stretch are
    -1: they are not asked. Raises ValueError for a text that is too short.
    """

    def __init__(
        self, text: str, block_size: int, characters: str | None = None, stride: int = 1, context: int = 0
    ) -> None:
        self.characters = "".join(sorted(set(text if characters is None else characters)))
        if len(text) <= block_size:
            raise ValueError(f"a text of {len(text)} characters is too short for a block of {block_size}")
        stretches = np.lib.stride_tricks.sliding_window_view(self.encode(text), block_size + 1)[::stride]
        targets = stretches[:, 1:]
        if context:
            targets = np.where(np.arange(block_size) < context, -1, targets)
        super().__init__(Tensor(stretches[:, :-1]), Tensor(targets))  # views, where nothing is left out

    def encode(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The numbers of a text's characters. Raises ValueError for a character that has none."""
        numbers = {c: i for i, c in enumerate(self.characters)}
        if strange := sorted(set(text) - set(numbers)):
            raise ValueError(f"the character {strange[0]!r} does not occur in the text that was read")
        return np.array([numbers[c] for c in text], np.int64)

    def decode(self, tokens: Tensor) -> str:
        """The text that these numbers (T,) stand for."""
        return "".join(self.characters[int(i)] for i in tokens.numpy())


class Subset:
    """Some items of a data set, by their numbers."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, [int(i) for i in indices]

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]


def digits() -> TensorDataset:
    """scikit-learn's 1,797 handwritten digits, 8 x 8: images (1797, 1, 8, 8) from 0 to 1, labels (1797,).

    E. Alpaydin & C. Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998, doi.org/10.24432/C50P49.
    """
    from sklearn.datasets import load_digits

    raw = load_digits()
    images = (raw.images / 16).astype(np.float32)[:, None]  # (N, 8, 8) -> (N, 1, 8, 8): one channel
    return TensorDataset(Tensor(images), Tensor(raw.target.astype(np.int64)))


# Text


SHAKESPEARE = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHAKESPEARE_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
IN_ASCII = str.maketrans(
    {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"} | {"\u2013": "-", "\u2014": "--"}
)


def topics() -> str:
    """Python's own reference manual, as `help()` shows it: about 370,000 characters of English prose.

    The text of `pydoc_data.topics` with each paragraph once, in printable ASCII and newlines. It differs
    between versions of Python: note its `checksum` beside what you measure on it.
    """
    from pydoc_data.topics import topics as pages

    whole = (
        "\n\n".join(page for _, page in sorted(pages.items())).translate(IN_ASCII).replace("\u2026", "...")
    )
    paragraphs = (part.strip("\n") for part in whole.split("\n\n"))
    once = dict.fromkeys(part for part in paragraphs if part.strip())
    return "".join(c for c in "\n\n".join(once) if c == "\n" or " " <= c <= "~") + "\n"


def checksum(text: str | bytes) -> str:
    """SHA-256 of a text, in hexadecimal: two texts with the same one are the same text."""
    return hashlib.sha256(text.encode("utf-8") if isinstance(text, str) else text).hexdigest()


def shakespeare(folder: str | Path) -> str:
    """Tiny Shakespeare, 1,115,394 characters: downloaded into `folder` once, and read from there afterwards.

    Andrej Karpathy, char-rnn, 2015. Raises OSError without a network, ValueError at another checksum.
    """
    file = Path(folder) / "tinyshakespeare.txt"
    data = file.read_bytes() if file.exists() else _downloaded(SHAKESPEARE)
    if checksum(data) != SHAKESPEARE_SHA256:
        where = f"{file}: delete it, and call again" if file.exists() else f"what {SHAKESPEARE} sent"
        raise ValueError(f"shakespeare: the checksum is not that of tiny Shakespeare in {where}")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return data.decode("utf-8")


def _downloaded(address: str) -> bytes:
    """What is at this address. Raises OSError with one line that says what to do."""
    from http.client import HTTPException
    from urllib.request import urlopen

    try:
        with urlopen(address, timeout=30) as answer:
            return bytes(answer.read())
    except (OSError, HTTPException) as error:
        raise OSError(f"cannot download {address} ({error}): use topics(), which needs no network") from None


# Tasks for a memory


def selective_copying(
    n: int, length: int = 64, memory: int = 16, tokens: int = 14, seed: Seed = 0
) -> tuple[Tensor, Tensor]:
    """ids, targets (n, length + memory): `memory` tokens among noise, to be said in their order at the end.

    Noise is 0, tokens are 1 to `tokens`, at random places of the first `length`. Behind them comes
    tokens + 1, which asks, as often as there is something to say; all other targets are -1.
    arXiv:2312.00752, 4.1.1.
    """
    if not 0 < memory <= length:
        raise ValueError(f"selective_copying: {memory} tokens do not fit into a length of {length}")
    numbers = np.random.default_rng(seed)
    said = numbers.integers(1, tokens + 1, (n, memory))  # (n, memory)
    places = np.sort(numbers.random((n, length)).argsort(axis=1)[:, :memory], axis=1)  # without a place twice
    ids = np.zeros((n, length + memory), np.int64)
    np.put_along_axis(ids, places, said, 1)
    ids[:, length:] = tokens + 1
    targets = np.full_like(ids, -1)
    targets[:, length:] = said
    return Tensor(ids), Tensor(targets)


def induction_heads(n: int, length: int = 64, tokens: int = 15, seed: Seed = 0) -> tuple[Tensor, Tensor]:
    """ids, targets (n, length): random tokens, and twice a special one: what followed it the first time?

    Ordinary tokens are 0 to tokens - 1; the special one, `tokens`, stands somewhere and at the end, where its
    successor is asked. All other targets are -1. arXiv:2312.00752, 4.1.2.
    """
    if length < 3:
        raise ValueError(
            f"induction_heads: a token twice and another between need a length of 3, not {length}"
        )
    numbers = np.random.default_rng(seed)
    ids = numbers.integers(0, tokens, (n, length))
    # Not the last two: what follows must not be the question.
    places = numbers.integers(0, length - 2, (n, 1))
    np.put_along_axis(ids, places, tokens, 1)
    ids[:, -1] = tokens
    targets = np.full_like(ids, -1)
    targets[:, -1:] = np.take_along_axis(ids, places + 1, 1)
    return Tensor(ids), Tensor(targets)


def recall(
    n: int, pairs: int | Sequence[int], keys: int = 64, values: int = 64, seed: Seed = 0
) -> tuple[Tensor, Tensor]:
    """ids, targets (n, 3 pairs): keys, each with its value behind it; then all keys again, in another order.

    At each key that comes again its value is asked; all other targets are -1. Keys are 0 to keys - 1, no two
    of a sample alike, values come after them. With several numbers of pairs each sample has one of them, and
    the places left over at its end are filled with its first key. After Arora et al. 2023, arXiv:2312.04927.
    """
    sizes = np.atleast_1d(np.asarray(pairs))
    most = int(sizes.max())
    if sizes.min() < 1 or most > keys:
        raise ValueError(f"recall: from 1 to {keys} pairs, as many as there are keys, not {pairs}")
    numbers = np.random.default_rng(seed)
    own = numbers.random((n, keys)).argsort(axis=1)[:, :most]  # (n, most)
    worth = numbers.integers(keys, keys + values, (n, most))
    count = numbers.choice(sizes, n)
    ids, targets = np.repeat(own[:, :1], 3 * most, axis=1), np.full((n, 3 * most), -1)
    for i, size in enumerate(count.tolist()):
        order = numbers.permutation(size)
        ids[i, 0 : 2 * size : 2], ids[i, 1 : 2 * size : 2] = own[i, :size], worth[i, :size]
        ids[i, 2 * size : 3 * size] = own[i, order]
        targets[i, 2 * size : 3 * size] = worth[i, order]
    return Tensor(ids), Tensor(targets)


# Splits


def random_split(
    dataset: Dataset, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset]:
    """The data set cut at random into parts of the given lengths, or fractions that add up to 1."""
    n = len(dataset)
    sizes = [int(part) for part in lengths]
    if math.isclose(sum(lengths), 1) and n != 1:
        sizes = [math.floor(n * part) for part in lengths]
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
    if sum(sizes) != n:
        raise ValueError(f"random_split: the lengths {list(lengths)} do not add up to {n}, its length")
    order = (generator or default_generator).numbers.permutation(n)
    ends = np.cumsum(sizes)
    return [Subset(dataset, order[end - size : end].tolist()) for end, size in zip(ends, sizes)]


def stratified_split(
    labels: Tensor, fraction: float, generator: Generator | None = None
) -> tuple[list[int], list[int]]:
    """Numbers of the items to keep and of those to hold out: of each class the same `fraction`, at random."""
    numbers = (generator or default_generator).numbers  # numbers.permutation(items) shuffles
    if not 0 < fraction < 1:
        raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
    kept: list[int] = []
    held: list[int] = []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# Batches


Transform: TypeAlias = Callable[[Any, np.random.Generator], Any]


class DataLoader:
    """Batches of a data set, in another random order in each epoch with `shuffle`.

    An epoch is known by one number, its seed, which `generator` draws: its order follows from it, and so
    does what `transform(batch, numbers)` draws from `numbers`. `num_workers` threads fetch batches ahead; the
    batches are the same with any number of them.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 1,
        shuffle: bool = False,
        num_workers: int = 0,
        collate_fn: Callable[[Sequence[Any]], Any] | None = None,
        drop_last: bool = False,
        generator: Generator | None = None,
        transform: Transform | None = None,
    ) -> None:
        if batch_size < 1 or num_workers < 0:
            raise ValueError(f"batch_size must be at least 1, num_workers 0, not {batch_size}, {num_workers}")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.num_workers, self.collate_fn, self.drop_last = num_workers, collate_fn, drop_last
        self.generator, self.transform = generator or default_generator, transform
        self.position = self.seed = 0  # batches handed out in this epoch (0 again after the last); its seed
        self._start = (0, 0)  # position and seed where the next epoch begins, if a state was loaded

    def __len__(self) -> int:
        n = len(self.dataset) / self.batch_size
        return math.floor(n) if self.drop_last else math.ceil(n)

    def __iter__(self) -> Iterator[Any]:
        (start, seed), self._start = self._start, (0, 0)
        if not start and (self.shuffle or self.transform):
            # One number for the whole epoch, however it is batched.
            seed = int(self.generator.numbers.integers(2**63))
        n = len(self.dataset)
        order = np.random.default_rng(seed).permutation(n) if self.shuffle else np.arange(n)
        work = list(enumerate(batches(order.tolist(), self.batch_size, self.drop_last)))[start:]
        for (i, _), batch in zip(work, self._fetched(seed, work)):
            # Before `yield`: a state taken in the loop counts it.
            self.position, self.seed = (i + 1) % len(self), seed
            yield batch

    def __repr__(self) -> str:
        batches = f"{len(self)} batches of {self.batch_size} from {len(self.dataset)} items"
        return f"DataLoader({batches}{', shuffled' * self.shuffle})"

    def _fetch(self, seed: int, i: int, batch: list[int]) -> Any:
        """Batch number i, made of the items of these numbers."""
        if self.collate_fn is None:
            made = collated(self.dataset, batch)
        else:
            made = self.collate_fn([self.dataset[k] for k in batch])
        # Drawn by epoch and batch, so that the threads' order does not matter.
        return self.transform(made, np.random.default_rng((seed, i))) if self.transform else made

    def _fetched(self, seed: int, work: list[tuple[int, list[int]]]) -> Iterator[Any]:
        """The batches in their order, fetched by threads if there are any, at most two ahead for each."""
        if not self.num_workers:
            for i, batch in work:
                yield self._fetch(seed, i, batch)
            return
        left = iter(work)
        pool = ThreadPoolExecutor(self.num_workers)
        try:
            ahead: deque[Future[Any]] = deque()
            ahead.extend(pool.submit(self._fetch, seed, *item) for item in islice(left, 2 * self.num_workers))
            while ahead:
                done = ahead.popleft().result()
                ahead.extend(pool.submit(self._fetch, seed, *item) for item in islice(left, 1))
                yield done
        finally:
            pool.shutdown(cancel_futures=True)

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, so that another loader can go on with the next batch."""
        return {"position": self.position, "seed": self.seed, "generator": self.generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where `state_dict` was called: the next epoch goes on with the batch after it."""
        self.position, self.seed = self._start = int(state["position"]), int(state["seed"])
        if "generator" in state:
            self.generator.set_state(state["generator"])


def batches(order: Sequence[int], batch_size: int, drop_last: bool = False) -> list[list[int]]:
    """`order` in pieces of `batch_size`; the last one may be shorter, or is left out with `drop_last`."""
    stop = len(order) - len(order) % batch_size if drop_last else len(order)
    return [list(order[i : i + batch_size]) for i in range(0, stop, batch_size)]


def next_token_pairs(tokens: Array, prompt: int = 1) -> tuple[Tensor, Tensor]:
    """Texts (N, L) as inputs and targets, (N, L - 1) each: the target of a token is the one after it.

    The first `prompt` tokens of a text are a question: targets among them are -1, which has no loss.
    """
    targets = tokens[:, 1:].copy()
    targets[:, : max(prompt - 1, 0)] = -1
    return Tensor(tokens[:, :-1]), Tensor(targets)


# Items as one batch


def collated(dataset: Dataset, batch: list[int]) -> Any:
    """Items of a data set as one batch; of tensors all at once, which gives the same and is faster."""
    if isinstance(dataset, Subset):
        return collated(dataset.dataset, [dataset.indices[i] for i in batch])
    if isinstance(dataset, TensorDataset):
        return dataset[np.array(batch)]
    return default_collate([dataset[i] for i in batch])


def default_collate(items: Sequence[Any]) -> Any:
    """Items as one batch: tensors and numbers are stacked, tuples and dicts entry by entry."""
    first = items[0]
    if isinstance(first, Tensor):
        return stack(items)
    if isinstance(first, tuple | list):
        return tuple(default_collate(column) for column in zip(*items, strict=True))
    if isinstance(first, Mapping):
        return {key: default_collate([item[key] for item in items]) for key in first}
    if isinstance(first, np.ndarray | np.generic):
        return Tensor(np.stack([np.asarray(item) for item in items]))
    if isinstance(first, bool | int | float):
        return Tensor(list(items))
    raise TypeError(f"a batch cannot be made of {type(first).__name__}: give the DataLoader a collate_fn")


# Augmentation


def shifted(batch: tuple[Tensor, Tensor], numbers: np.random.Generator, by: int = 1) -> tuple[Tensor, Tensor]:
    """Images (N, C, H, W), each moved by up to `by` pixels along both axes; what comes in is 0."""
    images, labels = batch
    n, _, height, width = images.shape
    wide = np.pad(images.data, ((0, 0), (0, 0), (by, by), (by, by)))
    rows = numbers.integers(0, 2 * by + 1, (n, 1)) + np.arange(height)  # (N, H)
    columns = numbers.integers(0, 2 * by + 1, (n, 1)) + np.arange(width)  # (N, W)
    moved = wide[np.arange(n)[:, None, None], :, rows[:, :, None], columns[:, None, :]]  # (N, H, W, C)
    return Tensor(np.ascontiguousarray(moved.transpose(0, 3, 1, 2))), labels
