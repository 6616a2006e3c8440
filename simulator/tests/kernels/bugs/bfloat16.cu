// Planted bugs: bfloat16.

// bug: a row of bfloat16 without a barrier
// launch: <<<1, 64>>> y:bf16[64]=1..64 out:f32[64]
// expect: races shared array=s
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* y, float* out) {
    __shared__ __nv_bfloat16 s[64];
    int t = threadIdx.x;
    s[t] = __hmul(y[t], y[t]);  // OTHER
    out[t] = __bfloat162float(s[63 - t]);  // BUG
}

// bug: pairs of bfloat16, and one of them too many
// launch: <<<1, 32>>> y:bf16[62]=1..62 out:f32[32]
// expect: out_of_bounds out-of-bounds array=y at=((0,0,0),(31,0,0)) count=1
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* y, float* out) {
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(y);
    out[threadIdx.x] = __low2float(pairs[threadIdx.x]);  // BUG
}

// bug: a pair that begins with the second bfloat16
// launch: <<<1, 32>>> y:bf16[66]=1..66 out:f32[32]
// expect: misaligned misaligned array=y
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* y, float* out) {
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(y + 1);
    out[threadIdx.x] = __low2float(pairs[threadIdx.x]);  // BUG
}

// bug: a sum of bfloat16 that starts with nothing
// launch: <<<1, 32>>> y:bf16[32]=1..32 out:f32[32]
// expect: uninitialised uninitialised array=sums
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* y, float* out) {
    __shared__ __nv_bfloat162 sums[32];
    int t = threadIdx.x;
    if (t > 0) sums[t] = __float2bfloat162_rn(0.0f);
    sums[t] += __halves2bfloat162(y[t], y[t]);  // BUG
    out[t] = __high2float(sums[t]);
}

// bug: everybody adds to one bfloat16
// launch: <<<1, 64>>> y:bf16[64]=1..64 out:u16[1]
// expect: races global array=out
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* y, __nv_bfloat16* out) {
    out[0] += y[threadIdx.x];  // BUG
}
