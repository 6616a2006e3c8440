"""Solutions to the exercises of LeetGPU: signals, images, small models, statistics."""

from __future__ import annotations

import numpy as np
import public_references as ref
from public_references import add, matmul, relu, sigmoid, silu, transposed
from public_runs import Run, Table

# fmt: off
TABLE: Table = {
    "lzyrapx/LeetGPU": {
        "cuda/1D Convolution/1D Convolution.cu": (
            Run("convolution_1d_kernel", "c05878f8", "x[200] m[9] =y[192] 200 9", ref.inside, 2, 128),
        ),
        "cuda/2D Convolution/2D Convolution.cu": (
            Run("convolution_kernel", "950341d9", "x[20,30] m[3,5] =y[18,26] 20 30 3 5 18 26", ref.inside,
                (2, 2), (16, 16)),
        ),
        "cuda/2D Jacobi Stencil/2D Jacobi Stencil.cu": (
            Run("two_dim_jacobi_kernel", "3102dbf0", "x[20,30] =y[20,30] 20 30", ref.jacobi, (2, 2),
                (16, 16)),
        ),
        "cuda/2D Subarray Sum/2D Subarray Sum.cu": (
            Run("row_sum_kernel", "5cdf6bea", "x[20,50]:i =y[10]:i 20 50 5 14 7 40",
                lambda x: x[5:15, 7:41].sum(1), 10, 16, 64),
            Run("total_sum_kernel", "013fd0f5", "x[100]:i =y[1]:i 100", lambda x: [x.sum()], 1, 64),
        ),
        "cuda/3D Subarray Sum/3D Subarray Sum.cu": (
            Run("sum_kernel", "e6c25324", "x[6,8,10]:i +y[1]:i 8 10 1 2 3 20 5 60",
                lambda x: [x[1:4, 2:6, 3:8].sum()], 1, 64, 256),
        ),
        "cuda/All-Pairs Shortest Paths/All-Pairs Shortest Paths.cu": (
            Run("floyd_warshall_kernel", "bbd64268", "~x[20,20]:f>0 20 k=3",
                lambda x, k: np.minimum(x, x[:, k : k + 1] + x[k]), (2, 2), (16, 16)),
        ),
        "cuda/Attention with Linear Biases/Attention with Linear Biases.cu": (
            Run("attention_scores_kernel", "c4fec774", "Q[20,8] K[30,8] =S[20,30] 20 30 8 0.25 0.5",
                lambda Q, K: Q @ K.T / 4 + 0.5 * (np.arange(20)[:, None] - np.arange(30)), (2, 2), (16, 16)),
            Run("output_kernel", "39b748f9", "a[20,30] b[30,8] =y[20,8] 20 30 8", matmul, (1, 2), (16, 16)),
        ),
        "cuda/Batch Normalization/Batch Normalization.cu": (
            Run("batch_normalize", "fbaad4e4", "x[50,7] w[7] b[7] =y[50,7] m[7] v[7]:f>0 50 7 1e-5f",
                lambda x, w, b, m, v: (x - m) / np.sqrt(v + 1e-5) * w + b, 3, 128),
        ),
        "cuda/Batched Matrix Multiplication/Batched Matrix Multiplication.cu": (
            Run("batched_matmul_kernel", "0860b2f3", "a[3,8,9] b[3,9,10] =c[3,8,10] 3 8 10 9", matmul, 2,
                128),
        ),
        "cuda/Categorical Cross Entropy Loss/Categorical Cross Entropy Loss.cu": (
            Run("loss_kernel", "1cfa8b7c", "x[50,10] =y[50] t[50]:i<10 50 10",
                lambda x, t: np.log(np.exp(x).sum(1)) - x[np.arange(50), t], 1, 64),
            Run("reduce_sum_kernel", "2bded1f8", "x +y[1] 1000", lambda x: [x.mean()], 2, 128),
        ),
        "cuda/Color Inversion/Color Inversion.cu": (
            Run("invert_kernel", "2775a9eb", "~x[10,12,4]:b 10 12",
                lambda x: np.concatenate([255 - x[..., :3], x[..., 3:]], -1), 1, 128),
        ),
        "cuda/Count 2D Array Element/Count 2D Array Element reduction.cu": (
            Run("count_2d_equal_kernel", "55e5d334", "x[20,30]:i<5 +y[1]:i 20 30 3",
                lambda x: [(x == 3).sum()], (2, 2), (16, 16)),
        ),
        "cuda/Count 2D Array Element/Count 2D Array Element.cu": (
            Run("count_2d_equal_kernel", "2df06666", "x[20,30]:i<5 +y[1]:i 20 30 3",
                lambda x: [(x == 3).sum()], (2, 2), (16, 16)),
        ),
        "cuda/Count 3D Array Element/Count 3D Array Element.cu": (
            Run("count_3d_equal_kernel", "f22c7b79", "x[9,10,11]:i<5 +y[1]:i 9 10 11 3",
                lambda x: [(x == 3).sum()], (2, 2, 2), (8, 8, 8)),
        ),
        "cuda/Count Array Element/Count Array Element.cu": (
            Run("count_equal_kernel", "b00b3c69", "x:i<5 +y[1]:i 1000 3", lambda x: [(x == 3).sum()], 2, 128,
                512),
        ),
        "cuda/Dot Product/Dot Product.cu": (
            Run("dot_product_kernel", "c458e1a1", "a b =y[8] 1000", lambda a, b: ref.padded_sums(a * b, 128),
                8, 128, 512),
            Run("sum_kernel", "5bfe6d4a", "x[200] =y[1] 200", lambda x: [x.sum()], 1, 128, 512),
        ),
        "cuda/FP16 Batched Matrix Multiplication/FP16 Batched Matrix Multiplication.cu": (
            Run("batched_mat_mul_kernel", "53ea2882", "a[3,8,9]:h b[3,9,10]:h =c[3,8,10]:h 3 8 10 9", matmul,
                (1, 1, 3), (16, 16)),
        ),
        "cuda/FP16 Dot Product/FP16 Dot Product.cu": (
            Run("partial_dot_kernel", "419f53d2", "a:h b:h =y[8] 1000",
                lambda a, b: ref.padded_sums(a * b, 128), 8, 128, 512),
        ),
        "cuda/Fast Fourier Transform/Fast Fourier Transform.cu": (
            Run("kernel_bit_reverse", "2e083359", "x[64,2] =y[64,2] 64 6", lambda x: x[ref.bit_reversed(6)],
                1, 64),
            Run("kernel_scale", "50698c53", "x[100,2] =y[100,2] 100 0.25", lambda x: x / 4, 1, 128),
            Run("kernel_bluestein_a", "3f0c91af", "x[50,2] =y[50,2] 50",
                lambda x: ref.turned(x, -np.pi * np.arange(50) ** 2 / 50), 1, 64),
            Run("kernel_complex_multiply", "f877195c", "a[50,2] b[50,2] =c[50,2] 50", ref.complex_product, 1,
                64),
            Run("kernel_final_multiply", "ef93d246", "x[50,2] =y[50,2] 50",
                lambda x: ref.turned(x, -np.pi * np.arange(50) ** 2 / 50), 1, 64),
        ),
        "cuda/Gaussian Blur/Gaussian Blur.cu": (
            Run("gaussian_blur_kernel", "0993ea72", "x[20,30] m[5,3] =y[20,30] 20 30 5 3", ref.around, (2, 2),
                (16, 16)),
        ),
        "cuda/Gaussian Error Gated Linear Unit/Gaussian Error Gated Linear Unit.cu": (
            Run("geglu_kernel", "6706dbde", "x[2,500] =y[500] 500", lambda x: x[0] * ref.gelu_of_erf(x[1]), 4,
                128),
        ),
        "cuda/General Matrix Multiplication (GEMM)/General Matrix Multiplication (GEMM).cu": (
            Run("gemm_kernel", "dd906d7d", "A[20,9]:h B[9,30]:h ~C[20,30]:h 20 30 9 0.5 0.25",
                lambda A, B, C: 0.5 * (A @ B) + 0.25 * C, (2, 2), (16, 16)),
        ),
        "cuda/Histogramming/Histogramming (naive).cu": (
            Run("histogram_kernel", "e5791ab3", "x:i<50 +y[50]:i 1000", lambda x: ref.counts(x, 50), 8, 128),
        ),
        "cuda/Interleave Arrays/Interleave Arrays (Naive).cu": (
            Run("interleave_kernel", "d6fd8b81", "a b =c[2000] 1000", lambda a, b: np.stack([a, b], 1), 8,
                128),
        ),
        "cuda/K-Means Clustering/K-Means Clustering (naive).cu": (
            Run("assign_clusters", "2c9341ea",
                "x[200] y[200] =l[200]:i cx[5] cy[5] +sx[5] +sy[5] +n[5]:i 200 5", ref.clusters, 2, 128),
            Run("compute_centroids", "3c733811", "ox[9] oy[9] =nx[9] =ny[9] sx[9] sy[9] n[9]:i<3 9",
                lambda ox, oy, sx, sy, n: tuple(np.where(n > 0, s / np.maximum(n, 1), o)
                                                for s, o in ((sx, ox), (sy, oy))),
                1, 32),
            Run("compute_deltas", "b0e2f16a", "ox[9] oy[9] nx[9] ny[9] =d[9] 9",
                lambda ox, oy, nx, ny: (nx - ox) ** 2 + (ny - oy) ** 2, 1, 32),
        ),
        "cuda/Leaky ReLU/Leaky ReLU.cu": (
            Run("leaky_relu_kernel", "d196d3fd", "x =y 1000", lambda x: np.where(x > 0, x, 0.01 * x), 8, 128),
        ),
        "cuda/Linear Recurrence/Linear Recurrence.cu": (
            Run("linear_recurrence_kernel", "1f789207", "a[4,50]:f<1 x[4,50] =h[4,50] 4 50", ref.recurrence,
                5, 1),
        ),
        "cuda/Linear Self-Attention/Linear Self-Attention.cu": (
            Run("kernel_phi", "1b501ea0", "x =y 1000", lambda x: np.where(x > 0, x + 1, np.exp(x)), 8, 128),
            Run("kernel_reduce_z", "0a230da7", "x[300,7] =z[7] 300 7", lambda x: x.sum(0), 7, 256),
            Run("kernel_compute_S", "91d5eee7", "K[50,20] V[50,20] =S[20,20] 50 20", lambda K, V: K.T @ V,
                (2, 2), (16, 16)),
            Run("kernel_compute_numerator", "1825de99", "a[50,20] b[20,20] =c[50,20] 50 20", matmul, (4, 2),
                (16, 16)),
            Run("kernel_compute_denominator", "740c5031", "a[50,20] b[20] =c[50] 50 20", matmul, 1, 64),
            Run("kernel_divide", "46227eff", "a[50,20] b[50]:f>0 =c[50,20] 50 20",
                lambda a, b: a / b[:, None], 8, 128),
        ),
        "cuda/LoRA Linear/LoRA Linear.cu": (
            Run("transpose_kernel", "4389b9d0", "x[20,36] =y[36,20] 20 36", transposed, (3, 2), (16, 16)),
        ),
        "cuda/Logistic Regression/Logistic Regression.cu": (
            Run("mat_vec_mul_kernel", "707e37a6", "a[50,7] b[7] =c[50] 50 7", matmul, 1, 64),
            Run("sigmoid_kernel", "eb336c08", "x =y 1000", sigmoid, 8, 128),
            Run("subtract_kernel", "41b21bba", "a b =c 1000", lambda a, b: a - b, 8, 128),
            Run("compute_grad_part_kernel", "b2d83a6a", "X[50,7] d[50] =g[7] 50 7", lambda X, d: X.T @ d, 1,
                32),
            Run("update_grad_kernel", "80b8ba3e", "=g[9] t[9] b[9] 0.5 0.25 9", lambda t, b: t / 4 + b / 2, 1,
                32),
            Run("compute_w_kernel", "1ecd1d68", "p =w 1000", lambda p: p * (1 - p), 8, 128),
            Run("diag_mul_kernel", "8381983e", "w[20] X[20,30] =y[20,30] 20 30", lambda w, X: w[:, None] * X,
                (2, 2), (16, 16)),
            Run("matrix_multiply_kernel", "d1013218", "A[50,7] B[50,9] =C[7,9] 50 7 9 0.5",
                lambda A, B: A.T @ B / 2, 1, (16, 16)),
            Run("add_regularization_kernel", "5a9ee95b", "~x[20,20] 20 0.5", lambda x: x + np.eye(20) / 2, 1,
                32),
            Run("cholesky_decomp_kernel", "2681f419", "spd +L[8,8] 8", lambda spd: np.linalg.cholesky(spd),
                given=ref.spd(8)),
            Run("solve_forward_kernel", "67e56913", "low b[8] =y[8] 8",
                lambda low, b: np.linalg.solve(low, b), given=ref.spd(8)),
            Run("solve_backward_kernel", "c4fb30fb", "low b[8] =y[8] 8",
                lambda low, b: np.linalg.solve(low.T, b), given=ref.spd(8)),
            Run("update_beta_kernel", "f6cb94d5", "~b[50] d[50] 50", lambda b, d: b - d, 1, 64),
        ),
        "cuda/Matrix Addition/Matrix Addition.cu": (
            Run("matrix_add", "15d45b96", "a[30,30] b[30,30] =c[30,30] 30", add, 8, 128),
        ),
        "cuda/Matrix Copy/Matrix Copy.cu": (
            Run("copy_matrix_kernel", "91c087ce", "x[30,30] =y[30,30] 30", lambda x: x, 8, 128),
        ),
        "cuda/Matrix Multiplication/Matrix Multiplication.cu": (
            Run("matrix_multiplication_kernel", "ce14640b", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul,
                (3, 2), (16, 16)),
        ),
        "cuda/Matrix Power/Matrix Power.cu": (
            Run("identity_kernel", "7fcff0d9", "=x[20,20] 20", lambda: np.eye(20), (2, 2), (16, 16)),
            Run("matrix_multiply_kernel", "9da81e1f", "a[20,20] b[20,20] =c[20,20] 20", matmul, (2, 2),
                (16, 16)),
        ),
        "cuda/Matrix Transpose/Matrix Transpose.cu": (
            Run("matrix_transpose_kernel", "d0e08db8", "x[20,36] =y[36,20] 20 36", transposed, (3, 2),
                (16, 16)),
        ),
        "cuda/Max Subarray Sum/Max Subarray Sum.cu": (
            Run("sliding_window_kernel", "8fbf64eb", "x[100]:i =y[1]:i 100 7",
                lambda x: [ref.inside(x, np.ones(7)).max()]),
        ),
        "cuda/Mean Squared Error/Mean Squared Error (naive).cu": (
            Run("squared_diff_and_reduce", "676553ce", "a b =y[8] 1000",
                lambda a, b: ref.padded_sums((a - b) ** 2, 128), 8, 128, 512),
            Run("reduce_sum", "fa1af758", "x =y[8] 1000", lambda x: ref.padded_sums(x, 128), 8, 128, 512),
            Run("compute_mse", "6e275a94", "x[1] =y[1] 40", lambda x: x / 40),
        ),
        "cuda/Merge Sorted Arrays/Merge Sorted Arrays.cu": (
            Run("merge_kernel", "e7792f91", "a b =c[150] 90 60", lambda a, b: np.sort([*a, *b]), 2, 128,
                given=ref.ordered(90, 60)),
        ),
        "cuda/Monte Carlo Integration/Monte Carlo Integration.cu": (
            Run("sum_kernel", "105f8791", "x +y[1] 1000", lambda x: [x.sum()], 2, 128, 512),
            Run("result_kernel", "b5181fe6", "=y[1] x[1] 3.0 100", lambda x: x * 3 / 100),
        ),
        "cuda/Multi-Head Attention/Multi-Head Attention.cu": (
            Run("compute_A", "49481173", "=A[2,12,12] Q[12,16] K[12,16] 12 16 2 8",
                lambda Q, K: ref.by_head(Q, 2) @ ref.by_head(K, 2).swapaxes(1, 2) / np.sqrt(8), 3, 128),
            Run("compute_softmax", "01ce30fe", "=S[2,12,12] A[2,12,12] 12 2", lambda A: ref.softmax(A), 1,
                32),
            Run("compute_O", "1d73fd6a", "=y[12,16] S[2,12,12] V[12,16] 12 16 2 8",
                lambda S, V: (S @ ref.by_head(V, 2)).swapaxes(0, 1), 2, 128),
        ),
        "cuda/Nearest Neighbor/Nearest Neighbor.cu": (
            Run("nearest_neighbor_kernel", "3acce82c", "x[60,3] =y[60]:i 60", ref.nearest, 1, 64),
        ),
        "cuda/Ordinary Least Squares Regression/Ordinary Least Squares Regression.cu": (
            Run("xtx_kernel", "c9077b34", "X[50,9] =C[9,9] 50 9", lambda X: X.T @ X, (1, 1), (16, 16)),
            Run("xty_kernel", "0a9f3525", "X[50,9] y[50] =b[9] 50 9", lambda X, y: X.T @ y, 1, 32),
            Run("forward_substitution_kernel", "bce7e3d7", "low ~b[8] 8",
                lambda low, b: np.linalg.solve(low, b), 1, 32, 128, given=ref.spd(8)),
            Run("backward_substitution_kernel", "b006702d", "low w[8] =y[8] 8",
                lambda low, w: np.linalg.solve(low.T, w), 1, 32, 128, given=ref.spd(8)),
            Run("cholesky_kernel", "2dec15b9", "~spd 8",
                lambda spd: np.tril(np.linalg.cholesky(spd)) + np.triu(np.full((8, 8), np.nan), 1), 1, 32,
                given=ref.spd(8)),
        ),
        "cuda/Prefix Sum/PrefixSum.cu": (
            Run("prefixSum_UniqueBlock", "10558b03", "x[128] 128 =y[128]", lambda x: np.cumsum(x), 1, 128,
                512),
            Run("prefixSum_multiBlocks", "da336e45", "x[512] 512 =y[512] =t[4]",
                lambda x: (ref.running(x, 128), ref.sums_of(128)(x)), 4, 128, 512),
            Run("prefixsum_combine", "2e78112e", "t[4] 4 ~y[512] 512",
                lambda t, y: y + np.repeat([0, *t[:3]], 128), 4, 128),
        ),
        "cuda/RGB to Grayscale/RGB to Grayscale.cu": (
            Run("rgb_to_grayscale_kernel", "b96044f1", "x[10,12,3] =y[10,12] 12 10",
                lambda x: x @ [0.299, 0.587, 0.114], 1, 128),
        ),
        "cuda/RMS Normalization/RMS Normalization.cu": (
            Run("partial_sum_kernel", "d45a1594", "x[256] 256 =y[2]", lambda x: ref.sums_of(128)(x * x), 2,
                128, 512),
            Run("normalize_kernel", "14c4a059", "x 0.5 0.25 2.0 =y 1000", lambda x: 0.5 * x / 2 + 0.25, 8,
                128),
        ),
        "cuda/Rainbow Table/Rainbow Table.cu": (
            Run("fnv1a_hash_kernel", "3cb411b3", "x[50]:i =y[50]:u 50 3", lambda x: ref.fnv1a(x, 3), 1, 64),
        ),
        "cuda/ReLU/ReLU.cu": (
            Run("relu_kernel", "e0fc6739", "x =y 1000", relu, 8, 128),
        ),
        "cuda/Reduction/Reduction.cu": (
            Run("reduction_kernel", "f4e32809", "x +y[1] 1000", lambda x: [x.sum()], 4, 128, 512),
        ),
        "cuda/Reverse Array/Reverse Array.cu": (
            Run("reverse_array", "b52d6728", "~x 1000", lambda x: x[::-1], 4, 128),
        ),
        "cuda/Rotary Positional Embedding/Rotary Positional Embedding.cu": (
            Run("rope_kernel", "973a3949", "q[10,16] c[10,16] s[10,16] =y[10,16] 10 16",
                lambda q, c, s: q * c + np.concatenate([-q[:, 8:], q[:, :8]], 1) * s, 2, 128),
        ),
        "cuda/Sigmoid Activation/Sigmoid Activation.cu": (
            Run("sigmoid_kernel", "8ec1c0fd", "x =y 1000", sigmoid, 8, 128),
        ),
        "cuda/Sigmoid Linear Unit/Sigmoid Linear Unit.cu": (
            Run("sigmoid_kernel", "9ef975ef", "x =y 1000", silu, 8, 128),
        ),
        "cuda/Softmax Attention/Softmax Attention (naive).cu": (
            Run("qkt_kernel", "6da759db", "Q[20,9] K[30,9] =S[20,30] 20 30 9", lambda Q, K: Q @ K.T / 3,
                (2, 2), (16, 16)),
            Run("pv_kernel", "cf810e7a", "a[20,30] b[30,9] =y[20,9] 20 30 9", matmul, (2, 1), (16, 16)),
        ),
        "cuda/Sparse Matrix-Vector Multiplication/SparseMatrix-VectorMultiplication.cu": (
            Run("spmv_kernel", "e6672023", "dense x[40] =y[30] 30 40", lambda dense, x: dense @ x, 1, 32,
                given=ref.sparse(30, 40)),
        ),
        "cuda/Subarray Sum/Subarray Sum.cu": (
            Run("subarray_sum_kernel", "3538c460", "x:i +y[1]:i 1000 100 899", lambda x: [x[100:900].sum()],
                4, 256),
        ),
        "cuda/Swish-Gated Linear Unit/Swish-Gated Linear Unit.cu": (
            Run("swiglu_kernel", "d1fcf1a2", "x[2,500] =y[500] 500", lambda x: silu(x[0]) * x[1], 4, 128),
        ),
        "cuda/Value Clipping/Value Clipping.cu": (
            Run("clip_kernel", "825f0081", "x =y -0.5 0.75 1000", lambda x: np.clip(x, -0.5, 0.75), 8, 128),
        ),
        "cuda/Vector Addition/Vector Addition.cu": (
            Run("vector_add", "366dc17f", "a b =c 1000", add, 8, 128),
        ),
        "cuda/Weight Dequantization/Weight Dequantization.cu": (
            Run("dequantize_kernel", "da89c2f0", "20 30 8 x[20,30] s[3,4] =y[20,30]",
                lambda x, s: x * np.repeat(np.repeat(s, 8, 0), 8, 1)[:20, :30], (2, 2), (16, 16)),
        ),
    },
}
