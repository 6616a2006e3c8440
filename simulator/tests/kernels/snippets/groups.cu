// Small pieces that are easy to get wrong: groups. The second implementation says what they compute.

// snippet: a block and its tiles
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(warp);
    cg::thread_block_tile<8> forgets = quarter;
    __shared__ int s[64];
    s[block.thread_rank()] = x[t];
    block.sync();
    int v = cg::reduce(warp, s[block.size() - 1 - t], cg::plus<int>());
    v += 1000 * quarter.shfl_xor(t, 5) + quarter.shfl(x[t], 9);
    v += quarter.shfl_up(t, 3) - warp.shfl_down(x[t], 4);
    v ^= quarter.ballot(x[t] & 1) << 8 | quarter.any(t == 3) << 3 | warp.all(t < 40);
    out[t] = v + 7 * quarter.meta_group_rank() + forgets.meta_group_size() * warp.meta_group_rank();
    f[t] = cg::reduce(quarter, x[t] * 0.1f, cg::plus<float>());
    f[t] += cg::reduce(quarter, f[t], cg::greater<float>());
    cg::sync(quarter);
    out[t] += cg::reduce(quarter, x[t], cg::bit_xor<int>()) + cg::reduce(forgets, t, cg::less<int>());
}

// snippet: groups of any kind in functions
#include <cooperative_groups.h>
using namespace cooperative_groups;
__device__ int total(thread_group group, int* s, int v) {
    int rank = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        group.sync();
        s[rank] = v;
        group.sync();
        if (rank < i) v += s[rank + i];
    }
    group.sync();
    if (rank == 0) s[0] = v;
    group.sync();
    v = s[0];
    group.sync();
    return v;
}
template <unsigned N> __device__ int spread(const thread_block_tile<N>& tile, int v) {
    return tile.shfl(v, N / 2);
}
template <typename G> __device__ int first(const G& group) { return group.thread_rank() == 0; }
template <unsigned N, typename P> __device__ int tile_of(thread_block_tile<N, P> tile) {
    return 100 * N + tile.meta_group_rank() + tile.meta_group_size();
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[64];
    thread_block block = this_thread_block();
    thread_group four = tiled_partition(block, 4);
    out[t] = total(block, s, x[t]) + 3 * total(four, s + t / 4 * 4, t);
    thread_block_tile<16> tile = tiled_partition<16>(block);
    out[t] += spread(tile, x[t]) + first<thread_block>(block) + first(tile) + (int)group_size(tile);
    out[t] += total(tile, s + t / 16 * 16, x[t] & 7) + tile_of(tiled_partition<2>(tile));
}

// snippet: coalesced threads
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::labeled_partition(warp, x[t] % 3);
    out[t] = 100 * part.meta_group_rank() + part.meta_group_size() + cg::reduce(part, x[t], cg::plus<int>());
    out[t] += 7 * part.shfl_up(t, 1) + 11 * part.shfl_down(x[t], 2) + part.shfl(t, 0) + part.thread_rank();
    f[t] = cg::inclusive_scan(part, x[t] * 0.5f) + cg::exclusive_scan(warp, x[t] * 0.25f);
    out[t] += cg::exclusive_scan(part, t, cg::greater<int>()) + (part.ballot(t & 2) & 0xff);
    if (x[t] % 3 == 1) { part.sync(); out[t] += part.size() + part.any(t > 60) + part.all(x[t] > -9); }
}

// snippet: threads that run together
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t] = -1;
    if (t % 32 > 6 && t % 3) {
        cg::coalesced_group g = cg::coalesced_threads();
        out[t] = 100 * g.size() + g.thread_rank() + 1000 * g.shfl(x[t], 3);
        out[t] += cg::reduce(g, t, cg::plus<int>());
        f[t] = cg::reduce(g, x[t] * 0.1f, cg::plus<float>());
    } else {
        auto others = cg::coalesced_threads();
        out[t] = others.num_threads() + 100 * others.ballot(x[t] & 2) + others.meta_group_size();
    }
    __syncwarp();
    for (int i = 0; i < (t & 3) + 1; i++) {
        auto still = cg::coalesced_threads();
        out[t] += still.size() << 4 * i;
    }
    __syncwarp();
    if (t > 40) return;
    auto rest = cg::coalesced_threads();
    out[t] ^= rest.size() << 20 | rest.all(t < 41) << 27;
}

// snippet: parts of threads that run together
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    auto part = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), x[t] % 3);
    auto four = cg::tiled_partition(part, 4);
    auto same = cg::tiled_partition(part, 16);
    out[t] = four.thread_rank() + 10 * four.meta_group_rank() + 100 * four.meta_group_size();
    out[t] += 10000 * four.size();
    out[t] += 100000 * same.meta_group_rank() + 1000000 * same.meta_group_size();
    auto two = cg::binary_partition(part, x[t] > 20);
    auto one = cg::binary_partition(four, true);
    f[t] = two.meta_group_rank() + 10 * two.meta_group_size() + 100 * one.meta_group_size();
    f[t] += 1000 * two.size();
    f[t] += 100000 * cg::labeled_partition(part, t % 5 == 1).meta_group_rank();
    out[t] += cg::inclusive_scan(two, t);
}

// snippet: a sum of a whole warp that runs together
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    cg::coalesced_group g = cg::coalesced_threads();
    f[t] = cg::reduce(g, 1.0f / (x[t] + 3), cg::plus<float>());
    out[t] = cg::reduce(g, x[t], cg::less<int>()) + g.shfl_down(t, 3) + 100 * g.shfl_up(t, 30);
}

// snippet: sums of halves and of bfloat16 in groups
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    auto part = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), x[t] % 3);
    __nv_bfloat16 b = x[t] * 1.01f;
    half h = x[t] * 33.3f;
    f[t] = cg::reduce(tile, b, cg::plus<__nv_bfloat16>());
    f[t] += 1000 * (float)cg::reduce(part, b, cg::plus<__nv_bfloat16>()) + (float)tile.shfl_down(b, 3);
    f[t] += (float)cg::inclusive_scan(tile, b, cg::plus<__nv_bfloat16>());
    f[t] += (float)cg::exclusive_scan(part, b);
    out[t] = 7 * (int)cg::reduce(tile, h, cg::plus<half>()) + (int)cg::inclusive_scan(part, h);
    out[t] += (int)cg::reduce(part, b, cg::less<__nv_bfloat16>()) + (int)part.shfl(h, 1);
}
