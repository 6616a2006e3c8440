"""How the library is compiled. With a CUDA build of PyTorch, softmax.cu is part of it."""

from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

make, sources = (CUDAExtension, ["ops.cpp", "softmax.cu"]) if CUDA_HOME else (CppExtension, ["ops.cpp"])

# Nothing newer than PyTorch 2.10 may be used, so that the file runs there and on all that came later.
target = ["-O3", "-g0", "-DTORCH_TARGET_VERSION=0x020a000000000000"]
options = {"cxx": target, "nvcc": [*target, "-DUSE_CUDA"]} if CUDA_HOME else {"cxx": target}

setup(
    ext_modules=[make("rowops._C", sources, extra_compile_args=options, py_limited_api=True)],
    cmdclass={"build_ext": BuildExtension},
    # The library calls nothing of Python's, so one file serves 3.10 and newer: its tag is cp310-abi3.
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
