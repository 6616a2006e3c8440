"""Names of PyTorch for what has another one here: methods as functions, and dtypes.

`from minilib import tensor as torch` finds them as torch.exp(x), torch.sum(x, 1), torch.float32. They stand
apart because some are those of Python's own functions.
"""

from __future__ import annotations

from math import inf as inf
from math import nan as nan
from math import pi as pi

import numpy as np

from minilib.tensor.core import Tensor

# Methods as functions: the tensor is the first argument

abs, exp, expm1, log, log1p = Tensor.abs, Tensor.exp, Tensor.expm1, Tensor.log, Tensor.log1p
pow, square, sqrt, rsqrt = Tensor.pow, Tensor.square, Tensor.sqrt, Tensor.rsqrt
sin, cos, tanh, sigmoid, relu = Tensor.sin, Tensor.cos, Tensor.tanh, Tensor.sigmoid, Tensor.relu
softmax, log_softmax = Tensor.softmax, Tensor.log_softmax
clip, clamp, floor, ceil = Tensor.clip, Tensor.clamp, Tensor.floor, Tensor.ceil
remainder, floor_divide = Tensor.__mod__, Tensor.__floordiv__
eq, ne, lt, le, gt, ge = Tensor.eq, Tensor.ne, Tensor.lt, Tensor.le, Tensor.gt, Tensor.ge
masked_fill, gather = Tensor.masked_fill, Tensor.gather
sum, mean, var, std, norm, cumsum = (
    Tensor.sum,
    Tensor.mean,
    Tensor.var,
    Tensor.std,
    Tensor.norm,
    Tensor.cumsum,
)
amax, amin, argmax, argmin, topk = Tensor.amax, Tensor.amin, Tensor.argmax, Tensor.argmin, Tensor.topk
max, min, all, any = Tensor.max, Tensor.min, Tensor.all, Tensor.any
reshape, flatten, unsqueeze, squeeze = Tensor.reshape, Tensor.flatten, Tensor.unsqueeze, Tensor.squeeze
permute, transpose, flip, roll = Tensor.permute, Tensor.transpose, Tensor.flip, Tensor.roll
tril, triu, clone, numel = Tensor.tril, Tensor.triu, Tensor.clone, Tensor.numel
split, chunk, unbind = Tensor.split, Tensor.chunk, Tensor.unbind

# Dtypes, which are NumPy's

bool, uint8 = np.dtype(np.bool_), np.dtype(np.uint8)
int8, int16, int32, int64 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
short, int, long, half, float, double = int16, int32, int64, float16, float32, float64
