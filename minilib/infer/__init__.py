"""Networks that any framework has written, run with NumPy alone: chapter 10, under the names of tract.

import minilib.infer as tract

model = tract.onnx().load("cnn.onnx")
model.set_input_fact(0, "B,1,8,8,f32")
runnable = model.into_model().into_runnable()
(logits,) = runnable.run([images])
logits.to_numpy()
"""

from minilib.infer import api
from minilib.infer.api import *  # noqa: F403
from minilib.infer.facts import DatumType, Fact, FactError
from minilib.infer.model import ModelError
from minilib.infer.pulse import Pulse

__all__ = ["DatumType", "Fact", "FactError", "ModelError", "Pulse"]
__all__ += api.__all__
