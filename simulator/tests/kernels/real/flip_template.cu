// Each stretch of TILE elements, backwards; blocks of TILE threads. Any type, any tile.
template <typename T>
__device__ T clamped(const T* x, int i, int n) {
    return i < n ? x[i] : T(0);
}

template <typename T, int TILE>
__global__ void flip(const T* x, T* out, int n) {
    __shared__ T tile[TILE];
    static_assert(TILE > 0, "a tile holds something");
    const int i = blockIdx.x * TILE + threadIdx.x;
    tile[threadIdx.x] = clamped<T>(x, i, n);
    __syncthreads();
    if (i < n) {
        out[i] = tile[TILE - 1 - threadIdx.x];
    }
}
