// What the front end knows of bfloat16. It is compiled, never run.
#include <cuda_bf16.h>
struct Weighted { __nv_bfloat16 value; float weight; };
__constant__ __nv_bfloat16 table[4];
typedef __nv_bfloat16 storage;
__device__ float both(__nv_bfloat16 a, const nv_bfloat16& b) { return __bfloat162float(a) + (float)b; }
__device__ void set(__nv_bfloat16& to, __nv_bfloat16 value) { to = value; }
template <typename T> __device__ T middle(const T* a, int n) {
    T sum = a[0];
    for (int i = 1; i < n; ++i) sum += a[i];
    return T((float)sum / n);
}
extern "C" __global__ void numbers(const storage* __restrict__ x, __nv_bfloat16* y, float* out, int n, unsigned short raw) {
    __shared__ __nv_bfloat16 tile[64];
    int i = threadIdx.x;
    __nv_bfloat16 a = 1.0f, b = 2, c{0.5}, d(n), e = {}, list[3] = {1.0f, x[i]};
    tile[i] = i < n ? x[i] : a;
    a = b * c - d / -e + a, a *= 2, a++;
    b = __hfma(a, b, hexp(c));
    y[i] = __float2bfloat16(both(a, tile[i]));
    y[n] = middle(x, 3);
    set(y[i + 1], list[1]);
    Weighted w = {a, 1.0f};
    if (a < b || __hge(c, d) || !w.value) out[i] = both(w.value, table[i & 3]);
    out[1] = expf(a) + __bfloat162float(__ushort_as_bfloat16(raw)) + sizeof(a);
    out[2] = __shfl_down_sync(0xffffffffu, e, 1);
    y[2] = __double2bfloat16(2.0 * n) + __int2bfloat16_rn(n) + (__nv_bfloat16)__float2half(3.0f);
    y[3] = __ldcs(x);
    __stcs(y + 4, __hmax(a, __habs(b)));
    out[3] = __bfloat162int_rz(c) + __bfloat16_as_ushort(d);
    __nv_bfloat162 v = __halves2bfloat162(a, b), u = *(const __nv_bfloat162*)x, s(c, d);
    v = __hfma2(u, s, v) * v + __float2bfloat162_rn(out[0]);
    v += -u;
    float2 parts = __bfloat1622float2(h2sqrt(v));
    out[4] = parts.x + __low2float(v) + float(v.y);
    reinterpret_cast<float4*>(y)[i] = *(const float4*)x;
}
