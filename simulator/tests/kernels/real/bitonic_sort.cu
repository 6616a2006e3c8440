// Sorts each block's SIZE integers, upwards. Missing elements at the end count as the largest integer.
#define SIZE 256

__device__ void exchange_if(int& a, int& b, bool wrong) {
    if (wrong) {
        int old = a;
        a = b;
        b = old;
    }
}

extern "C" __global__ void bitonic_sort(int* x, int n) {
    __shared__ int part[SIZE];
    const int t = threadIdx.x, i = blockIdx.x * SIZE + t;
    part[t] = i < n ? x[i] : 2147483647;
    __syncthreads();
    for (int size = 2; size <= SIZE; size <<= 1) {
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            const int partner = t ^ stride;
            if (partner > t) {  // one thread of each pair
                const bool up = (t & size) == 0;
                exchange_if(part[t], part[partner], (part[t] > part[partner]) == up);
            }
            __syncthreads();
        }
    }
    if (i < n) x[i] = part[t];
}
