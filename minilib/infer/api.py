"""What one calls: `onnx().load`, the model before and after its analysis, what runs; names are tract's."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minilib import dims
from minilib.infer import fast_layers, fuse, nnef_files  # noqa: F401 (their rules join those of declutter and plan)
from minilib.infer.declutter import declutter
from minilib.infer.facts import DatumType, Fact, parse_fact
from minilib.infer.load import load
from minilib.infer.model import MOST_BYTES, Graph, ModelError, analyse
from minilib.infer.plan import Plan
from minilib.infer.profile import profile_json
from minilib.infer.pulse import Pulse
from minilib.infer.state import Memory, State, carried

__all__ = [
    "FrozenState", "InferenceModel", "Model", "Nnef", "Onnx", "Runnable", "RunnableState", "Runtime",
    "SetSymbols", "Tensor", "nnef", "onnx", "runtime_for_name", "version",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tensor:
    """A result, or an input."""

    array: Any

    @staticmethod
    def from_numpy(array: Any) -> Tensor:
        return Tensor(np.asarray(array))

    def to_numpy(self) -> Any:
        return self.array

    into_numpy = to_numpy

    def datum_type(self) -> DatumType:
        return DatumType.of(self.array.dtype)

    def convert_to(self, datum_type: DatumType | Any) -> Tensor:
        """The same numbers of another kind: a DatumType, or a dtype of NumPy's."""
        kind = datum_type if isinstance(datum_type, DatumType) else DatumType.of(datum_type)
        try:
            return Tensor(self.array.astype(kind.dtype))
        except (ValueError, TypeError) as error:
            raise ModelError(f"{self.array.dtype} cannot become {kind}: {error}") from None

    def __eq__(self, other: object) -> bool:
        """Whether both have the same kind, shape and numbers."""
        if not isinstance(other, Tensor):
            return NotImplemented
        alike = self.array.dtype == other.array.dtype and np.array_equal(self.array, other.array)
        return bool(alike)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.array, dtype, copy=copy)


class Onnx:
    """The reader of ONNX files."""

    def load(self, path: str | Path) -> InferenceModel:
        """The model in a file. Raises ModelError, in one line, where it cannot be read."""
        return InferenceModel(load(path))


def version() -> str:
    """This library's version, as tract names it."""
    return str(sys.modules["minilib"].__version__)


def onnx() -> Onnx:
    """The reader of ONNX files, as tract names it."""
    return Onnx()


@dataclass(frozen=True)
class Nnef:
    """The reader and writer of NNEF, folders and archives."""

    core: bool = True  # sizes in symbols may be written, in tract's extension

    def load(self, path: str | Path) -> Model:
        """The model in a folder, .tar or .tgz. Raises ModelError, in one line, where it cannot be read."""
        return Model(declutter(nnef_files.load(path)))

    def with_tract_core(self) -> Nnef:
        """As it is: symbols may be written. So are operators of ONNX, pulses and long names read."""
        return Nnef(True)

    with_tract_extra = with_onnx = with_pulse = with_extended_identifier_syntax = with_tract_core

    def without_tract_core(self) -> Nnef:
        """What writes the standard's words alone, and refuses the rest."""
        return Nnef(False)

    def write_model_to_dir(self, model: Model, path: str | Path) -> None:
        """Writes graph.nnef and a .dat file for each variable into a folder.

        Raises ModelError, with all operators that are none of NNEF's.
        """
        self._write(model, path, "")

    def write_model_to_tar(self, model: Model, path: str | Path) -> None:
        self._write(model, path, "w")

    def write_model_to_tar_gz(self, model: Model, path: str | Path) -> None:
        self._write(model, path, "w:gz")

    def _write(self, model: Model, path: str | Path, form: str) -> None:
        if not isinstance(model, Model) or model.memory.kept:
            raise ModelError("NNEF is written of what into_model gives, before it is cut into pulses")
        nnef_files.save(model.graph, path, form, self.core)


def nnef() -> Nnef:
    """The reader and writer of NNEF, as tract names it."""
    return Nnef()


@dataclass(frozen=True)
class SetSymbols:
    """A transform: symbols get values, numbers or sizes as text."""

    values: Mapping[str, int | str] = field(default_factory=dict)

    def value(self, symbol: str, value: int | str) -> SetSymbols:
        """The same transform, with one symbol more."""
        return SetSymbols({**self.values, symbol: value})

    def apply(self, graph: Graph) -> Graph:
        try:
            sizes = {name: dims.parse(str(value)) for name, value in self.values.items()}
        except (AttributeError, ValueError):
            raise ModelError(
                f"SetSymbols takes sizes by name, such as {{'B': 1}}, and not {self.values!r}"
            ) from None
        for name in sorted(sizes, key=str):
            graph.check_symbol(name)
        inputs = {
            name: Fact(f.dtype, None if f.shape is None else tuple(dims.at(n, sizes) for n in f.shape))
            for name, f in graph.inputs.items()
        }
        return Graph(inputs, graph.outputs, graph.nodes, graph.constants, {}, graph.properties)


