"""The model file of chapter 10: chapter 3's small CNN, with batch norm, trained and written as ONNX.

    python -m benchmarks.digits_onnx       # writes coursekit/pictures/digits.onnx; half a minute

It learns from the four fifths that `split("random")` of benchmarks/digits.py gives. The file is written node
by node, under the names that `torch.onnx` would give, so that a lesson can point at each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.digits import split
from benchmarks.trainings import without_options
from minilib import nn, optim
from minilib.data import DataLoader, shifted
from minilib.tensor import Generator, manual_seed
from minilib.train import Trainer, accuracy
from minilib.wire import Message, write

FILE = Path(__file__).parents[1] / "coursekit" / "pictures" / "digits.onnx"


def cnn() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )


def trained() -> nn.Sequential:
    """The network after 20 epochs, in evaluation."""
    train, test = split("random")
    manual_seed(0)
    model = cnn()
    loader = DataLoader(train, 64, shuffle=True, generator=Generator(0), transform=shifted)
    optimizer = optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    schedule = optim.WarmupCosine(optimizer, 50, 20 * len(loader))
    Trainer(model, optimizer, loader, scheduler=schedule, callbacks=[], seed=0).fit(epochs=20)
    model.eval()
    print(f"{accuracy(model, DataLoader(test, 512)):.1%} of the fifth that was held out")
    return model


def info(name: str, *sizes: int | str) -> Message:
    """An input or output of float32; a size with a name is a symbol."""
    dims = [Message("Dimension", **{"dim_param" if isinstance(n, str) else "dim_value": n}) for n in sizes]
    tensor = Message("Tensor", elem_type=1, shape=Message("TensorShapeProto", dim=dims))
    return Message("ValueInfoProto", name=name, type=Message("TypeProto", tensor_type=tensor))


def node(op: str, inputs: list[str], output: str, **attributes: Any) -> Message:
    """One operator at work, called as its result; attributes are whole numbers, lists of them, or floats."""
    kinds = {int: ("i", 2), list: ("ints", 7), float: ("f", 1)}
    made = []
    for key, value in attributes.items():
        field, kind = kinds[type(value)]
        made.append(Message("AttributeProto", name=key, type=kind, **{field: value}))
    return Message("NodeProto", op_type=op, name=output, input=inputs, output=[output], attribute=made)


def message(model: nn.Sequential) -> Message:
    """The network as a ModelProto."""
    state = {name: np.asarray(value) for name, value in model.state_dict().items()}
    nodes, now = [], "image"
    for i, layer in enumerate(model):
        inputs = [now, *(f"{i}.{one}" for one in ("weight", "bias", "running_mean", "running_var"))]
        match layer:
            case nn.Conv2d():
                nodes.append(node("Conv", inputs[:3], f"conv_{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
            case nn.BatchNorm2d():
                nodes.append(node("BatchNormalization", inputs, f"norm_{i}", epsilon=layer.eps))
            case nn.ReLU():
                nodes.append(node("Relu", inputs[:1], f"relu_{i}"))
            case nn.MaxPool2d():
                nodes.append(node("MaxPool", inputs[:1], f"pool_{i}", kernel_shape=[2, 2], strides=[2, 2]))
            case nn.Flatten():
                nodes.append(node("Flatten", inputs[:1], f"flat_{i}", axis=1))
            case nn.Linear():
                nodes.append(node("Gemm", inputs[:3], "logits", transB=1))
        (now,) = nodes[-1].output
    read = [name for one in nodes for name in one.input if name in state]
    constants = [
        Message(
            "TensorProto",
            name=name,
            dims=list(state[name].shape),
            data_type=1,
            raw_data=state[name].tobytes(),
        )
        for name in read
    ]
    graph = Message(
        "GraphProto", name="digits", node=nodes, initializer=constants,
        input=[info("image", "B", 1, 8, 8)], output=[info("logits", "B", 10)],
    )  # fmt: skip
    opset = Message("OperatorSetIdProto", domain="", version=17)
    return Message("ModelProto", ir_version=8, producer_name="minilib", opset_import=[opset], graph=graph)


def main() -> None:
    without_options(__doc__)
    FILE.write_bytes(write(message(trained())))
    print(f"wrote {FILE.name}, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
