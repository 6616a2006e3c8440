// Adds two arrays.
#include <cstdio>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>
#include "helper_cuda.h"

#define TILE 32
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) exit(1); } while (0)
using namespace std;
typedef float real;
const int SHIFT = 1, SCALE = 2;
struct Timer { cudaEvent_t begin, end; std::vector<float> times; void start(); };
struct Pair { real a; int b; };
enum Mode { PLAIN, SCALED };
static int runs = 0;

template <typename T>
__device__ T scaled(T value, Mode mode) {
    return mode == SCALED ? value * SCALE : value;
}

void on_the_host(const real* x, real* y, int n);

__global__ void add(const real* x, const real* y, real* out, int n) {
    __shared__ real tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) out[i] = scaled(tile[threadIdx.x] + y[i], SCALED) + SHIFT;
}

extern "C" __global__ void pairs(Pair* p, uint32_t n) { if (threadIdx.x < n) p[threadIdx.x].b = FLT_MAX > 1; }

template <int N> __global__ void fill(real* x) { x[threadIdx.x] = N; }

#ifdef TIMED
double seconds() { return clock() / (double)CLOCKS_PER_SEC; }
#endif

int main(int argc, char** argv) {
    std::vector<real> x(100, 1.0f);
    cudaStream_t stream;
    real *d_x, *d_y, *d_out;
    CHECK(cudaMalloc(&d_x, 100 * sizeof(real)));
#if SHIFT
    printf("a { brace");
#else
    for (int i = 0; i < 3; ++i) {
        printf("an open one");
#endif
    add<<<4, TILE, 0, stream>>>(d_x, d_y, d_out, 100);
    fill<3><<<1, 32>>>(d_x);
    std::cout << "}" << std::endl;  // }
    return 0;
}
