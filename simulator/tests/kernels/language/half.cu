// What the front end knows of half. It is compiled, never run.
#include <cuda_fp16.h>
struct Weighted { half value; float weight; };
__constant__ half table[4];
__device__ half last;
typedef half storage;
__device__ float both(half a, const half& b) { return __half2float(a) + (float)b; }
__device__ half rounded(float x) { return x; }
__device__ void set(half& to, __half value) { to = value; }
template <typename T> __device__ T middle(const T* a, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += float(a[i]);
    return T(sum / n);
}
extern "C" __global__ void halves(const half* __restrict__ x, __half* y, float* out, int n, half scale, unsigned short raw) {
    __shared__ half tile[64];
    extern __shared__ storage more[];
    int i = threadIdx.x;
    half a = 1.0f, b = 2, c{0.5}, d(n), e = {}, list[3] = {1.0f, x[i]};
    const half limit = 6.5f;
    tile[i] = i < n ? x[i] : a;
    more[i] = tile[63 - i];
    float f = x[i], g = __half2float(tile[i]) * 2.0f;
    double wide = b;
    int whole = (int)c + static_cast<int>(d);
    a = f * 0.5f;
    b = __float2half(g);
    y[i] = __float2half_rn(both(a, g));
    y[n] = rounded(wide);
    set(y[i + 1], limit);
    set(e, n);
    Weighted w = {f, 1.0f};
    w.value = list[1];
    if (a && !b) out[i] = scale ? 1.0f : both(w.value, table[i & 3]);
    a = i > 3 ? a : b;
    out[1] = expf(a) + fmaxf(b, 0.0f) + float(middle(x, 3)) + __half2float(__ushort_as_half(raw));
    out[2] = __shfl_down_sync(0xffffffffu, e, 1);
    last = __double2half(wide + whole + __half_as_ushort(c));
    reinterpret_cast<float4*>(y)[i] = *(const float4*)x;
    const half* p = x + 1;
    out[sizeof(half)] = *p++ ? (float)p[-1] : (float)(p - x);
    auto copy = __ldg(x);
    y[2] = copy;
    a += b * c - d / -e, a *= 2, b = __hfma(a, b, hexp(c));
    if (a < b || __hge(c, d) || a != e) n = __half2int_rn(__hmax(a, __habs(b)));
    half2 v = __halves2half2(a, b), u = *(const half2*)x, s(c, d);
    v = __hfma2(u, s, v) * v + __float2half2_rn(f);
    v += -u;
    float2 both_of = __half22float2(h2sqrt(v));
    out[3] = both_of.x + __low2float(v) + float(v.y);
}
