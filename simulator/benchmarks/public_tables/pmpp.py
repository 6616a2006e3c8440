"""Solutions to Programming Massively Parallel Processors: the patterns of its chapters."""

from __future__ import annotations

import numpy as np
import public_references as ref
from public_references import add, matmul, transposed
from public_runs import Run, Table

from public_tables.reasons import NO_GUARD

LETTERS = {"given": lambda g: {"letters": g.integers(97, 123, 1000).astype("i1")}}


def of_letters(letters: ref.Array) -> ref.Array:
    """Counts of the letters by fours."""
    return ref.counts((letters - 97) // 4, 7)


# fmt: off
TABLE: Table = {
    "R100001/Programming-Massively-Parallel-Processors": {
        "Chapters/Ch02 - Data Parallel Computing/labs/array_add_on_device/array_add_on_device.cu": (
            Run("add_v1", "0fca721f", "a[20,30]:i b[20,30]:i =c[20,30]:i 20 30", add, (2, 2), (16, 16)),
            Run("add_v2", "b5fc4977", "a[20,30]:i b[20,30]:i =c[20,30]:i 20 30", add, (2, 2), (16, 16)),
        ),
        "Chapters/Ch02 - Data Parallel Computing/labs/array_assign_on_device/array_assign_on_device.cu": (
            Run("kernel", "1509fe62", "=x:i 1000", lambda: np.arange(1000), 8, 128, found="out_of_bounds",
                why=NO_GUARD),
        ),
        "Chapters/Ch03 - Scalable Parallel Execution/labs/image_blur/image_blur.cu": (
            Run("blur_kernel", "0e3b7cbf", "x[20,30]:b =y[20,30]:b 30 20", lambda x: ref.blur(x, 1), (2, 2),
                (16, 16)),
        ),
        "Chapters/Ch03 - Scalable Parallel Execution/labs/image_color_to_grayscale/image_color_to_grayscale.cu": (  # noqa: E501
            Run("color_to_grayscale_conversion", "54105948", "x[20,30,3]:b =y[20,30]:b 30 20", ref.grey,
                (2, 2), (16, 16)),
        ),
        "Chapters/Ch03 - Scalable Parallel Execution/labs/mat_vec_mul/mat_vec_mul.cu": (
            Run("mat_vec_mul", "712b2054", "=y[50] a[50,50] b[50] 50", matmul, 1, 64),
        ),
        "Chapters/Ch03 - Scalable Parallel Execution/labs/matrix_addition/matrix_addition.cu": (
            Run("matrix_addition_B", "2332552c", "=c[20,20] a[20,20] b[20,20] 20", add, (2, 2), (16, 16),
                found="out_of_bounds", why="its guard says && where it must say ||"),
            Run("matrix_addition_C", "c1da3a76", "=c[20,20] a[20,20] b[20,20] 20", add, 1, 32),
            Run("matrix_addition_D", "923c4c4c", "=c[20,20] a[20,20] b[20,20] 20", add, 1, 32),
        ),
        "Chapters/Ch03 - Scalable Parallel Execution/labs/vector_add/vector_add.cu": (
            Run("vec_add", "a0006e74", "a:i b:i =c:i 1000", add, 8, 128),
        ),
        "Chapters/Ch04 - Memory And Data Locality/labs/basic_matrix_mul/basic_matrix_mul.cu": (
            Run("sgemm", "5c43e48d", "a[20,30] b[30,40] =c[20,40] 20 30 30 40", matmul, (3, 2), (16, 16)),
        ),
        "Chapters/Ch04 - Memory And Data Locality/labs/tiled_matrix_mul_shared_mem/tiled_matrix_mul_shared_mem.cu": (  # noqa: E501
            Run("matrix_mul", "6f6895ed", "a[20,30] b[30,40] =c[20,40] 20 30 30 40 20 40", matmul, (3, 2),
                (16, 16)),
        ),
        "Chapters/Ch05 - Performance Considerations/labs/rectangular_tiles_mat_mul/rectangular_tiles_mat_mul.cu": (  # noqa: E501
            Run("matrix_mul", "cb29746b", "a[20,30] b[30,80] =c[20,80] 20 30 30 80 20 80", matmul, (2, 1),
                (32, 32), found="out_of_bounds", why="its second guard leaves out the column of the block"),
        ),
        "Chapters/Ch05 - Performance Considerations/labs/reduction/reduction.cu": (
            Run("reduction", "6d3eb259", "x 1000 =y[2]", lambda x: ref.padded_sums(x, 512), 2, 256),
        ),
        "Chapters/Ch07 - Parallel Patterns: Convolution/labs/convolution/convolution.cu": (
            Run("convolution", "d78bd6c4", "x[32,32,1] m[5,5] =y[32,32,1] 1 32 32",
                lambda x, m: np.clip(ref.around(x[..., 0], m), 0, 1), (2, 2), (16, 16), found="uninitialised",
                why="its 16 x 16 threads load one element each of a tile of 20 x 20"),
        ),
        "Chapters/Ch08 - Parallel Patterns: Prefix Sum/labs/scan/scan.cu": (
            Run("add_intermediate_results", "4ed5f587", "~y 1000 s[7]",
                lambda y, s: y + np.repeat([0, *s], 128)[:1000], 7, 128),
        ),
        "Chapters/Ch09 - Parallel Patterns: Histogram/labs/histogram/histogram.cu": (
            Run("histogram_kernel", "774ec440", "x:u<50 +y[50]:u 1000u 50u", lambda x: ref.counts(x, 50), 2,
                128, 200),
        ),
        "Chapters/Ch10 - Parallel Patterns: Sparse Matrix Computation/labs/sparse_matrix_comp.cu": (
            Run("transpose", "16db68ea", "x[40,50]:i =y[50,40]:i 40 50", transposed, (2, 2), (32, 8)),
            Run("parallel_copy", "e37393e1", "order x[9,50]:i =y[9,50]:i 9 50",
                lambda order, x: x[np.argsort(order)], 1, 32,
                given=lambda g: {"order": g.permutation(9).astype("i4")}),
        ),
        "Performance-Tests-NvBench/array_add/array_add_kernels.cuh": (
            Run("array_add_not_coalesced<float>", "b88e66cf", "a[20,30] b[20,30] =c[20,30] 30 20", add,
                (2, 2), (16, 16)),
            Run("array_add_coalesced<float>", "b86e2f69", "a[20,30] b[20,30] =c[20,30] 30 20", add, (2, 2),
                (16, 16)),
        ),
        "Performance-Tests-NvBench/convolution/convolution_kernels.cuh": (
            Run("convolution_1D_basic_kernel", "41c5b8b8", "x m[9] =y 9 1000",
                lambda x, m: np.clip(ref.around(x, m), 0, 1), 8, 128),
            Run("convolution_2D_basic_kernel", "cc653a56", "x[20,30,2] m[3,5] =y[20,30,2] 3 5 20 30 2",
                lambda x, m: np.clip(np.stack([ref.around(x[..., c], m) for c in (0, 1)], -1), 0, 1), (2, 2),
                (16, 16)),
        ),
    },
    "psmarter/PMPP-Learning": {
        "Exercises/Chapter02/Exercise01/solution.cu": (
            Run("vectorMultiply", "872b750a", "=c a b 1000", lambda a, b: a * b, 8, 128),
        ),
        "Exercises/Chapter03/Exercise01/solution.cu": (
            Run("matrixMulRowKernel", "5a13f714", "a[20,20] b[20,20] =c[20,20] 20", matmul, 1, 32),
            Run("matrixMulColKernel", "4f114e1d", "a[20,20] b[20,20] =c[20,20] 20", matmul, 1, 32),
        ),
        "Exercises/Chapter03/Exercise02/solution.cu": (
            Run("matrixVecMulKernel", "abe8034f", "a[20,30] b[30] =c[20] 20 30", matmul, 1, 32),
        ),
        "Exercises/Chapter03/Exercise03/solution.cu": (
            Run("MatrixMulKernel", "e693ad84", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul, (3, 2),
                (16, 16)),
        ),
        "Exercises/Chapter03/Exercise04/solution.cu": (
            Run("rgbToGrayscaleKernel", "ee9a989a", "x[20,30,3]:b =y[20,30]:b 30 20", ref.grey, (2, 2),
                (16, 16)),
        ),
        "Exercises/Chapter03/Exercise05/solution.cu": (
            Run("blurKernel", "a59926c8", "x[20,30]:b =y[20,30]:b 30 20 2", lambda x: ref.blur(x, 2), (2, 2),
                (16, 16)),
        ),
        "Exercises/Chapter05/Exercise01/solution.cu": (
            Run("MatrixMulKernel", "57133f26", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul, (3, 2),
                (16, 16)),
            Run("TiledMatrixMulKernel", "3a125a49", "a[20,50] b[50,40] =c[20,40] 20 50 40", matmul, (2, 1),
                (32, 32)),
        ),
        "Exercises/Chapter05/Exercise02/solution.cu": (
            Run("TiledMatrixMulKernelDynamic", "d9e8c026", "a[20,30] b[30,40] =c[20,40] 20 30 40 16", matmul,
                (3, 2), (16, 16), 2048),
        ),
        "Exercises/Chapter06/Exercise01/solution.cu": (
            Run("TransposeMatrixKernel", "2cda1ece", "~x[32,32] 32 32", transposed, (2, 2), (16, 16),
                found="races", why="it transposes in place, and no barrier orders two blocks"),
            Run("TiledMatrixMulKernel", "32a88260", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul, (3, 2),
                (16, 16)),
            Run("TiledMatrixMulKernelColMajor", "eb0a0128", "a[20,30] b[40,30] =c[20,40] 20 30 40",
                lambda a, b: a @ b.T, (3, 2), (16, 16)),
        ),
        "Exercises/Chapter06/Exercise02/solution.cu": (
            Run("TiledMatrixMulKernelWithCoarsening", "c503ea03", "a[40,50] b[50,150] =c[40,150] 40 50 150",
                matmul, (2, 2), (32, 32)),
        ),
        "Exercises/Chapter07/Exercise01/solution.cu": (
            Run("conv2d_basic_kernel", "36ea48e7", "x[20,30] m[5,5] =y[20,30] 2 20 30", ref.around, (2, 2),
                (16, 16)),
            Run("conv2d_const_memory_kernel", "3878de2f", "x[20,30] =y[20,30] 2 20 30 %d_F[5,5]",
                lambda x, d_F: ref.around(x, d_F), (2, 2), (16, 16)),
        ),
        "Exercises/Chapter07/Exercise02/solution.cu": (
            Run("conv2d_tiled_kernel", "72aa3d7c", "x[40,50] =y[40,50] 1 40 50 %d_F[3,3]",
                lambda x, d_F: ref.around(x, d_F), (2, 2), (32, 32)),
            Run("conv2d_tiled_cached_kernel", "9e3f362f", "x[20,30] =y[20,30] 1 20 30 %d_F[3,3]",
                lambda x, d_F: ref.around(x, d_F), (2, 2), (16, 16)),
        ),
        "Exercises/Chapter07/Exercise03/solution.cu": (
            Run("conv3d_basic_kernel", "04a6837a", "x[9,10,11] m[3,3,3] =y[9,10,11] 1 11 10 9", ref.around,
                (2, 2, 2), (8, 8, 8)),
            Run("conv3d_const_memory_kernel", "a28affdb", "x[9,10,11] =y[9,10,11] 1 11 10 9 %d_F_3d[3,3,3]",
                lambda x, d_F_3d: ref.around(x, d_F_3d), (2, 2, 2), (8, 8, 8)),
            Run("conv3d_tiled_kernel", "6a8e3709", "x[9,10,11] =y[9,10,11] 1 11 10 9 %d_F_3d[3,3,3]",
                lambda x, d_F_3d: ref.around(x, d_F_3d), (2, 2, 2), (8, 8, 8)),
        ),
        "Exercises/Chapter08/Exercise01/solution.cu": (
            Run("stencil_kernel", "cee79520", "x[12,12,12] =y[12,12,12] 12 1 2 3 4 5 6 7", ref.seven_points,
                (2, 2, 2), (8, 8, 8)),
            Run("stencil_kernel_shared_memory", "9b848b72", "x[12,12,12] =y[12,12,12] 12 1 2 3 4 5 6 7",
                ref.seven_points, (2, 2, 2), (10, 10, 10)),
            Run("stencil_kernel_thread_coarsening", "af06fc1d", "x[12,12,12] =y[12,12,12] 12 1 2 3 4 5 6 7",
                ref.seven_points, (1, 1, 1), (32, 32, 1)),
            Run("stencil_kernel_register_tiling", "afc7fda1", "x[12,12,12] =y[12,12,12] 12 1 2 3 4 5 6 7",
                ref.seven_points, (2, 2, 2), (10, 10, 1)),
        ),
        "Exercises/Chapter09/Exercise01/solution.cu": (
            Run("histo_kernel", "b8927ed3", "letters:c 1000u +y[7]:u", of_letters, 8, 128, **LETTERS),
            Run("histo_private_kernel_shared_memory", "cea52a8f", "letters:c 1000u +y[7]:u", of_letters, 8,
                128, **LETTERS),
            Run("histo_private_kernel_thread_coarsening", "64160f3a", "letters:c 1000u +y[7]:u", of_letters,
                2, 32, **LETTERS),
            Run("histo_private_kernel_coalesced", "4c1cde0d", "letters:c 1000u +y[7]:u", of_letters, 2, 128,
                **LETTERS),
        ),
        "Exercises/Chapter10/Exercise01/solution.cu": (
            Run("simple_sum_reduction_kernel", "a39ca694", "x[512] =y[1]", lambda x: [x.sum()], 1, 256),
            Run("convergent_sum_reduction_kernel", "08b2c027", "x[512] =y[1]", lambda x: [x.sum()], 1, 256),
            Run("convergent_sum_reduction_kernel_reversed", "c124c17d", "x[512] =y[1]", lambda x: [x.sum()],
                1, 256),
            Run("shared_memory_sum_reduction_kernel", "64db4176", "x[2048] =y[1]", lambda x: [x.sum()], 1,
                1024),
            Run("segmented_sum_reduction_kernel", "3fc9bc5c", "x[3000] +y[1] 3000", lambda x: [x.sum()], 2,
                1024),
            Run("coarsened_sum_reduction_kernel", "3f26daf7", "x[5000] +y[1] 5000", lambda x: [x.sum()], 2,
                1024),
            Run("coarsened_max_reduction_kernel", "9e735339", "x[5000] +y[1] 5000", lambda x: [x.max()], 2,
                1024),
        ),
        "Exercises/Chapter11/Exercise01/solution.cu": (
            Run("kogge_stone_scan_kernel", "4fd2bf1a", "x[100] =y[100] 100u", lambda x: np.cumsum(x), 1, 128,
                512),
            Run("kogge_stone_scan_kernel_double_buffer", "a4fe6513", "x[128] =y[128] 128u",
                lambda x: np.cumsum(x), 1, 128, 1024),
            Run("brent_kung_scan_kernel", "5856d31f", "x[100] =y[100] 100u", lambda x: np.cumsum(x), 1, 128,
                512),
            Run("three_phase_scan_kernel", "38d4640b", "x[250] =y[250] 250u", lambda x: np.cumsum(x), 1, 64,
                4 * (250 + 64)),
            Run("hierarchical_scan_phase1_kernel", "cef68f4d", "x[512] =y[512] =t[4] 512u",
                lambda x: (ref.running(x, 128), ref.sums_of(128)(x)), 4, 128, 512),
            Run("hierarchical_scan_phase3_kernel", "3b33d35b", "~y t[8] 1000u",
                lambda y, t: y + np.repeat([0, *t[:7]], 128)[:1000], 8, 128),
            Run("hierarchical_domino_scan_kernel", "bf16466d", "x[512] =y[512] +s[5] +f[5]:i +n[1]:i 512u",
                lambda x: (np.cumsum(x), np.full(5, np.nan), np.full(5, np.nan), [4]), 4, 128, 512,
                found="races",
                why="it reads the last sum of its block without a barrier, that of others without a fence"),
        ),
        "Exercises/Chapter12/Exercise01/solution.cu": (
            Run("merge_basic_kernel", "9a23c111", "a 90 b 60 =c[150]", lambda a, b: np.sort([*a, *b]), 2, 32,
                given=ref.ordered(90, 60)),
        ),
        "Exercises/Chapter13/Exercise01/solution.cu": (
            Run("extractBitsKernel", "e659fc80", "x:u =y:u 1000 3", lambda x: x >> 3 & 1, 8, 128),
            Run("localScanKernel", "00a1a39f", "x[256]:u =y[256]:u =t[2]:u 256 3",
                lambda x: ref.ranks(x >> 3 & 1, 128), 2, 128, 512),
        ),
        "Exercises/Chapter14/Exercise01/solution.cu": (
            Run("spmv_csr_kernel", "a610ba0f", "30 start index value x[40] =y[30]",
                lambda dense, x: dense @ x, 1, 32, given=ref.sparse(30, 40)),
            Run("exclusiveScanKernel", "e8ea96ed", "~x[100]:i 100", lambda x: np.cumsum(x), 1, 128, 512),
        ),
        "Exercises/Chapter16/Exercise01/solution.cu": (
            Run("pooling_max_kernel", "272b7d28", "x[2,3,8,10] =y[2,3,4,5] 2 3 8 10 2 4 5",
                lambda x: ref.pooled(x).max((-1, -3)), 1, 128),
            Run("pooling_avg_kernel", "aa528a7c", "x[2,3,8,10] =y[2,3,4,5] 2 3 8 10 2 4 5",
                lambda x: ref.pooled(x).mean((-1, -3)), 1, 128),
        ),
        "Exercises/Chapter16/Exercise03/solution.cu": (
            Run("conv2d_forward_kernel", "3197c641",
                "x[2,3,8,9] w[4,3,3,3] b[4] =y[2,4,8,9] 2 3 8 9 4 3 3 1 1 1 1 8 9",
                lambda x, w, b: ref.images(x, w) + b[:, None, None], (2, 4, 2), 64),
            Run("conv2d_backward_input_kernel", "36d39df7",
                "w[4,3,3,3] d[2,4,8,9] =y[2,3,8,9] 2 3 8 9 4 3 3 1 1 1 1 8 9",
                lambda w, d: ref.images(d, w.swapaxes(0, 1)[:, :, ::-1, ::-1]), (2, 3, 2), 64),
            Run("conv2d_backward_bias_kernel", "7f9b6dea", "d[2,4,8,9] =b[4] 2 4 8 9",
                lambda d: d.sum((0, 2, 3)), 1, 32),
            Run("maxpool2d_forward_kernel", "46159d2b",
                "x[2,3,8,10] =y[2,3,4,5] =i[2,3,4,5]:i 2 3 8 10 2 2 2 2 4 5",
                ref.pooled_with_places,
                (1, 3, 2), 32),
        ),
        "Exercises/Chapter17/Exercise01/solution.cu": (
            Run("dot_kernel", "260b51dd", "a b =y[4] 1000", lambda a, b: ref.padded_sums(a * b, 256), 4, 256),
            Run("axpy_kernel", "6d7c4ae9", "0.5 x ~y 1000", lambda x, y: x / 2 + y, 8, 128),
            Run("xpay_kernel", "9761611b", "x 0.5 ~y 1000", lambda x, y: x + y / 2, 8, 128),
            Run("matvec_kernel", "ccc0eb54", "a[50,50] b[50] =c[50] 50", matmul, 1, 64),
            Run("copy_kernel", "67486fbd", "x =y 1000", lambda x: x, 8, 128),
        ),
        "Exercises/Chapter17/Exercise02/solution.cu": (
            Run("compute_mu_kernel", "2fa9943e", "a b c d =r =i 1000",
                lambda a, b, c, d: (a * c + b * d, a * d - b * c), 8, 128),
            Run("fhd_kernel_basic", "6dbc5330",
                "r[40] i[40] kx[40] ky[40] kz[40] x[50] y[50] z[50] =p[50] =q[50] 40 50", ref.fhd, 1, 64,
                tolerance=3),
            Run("fhd_kernel_optimized", "f518fb3d",
                "r[40] i[40] kx[40] ky[40] kz[40] x[50] y[50] z[50] =p[50] =q[50] 40 50", ref.fhd, 1, 256,
                tolerance=3),
        ),
        "Exercises/Chapter17/Exercise03/solution.cu": (
            Run("density_compensation_kernel", "208fa1d9", "x y =w 1000", lambda x, y: np.hypot(x, y) + 0.01,
                8, 128),
        ),
    },
}
