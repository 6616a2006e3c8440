// C (m, n) = A (m, k) @ B (k, n): each thread computes 4 x 4 elements, and loads four at a time.
// Block (16, 16) makes a 64 x 64 tile of C. n and k are multiples of 4, so that rows are aligned.
#define BM 64
#define BN 64
#define BK 16
#define PER_THREAD 4

extern "C" __global__ void __launch_bounds__(256)
matmul_registers(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                 int m, int n, int k) {
    __shared__ float a[BK][BM];               // transposed: a column of A is read as a row
    __shared__ __align__(16) float b[BK][BN];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float sum[PER_THREAD][PER_THREAD] = {};

    for (int start = 0; start < k; start += BK) {
        // 256 threads load 64 x 16 of A and 16 x 64 of B, one float4 each.
        const int ar = thread / (BK / 4), ac = thread % (BK / 4) * 4;
        float4 va = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (row0 + ar < m && start + ac < k) {
            va = *reinterpret_cast<const float4*>(&A[(row0 + ar) * k + start + ac]);
        }
        a[ac + 0][ar] = va.x;
        a[ac + 1][ar] = va.y;
        a[ac + 2][ar] = va.z;
        a[ac + 3][ar] = va.w;
        const int br = thread / (BN / 4), bc = thread % (BN / 4) * 4;
        float4 vb = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (start + br < k && col0 + bc < n) {
            vb = *(const float4*)(B + (start + br) * n + col0 + bc);
        }
        *reinterpret_cast<float4*>(&b[br][bc]) = vb;
        __syncthreads();

#pragma unroll
        for (int i = 0; i < BK; ++i) {
            float fa[PER_THREAD], fb[PER_THREAD];
            for (int j = 0; j < PER_THREAD; ++j) {
                fa[j] = a[i][threadIdx.y * PER_THREAD + j];
                fb[j] = b[i][threadIdx.x * PER_THREAD + j];
            }
            for (int y = 0; y < PER_THREAD; ++y) {
                for (int x = 0; x < PER_THREAD; ++x) {
                    sum[y][x] = fmaf(fa[y], fb[x], sum[y][x]);
                }
            }
        }
        __syncthreads();
    }

    for (int y = 0; y < PER_THREAD; ++y) {
        const int row = row0 + threadIdx.y * PER_THREAD + y;
        const int col = col0 + threadIdx.x * PER_THREAD;
        if (row < m && col < n) {
            float4 out = make_float4(sum[y][0], sum[y][1], sum[y][2], sum[y][3]);
            *reinterpret_cast<float4*>(&C[row * n + col]) = out;
        }
    }
}
