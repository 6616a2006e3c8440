"""minilib/interop/extension: a small wheel that installs and passes its own tests; its CUDA part compiles.

What no test here can say, for want of a GPU: that a launch works. The kernels themselves run on the simulator
(tests/minilib/test_extension.py).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nvrtc
import pytest

from benchmarks import extension
from coursekit import needs
from parity.peer import torch

WITHOUT = needs.missing(["torch", "c++"])
pytestmark = [pytest.mark.slow, pytest.mark.skipif(WITHOUT is not None, reason=f"missing: {WITHOUT}")]
BYTES = 200_000  # that a wheel may have

# Loads the library on a CPU build of PyTorch and asks what can be asked without a GPU.
ON_A_CPU = """
import ctypes, sys
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)  # what only a CUDA build has
import rowops

assert torch._C._dispatch_has_kernel_for_dispatch_key("rowops::softmax", "CUDA")
assert torch._C._dispatch_has_kernel_for_dispatch_key("rowops::softmax_backward", "CUDA")
schema = str(rowops.softmax_backward.default._schema)
assert schema == "rowops::softmax_backward(Tensor grad, Tensor y) -> Tensor"
with FakeTensorMode():
    y = rowops.softmax(torch.empty(5, 3, device="cuda").t())
    assert y.device.type == "cuda" and y.shape == (3, 5) and y.stride() == (5, 1)
x = torch.randn(3, 5)
torch.testing.assert_close(rowops.softmax(x), x.softmax(-1))
"""
STUB = """
int aoti_torch_get_current_cuda_stream(int device, void** stream) { return 1; }
int torch_c10_cuda_check_msg(int e, const char* f, const char* n, unsigned l, _Bool d, char** m) { return 1; }
void torch_c10_cuda_free_error_msg(char* message) {}
"""


def python(*words: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=path, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extension.wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def place(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extension.installed(built, tmp_path_factory.mktemp("site"))


def test_one_small_wheel_serves_every_python_from_3_10_on(built: Path) -> None:
    assert built.name.startswith("rowops-0.1.0-cp310-abi3-") and built.stat().st_size < BYTES


@pytest.mark.nightly  # as 08c does in its cells
def test_what_is_installed_passes_its_own_tests(place: Path) -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(extension.PACKAGE / "tests")]
    done = python(*words, f"--rootdir={place}", path=place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_it_asks_pytorch_for_functions_of_c_alone(place: Path) -> None:
    """That makes its ABI stable: a name of C++ carries the types of its arguments."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm (binutils)")
    library = next((place / "rowops").glob("_C.*"))
    listed = subprocess.check_output(["nm", "-D", "--undefined-only", library], encoding="utf-8")
    names = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    core = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    asked = {name for name in names if "torch" in name}
    assert len(asked) > 10 and all(hasattr(core, name) for name in asked)
    assert not [name for name in names if name.startswith("_Z") and ("c10" in name or "at6Tensor" in name)]
    assert not [name for name in names if name.startswith(("Py", "_Py"))]


@pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)
@pytest.mark.parametrize("architecture", extension.ARCHITECTURES)
def test_nvrtc_compiles_its_kernels(architecture: int) -> None:
    source = (extension.PACKAGE / "softmax.cu").read_text(encoding="utf-8")
    _, used = nvrtc.compile_cubin(source, architecture)
    assert {*used} == {"softmax_forward", "softmax_backward"}
    assert not any(one.local for one in used.values())


def test_without_cuda_its_extension_is_refused_by_name() -> None:
    if torch.version.cuda:
        pytest.skip("this PyTorch is a CUDA build")
    from torch.utils.cpp_extension import CUDAExtension

    with pytest.raises(OSError, match="CUDA_HOME environment variable is not set"):
        CUDAExtension("rowops._C", ["ops.cpp", "softmax.cu"])


@pytest.mark.nightly  # minutes
def test_the_real_nvcc_compiles_it_whole_and_a_cpu_build_loads_it(tmp_path: Path) -> None:
    toolkit = extension.cuda_toolkit()
    if toolkit is None:
        pytest.skip("nvcc is missing: pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-cuda-runtime")
    if torch.version.cuda:
        pytest.skip("this PyTorch is a CUDA build")
    package = tmp_path / "rowops"
    shutil.copytree(extension.PACKAGE / "rowops", package)
    extension.with_nvcc(package, toolkit)
    stub = tmp_path / "stub.so"
    (tmp_path / "stub.c").write_text(STUB)
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "stub.c"), "-o", str(stub)], check=True)
    refused = python("-c", "import rowops", path=tmp_path)
    assert "undefined symbol" in refused.stderr  # so the stub is not there in vain
    done = python("-c", ON_A_CPU, str(stub), path=tmp_path)
    assert done.returncode == 0, done.stderr
