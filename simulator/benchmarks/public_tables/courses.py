"""Courses and textbooks."""

from __future__ import annotations

import numpy as np
import public_references as ref
from public_references import add, matmul
from public_runs import Run, Table

from public_tables.reasons import OLD_WARP

# fmt: off
TABLE: Table = {
    "BBuf/how-to-optim-algorithm-in-cuda": {
        "cuda-kernels/elementwise/elementwise.cu": (
            Run("mul<float>", "10945d41", "x[1024] y[1024] =z[1024]", lambda x, y: x * y, 8, 128),
        ),
        "cuda-kernels/fast-atomic-add/atomic_add_half.cu": (
            Run("dot", "49e7bdf3", "a[256]:h<1 b[256]:h<1 +c[1]:h 256", lambda a, b: [a @ b], 2, 64),
        ),
        "cuda-kernels/gemv/sgemv_v0.cu": (
            Run("Sgemv_v0", "471eb7f8", "A[30,64] x[64] =y[30] 30 64", lambda A, x: A @ x, 8, (32, 4)),
        ),
        "cuda-kernels/gemv/sgemv_v1.cu": (
            Run("Sgemv_v1", "45c26e98", "A[30,256] x[256] =y[30] 30 256", lambda A, x: A @ x, 8, (32, 4)),
        ),
        "cuda-kernels/gemv/sgemv_v2.cu": (
            Run("Sgemv_v2<2>", "8d274bdd", "A[32,16] x[16] =y[32] 32 16", lambda A, x: A @ x, 4, (32, 4)),
        ),
        "cuda-kernels/reduce/reduce_v0_baseline.cu": (
            Run("reduce_v0", "70c15f18", "x[1024] =y[4]", ref.sums_of(256), 4, 256),
        ),
        "cuda-kernels/reduce/reduce_v1_interleaved_addressing.cu": (
            Run("reduce_v1", "cbef9b46", "x[1024] =y[4]", ref.sums_of(256), 4, 256),
        ),
        "cuda-kernels/reduce/reduce_v2_bank_conflict_free.cu": (
            Run("reduce_v2", "730b240c", "x[1024] =y[4]", ref.sums_of(256), 4, 256),
        ),
        "cuda-kernels/reduce/reduce_v3_idle_threads_free.cu": (
            Run("reduce_v3", "787bc653", "x[1024] =y[2]", ref.sums_of(512), 2, 256),
        ),
        "cuda-kernels/reduce/reduce_v4_unroll_last_warp.cu": (
            Run("reduce_v4", "ff17669a", "x[1024] =y[2]", ref.sums_of(512), 2, 256, found="races",
                why=OLD_WARP),
        ),
        "cuda-kernels/reduce/reduce_v5_completely_unroll.cu": (
            Run("reduce_v5<256>", "e305cf8a", "x[1024] =y[2]", ref.sums_of(512), 2, 256, found="races",
                why=OLD_WARP),
        ),
        "cuda-kernels/reduce/reduce_v6_multi_add.cu": (
            Run("reduce_v6<256, 4>", "91e5fe30", "x[2048] =y[2]", ref.sums_of(1024), 2, 256, found="races",
                why=OLD_WARP),
        ),
        "cuda-kernels/reduce/reduce_v7_shfl_down_sync.cu": (
            Run("reduce7<256, 4>", "1ceacd1f", "x[2048] =y[2] 2048", ref.sums_of(1024), 2, 256),
        ),
    },
    "CodedK/CUDA-by-Example-source-code-for-the-book-s-examples-": {
        "chapter03/simple_device_call.cu": (
            Run("add", "e05a951b", "a=2 b=7 =c[1]:i", lambda a, b: [a + b]),
        ),
        "chapter03/simple_kernel_params.cu": (
            Run("add", "2eeaef8d", "a=2 b=7 =c[1]:i", lambda a, b: [a + b]),
        ),
        "chapter04/add_loop_gpu.cu": (
            Run("add", "35a46eba", "a[10]:i b[10]:i =c[10]:i", add, 10, 1),
        ),
        "chapter04/add_loop_long.cu": (
            Run("add", "3f14ae77", "a:i b:i =c:i", add, 128, 1, sizes={"N": "1000"}),
        ),
        "chapter05/add_loop_blocks.cu": (
            Run("add", "2a0728e3", "a[10]:i b[10]:i =c[10]:i", add, 1, 16),
        ),
        "chapter05/add_loop_long_blocks.cu": (
            Run("add", "32b9b3f2", "a:i b:i =c:i", add, 3, 128, sizes={"N": "1000"}),
        ),
        "chapter05/dot.cu": (
            Run("dot", "8ffd951b", "a b =c[2]",
                lambda a, b: [(a * b)[np.arange(1000) // 256 % 2 == k].sum() for k in (0, 1)], 2, 256,
                sizes={"N": "1000"}),
        ),
        "chapter09/hist_gpu_gmem_atomics.cu": (
            Run("histo_kernel", "e8868589", "x:b 1000 +y[256]:u", lambda x: ref.counts(x, 256), 2, 256),
        ),
        "chapter09/hist_gpu_shmem_atomics.cu": (
            Run("histo_kernel", "21ebe3c4", "x:b 1000 +y[256]:u", lambda x: ref.counts(x, 256), 2, 256),
        ),
        "chapter11/multidevice.cu": (
            Run("dot", "ee8b0dad", "1000 a b =c[4]", lambda a, b: ref.padded_sums(a * b, 256), 4, 256),
        ),
    },
    "CoffeeBeforeArch/cuda_programming": {
        "01_vector_addition/baseline/vectorAdd.cu": (
            Run("vectorAdd", "06c6c960", "a:i b:i =c:i 1000", add, 8, 128),
        ),
        "01_vector_addition/pinned_memory/vectorAdd_pinned.cu": (
            Run("vectorAdd", "1aa6789c", "a:i b:i =c:i 1000", add, 8, 128),
        ),
        "01_vector_addition/unified_memory/vectorAdd_um_baseline.cu": (
            Run("vectorAdd", "b617c30f", "a:i b:i =c:i 1000", add, 8, 128),
        ),
        "02_matrix_mul/baseline/mmul.cu": (
            Run("matrixMul", "80a675e8", "a[32,32]:i b[32,32]:i =c[32,32]:i 32", matmul, (2, 2), (16, 16)),
        ),
        "02_matrix_mul/noAliasing/restrict/mmul.cu": (
            Run("matrixMul", "b5a0e9e7", "a[32,32]:i b[32,32]:i =c[32,32]:i 32", matmul, (2, 2), (16, 16)),
        ),
        "02_matrix_mul/noAliasing/tmp/mmul.cu": (
            Run("matrixMul", "bc16ce06", "a[32,32]:i b[32,32]:i =c[32,32]:i 32", matmul, (2, 2), (16, 16)),
        ),
        "02_matrix_mul/rectangular/mmul.cu": (
            Run("matrixMul", "d13afaf4", "a[32,64]:i b[64,96]:i =c[32,96]:i", matmul, (3, 1), (32, 32),
                sizes={"N": "96", "K": "64"}),
        ),
        "02_matrix_mul/tiled/mmul.cu": (
            Run("matrixMul", "f822c22b", "a[64,64]:i b[64,64]:i =c[64,64]:i", matmul, (2, 2), (32, 32),
                sizes={"N": "64"}),
        ),
        "03_sum_reduction/bank_conflicts/sumReduction.cu": (
            Run("sumReduction", "971b5a3e", "x[1024]:i =y[4]:i", ref.sums_of(256), 4, 256),
        ),
        "03_sum_reduction/device_function/sumReduction.cu": (
            Run("sum_reduction", "80a3e46e", "x[1024]:i =y[2]:i", ref.sums_of(512), 2, 256, found="races",
                why=OLD_WARP),
        ),
        "03_sum_reduction/diverged/sumReduction.cu": (
            Run("sumReduction", "8afef6c9", "x[1024]:i =y[4]:i", ref.sums_of(256), 4, 256),
        ),
        "03_sum_reduction/no_confliicts/sumReduction.cu": (
            Run("sum_reduction", "a841e688", "x[1024]:i =y[4]:i", ref.sums_of(256), 4, 256),
        ),
        "03_sum_reduction/reduce_idle/sumReduction.cu": (
            Run("sum_reduction", "e9b05c93", "x[1024]:i =y[2]:i", ref.sums_of(512), 2, 256),
        ),
        "04_histogram/global_atomic/histogram.cu": (
            Run("histogram", "f377e825", "letters:c +y[7]:i 1000",
                lambda letters: ref.counts((letters - 97) // 4, 7), 2, 128,
                given=lambda g: {"letters": g.integers(97, 123, 1000).astype("i1")}),
        ),
        "04_histogram/shmem_atomic/histogram.cu": (
            Run("histogram", "ada851fd", "letters:c +y[7]:i 1000",
                lambda letters: ref.counts((letters - 97) // 4, 7), 2, 128,
                given=lambda g: {"letters": g.integers(97, 123, 1000).astype("i1")}),
        ),
        "05_convolution/1d_cache/convolution.cu": (
            Run("convolution_1d", "e5f2ed71", "x[518]:i =y[512]:i 512 %mask[7]:i",
                lambda x, mask: ref.inside(x, mask), 2, 256, 1024),
        ),
        "05_convolution/1d_constant_memory/convolution.cu": (
            Run("convolution_1d", "87a6fd87", "x[512]:i =y[512]:i 512 %mask[7]:i",
                lambda x, mask: ref.around(x, mask), 2, 256),
        ),
        "05_convolution/1d_naive/convolution.cu": (
            Run("convolution_1d", "bbce65f7", "x[512]:i m[7]:i =y[512]:i 512 7", ref.around, 2, 256),
        ),
        "05_convolution/1d_tiled/convolution.cu": (
            Run("convolution_1d", "18b264d2", "x[518]:i =y[512]:i 512 %mask[7]:i",
                lambda x, mask: ref.inside(x, mask), 2, 256, 262 * 4),
        ),
        "05_convolution/2d_constant_memory/convolution.cu": (
            Run("convolution_2d", "8b88dfeb", "x[32,32]:i =y[32,32]:i 32 %mask[7,7]:i",
                lambda x, mask: ref.around(x, mask), (2, 2), (16, 16)),
        ),
    },
    "ENCCS/cuda": {
        "examples/2.03_VectorAdd/MatrixAdd/Solution/matrix_add_gpu_ref.cu": (
            Run("matAdd", "0b2996c6", "w=30 h=20 a[20,30] b[20,30] =c[20,30]", add, (2, 2), (16, 16)),
        ),
        "examples/2.03_VectorAdd/VectorAdd/Solution/vector_add_gpu_ref.cu": (
            Run("vecAdd", "1675b825", "1000 a b =c", add, 8, 128),
        ),
        "examples/2.03_VectorAdd/VectorDotProduct/Solution/vector_dot_product_gpu_ref.cu": (
            Run("dot", "8a3861a7", "100 a[100,3] b[100,3] =c[100]", lambda a, b: (a * b).sum(1), 1, 128),
        ),
        "examples/3.01_ParallelReduction/Solution/reduction_gpu_1.cu": (
            Run("reduce_kernel", "9de2c8d2", "x +y[1] 1000", lambda x: [x.sum()], 4, 256),
        ),
        "examples/3.01_ParallelReduction/Solution/reduction_gpu_3.cu": (
            Run("reduce_kernel", "054d6204", "x =y[4] 1000", lambda x: ref.padded_sums(x, 256), 4, 256, 1024),
        ),
        "examples/3.01_ParallelReduction/Solution/reduction_gpu_4.cu": (
            Run("reduce_kernel", "86e92bbb", "x =y[4] 1000", lambda x: ref.padded_sums(x, 256), 4, 256, 1024),
        ),
        "examples/3.01_ParallelReduction/Solution/reduction_gpu_5.cu": (
            Run("reduce_kernel", "b4b36326", "x =y[4] 1000", lambda x: ref.padded_sums(x, 256), 4, 256, 1024),
        ),
        "examples/3.01_ParallelReduction/Solution/reduction_gpu_6.cu": (
            Run("reduce_kernel", "bb9d2ed1", "x =y[2] 1000", lambda x: ref.padded_sums(x, 512), 2, 256, 1024),
        ),
        "examples/3.01_ParallelReduction/Solution/reduction_gpu_7.cu": (
            Run("reduce_kernel", "4506f730", "x =y[2] 1000", lambda x: ref.padded_sums(x, 512), 2, 256, 1024,
                found="races", why=OLD_WARP),
        ),
        "examples/3.02_TaskParallelism/Async1/Solution/async_gpu_1.cu": (
            Run("func1_kernel", "f867defe", "x =y 1000", lambda x: ref.repeated(np.sin, x, 100), 8, 128),
            Run("func2_kernel", "f8d9695b", "x =y 1000", lambda x: ref.repeated(lambda v: -np.sin(v), x, 100),
                8, 128),
        ),
        "examples/3.02_TaskParallelism/Async2/Solution/async_gpu_1.cu": (
            Run("func2_kernel", "4688ab29", "a b =c 1000",
                lambda a, b: a[::-1] + ref.repeated(lambda v: -np.sin(v), b, 100), 8, 128),
        ),
    },
}
