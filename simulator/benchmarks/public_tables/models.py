"""Language models, their softmax and attention, and the matrix products under them."""

from __future__ import annotations

import numpy as np
import public_references as ref
from public_references import add, gelu, matmul, relu, softmax, transposed
from public_runs import Run, Table

from public_tables.reasons import OLD_WARP, REUSED, UNEVEN_BARRIER

SPLIT = "=q[2,3,8,4] =k[2,3,8,4] =v[2,3,8,4] x[2,8,36] 2 8 3 4"
STEP = "1000 1e-3f 0.9 0.999 0.1 0.001 1e-8f 0.01"


def product(A: ref.Array, B: ref.Array, C: ref.Array) -> ref.Array:
    """A B / 2 + C / 4."""
    return 0.5 * (A @ B) + 0.25 * C


# fmt: off
TABLE: Table = {
    "karpathy/llm.c": {
        "dev/cuda/adamw.cu": (
            Run("adamw_kernel1", "363237c1", f"~p g ~m ~v:f>0 {STEP}", ref.adamw, 8, 128),
            Run("adamw_kernel2", "30c4bf16", f"~p g ~m ~v:f>0 {STEP}", ref.adamw, 8, 128),
        ),
        "dev/cuda/attention_backward.cu": (
            Run("permute_kernel", "b0923941", SPLIT, lambda x: ref.heads(x, 3), 2, 128),
            Run("permute_kernel_backward", "47fa4bd7", "~x[2,8,36] q[2,3,8,4] k[2,3,8,4] v[2,3,8,4] 2 8 3 4",
                lambda x, q, k, v: x + ref.joined(q, k, v).reshape(x.shape), 2, 128),
            Run("unpermute_kernel", "81a4291a", "x[2,3,8,4] =y[2,8,12] 2 8 3 4", lambda x: x.swapaxes(1, 2),
                2, 128),
            Run("unpermute_kernel_backward", "da33bd65", "~x[2,3,8,4] y[2,8,3,4] 2 8 3 4",
                lambda x, y: x + y.swapaxes(1, 2), 2, 128),
            Run("softmax_autoregressive_backward_kernel1", "849e3a66",
                "=p[2,3,8,8] d[2,3,8,8] a[2,3,8,8]:f>0 2 8 12 3", ref.causal_backward, 1, 32),
            Run("softmax_autoregressive_backward_kernel2", "e3bc5a26",
                "=p[2,3,8,8] d[2,3,8,8] a[2,3,8,8]:f>0 2 8 12 3", ref.causal_backward, (1, 6), 32),
        ),
        "dev/cuda/attention_forward.cu": (
            Run("attention_query_key_kernel1", "3df57e58", "=p[2,3,8,8] x[2,8,36] 2 8 12 3",
                lambda x: ref.scores(*ref.heads(x, 3)[:2]), 3, 128),
            Run("attention_softmax_kernel1", "46330ed9", "=a[2,3,8,8] p[2,3,8,8] 2 8 3",
                lambda p: ref.causal(p), 1, 64),
            Run("softmax_forward_kernel4", "bb6fdd32", "=y[10,200] x[10,200] 10 200", softmax, 10, 128, 32),
            Run("attention_value_kernel1", "61f57f14", "=y[2,8,12] a[2,3,8,8] x[2,8,36] 2 8 12 3",
                lambda a, x: (np.tril(a) @ ref.heads(x, 3)[2]).swapaxes(1, 2), 1, 64),
            Run("permute_kernel", "db772817", SPLIT, lambda x: ref.heads(x, 3), 2, 128),
            Run("scale_kernel", "a9414d73", "~x[2,3,8,8] 0.5 2 3 8",
                lambda x: np.where(np.tril(np.ones((8, 8))) > 0, x / 2, -np.inf), 3, 128),
        ),
        "dev/cuda/crossentropy_forward.cu": (
            Run("crossentropy_forward_kernel1", "3e971c62", "=y[4,10] p[4,10,20]:f>0 t[4,10]:i<20 4 10 20",
                lambda p, t: -np.log(np.take_along_axis(p, t[..., None], 2)), 1, 64),
        ),
        "dev/cuda/crossentropy_softmax_backward.cu": (
            Run("crossentropy_softmax_backward_kernel1", "541e0fbe",
                "~x[4,10,20] d[4,10] p[4,10,20] t[4,10]:i<20 4 10 20",
                lambda x, d, p, t: x + (p - np.eye(20)[t]) * d[..., None], 7, 128),
        ),
        "dev/cuda/encoder_backward.cu": (
            Run("encoder_backward_kernel1", "88ea9036", "+w[20,16] +p[8,16] d[4,8,16] t[4,8]:i<20 4 8 16",
                ref.embedding_backward, 4, 128),
            Run("encoder_backward_kernel2", "bf06379e", "+w[20,16] +p[8,16] d[4,8,16] t[4,8]:i<20 4 8 16",
                ref.embedding_backward, 1, 32),
        ),
        "dev/cuda/layernorm_backward.cu": (
            Run("layernorm_backward_kernel1", "dff9b2ad",
                "+dx[2,8,24] +dw[24] +db[24] dout[2,8,24] x[2,8,24] weight[24] mean[2,8] rstd[2,8]:f>0"
                " 2 8 24",
                ref.layer_norm_backward, 1, 32),
            Run("copy_to_dweight_dbias<float>", "0cfec07f", "200 =b[200] =w[200] x[200] y[200]",
                lambda x, y: (x, y), 1, 128),
        ),
        "dev/cuda/layernorm_forward.cu": (
            Run("layernorm_forward_kernel1", "0d7684a6",
                "=y[20,48] =m[20] =r[20] x[20,48] weight[48] bias[48] 20 48", ref.layer_norm, 1, 32),
            Run("mean_kernel", "09f0f4ca", "=m[20] x[20,100] 20 100 64", lambda x: x.mean(1), 20, 64, 256),
            Run("rstd_kernel", "e15f31ea", "=r[20] x[20,100] m[20] 20 100 64",
                lambda x, m: 1 / np.sqrt(((x - m[:, None]) ** 2).mean(1) + 1e-5), 20, 64, 256),
            Run("normalization_kernel", "af498eda", "=y[4,8,16] x[4,8,16] m[4,8] r[4,8] w[16] b[16] 4 8 16",
                lambda x, m, r, w, b: (x - m[..., None]) * r[..., None] * w + b, 4, 128),
        ),
        "dev/cuda/matmul_backward.cu": (
            Run("matmul_backward_bias_kernel_naive", "d41797fb", "=b[40] d[4,8,40] 4 8 40",
                lambda d: d.sum((0, 1)), 1, 64),
            Run("matmul_backward_bias_kernel_faster", "eeeef4df", "=b[40] d[4,8,40] 4 8 40",
                lambda d: d.sum((0, 1)), 40, 64, 256),
        ),
        "dev/cuda/matmul_forward.cu": (
            Run("matmul_forward_kernel1", "6d9deff4", "=y[20,40] x[20,30] w[40,30] b[40] 20 30 40",
                lambda x, w, b: x @ w.T + b, (2, 3), (16, 16)),
            Run("add_bias", "07960b2c", "~x[4,8,40] b[40] 4 8 40", lambda x, b: x + b, 2, 128),
        ),
        "dev/cuda/nccl_all_reduce.cu": (
            Run("set_vector", "5d8afa96", "=x 1000 0.5", lambda: np.full(1000, 0.5), 8, 128),
        ),
        "dev/cuda/permute.cu": (
            Run("permute_kernel", "fdebc353", "x[3,4,5,6] =y[6,5,3,4] 3 4 5 6",
                lambda x: x.transpose(3, 2, 0, 1), 3, 128),
        ),
        "dev/cuda/softmax_forward.cu": (
            Run("softmax_forward_kernel1", "e0af30b8", "=y[40,30] x[40,30] 40 30", softmax, 1, 64),
            Run("softmax_forward_kernel2", "71227ded", "=y[10,200] x[10,200] 10 200", softmax, 10, 128, 512),
            Run("softmax_forward_kernel3", "8bfad4ab", "=y[10,200] x[10,200] 10 200", softmax, 10, 32, 4),
            Run("softmax_forward_kernel4", "c7858000", "=y[10,200] x[10,200] 10 200", softmax, 10, 128, 16,
                found="races", why=REUSED),
            Run("softmax_forward_online_kernel1", "b7070ae6", "=y[40,30] x[40,30] 40 30", softmax, 1, 64),
            Run("softmax_forward_online_kernel8", "ce3f1744", "=y[10,200] x[10,200] 10 200", softmax, 3, 128),
        ),
        "dev/cuda/trimat_forward.cu": (
            Run("permute_kernel", "4e6c38f4", SPLIT, lambda x: ref.heads(x, 3), 2, 128),
        ),
        "train_gpt2_fp32.cu": (
            Run("encoder_forward_kernel3", "390cd5de", "=y[4,8,16] t[4,8]:i<20 w[20,16] p[8,16] 4 8 16",
                lambda t, w, p: w[t] + p, 1, 128),
            Run("encoder_backward_kernel", "a11af9b0", "+w[20,16] +p[8,16] d[4,8,16] t[4,8]:i<20 4 8 16",
                ref.embedding_backward, 4, 128),
            Run("permute_kernel", "d11b6285", SPLIT, lambda x: ref.heads(x, 3), 2, 128),
            Run("permute_kernel_backward", "02e92f26", "=x[2,8,36] q[2,3,8,4] k[2,3,8,4] v[2,3,8,4] 2 8 3 4",
                ref.joined, 2, 128),
            Run("unpermute_kernel", "573eeaa5", "x[2,3,8,4] =y[2,8,12] 2 8 3 4", lambda x: x.swapaxes(1, 2),
                2, 128),
            Run("unpermute_kernel_backward", "d2db99b0", "=x[2,3,8,4] y[2,8,3,4] 2 8 3 4",
                lambda y: y.swapaxes(1, 2), 2, 128),
            Run("residual_forward_kernel", "212fc863", "=c a b 1000", add, 8, 128),
            Run("gelu_forward_kernel", "6ec0a465", "=y x 1000", gelu, 8, 128),
            Run("gelu_backward_kernel", "9ad2e59a", "=y x d 1000", ref.gelu_backward, 8, 128),
            Run("matmul_backward_bias_kernel4", "6cee7f08", "~b[64] d[4,8,64] 4 8 64",
                lambda b, d: b + d.sum((0, 1)), 2, 128, 512),
            Run("adamw_kernel2", "527d2235", f"~p g ~m ~v:f>0 {STEP}", ref.adamw, 8, 128),
        ),
    },
    "tspeterkim/flash-attention-minimal": {
        "flash.cu": (
            Run("forward_kernel", "c6f86c69",
                "Q[2,3,32,8] K[2,3,32,8] V[2,3,32,8] 32 8 2 2 16 16 0.5 +l[2,3,32] ~low +O[2,3,32,8]",
                ref.flash, (2, 3), 16, 4 * (3 * 16 * 8 + 16 * 16),
                given=lambda g: {"low": np.full((2, 3, 32), -np.inf, "f4")}),
        ),
    },
    "siboehm/SGEMM_CUDA": {
        "src/kernels/1_naive.cuh": (
            Run("sgemm_naive", "17240661", "20 40 30 0.5 A[20,30] B[30,40] 0.25 ~C[20,40]", product, (2, 3),
                (16, 16)),
        ),
        "src/kernels/2_kernel_global_mem_coalesce.cuh": (
            Run("sgemm_global_mem_coalesce<16>", "d1d2f2c6", "20 40 30 0.5 A[20,30] B[30,40] 0.25 ~C[20,40]",
                product, (2, 3), 256),
        ),
        "src/kernels/3_kernel_shared_mem_blocking.cuh": (
            Run("sgemm_shared_mem_block<16>", "b01bd697", "32 48 64 0.5 A[32,64] B[64,48] 0.25 ~C[32,48]",
                product, (2, 3), 256),
        ),
        "src/kernels/4_kernel_1D_blocktiling.cuh": (
            Run("sgemm1DBlocktiling<32, 32, 8, 4>", "a2e7f9a8",
                "64 96 32 0.5 A[64,32] B[32,96] 0.25 ~C[64,96]", product, (3, 2), 256),
        ),
        "src/kernels/5_kernel_2D_blocktiling.cuh": (
            Run("sgemm2DBlocktiling<64, 64, 8, 8, 8>", "f4f5874b",
                "64 128 32 0.5 A[64,32] B[32,128] 0.25 ~C[64,128]", product, (2, 1), 64),
        ),
        "src/kernels/6_kernel_vectorize.cuh": (
            Run("sgemmVectorize<128, 128, 8, 8, 8>", "58a4797d",
                "128 128 16 0.5 A[128,16] B[16,128] 0.25 ~C[128,128]", product, (1, 1), 256),
        ),
        "src/kernels/7_kernel_resolve_bank_conflicts.cuh": (
            Run("sgemmResolveBankConflicts<128, 128, 8, 8, 8>", "3217aa75",
                "128 128 16 0.5 A[128,16] B[16,128] 0.25 ~C[128,128]", product, (1, 1), 256),
        ),
        "src/kernels/8_kernel_bank_extra_col.cuh": (
            Run("sgemmResolveBankExtraCol<128, 128, 8, 8, 8>", "9cd5df9e",
                "128 128 16 0.5 A[128,16] B[16,128] 0.25 ~C[128,128]", product, (1, 1), 256),
        ),
    },
    "wangzyon/NVIDIA_SGEMM_PRACTICE": {
        "src/kernel/kernel_1.cuh": (
            Run("mysgemm_v1", "6911f22f", "32 48 30 0.5 A[32,30] B[30,48] 0.25 ~C[32,48]", product, (3, 2),
                (16, 16)),
        ),
        "src/kernel/kernel_2.cuh": (
            Run("mysgemm_v2<16>", "e8e61d7e", "32 48 64 0.5 A[32,64] B[64,48] 0.25 ~C[32,48]", product,
                (3, 2), 256),
        ),
        "src/kernel/kernel_3.cuh": (
            Run("mysgemm_v3<64, 64, 8, 8>", "f025bd5b", "64 128 32 0.5 A[64,32] B[32,128] 0.25 ~C[64,128]",
                product, (2, 1), 512),
        ),
        "src/kernel/kernel_4.cuh": (
            Run("mysgemm_v4<128, 128, 8, 8, 8>", "5f4a2513",
                "128 128 16 0.5 A[128,16] B[16,128] 0.25 ~C[128,128]", product, (1, 1), 256),
        ),
        "src/kernel/kernel_5.cuh": (
            Run("mysgemm_v5<128, 128, 8, 8, 8>", "f5668c04",
                "128 128 16 0.5 A[128,16] B[16,128] 0.25 ~C[128,128]", product, (1, 1), 256),
        ),
    },
    "gpu-mode/lectures": {
        "lecture_001/load_inline_cuda/cuda.cu": (
            Run("square_matrix_kernel", "705d7624", "x[20,30] =y[20,30] 30 20", lambda x: x * x, (2, 2),
                (16, 16)),
        ),
        "lecture_002/mean_filter/mean_filter_kernel.cu": (
            Run("mean_filter_kernel", "7ec55157", "=y[3,20,30]:b x[3,20,30]:b 30 20 2",
                lambda x: np.stack([ref.blur(c, 2) for c in x]), (4, 3), (8, 8, 3)),
        ),
        "lecture_002/rgb_to_grayscale/grayscale_kernel.cu": (
            Run("rgb_to_grayscale_kernel", "2666b938", "=y[20,30]:b x[20,30,3]:b 30 20", ref.grey, (2, 2),
                (16, 16)),
        ),
        "lecture_002/vector_addition/vector_addition.cu": (
            Run("vecAddKernel", "3b0ee269", "a b =c 1000", add, 8, 128),
        ),
        "lecture_008/coalesce.cu": (
            Run("copyDataNonCoalesced", "e5b15d6f", "x =y 1000", lambda x: x[np.arange(1000) * 2 % 1000], 8,
                128),
            Run("copyDataCoalesced", "049ab9ce", "x =y 1000", lambda x: x, 8, 128),
        ),
        "lecture_008/coarsening.cu": (
            Run("VecAdd", "0dfec4f3", "a[1024] b[1024] =c[1024]", add, 9, 128),
            Run("VecAddCoarsened", "9e4dc79f", "a[1024] b[1024] =c[1024]", add, 5, 128),
        ),
        "lecture_008/divergence.cu": (
            Run("processArrayWithDivergence", "ff998f7d", "~x:i 1000",
                lambda x: np.where(x % 2 == 0, 2 * x, x + 1), 8, 128),
            Run("processArrayWithoutDivergence", "3ddc9412", "~x:i 1000",
                lambda x: np.where(x % 2 == 0, 2 * x, x + 1), 8, 128),
        ),
        "lecture_008/privatization.cu": (
            Run("vectorAdd", "707d2770", "a b =c 1000", add, 8, 128),
            Run("vectorAddPrivatized", "125b62f5", "a b =c 1000", add, 8, 128),
        ),
        "lecture_008/privatization2.cu": (
            Run("windowSumDirect", "11c70c2c", "x =y 1000 9", lambda x: ref.around(x, np.ones(9)), 8, 128),
            Run("windowSumPrivatized", "71f86696", "x =y 1000 9", lambda x: ref.around(x, np.ones(9)), 8, 128,
                found="barrier_divergence",
                why=f"{UNEVEN_BARRIER}; and it leaves out the neighbours of another block"),
        ),
        "lecture_008/tiling.cu": (
            Run("matrixMulSimple", "02777bf4", "a[30,30] b[30,30] =c[30,30] 30", matmul, (2, 2), (16, 16)),
            Run("matrixMulTiled", "1f7ad3c8", "a[32,32] b[32,32] =c[32,32] 32", matmul, (2, 2), (16, 16)),
        ),
        "lecture_009/control_divergence_reduce.cu": (
            Run("FixDivergenceKernel", "76d41eb6", "x[512] =y[1]", lambda x: [x.sum()], 1, 256),
        ),
        "lecture_009/multistream-reduce.cu": (
            Run("CoarsenedReduction", "821751d1", "x +y[1] 1000", lambda x: [x.sum()], 2, 256),
        ),
        "lecture_009/segment_reduce.cu": (
            Run("SharedMemoryReduction", "617b8104", "x +y[1] 1000", lambda x: [x.sum()], 4, 256),
        ),
        "lecture_009/shared_reduce.cu": (
            Run("SharedMemoryReduction", "9be726ba", "x[2048] =y[1]", lambda x: [x.sum()], 1, 1024),
        ),
        "lecture_009/simple_reduce.cu": (
            Run("SimpleSumReductionKernel", "408b5ef2", "x[512] =y[1]", lambda x: [x.sum()], 1, 256),
        ),
        "lecture_012/flash_attention_spilling_from_registers.cu": (
            Run("flash_attention_spilling_from_registers_k", "d8f9a873",
                "=y[32,32] =l[32] Q[32,32] K[32,32] V[32,32] 0.25 32 2 2",
                lambda Q, K, V: ref.flash_with_logs(Q, K, V, 0.25), 1, (16, 8), sizes={"d": "32"},
                found="races", why=REUSED),
        ),
        "lecture_012/flash_attention.cu": (
            Run("flash_attention_k", "15030f08",
                "=y[16,128] =l[16] Q[16,128] K[64,128] V[64,128] 0.05 64 2 2",
                lambda Q, K, V: ref.flash_with_logs(Q, K, V, 0.05), 2, (128, 8), found="races", why=REUSED),
        ),
        "lecture_018/kernels/src/fused_kernels_lora_on_mlp.cu": (
            Run("fused_add_mul_relu_kernel", "4a826954", "~x[20,50] s[50] y[20,50] 50 1000 0.5d",
                lambda x, s, y: relu(x + s + y / 2), 8, 128),
        ),
        "lecture_018/kernels/src/pointwise_add_relu_fused.cu": (
            Run("add_relu_fusion_kernel", "5333feaf", "~x[7,128] y[128] 896 128", lambda x, y: relu(x + y), 7,
                128),
        ),
    },
    "pbelevich/leetgpu": {
        "1d-convolution.cu": (
            Run("convolution_1d_kernel", "a09790e3", "x[200] m[9] =y[192] 200 9", ref.inside, 2, 128,
                4 * 145),
        ),
        "leaky-relu.cu": (
            Run("leaky_relu_kernel", "43932267", "x =y 1000", lambda x: np.where(x > 0, x, 0.01 * x), 8, 128),
        ),
        "matrix-copy.cu": (
            Run("copy_matrix_kernel", "dacbfe54", "x[30,30] =y[30,30] 30", lambda x: x, 8, 128),
        ),
        "matrix-multiplication-global-mem-coalesce.cu": (
            Run("matrix_multiplication_kernel", "5cef7e7a", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul,
                (1, 2), 1024),
        ),
        "matrix-multiplication-naive.cu": (
            Run("matrix_multiplication_kernel", "1a162b5c", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul,
                (2, 3), (16, 16)),
        ),
        "matrix-multiplication-shared-mem-blocking.cu": (
            Run("matrix_multiplication_kernel", "e56e240c", "a[32,64] b[64,64] =c[32,64] 32 64 64", matmul,
                (1, 2), 1024),
        ),
        "matrix-multiplication.cu": (
            Run("matrix_multiplication_kernel", "15a54c4e", "a[20,30] b[30,40] =c[20,40] 20 30 40", matmul,
                (3, 2), (16, 16)),
        ),
        "matrix-transpose.cu": (
            Run("matrix_transpose_kernel", "268ff456", "x[20,36] =y[36,20] 20 36", transposed, (3, 2),
                (16, 16)),
        ),
        "reduction-smem-warp.cu": (
            Run("reduction_kernel", "4cd52335", "x[3000] +y[1] 3000", lambda x: [x.sum()], 2, 256,
                found="races", why=OLD_WARP),
        ),
        "reduction-smem.cu": (
            Run("reduction_kernel", "43ce9976", "x +y[1] 1000 3", lambda x: [x.sum()], 3, 128, 512),
        ),
        "reduction-warp.cu": (
            Run("reduction_kernel", "e3616011", "x +y[1] 1000 3", lambda x: [x.sum()], 3, 128, 512),
        ),
        "relu-activation.cu": (
            Run("relu_kernel", "c35fdc48", "x =y 1000", relu, 8, 128),
        ),
        "reverse-array.cu": (
            Run("reverse_array", "670c835f", "~x 1000", lambda x: x[::-1], 4, 128),
        ),
        "softmax/softmax1.cu": (
            Run("softmax_kernel", "1676039c", "x[40,30] =y[40,30] 40 30", softmax, 1, 64),
        ),
        "softmax/softmax2.cu": (
            Run("softmax_kernel", "ab0ef3a3", "x[10,200] =y[10,200] 10 200", softmax, 10, 64, 256,
                found="races", why=REUSED),
        ),
        "softmax/softmax2_shfl.cu": (
            Run("softmax_shfl_kernel", "d0f21c45", "x[10,200] =y[10,200] 10 200", softmax, 10, 64, 256,
                found="races", why=REUSED),
        ),
        "softmax/softmax3.cu": (
            Run("softmax_kernel", "99562d91", "x[10,200] =y[10,200] 10 200", softmax, 10, 64, 256,
                found="races", why=REUSED),
        ),
        "softmax/softmax3_shfl.cu": (
            Run("softmax_shfl_kernel", "16a3fab0", "x[10,200] =y[10,200] 10 200", softmax, 10, 64, 256,
                found="races", why=REUSED),
        ),
        "softmax/softmax5.cu": (
            Run("max_kernel", "5ffa6340", "x[10,200] 10 200 2 ~low", lambda x: x.max(1), (2, 10), 64, 256,
                given=lambda g: {"low": np.full(10, -3e38, "f4")}),
            Run("sum_kernel", "bc69494d", "x[10,200] =y[10,200] 10 200 2 m[10] +s[10]",
                lambda x, m: (np.exp(x - m[:, None]), np.exp(x - m[:, None]).sum(1)), (2, 10), 64, 256),
            Run("softmax_kernel5", "860e1402", "~y[10,200] 10 200 s[10]:f>0", lambda y, s: y / s[:, None],
                (2, 10), 128),
        ),
        "softmax-4kernels.cu": (
            Run("set_max_and_sum_kernel", "d739024b", "=m[10] =s[10] 10",
                lambda: (np.full(10, -3.4028235e38), np.zeros(10)), 1, 32),
            Run("softmax_kernel", "0cfa8e3c", "~y[10,200] 10 200 s[10]:f>0", lambda y, s: y / s[:, None],
                (2, 10), 128),
        ),
        "softmax.cu": (
            Run("softmax_kernel", "a951a2ad", "x[3000] =y[3000] 3000", softmax, 1, 1024, found="races",
                why=REUSED),
        ),
        "vector-addition.cu": (
            Run("vector_add", "d76016b4", "a b =c 1000", add, 8, 128),
        ),
    },
}
