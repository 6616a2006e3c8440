"""Networks that any framework has written, run with NumPy alone: chapter 10, under the names of tract.

import minilib.infer as tract

model = tract.onnx().load("cnn.onnx")
model.set_input_fact(0, "B,1,8,8,f32")
runnable = model.into_model().into_runnable()
(logits,) = runnable.run([images])
logits.to_numpy()
"""

from minilib.infer.api import (
    InferenceModel,
    Model,
    Nnef,
    Onnx,
    Runnable,
    RunnableState,
    SetSymbols,
    Tensor,
    nnef,
    onnx,
)
from minilib.infer.facts import Fact, FactError
from minilib.infer.model import ModelError
from minilib.infer.pulse import Pulse

__all__ = [
    "Fact",
    "FactError",
    "InferenceModel",
    "Model",
    "ModelError",
    "Nnef",
    "Onnx",
    "Pulse",
    "Runnable",
    "RunnableState",
    "SetSymbols",
    "Tensor",
    "nnef",
    "onnx",
]
