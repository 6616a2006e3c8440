"""Tensors on a GPU: `x.to("cuda")`, and operations that run kernels of our own, forward and backward.

To import this module is to turn it on. Arrays are CuPy's where there is a GPU, and elsewhere the simulator's,
exact and slow; `MINILIB_CUDA` decides. An operation runs our pair of kernels where one is registered and fits
its inputs, and otherwise what the array module has: `coverage()` says which.
"""

from minilib.gpu import attention as attention
from minilib.gpu import channels as channels
from minilib.gpu import conv as conv
from minilib.gpu import copies as copies
from minilib.gpu import embedding as embedding
from minilib.gpu import matmul as matmul
from minilib.gpu import reductions as reductions
from minilib.gpu import rows as rows
from minilib.gpu import steps as steps
from minilib.gpu.device import DEVICE as DEVICE
from minilib.gpu.device import bytes_in_use as bytes_in_use
from minilib.gpu.device import coverage as coverage
from minilib.gpu.device import fits as fits
from minilib.gpu.device import memory as memory
from minilib.gpu.device import pair as pair
from minilib.gpu.device import reports as reports
from minilib.gpu.device import without as without
from minilib.gpu.elements import elementwise as elementwise