def transform_of(text: str) -> SetSymbols | Pulse:
    """The transform that tract writes as JSON. Raises ModelError for all others."""
    try:
        told = json.loads(text)
        if told["name"] == "set_symbols":
            return SetSymbols(dict(told["values"]))
        if told["name"] == "pulse":
            return Pulse(told["pulse"], told.get("symbol", "S"))
    except (ValueError, KeyError, TypeError):
        pass
    raise ModelError(f"{text!r} is no transform; there are SetSymbols and Pulse") from None


class _Named:
    """What a model tells of its inputs and outputs, before and after analysis and when it runs."""

    graph: Graph
    memory = Memory()  # what a state keeps: its inputs and outputs are not the caller's

    @property
    def _seen(self) -> Graph:
        return self.memory.seen(self.graph)

    def _at(self, names: Sequence[str], i: int, what: str) -> str:
        if not isinstance(i, int | np.integer) or not 0 <= i < len(names):
            raise ModelError(f"there is no {what} {i!r}: the model has {len(names)}, counted from 0")
        return names[i]

    def input_count(self) -> int:
        return len(self._seen.inputs)

    def output_count(self) -> int:
        return len(self._seen.outputs)

    def input_name(self, i: int) -> str:
        return self._at(list(self._seen.inputs), i, "input")

    def output_name(self, i: int) -> str:
        return self._at(self._seen.outputs, i, "output")

    def input_fact(self, i: int) -> Fact:
        return self.graph.inputs[self.input_name(i)]

    def output_fact(self, i: int) -> Fact:
        """What is known of an output; nothing before `analyse`."""
        fact = self.graph.facts.get(self.output_name(i), Fact())
        return Fact(fact.dtype, fact.shape)

    def input_facts(self) -> list[Fact]:
        return [self.input_fact(i) for i in range(self.input_count())]

    def output_facts(self) -> list[Fact]:
        return [self.output_fact(i) for i in range(self.output_count())]

    def property_keys(self) -> list[str]:
        return list(self.graph.properties)

    def property(self, name: str) -> Tensor:
        if name not in self.graph.properties:
            raise ModelError(f"there is no property {name!r}, only {', '.join(self.graph.properties)}")
        return Tensor(self.graph.properties[name])


class InferenceModel(_Named):
    """A model as it stands in its file: inputs can still be told what they are."""

    fact = staticmethod(parse_fact)

    def __init__(self, graph: Graph) -> None:
        self.graph, self.wanted = graph, dict[str, Fact]()

    def set_input_fact(self, i: int, fact: str | Fact | None) -> None:
        """What the input is, whatever the file says: "B,8,f32". None: nothing is known."""
        self.graph.inputs[self.input_name(i)] = Fact() if fact is None else parse_fact(fact)
        self.graph.facts = {}

    def set_output_fact(self, i: int, fact: str | Fact | None) -> None:
        """What the output has to be, which `analyse` checks. None: nothing is asked."""
        self.wanted[self.output_name(i)] = Fact() if fact is None else parse_fact(fact)

    def analyse(self) -> None:
        """Works out the facts of all results. Raises ModelError with both sides of a contradiction."""
        self.graph.facts = analyse(self.graph)
        for name, wanted in self.wanted.items():
            if contradict(found := self.graph.facts[name], wanted):
                raise ModelError(f"the output {name!r} is {Fact(found.dtype, found.shape)}, and not {wanted}")

    def into_analysed(self) -> InferenceModel:
        self.analyse()
        return self

    def into_model(self) -> Model:
        """The model, analysed and decluttered."""
        self.analyse()
        return Model(declutter(self.graph))


class Model(_Named):
    """A model of which all is known that can be."""

    parse_fact = staticmethod(parse_fact)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def transform(self, spec: SetSymbols | Pulse | str) -> None:
        """Changes the model: `SetSymbols({"B": 1})` sets symbols, `Pulse("8")` cuts a stream in pulses.

        tract's JSON for them is taken, too: '{"name": "set_symbols", "values": {"B": 1}}'.
        """
        if isinstance(spec, str):
            spec = transform_of(spec)
        if not isinstance(spec, SetSymbols | Pulse):
            raise ModelError(f"a transform is SetSymbols or Pulse, and not {type(spec).__name__}")
        if self.memory.kept:
            raise ModelError("the model is in pulses already; load it anew, and transform that before")
        changed = spec.apply(self.graph)
        if isinstance(changed, tuple):
            changed, self.memory = changed
        changed.facts = analyse(changed)
        self.graph = declutter(changed)

    def profile_json(self: _Named, inputs: Sequence[Any] | None = None) -> str:
        """What each node costs, in symbols; with inputs also how long it takes."""
        arrays = None if inputs is None else arrays_of(self.graph, inputs)
        return profile_json(self.graph, arrays)

    def into_runnable(self, most_bytes: int = MOST_BYTES) -> Runnable:
        """What runs, and refuses to where its results would take more than `most_bytes` at one time."""
        if not isinstance(most_bytes, int | np.integer) or most_bytes < 0:
            raise ModelError(f"most_bytes is a number of bytes, and not {most_bytes!r}")
        return Runnable(self.graph, most_bytes, self.memory)


