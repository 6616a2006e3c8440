"""Tutorials: first kernels, reductions step by step, transposes, images, sparse products."""

from __future__ import annotations

from functools import partial

import numpy as np
import public_references as ref
from public_references import add, matmul, softmax, transposed
from public_runs import Run, Table

from public_tables.reasons import NO_ATOMIC, NO_GUARD, OLD_WARP

BLOCKS, HALVES = partial(ref.padded_sums, n=256), partial(ref.padded_sums, n=512)
SWAPPED = "its guard compares swapped coordinates, so that only a square comes out whole"

# fmt: off
TABLE: Table = {
    "Infatoshi/cuda-course": {
        "05_Writing_your_First_Kernels/02 Kernels/00_vector_add_v1.cu": (
            Run("vector_add_gpu", "cef830ba", "a b =c 1000", add, 8, 128),
        ),
        "05_Writing_your_First_Kernels/02 Kernels/01_vector_add_v2.cu": (
            Run("vector_add_gpu_1d", "169aceea", "a b =c 1000", add, 8, 128),
            Run("vector_add_gpu_3d", "2412b0b7", "a[9,10,11] b[9,10,11] =c[9,10,11] 11 10 9", add, (2, 2, 2),
                (8, 8, 8)),
        ),
        "05_Writing_your_First_Kernels/02 Kernels/02 matmul.cu": (
            Run("matmul_gpu", "d9d57f73", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul, (3, 2), (16, 16)),
        ),
        "05_Writing_your_First_Kernels/03 Profiling/00 nvtx_matmul.cu": (
            Run("matrixMulKernel", "e07eb1b0", "a[20,20] b[20,20] =c[20,20] 20", matmul, (2, 2), (16, 16)),
        ),
        "05_Writing_your_First_Kernels/03 Profiling/01_naive_matmul.cu": (
            Run("matrixMultiply", "b3849d3a", "a[20,30] b[30,40] =c[20,40] 20 40 30", matmul, (3, 2),
                (16, 16)),
        ),
        "05_Writing_your_First_Kernels/03 Profiling/02_tiled_matmul.cu": (
            Run("matrixMultiplyOptimized", "81af46b1", "a[20,30] b[30,40] =c[20,40] 20 40 30", matmul, (3, 2),
                (16, 16)),
        ),
        "05_Writing_your_First_Kernels/04 Atomics/00_atomicAdd.cu": (
            Run("incrementCounterNonAtomic", "a6ad88f5", "+x[1]:i", lambda: [256], 2, 128, found="races",
                why=NO_ATOMIC),
            Run("incrementCounterAtomic", "30a0a1ca", "+x[1]:i", lambda: [256], 2, 128),
        ),
        "05_Writing_your_First_Kernels/05 Streams/01_stream_basics.cu": (
            Run("vectorAdd", "99e6f3f1", "a b =c 1000", add, 8, 128),
        ),
        "05_Writing_your_First_Kernels/05 Streams/02_stream_advanced.cu": (
            Run("kernel1", "339e615b", "~x 1000", lambda x: 2 * x, 8, 128),
            Run("kernel2", "a20d52af", "~x 1000", lambda x: x + 1, 8, 128),
        ),
        "06_CUDA_APIs/01 CUBLAS/02 cuBLASLt/02_compare.cu": (
            Run("naiveMatrixMultiply", "cc051b1a", "a[20,30] b[30,40] =c[20,40] 20 40 30", matmul, (3, 2),
                (16, 16)),
        ),
        "06_CUDA_APIs/02 CUDNN/00 Tanh.cu": (
            Run("naiveTanhKernel", "dbc0c6b7", "x =y 1000", lambda x: np.tanh(x), 8, 128),
        ),
        "06_CUDA_APIs/02 CUDNN/01 Conv2d_NCHW.cu": (
            Run("naiveConv2d", "fe258ae9", "x[2,3,8,9] w[4,3,3,3] =y[2,4,8,9] 9 8 3 4 3 2", ref.images,
                (2, 1, 8), (8, 8)),
        ),
        "07_Faster_Matmul/unrolling_example.cu": (
            Run("vectorAddNoUnroll", "dcfd26f6", "a b =c 1000", lambda a, b: 100 * (a + b), 8, 128),
            Run("vectorAddUnroll", "22f99038", "a b =c 1000", lambda a, b: 100 * (a + b), 8, 128),
        ),
        "08_Triton/02_softmax.cu": (
            Run("softmax_cuda", "4e487230", "x[7,40] =y[7,40] 7 40", softmax, (1, 7), 64),
        ),
        "09_PyTorch_Extensions/polynomial_cuda.cu": (
            Run("polynomial_activation_kernel<float>", "84459f51", "x =y 1000", lambda x: x * x + x + 1, 8,
                128),
        ),
    },
    "Liu-xiandong/How_to_optimize_in_GPU": {
        "elementwise/elementwise_add.cu": (
            Run("add", "5647762c", "a[1024] b[1024] =c[1024]", add, 8, 128),
            Run("vec2_add", "c26e47a6", "a[1024] b[1024] =c[1024]", add, 4, 128),
            Run("vec4_add", "3ffd49f0", "a[1024] b[1024] =c[1024]", add, 2, 128),
        ),
        "reduce/reduce_v0_baseline.cu": (
            Run("reduce0", "c87157c6", "x[1024] =y[4]", BLOCKS, 4, 256),
        ),
        "reduce/reduce_v1_no_divergence_branch.cu": (
            Run("reduce1", "b2abc8bb", "x[1024] =y[4]", BLOCKS, 4, 256),
        ),
        "reduce/reduce_v2_no_bank_conflict.cu": (
            Run("reduce2", "ffdb5272", "x[1024] =y[4]", BLOCKS, 4, 256),
        ),
        "reduce/reduce_v3_add_during_load.cu": (
            Run("reduce3", "71b57424", "x[1024] =y[2]", HALVES, 2, 256),
        ),
        "reduce/reduce_v4_unroll_last_warp.cu": (
            Run("reduce4", "fd890540", "x[1024] =y[2]", HALVES, 2, 256, found="races", why=OLD_WARP),
        ),
        "reduce/reduce_v5_completely_unroll.cu": (
            Run("reduce5<256>", "71934605", "x[1024] =y[2]", HALVES, 2, 256, found="races", why=OLD_WARP),
        ),
        "reduce/reduce_v6_multi_add.cu": (
            Run("reduce6<256, 4>", "75523485", "x[2048] =y[2] 2048", ref.sums_of(1024), 2, 256, found="races",
                why=OLD_WARP),
        ),
        "reduce/reduce_v7_shuffle.cu": (
            Run("reduce7<256, 4>", "b4d2b8a8", "x[2048] =y[2] 2048", ref.sums_of(1024), 2, 256),
        ),
        "spmm/spmm.cu": (
            Run("My_spmm_csr_vector_kernel_v0<64>", "cf1ba06f",
                "30 start index value B[40,50] =C[30,50] 50 50", lambda dense, B: dense @ B, (1, 30), 64,
                given=ref.sparse(30, 40)),
        ),
        "spmv/spmv.cu": (
            Run("My_spmv_csr_kernel<int, float, 16, 16>", "fa499e56", "30 start index value x[40] =y[30]",
                lambda dense, x: dense @ x, 2, 256, given=ref.sparse(30, 40)),
        ),
    },
    "PaddleJitLab/CUDATutorial": {
        "docs/02_first_kernel/vector_add.cu": (
            Run("add_kernel", "5bd0d90e", "a[50] b[50] =c[50] 50", add),
        ),
        "docs/04_first_refine_kernel/vector_add_grid.cu": (
            Run("add_kernel", "bba0909d", "a b =c 1000", add, 8, 128),
        ),
        "docs/04_first_refine_kernel/vector_add_thread.cu": (
            Run("add_kernel", "aefd001b", "a b =c 1000", add, 1, 128),
        ),
        "docs/06_impl_matmul/matmul_raw.cu": (
            Run("sgemm_naive_kernel", "03cd293c", "a[20,30] b[30,40] =c[20,40] 20 40 30", matmul, (2, 3),
                (16, 16)),
        ),
        "docs/07_optimize_matmul/matmul_shared.cu": (
            Run("sgemm_shared_mem_kernel<16>", "93f6ca23", "a[32,48] b[48,64] =c[32,64] 32 64 48", matmul,
                (2, 4), 256),
        ),
        "docs/08_impl_reduce/reduce_naive.cu": (
            Run("reduce_naive_kernel<256>", "7103e742", "x:i =y[4]:i 1000", BLOCKS, 4, 256),
        ),
        "docs/09_optimize_reduce/01_interleaved_addressing/reduce_interleaved_addressing.cu": (
            Run("reduce_naive_kernel<256>", "b40ad657", "x:i =y[4]:i 1000", BLOCKS, 4, 256,
                found="uninitialised", why="its guard leaves out the index of the thread"),
        ),
        "docs/09_optimize_reduce/02_bank_conflict/reduce_bank_conflict_free.cu": (
            Run("reduce_bank_conflict_free_kernel<256>", "f42990a2", "x:i =y[4]:i 1000", BLOCKS, 4, 256,
                found="uninitialised", why="it adds what its last block has not loaded"),
        ),
        "docs/09_optimize_reduce/03_idle_threads_free/reduce_idle_threads_free.cu": (
            Run("reduce_idle_thread_free<256>", "c6151a4b", "x[1024]:i =y[2]:i 1024", HALVES, 2, 256),
        ),
        "docs/09_optimize_reduce/04_unroll/reduce_unroll_all.cu": (
            Run("reduce_unroll_all<256>", "3f80c718", "x[1024]:i =y[2]:i 1024", HALVES, 2, 256, found="races",
                why=OLD_WARP),
        ),
        "docs/09_optimize_reduce/04_unroll/reduce_unroll_last_warp.cu": (
            Run("reduce_unroll_last_warp<256>", "45aae5db", "x[1024]:i =y[2]:i 1024", HALVES, 2, 256,
                found="races", why=OLD_WARP),
        ),
        "docs/10_what_my_id/my_id.cu": (
            Run("what_is_my_id<32>", "73cf3f67", "=b[256]:u =t[256]:u =w[256]:u =i[256]:u",
                lambda: (np.arange(256) // 128, np.arange(256) % 128, np.arange(256) % 128 // 32,
                         np.arange(256)),
                2, 128),
        ),
        "docs/12_convolution/01_naive_conv/naive_conv.cu": (
            Run("naive_conv2d_kernel", "e38c01df",
                "2 3 8 9 4 3 3 8 9 1 1 1 1 x[2,3,8,9] w[4,3,3,3] =y[2,4,8,9]", ref.images, (3, 1, 2),
                (32, 4)),
        ),
    },
    "udacity/cs344": {
        "Final/smooth/smooth.cu": (
            Run("smooth", "d16b6e90", "=y[256] x[256]",
                lambda x: np.convolve(np.pad(x, 1, "edge"), [0.25, 0.5, 0.25], "valid"), 2, 128),
        ),
        "Lesson Code Snippets/Lesson 2 Code Snippets/atomics.cu": (
            Run("increment_naive", "7f5e627a", "+x[100]:i", lambda: np.full(100, 10), 10, 100, found="races",
                why=NO_ATOMIC),
            Run("increment_atomic", "8940cad4", "+x[100]:i", lambda: np.full(100, 10), 10, 100),
        ),
        "Lesson Code Snippets/Lesson 2 Code Snippets/memory.cu": (
            Run("use_global_memory_GPU", "aad46003", "=x[128]", lambda: 2.0 * np.arange(128), 1, 128),
            Run("use_shared_memory_GPU", "db38d3ee", "~x[128]",
                lambda x: np.minimum(x, (np.cumsum(x) - x) / (np.arange(128) + 1)), 1, 128, found="races",
                why="it overwrites shared memory that other threads may still add up"),
        ),
        "Lesson Code Snippets/Lesson 3 Code Snippets/histo.cu": (
            Run("naive_histo", "f4ffd556", "+y[16]:i x[1024]:i<99 16", lambda x: ref.counts(x % 16, 16), 8,
                128, found="races", why=NO_ATOMIC),
            Run("simple_histo", "f484c1cb", "+y[16]:i x[1024]:i<99 16", lambda x: ref.counts(x % 16, 16), 8,
                128),
        ),
        "Lesson Code Snippets/Lesson 3 Code Snippets/reduce.cu": (
            Run("global_reduce_kernel", "1665735d", "=y[4] x[1024]", BLOCKS, 4, 256),
            Run("shmem_reduce_kernel", "97cb0ef5", "=y[4] x[1024]", BLOCKS, 4, 256, 1024),
        ),
        "Lesson Code Snippets/Lesson 5 Code Snippets/transpose.cu": (
            Run("transpose_serial", "36d34c61", "x[64,64] =y[64,64]", transposed, sizes={"N": "64"}),
            Run("transpose_parallel_per_row", "4dc703fa", "x[64,64] =y[64,64]", transposed, 1, 64,
                sizes={"N": "64"}),
            Run("transpose_parallel_per_element", "7e69e5e3", "x[64,64] =y[64,64]", transposed, (2, 2),
                (32, 32), sizes={"N": "64"}),
            Run("transpose_parallel_per_element_tiled", "084ed97f", "x[64,64] =y[64,64]", transposed, (2, 2),
                (32, 32), sizes={"N": "64"}),
            Run("transpose_parallel_per_element_tiled16", "b56a19d4", "x[64,64] =y[64,64]", transposed,
                (4, 4), (16, 16), sizes={"N": "64"}),
            Run("transpose_parallel_per_element_tiled_padded", "01043b5e", "x[64,64] =y[64,64]", transposed,
                (2, 2), (32, 32), sizes={"N": "64"}),
            Run("transpose_parallel_per_element_tiled_padded16", "c9b7642e", "x[64,64] =y[64,64]", transposed,
                (4, 4), (16, 16), sizes={"N": "64"}),
        ),
        "Lesson Code Snippets/Lesson 7 Code Snippets/tiling/tiling.cu": (
            Run("foo", "4392fbbf", "=y[256] a[256] b[256] c[256] d[256] e[256]",
                lambda a, b, c, d, e: (a + b + c + d + e) / 5, 2, 128),
            Run("bar", "6129c918", "=y[256] x[256]", lambda x: ref.around(x, np.ones(5)) / 5, 2, 128,
                found="out_of_bounds", why="it reads two places before the first and after the last"),
        ),
        "Problem Sets/Problem Set 2/student_func.cu": (
            Run("recombineChannels", "e745b5d1", "r[20,30]:b g[20,30]:b b[20,30]:b =y[20,30,4]:b 20 30",
                lambda r, g, b: np.stack([r, g, b, np.full(r.shape, 255)], -1), (2, 2), (16, 16)),
        ),
        "Problem Sets/Problem Set 3/HW3.cu": (
            Run("rgb_to_xyY", "51efba5f",
                "r[20,30]:f>0 g[20,30]:f>0 b[20,30]:f>0 =x[20,30] =y[20,30] =l[20,30] 0.5 20 30", ref.xyy,
                (2, 2), (16, 16)),
            Run("normalize_cdf", "d71deaeb", "x:u =y 1000", lambda x: x / max(x[-1], 1), 8, 128),
        ),
    },
    "Tony-Tan/CUDA_Freshman": {
        "10_reduceInteger/reduceInteger.cu": (
            Run("reduceNeighbored", "2228c299", "x[1024]:i =y[4]:i 1024u", BLOCKS, 4, 256),
            Run("reduceNeighboredLess", "36251191", "x[1024]:i =y[4]:i 1024u", BLOCKS, 4, 256),
            Run("reduceInterleaved", "28f8f05f", "x[1024]:i =y[4]:i 1024u", BLOCKS, 4, 256),
        ),
        "11_simple_sum_matrix2D/simple_sum_matrix.cu": (
            Run("sumMatrix", "0a90475f", "a[20,20] b[20,20] =c[20,20] 20 20", add, (2, 2), (16, 16)),
        ),
        "12_reduce_unrolling/reduceUnrolling.cu": (
            Run("reduceUnroll2", "c69eb931", "x[1024]:i =y[2]:i 1024u", HALVES, 2, 256),
            Run("reduceUnroll4", "2fc64466", "x[2048]:i =y[2]:i 2048u", ref.sums_of(1024), 2, 256),
            Run("reduceUnroll8", "8f1eb009", "x[4096]:i =y[2]:i 4096u", ref.sums_of(2048), 2, 256),
        ),
        "18_sum_array_offset/sum_array_offset.cu": (
            Run("sumArraysGPU", "5c4e7393", "a b =c 11 1000",
                lambda a, b: np.append((a + b)[11:], np.full(11, np.nan)), 8, 128),
        ),
        "22_transform_matrix2D/transform_matrix2D.cu": (
            Run("copyRow", "9b8fd926", "x[20,30] =y[20,30] 30 20", lambda x: x, (2, 2), (16, 16)),
            Run("copyCol", "3ec866e4", "x[20,30] =y[20,30] 30 20", lambda x: x, (2, 2), (16, 16)),
            Run("transformNaiveRow", "576c841e", "x[20,30] =y[30,20] 30 20", transposed, (2, 2), (16, 16)),
            Run("transformNaiveCol", "d25a5e6e", "x[30,20] =y[20,30] 30 20", transposed, (2, 2), (16, 16)),
            Run("transformNaiveRowUnroll", "5814aa84", "x[32,128] =y[128,32] 128 32", transposed, (2, 2),
                (16, 16)),
            Run("transformNaiveColUnroll", "9847a1ea", "x[128,32] =y[32,128] 128 32", transposed, (2, 2),
                (16, 16)),
            Run("transformNaiveRowDiagonal", "1995d446", "x[32,32] =y[32,32] 32 32", transposed, (2, 2),
                (16, 16)),
            Run("transformNaiveColDiagonal", "8cf3ca1b", "x[32,32] =y[32,32] 32 32", transposed, (2, 2),
                (16, 16)),
        ),
        "24_shared_memory_read_data/shared_memory_read_data.cu": (
            Run("setRowReadRow", "7bbebf18", "=y[32,32]:i", lambda: np.arange(1024), 1, (32, 32)),
            Run("setColReadCol", "5d935a8f", "=y[32,32]:i", lambda: np.arange(1024), 1, (32, 32)),
            Run("setColReadRow", "980ff5c1", "=y[32,32]:i", lambda: np.arange(1024).reshape(32, 32).T, 1,
                (32, 32)),
            Run("setRowReadCol", "264bacc2", "=y[32,32]:i", lambda: np.arange(1024).reshape(32, 32).T, 1,
                (32, 32)),
            Run("setRowReadColDyn", "9dd4999a", "=y[32,32]:i", lambda: np.arange(1024).reshape(32, 32).T, 1,
                (32, 32), 4096),
            Run("setRowReadColIpad", "7a6fae5e", "=y[32,32]:i", lambda: np.arange(1024).reshape(32, 32).T, 1,
                (32, 32)),
            Run("setRowReadColRect", "358f2259", "=y[16,32]:i", lambda: np.arange(512).reshape(16, 32).T, 1,
                (32, 16)),
            Run("setRowReadColRectDyn", "93746e3d", "=y[16,32]:i", lambda: np.arange(512).reshape(16, 32).T,
                1, (32, 16), 2048),
            Run("setRowReadColRectPad", "1bc803d1", "=y[16,32]:i", lambda: np.arange(512).reshape(16, 32).T,
                1, (32, 16)),
            Run("setRowReadColRectDynPad", "93394789", "=y[16,32]:i",
                lambda: np.arange(512).reshape(16, 32).T, 1, (32, 16), 4 * 16 * 33),
        ),
        "25_reduce_integer_shared_memory/reduce_integer_shared_memory.cu": (
            Run("reduceGmem", "8e1993cf", "x[1024]:i =y[4]:i 1024u", BLOCKS, 4, 256, found="races",
                why=OLD_WARP),
            Run("reduceSmem", "f666ddb0", "x[1024]:i =y[4]:i 1024u", BLOCKS, 4, 256, found="races",
                why=OLD_WARP),
        ),
        "26_transform_shared_memory/transform_shared_memory.cu": (
            Run("transformSmem", "1bea94fa", "x[16,32] =y[32,16] 32 16", transposed, (4, 2), (8, 8),
                why=SWAPPED),
            Run("transformSmemPad", "deff5fe4", "x[16,32] =y[32,16] 32 16", transposed, (4, 2), (8, 8),
                why=SWAPPED),
            Run("transformSmemUnrollPad", "8eb2b11f", "x[16,32] =y[32,16] 32 16", transposed, (2, 2), (8, 8)),
        ),
        "8_divergence/divergence.cu": (
            Run("mathKernel1", "1180a80d", "=y[256]", lambda: np.where(np.arange(256) % 2, 200, 100), 2, 128),
            Run("mathKernel2", "2fd8c431", "=y[256]", lambda: np.where(np.arange(256) // 32 % 2, 200, 100), 2,
                128),
            Run("mathKernel3", "9fdea9f9", "=y[256]", lambda: np.where(np.arange(256) % 2, 200, 100), 2, 128),
        ),
    },
    "brucefan1983/CUDA-Programming": {
        "src/03-basic-framework/add1.cu": (
            Run("add", "1252a462", "a[1024]:d b[1024]:d =c[1024]:d", add, 8, 128),
        ),
        "src/03-basic-framework/add4device.cu": (
            Run("add1", "d8d53f6e", "a:d b:d =c:d 1000", add, 8, 128),
            Run("add2", "0675e90e", "a:d b:d =c:d 1000", add, 8, 128),
            Run("add3", "78fa0c65", "a:d b:d =c:d 1000", add, 8, 128),
        ),
        "src/04-error-check/memcheck.cu": (
            Run("add", "9198460e", "a:d b:d =c:d 1000", add, 8, 128, found="out_of_bounds", why=NO_GUARD),
        ),
        "src/07-global-memory/matrix.cu": (
            Run("copy", "4133e5ed", "x[40,40] =y[40,40] 40", lambda x: x, (2, 2), (32, 32)),
            Run("transpose1", "44684e31", "x[40,40] =y[40,40] 40", transposed, (3, 3), (16, 16)),
            Run("transpose2", "f7598755", "x[40,40] =y[40,40] 40", transposed, (3, 3), (16, 16)),
            Run("transpose3", "00a77565", "x[40,40] =y[40,40] 40", transposed, (3, 3), (16, 16)),
        ),
        "src/08-shared-memory/bank.cu": (
            Run("transpose1", "179a3ad0", "x[40,40] =y[40,40] 40", transposed, (2, 2), (32, 32)),
            Run("transpose2", "f51418cd", "x[40,40] =y[40,40] 40", transposed, (2, 2), (32, 32)),
        ),
        "src/08-shared-memory/reduce2gpu.cu": (
            Run("reduce_global", "76ae478d", "x[512] =y[4]", ref.sums_of(128), 4, 128),
            Run("reduce_shared", "87bdb8ca", "x[500] =y[4]", lambda x: ref.padded_sums(x, 128), 4, 128,
                sizes={"N": "500"}),
            Run("reduce_dynamic", "0e700a5e", "x[500] =y[4]", lambda x: ref.padded_sums(x, 128), 4, 128, 512,
                sizes={"N": "500"}),
        ),
        "src/09-atomic/reduce.cu": (
            Run("reduce", "8ee8a450", "x[500] +y[1] 500", lambda x: [x.sum()], 4, 128, 512),
        ),
        "src/10-warp/reduce.cu": (
            Run("reduce_syncwarp", "979e95f0", "x[500] +y[1] 500", lambda x: [x.sum()], 4, 128, 512),
            Run("reduce_shfl", "dcf86499", "x[500] +y[1] 500", lambda x: [x.sum()], 4, 128, 512),
        ),
    },
    "PacktPublishing/Learn-CUDA-Programming": {
        "Chapter01/01_cuda_introduction/02_vector_addition/vector_addition_gpu_thread_block.cu": (
            Run("device_add", "f7ff2ed8", "a[512]:i b[512]:i =c[512]:i", add, 4, 128),
        ),
        "Chapter02/02_memory_overview/01_sgemm/sgemm.cu": (
            Run("sgemm_gpu_kernel", "ead6bc5f", "A[32,32] B[32,32] ~C[32,32] 32 32 32 0.5 0.25",
                lambda A, B, C: A @ B / 2 + C / 4, (2, 2), (16, 16)),
        ),
        "Chapter02/02_memory_overview/04_matrix_transpose/conflict_solved.cu": (
            Run("matrix_transpose_naive", "cb3d1780", "x[64,64]:i =y[64,64]:i", transposed, (2, 2), (32, 32),
                sizes={"N": "64"}),
            Run("matrix_transpose_shared", "2a427aa5", "x[64,64]:i =y[64,64]:i", transposed, (2, 2), (32, 32),
                sizes={"N": "64"}),
        ),
        "Chapter03/03_cuda_thread_programming/03_threadsync_and_reduction/reduction_global_kernel.cu": (
            Run("global_reduction_kernel", "26069399", "~y[512] x[512] 256 512",
                lambda y, x: y + np.append(x[256:], np.zeros(256)), 4, 128),
        ),
        "Chapter03/03_cuda_thread_programming/03_threadsync_and_reduction/reduction_shared_kernel.cu": (
            Run("reduction_kernel", "38da1549", "=y[4] x 1000u", BLOCKS, 4, 256, 1024),
        ),
        "Chapter03/03_cuda_thread_programming/05_warp_divergence/reduction_kernel_interleaving.cu": (
            Run("reduction_kernel_1", "db426c56", "=y[4] x 1000u", BLOCKS, 4, 256, 1024),
        ),
        "Chapter03/03_cuda_thread_programming/05_warp_divergence/reduction_kernel_sequential.cu": (
            Run("reduction_kernel_2", "2d881561", "=y[4] x 1000u", BLOCKS, 4, 256, 1024),
        ),
        "Chapter03/03_cuda_thread_programming/06_limiter_balancing/reduction_kernel_opt.cu": (
            Run("reduction_kernel", "9d14d213", "=y[1] x 1000u", lambda x: [x.sum()], 1, 256, 1024),
        ),
        "Chapter03/03_cuda_thread_programming/07_warp_synchronous_programming/reduction_wp_kernel.cu": (
            Run("reduction_kernel", "6c9c8f00", "=y[1] x 1000u", lambda x: [x.sum()], 1, 256),
        ),
        "Chapter03/03_cuda_thread_programming/11_mixed_precision_operation/mixed_precision_half.cu": (
            Run("hfma_kernel", "cc4ec5d9", "a[512]:h b[512]:h =c[512] 256", lambda a, b: a * b, 2, 64, 16,
                tolerance=20),
        ),
        "Chapter07/07_parallel_programming_pattern/01_sgemm_optimization/sgemm.cu": (
            Run("sgemm_kernel", "7a13c851", "A[32,30] B[30,48] ~C[32,48] 32 48 30 0.5 0.25",
                lambda A, B, C: A @ B / 2 + C / 4, (3, 2), (16, 16),
                why="it takes the rows of B to be as long as those of A"),
            Run("sgemm_kernel_v2", "a8bfcc76", "A[32,64] B[64,48] ~C[32,48] 32 48 64 0.5 0.25",
                lambda A, B, C: A @ B / 2 + C / 4, (3, 2), (16, 16)),
        ),
        "Chapter07/07_parallel_programming_pattern/02_convolution/convolution.cu": (
            Run("convolution_kernel_v1", "0e527829", "=y[32,32] x[32,32] m[5,5] 32 32 5", ref.around, (2, 2),
                (16, 16)),
            Run("convolution_kernel_v2", "29b7770d", "=y[32,32] x[32,32] m[5,5] 32 32 5 %c_filter[5,5]",
                lambda x, c_filter: ref.around(x, c_filter), (2, 2), (16, 16)),
        ),
        "Chapter07/07_parallel_programming_pattern/03_scan/scan_v1.cu": (
            Run("scan_v1_kernel", "5594ce81", "=y[128] x[128] 128", lambda x: np.cumsum(x), 1, 128),
        ),
        "Chapter07/07_parallel_programming_pattern/04_pack_n_split/pack_n_split.cu": (
            Run("predicate_kernel", "7e93fd54", "=y x 1000", lambda x: x > 0, 8, 128),
        ),
        "Chapter07/07_parallel_programming_pattern/05_n-body/n_body.cu": (
            Run("calculateBodyForce", "d2519bf8", "p[256,4] ~v[256,4] 0.5 256", ref.bodies, 2, 128,
                tolerance=5),
        ),
        "Chapter07/07_parallel_programming_pattern/07_radixsort/radix_warp_sort.cu": (
            Run("radix_warp_sort", "1dc8ddea", "%d_data[32]:u", lambda: (), 1, 32, found="races",
                why=OLD_WARP),
        ),
        "Chapter10/10_deep_learning/01_ann/src/loss.cu": (
            Run("softmax_loss_kernel", "78247ba3", "=y[1] p[64,10]:f>0 t[64,10] =w[64] 64 10",
                lambda p, t: ([-(t * np.log(p)).sum()], -(t * np.log(p)).sum(1)), 1, 64, 256, found="races",
                why="the threads of the upper half go on adding"),
        ),
    },
}
