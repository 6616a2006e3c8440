"""NVIDIA's samples."""

from __future__ import annotations

import numpy as np
import public_references as ref
from public_references import add
from public_runs import Run, Table

from public_tables.reasons import LOADS_FIRST


def voxels(g: np.random.Generator) -> dict[str, ref.Array]:
    """Some that are on, and how many are so before each."""
    on = g.integers(0, 2, 1000).astype("u4")
    return {"on": on, "place": (np.cumsum(on) - on).astype("u4")}


# fmt: off
TABLE: Table = {
    "NVIDIA/cuda-samples": {
        "Samples/0_Introduction/asyncAPI/asyncAPI.cu": (
            Run("increment_kernel", "04fc588a", "~x[256]:i k=7", lambda x, k: x + k, 2, 128),
        ),
        "Samples/0_Introduction/cudaOpenMP/cudaOpenMP.cu": (
            Run("kernelAddConstant", "0eaea334", "~x[256]:i k=7", lambda x, k: x + k, 2, 128),
        ),
        "Samples/0_Introduction/matrixMulDrv/matrixMul_kernel.cu": (
            Run("matrixMul_bs8_64bit", "728705dd", "=C[16,24] A[16,32] B[32,24] 32 24", lambda A, B: A @ B,
                (3, 2), (8, 8)),
            Run("matrixMul_bs16_64bit", "f4bbf52f", "=C[16,48] A[16,32] B[32,48] 32 48", lambda A, B: A @ B,
                (3, 1), (16, 16)),
            Run("matrixMul_bs32_64bit", "291be280", "=C[32,64] A[32,64] B[64,64] 64 64", lambda A, B: A @ B,
                (2, 1), (32, 32)),
        ),
        "Samples/0_Introduction/simpleAtomicIntrinsics/simpleAtomicIntrinsics_kernel.cuh": (
            Run("testKernel", "2b115b37", "+x[11]:i", ref.all_atomics, 2, 64),
        ),
        "Samples/0_Introduction/simpleCallback/simpleCallback.cu": (
            Run("incKernel", "5545679c", "~x:i 1000", lambda x: x + 1, 8, 128),
        ),
        "Samples/0_Introduction/simpleDrvRuntime/vectorAdd_kernel.cu": (
            Run("VecAdd_kernel", "7ceeb622", "a b =c 1000", add, 8, 128),
        ),
        "Samples/0_Introduction/simpleIPC/simpleIPC.cu": (
            Run("simpleKernel", "62eff12d", "=x:c 1000 7", lambda: np.full(1000, 7), 2, 128),
        ),
        "Samples/0_Introduction/simpleMPI/simpleMPI.cu": (
            Run("simpleMPIKernel", "caab4d62", "x[256]:f>0 =y[256]", lambda x: np.sqrt(x), 2, 128),
        ),
        "Samples/0_Introduction/simpleMultiCopy/simpleMultiCopy.cu": (
            Run("incKernel", "ee8fcd0a", "=y:i x:i 1000 3", lambda x: x + 1, 8, 128),
        ),
        "Samples/0_Introduction/simpleMultiGPU/simpleMultiGPU.cu": (
            Run("reduceKernel", "22674b58", "=y[250] x 1000", lambda x: x.reshape(4, 250).sum(0), 2, 125),
        ),
        "Samples/0_Introduction/simpleOccupancy/simpleOccupancy.cu": (
            Run("square", "7ee6b82d", "~x:i 1000", lambda x: x * x, 8, 128, 4),
        ),
        "Samples/0_Introduction/simpleP2P/simpleP2P.cu": (
            Run("SimpleKernel", "ac261cbd", "x[256] =y[256]", lambda x: 2 * x, 2, 128),
        ),
        "Samples/0_Introduction/simpleStreams/simpleStreams.cu": (
            Run("init_array", "b4bb184b", "~x[256]:i k[1]:i 5", lambda x, k: x + 5 * k, 2, 128),
        ),
        "Samples/0_Introduction/simpleVoteIntrinsics/simpleVote_kernel.cuh": (
            Run("VoteAnyKernel1", "c4ba53e7", "x[128]:u<2 =y[128]:u 128",
                lambda x: np.repeat(x.reshape(4, 32).any(1), 32), 1, 128),
            Run("VoteAllKernel2", "ff6ef130", "x[128]:u<2 =y[128]:u 128",
                lambda x: np.repeat(x.reshape(4, 32).all(1), 32), 1, 128),
        ),
        "Samples/0_Introduction/simpleZeroCopy/simpleZeroCopy.cu": (
            Run("vectorAddGPU", "6339518f", "a b =c 1000", add, 8, 128),
        ),
        "Samples/0_Introduction/template/template.cu": (
            Run("testKernel", "d5b89ebb", "x[64] =y[64]", lambda x: 64 * x, 1, 64, 256),
        ),
        "Samples/0_Introduction/vectorAdd/vectorAdd.cu": (
            Run("vectorAdd", "47f2e1b2", "a b =c 1000", add, 8, 128),
        ),
        "Samples/0_Introduction/vectorAdd_nvrtc/vectorAdd_kernel.cu": (
            Run("vectorAdd", "447d3224", "a b =c 1000", add, 8, 128),
        ),
        "Samples/2_Concepts_and_Techniques/segmentationTreeThrust/kernels.cuh": (
            Run("addScalar", "df7f8c02", "~x:u 7 1000", lambda x: x + 7, 8, 128),
            Run("getRepresentatives", "5483866e", "next =y[64]:u 64", ref.ends, 1, 64,
                given=lambda g: {"next": (np.arange(64) // 3).astype("u4")}),
            Run("removeCycles", "81261e45", "~pairs 64", lambda pairs: np.arange(64) // 2 * 2, 1, 64,
                given=lambda g: {"pairs": (np.arange(64) ^ 1).astype("u4")}, found="races",
                why="of a pair each reads what the other may just write; both orders come out the same"),
        ),
        "Samples/2_Concepts_and_Techniques/shfl_scan/shfl_scan.cu": (
            Run("uniform_add", "d686ee6f", "~x:i s[8]:i 1000", lambda x, s: x + np.repeat(s, 128)[:1000], 8,
                128, found="out_of_bounds", why="its guard lets the thread after the last one through"),
        ),
        "Samples/2_Concepts_and_Techniques/sortingNetworks/bitonicSort.cu": (
            Run("bitonicMergeGlobal", "74feea8c", "=k[256]:u =v[256]:u x[256]:u y[256]:u 256u 256u 128u 1u",
                ref.bitonic_half, 1, 128),
        ),
        "Samples/2_Concepts_and_Techniques/streamOrderedAllocation/streamOrderedAllocation.cu": (
            Run("vectorAddGPU", "514dedea", "a b =c 1000", add, 8, 128),
        ),
        "Samples/2_Concepts_and_Techniques/streamOrderedAllocationP2P/streamOrderedAllocationP2P.cu": (
            Run("copyP2PAndScale", "a6493c03", "x:i =y:i 1000", lambda x: 2 * x, 8, 128),
        ),
        "Samples/2_Concepts_and_Techniques/threadMigration/threadMigration_kernel.cu": (
            Run("kernelFunction", "4057cd19", "=x[32]:i", lambda: 32 - np.arange(32), 1, 32),
        ),
        "Samples/3_CUDA_Features/StreamPriorities/StreamPriorities.cu": (
            Run("memcpy_kernel", "629498c0", "=y:i x:i 4000", lambda x: x, 2, 128),
        ),
        "Samples/3_CUDA_Features/cudaCompressibleMemory/saxpy.cu": (
            Run("saxpy", "06af1f20", "0.5 x y =z 250", lambda x, y: x / 2 + y, 1, 64),
        ),
        "Samples/3_CUDA_Features/graphMemoryNodes/graphMemoryNodes.cu": (
            Run("squareArray", "d31c4c5b", "x =y 1000", lambda x: x * x, 8, 128),
            Run("negateArray", "418dad8a", "x =y 1000", lambda x: -x, 8, 128),
        ),
        "Samples/4_CUDA_Libraries/conjugateGradientCudaGraphs/conjugateGradientCudaGraphs.cu": (
            Run("initVectors", "04fefd45", "=r =x 1000", lambda: (np.ones(1000), np.zeros(1000)), 2, 128),
            Run("r1_div_x", "036805f3", "a[1] b[1]:f>0 =c[1]", lambda a, b: a / b, 1, 32),
        ),
        "Samples/4_CUDA_Libraries/oceanFFT/oceanFFT_kernel.cu": (
            Run("updateHeightmapKernel", "4539a0bd", "=h[32,32] x[32,32,2] 32u",
                lambda x: x[..., 0] * (1 - 2 * (np.add.outer(np.arange(32), np.arange(32)) % 2)), (2, 2),
                (16, 16)),
            Run("calculateSlopeKernel", "d73013b6", "h[32,32] =s[32,32,2] 32u 32u", ref.slopes, (2, 2),
                (16, 16)),
        ),
        "Samples/5_Domain_Specific/HSOpticalFlow/addKernel.cuh": (
            Run("AddKernel", "830f1f20", "a b 1000 =c", add, 8, 128),
        ),
        "Samples/5_Domain_Specific/fastWalshTransform/fastWalshTransform_kernel.cuh": (
            Run("fwtBatch2Kernel", "f8ccbfcb", "=y[2,1024] x[2,1024] 256", ref.walsh_step, (2, 2), 128),
            Run("modulateKernel", "5a9d8d3e", "~a b 1000", lambda a, b: a * b / 1000, 2, 128),
        ),
        "Samples/5_Domain_Specific/marchingCubes/marchingCubes_kernel.cu": (
            Run("compactVoxels", "333c8e50", "=y:u on place 1000u",
                lambda on: np.append(np.flatnonzero(on), np.full(1000 - on.sum(), np.nan)), 8, 128,
                given=voxels,
                found="out_of_bounds", why=LOADS_FIRST),
        ),
        "Samples/5_Domain_Specific/p2pBandwidthLatencyTest/p2pBandwidthLatencyTest.cu": (
            Run("copyp2p", "a43f70a0", "=y:i x:i 250", lambda x: x, 1, 64),
        ),
    },
}
