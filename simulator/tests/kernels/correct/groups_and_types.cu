// Correct kernels: groups, bfloat16 and classes.

// correct: sums by tiles and by a block that is not full
// launch: <<<2, 40>>> x:f32[40]=1..40 out:f32[2]
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    float sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
    if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        float part = tile.thread_rank() < tile.meta_group_size() ? s[tile.thread_rank()] : 0.0f;
        sum = cg::reduce(tile, part, cg::plus<float>());
        if (tile.thread_rank() == 0) out[blockIdx.x] = sum;
    }
    auto parts = cg::labeled_partition(cg::tiled_partition<32>(block), (int)threadIdx.x & 1);
    if (threadIdx.x & 1) parts.sync();
}

// correct: lanes that run together in both branches
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t % 3 == 0) {
        cg::coalesced_group some = cg::coalesced_threads();
        some.sync();
        out[t] = cg::reduce(some, s[t], cg::plus<float>());
    } else {
        auto others = cg::coalesced_threads();
        out[t] = others.shfl(x[t], others.size() - 1);
    }
    __syncwarp();
}

// correct: a sum of bfloat16 by pairs
// launch: <<<1, 32>>> y:bf16[64]=1..64 out:f32[1]
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* y, float* out) {
    __shared__ __nv_bfloat162 s[32];
    int t = threadIdx.x;
    s[t] = reinterpret_cast<const __nv_bfloat162*>(y)[t];
    __syncthreads();
    for (int i = 16; i > 0; i /= 2) {
        if (t < i) s[t] = __hfma2(s[t + i], __float2bfloat162_rn(1.0f), s[t]);
        __syncthreads();
    }
    if (t == 0) out[0] = (float)(s[0].x + s[0].y);
}

// correct: objects that are partly written and copied
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
struct Pair7 {
    float a, b;
    __device__ float sum() const { return a + b; }
    __device__ void scale(float k) { a *= k; }
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Pair7 p;
    p.a = x[t];
    p.scale(2.0f);
    y[t] = p.a;
}

// correct: objects in shared memory with a barrier
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
struct Pair8 {
    float a, b;
    __device__ float sum() const { return a + b; }
    __device__ void scale(float k) { a *= k; }
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    __shared__ Pair8 s[64];
    s[t].a = x[t];
    s[t].b = 1.0f;
    s[t].scale(3.0f);
    __syncthreads();
    y[t] = s[63 - t].sum();
}

// correct: a union of a vector and an array
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
union Quad { float4 v; float a[4]; };
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Quad q;
    q.v = reinterpret_cast<const float4*>(x)[t % 16];
    float s = 0.0f;
    for (int i = 0; i < 4; ++i) s += q.a[i];
    y[t] = s;
}
