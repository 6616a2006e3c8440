// Exclusive scan of one block's 2 * blockDim.x elements, after Blelloch: up the tree with sums, and down again.
extern "C" __global__ void scan_blelloch(const int* x, int* out, int n) {
    extern __shared__ int tree[];
    const int t = threadIdx.x, size = 2 * blockDim.x;
    tree[2 * t] = 2 * t < n ? x[2 * t] : 0;
    tree[2 * t + 1] = 2 * t + 1 < n ? x[2 * t + 1] : 0;

    int offset = 1;
    for (int d = size >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            tree[right] += tree[left];
        }
        offset <<= 1;
    }
    if (t == 0) tree[size - 1] = 0;
    for (int d = 1; d < size; d <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            int sum = tree[left];
            tree[left] = tree[right];
            tree[right] += sum;
        }
    }
    __syncthreads();
    if (2 * t < n) out[2 * t] = tree[2 * t];
    if (2 * t + 1 < n) out[2 * t + 1] = tree[2 * t + 1];
}