class Runnable(_Named):
    """A model that runs."""

    def __init__(self, graph: Graph, most_bytes: int = MOST_BYTES, memory: Memory | None = None) -> None:
        self.graph, self.plan, self.memory = graph, Plan(graph, most_bytes), memory or Memory()

    profile_json = Model.profile_json

    def run(self, inputs: Sequence[Any]) -> list[Tensor]:
        """The outputs for arrays, one for each input. Raises ModelError where they do not fit."""
        if self.memory.kept:
            return self.spawn_state().run(inputs)
        return [Tensor(array) for array in self.plan.run(arrays_of(self.graph, inputs))]

    def spawn_state(
        self, carry: Mapping[str, str] | None = None, symbols: Mapping[str, int] | None = None
    ) -> RunnableState:
        """A stream of its own through the model, which remembers what it has seen.

        `carry` names inputs that are outputs of the run before, `{"cache": "new_cache"}`: zeros at first, as
        large as their fact says where `symbols` are these numbers. They are neither given nor returned.
        """
        kept = {**self.memory.kept, **carried(self.graph, carry or {}, symbols or {})}
        return RunnableState(State(self.graph, self.plan.run, Memory(kept, self.memory.stream)))


class RunnableState(_Named):
    """A model that runs, and remembers."""

    def __init__(self, state: State) -> None:
        self.state, self.graph = state, state.seen

    def run(self, inputs: Sequence[Any]) -> list[Tensor]:
        """The outputs for the next inputs of the stream. Raises ModelError where they do not fit."""
        return [Tensor(array) for array in self.state.run(arrays_of(self.graph, inputs))]

    def finish(self, inputs: Sequence[Any] | None = None) -> list[Tensor]:
        """What is still to come of each output, when the stream ends with these frames, at most a pulse."""
        arrays = None if inputs is None else arrays_of(self.graph, inputs)
        return [Tensor(array) for array in self.state.finish(arrays)]

    def freeze(self) -> FrozenState:
        """What it remembers now: streams that go on from here can be made of it, as many as one likes."""
        return FrozenState(self.state.copy())


@dataclass(frozen=True)
class FrozenState:
    """What a state remembered when it was frozen."""

    state: State

    def unfreeze(self) -> RunnableState:
        """A stream that goes on from there."""
        return RunnableState(self.state.copy())


class Runtime:
    """Where a model runs. There is one here, the processor."""

    def name(self) -> str:
        return "cpu"

    def prepare(self, model: Model) -> Runnable:
        """What runs the model there."""
        if not isinstance(model, Model):
            raise ModelError(f"a runtime takes what into_model gives, and not {type(model).__name__}")
        return model.into_runnable()


def runtime_for_name(name: str) -> Runtime:
    """The runtime "cpu", or "default", which is the same. Raises ModelError for all others."""
    if name not in ("cpu", "default"):
        raise ModelError(f"no runtime is called {name!r}; there is cpu, which default means, too")
    return Runtime()


def contradict(found: Fact, wanted: Fact) -> bool:
    """Whether an array cannot be both."""
    if None not in (found.dtype, wanted.dtype) and found.dtype != wanted.dtype:
        return True
    if found.shape is None or wanted.shape is None:
        return False
    numbers = [(n, m) for n, m in zip(found.shape, wanted.shape) if isinstance(n, int) and isinstance(m, int)]
    return len(found.shape) != len(wanted.shape) or any(n != m for n, m in numbers)


def arrays_of(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The inputs as arrays. Raises ModelError for what is no list of arrays."""
    if not isinstance(inputs, list | tuple):
        raise ModelError(
            f"run takes a list with an array for each input: run([x]), and not {type(inputs).__name__}"
        )
    arrays = []
    for name, one in zip([*graph.inputs, *[""] * len(inputs)], inputs):
        try:
            kind = graph.inputs[name].dtype if name and isinstance(one, list) else None
            arrays.append(one.array if isinstance(one, Tensor) else np.asarray(one, kind))
        except (ValueError, TypeError, OverflowError):
            raise ModelError(f"the input {name!r} is no array of numbers in rows of one length") from None
    return arrays
