// What the front end knows of cooperative groups. It is compiled, never run.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
typedef cg::thread_block_tile<32> Warp;
__device__ int total(cg::thread_group group, int* s, int v) {
    int rank = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        s[rank] = v;
        group.sync();
        if (rank < i) v += s[rank + i];
        cg::sync(group);
    }
    return v;
}
template <unsigned N> __device__ float spread(const cg::thread_block_tile<N>& tile, float v) {
    return tile.shfl(v, N / 2) + tile.shfl_xor(v, 1);
}
template <unsigned N, typename P> __device__ int tiles(cg::thread_block_tile<N, P> tile) {
    return tile.meta_group_size() * N + tile.meta_group_rank();
}
template <typename G> __device__ bool first(const G& group) { return group.thread_rank() == 0; }
template <typename T> __device__ T largest(Warp& warp, T v) { return cg::reduce(warp, v, cg::greater<T>{}); }
__device__ void wait(cg::thread_block& block) { block.sync(); }
extern "C" __global__ void groups(const float* x, float* out, int* z, int n) {
    __shared__ int s[64];
    cg::thread_block block = cg::this_thread_block();
    Warp warp = cg::tiled_partition<32>(block);
    const auto tile = cg::tiled_partition<8>(warp);
    cg::thread_group any = warp, four = cg::tiled_partition(block, 4);
    int t = block.thread_rank();
    wait(block);
    z[t] = total(block, s, t) + total(four, s, 3) + total(cg::tiled_partition<16>(block), s, n);
    out[t] = spread(warp, x[t]) + spread<8>(tile, 2.0f) + tiles(tile) + largest(warp, x[t]);
    if (first(block) || first(any)) out[n] = cg::reduce(warp, x[t] > 0.0f ? 1 : 0, cg::plus<int>());
    unsigned bits = warp.ballot(t & 1) ^ tile.any(n) ^ tile.all(t < 3);
    cg::coalesced_group some = cg::coalesced_threads();
    bits += some.size() + some.shfl(t, 0) + some.shfl_up(t, 1) + cg::exclusive_scan(some, t);
    auto part = cg::labeled_partition(warp, t % 3);
    bits ^= part.meta_group_rank() + cg::inclusive_scan(part, t, cg::less<int>()) + cg::thread_rank(block);
    dim3 where = block.group_index();
    z[n] = bits + where.x + block.thread_index().y + block.group_dim().z + cg::group_size(warp);
    {
        using namespace cooperative_groups;
        thread_block_tile<2> two = tiled_partition<2>(this_thread_block());
        z[1] = reduce(two, n, bit_xor<int>()) + two.num_threads();
    }
    cg::grid_group grid = cg::this_grid();
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) out[i] += warp.shfl_down(x[i], 4);
}
