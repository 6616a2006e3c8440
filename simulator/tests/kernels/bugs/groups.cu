// Planted bugs: groups of threads.

// bug: the tile waits where the block should
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: races shared
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int t = block.thread_rank();
    s[t] = x[t];  // OTHER
    tile.sync();
    out[t] = s[63 - t];  // BUG
}

// bug: a smaller tile waits than exchanges
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: races warp
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    cg::sync(tile);
    out[t] = s[t ^ 8];  // BUG
}

// bug: a thread_group that is no block any more
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: races shared
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__device__ float last(cg::thread_group group, float* s, float v) {
    s[threadIdx.x] = v;  // OTHER
    group.sync();
    return s[63 - threadIdx.x];  // BUG
}
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    out[threadIdx.x] = last(cg::tiled_partition(cg::this_thread_block(), 32), s, x[threadIdx.x]);
}

// bug: some of the block do not come to its barrier
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: barrier_divergence barrier-divergence
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() < 40) block.sync();  // BUG
    block.sync();
    out[threadIdx.x] = x[threadIdx.x];
}

// bug: a shuffle of a tile whose lanes have left
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync count=8
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x;
    if (tile.thread_rank() > 11) return;
    out[t] = tile.shfl_down(x[t], 4);  // BUG
}

// bug: a sum of a tile that is not complete
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    if (t < 20) {
        out[t] = cg::reduce(tile, x[t], cg::plus<float>());  // BUG
    }
}

// bug: lanes that run together read what the others of the warp write
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: races warp array=s
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncwarp();
    if (t < 20) {
        cg::coalesced_group some = cg::coalesced_threads();
        some.sync();
        out[t] = s[31 - t];  // BUG
    } else {
        s[t] = x[t];  // OTHER
    }
}

// bug: a shuffle of lanes that ran together, and of which half have left
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync count=16
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    cg::coalesced_group all = cg::coalesced_threads();
    if (all.thread_rank() & 1) return;
    out[t] = all.shfl_down(x[t], 1);  // BUG
}

// bug: a shuffle of those who say the same, in a branch
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    auto same = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), t % 3);
    out[t] = x[t];
    if (t < 16) {
        out[t] = same.shfl(x[t], same.size() - 1);  // BUG
    }
}
