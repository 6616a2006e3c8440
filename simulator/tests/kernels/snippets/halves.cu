// Small pieces that are easy to get wrong: halves. The second implementation says what they compute.

// snippet: arithmetic of halves
#include <cuda_fp16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    const unsigned short bits[16]={0x7c00,0xfc00,0x7e00,0x7bff,0xd640,0x5640,0x0001,0xbbff,
                                   0x3c00,0x8000,0x4248,0x03ff,0x7801,0xb555,0x2e66,0x4900};
    half h=__ushort_as_half(bits[t&15]), g=__ushort_as_half(bits[(t*7+t/16)&15]), r=h;
    switch (t>>4) {
        case 0: r=h+g*h-h/g; break;
        case 1: r+=g; r*=1.5f; r-=1; ++r; r--; break;
        case 2: r=-h; r=h<g ? __hmax(h, g) : __hfma(h, g, __hsub(g, h)); break;
        default: r=hsqrt(__habs(h))+hrcp(g)+hfloor(h)+__hmin(h, g);
    }
    f[t]=__hisnan(r) ? -7777.0f : (float)r;
    out[t]=(h<g)+2*(h<=g)+4*(h==g)+8*(h!=g)+16*(h>=g)+32*__hne(h, g)+64*__hltu(h, g)+128*__hisinf(h)
        +256*__hadd(t, 3)+__half2int_rn(g)%1000+(__half2uint_rn(h)&255)+(int)(__ll2half_rn(t*t)/half(3));
}

// snippet: pairs of halves
#include <cuda_fp16.h>
__constant__ unsigned short bits[8]={0x3c00,0x4000,0x4248,0x3555,0xbc00,0x0001,0x7bff,0x3800};
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ half2 s[64];
    half2 a=make_half2(t*0.5f, 3-t), b(1.5f, t), c=__float2half2_rn(0.1f), d[2]={a, __half2half2(b.y)};
    s[t]=a*b+c;
    __syncthreads();
    const half2* p=s;
    a=p[63-t];
    a+=b;
    a-=-c;
    d[t&1]*=__hfma2(a, b, __lowhigh2highlow(c))/__half2(2, 4);
    b.x+=a.y;
    a=t%3 ? __hmax2(a, d[1]) : __highs2half2(d[0], b);
    float2 q=__half22float2(__hadd2(a, h2sqrt(__habs2(b))));
    f[t]=q.x+q.y;
    half2 words=reinterpret_cast<const half2*>(bits)[t&3];
    out[t]=(int)__low2float(d[t&1])+__half_as_short(__high2half(words))+sizeof(half2);
    out[t]+=(int)__hmin2(a, b).x;
}

// snippet: half by reference, in arrays and in a function
#include <cuda_fp16.h>
__device__ void set(half& to, half value) { to = value; }
__device__ float twice(half x) { return 2.0f * __half2float(x); }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ half s[64];
    half a[2][2]={{1, x[t]}, {0.1f}};
    set(s[t], a[t&1][1]);
    __syncthreads();
    const half* p=s+63-t;
    f[t]=twice(*p);
    out[t]=sizeof(a)+(int)__shfl_xor_sync(~0u, s[t], 1)+(int)(p-s);
}

// snippet: arithmetic of bfloat16
#include <cuda_bf16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    const unsigned short bits[16]={0x7f80,0xff80,0x7fff,0x7f7f,0xc2c8,0x42c8,0x0001,0xbf7f,
                                   0x3f80,0x8000,0x4049,0x007f,0x7f01,0xb555,0x3dcd,0x4120};
    __nv_bfloat16 h=__ushort_as_bfloat16(bits[t&15]), g=__short_as_bfloat16(bits[(t*7+t/16)&15]), r=h;
    switch (t>>4) {
        case 0: r=h+g*h-h/g; break;
        case 1: r+=g; r*=1.5f; r-=1; ++r; r--; break;
        case 2: r=-h; r=h<g ? __hmax(h, g) : __hfma(h, g, __hsub_rn(g, h)); break;
        default: r=hsqrt(__habs(h))+hrcp(g)+hfloor(h)+__hmin(h, g)*htrunc(g);
    }
    f[t]=__hisnan(r) ? -7777.0f : (float)r;
    out[t]=(h<g)+2*(h<=g)+4*(h==g)+8*(h!=g)+16*(h>=g)+32*__hne(h, g)+64*__hltu(h, g)+128*__hisinf(h)
        +256*(unsigned)__bfloat162uint_rd(h)+__bfloat162int_ru(g)%1000+(int)hrint(g)%7
        +__bfloat16_as_ushort(__hneg(g))*!__hisnan(g);
}

// snippet: bfloat16 of all other numbers, and back
#include <cuda_bf16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    long long far=(x[t]*0x10001LL+1)<<(t%40);
    __nv_bfloat16 a=far, b=__double2bfloat16(1.0+x[t]/256.0+ldexp(1.0, -40)), c=__ull2bfloat16_rn(far);
    __nv_bfloat16 d=(unsigned char)(x[t]*9), e=x[t]*0.1f, u=__uint2bfloat16_rn(~0u>>t%32);
    __nv_bfloat16 g=(__nv_bfloat16)(half)(x[t]*1.001f);
    f[t]=(float)a+10.0f*__bfloat162float(b)+(float)d;
    half small=(half)e;
    out[t]=__bfloat16_as_ushort(c)+(int)g+(signed char)a+(unsigned short)e+(int)((float)small*1000)
        +(t%3 ? !d : 7)+(int)(long long)u%1000;
    if (e) out[t]+=1000000*__bfloat16_as_short(e);
}

// snippet: a fused product and sum of bfloat16, rounded once
#include <cuda_bf16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __nv_bfloat16 one=__ushort_as_bfloat16(0x3f81), tiny=__ushort_as_bfloat16(0x3f80-t*0x80*2);
    f[t]=__hfma(one, one, t&1 ? tiny : -tiny);
    out[t]=__bfloat16_as_ushort(__hfma(one, __ushort_as_bfloat16(0x3f80+t), tiny*tiny));
}

// snippet: pairs of bfloat16
#include <cuda_bf16.h>
__constant__ unsigned short bits[8]={0x3f80,0x4000,0x4248,0x3555,0xbc00,0x0001,0x7bff,0x3800};
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ __nv_bfloat162 s[64];
    __nv_bfloat162 a=make_bfloat162(t*0.37f, 3-t), b(1.5f, t), c=__float2bfloat162_rn(0.1f), d[2]={a, b};
    s[t]=a*b+c;
    __syncthreads();
    const __nv_bfloat162* p=s;
    a=p[63-t];
    a+=b;
    a-=-c;
    d[t&1]*=__hfma2(a, b, __lowhigh2highlow(c))/__nv_bfloat162(3, 4);
    b.x+=a.y;
    a=t%3 ? __hmax2(a, d[1]) : __highs2bfloat162(d[0], __bfloat162bfloat162(b.y));
    float2 q=__bfloat1622float2(__hadd2(a, h2sqrt(__habs2(b))));
    f[t]=q.x+q.y;
    __nv_bfloat162 words=reinterpret_cast<const __nv_bfloat162*>(bits)[t&3];
    out[t]=(int)__low2float(d[t&1])+__bfloat16_as_short(__high2bfloat16(words))+sizeof(__nv_bfloat162);
    out[t]+=(int)__hmin2(a, b).x+(int)__shfl_xor_sync(~0u, b.y, 3);
}

// snippet: the larger and the smaller of two zeros
#include <cuda_bf16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    half h=__ushort_as_half(t&1 ? 0x8000 : 0), g=__ushort_as_half(t&2 ? 0x8000 : 0);
    __nv_bfloat16 b=__ushort_as_bfloat16(t&1 ? 0x8000 : 0), c=__ushort_as_bfloat16(t&2 ? 0x8000 : 0);
    out[t]=__half_as_ushort(__hmax(h, g))+(__half_as_ushort(__hmin(h, g))>>1)
        +(__bfloat16_as_ushort(__hmax(b, c))>>2)+(__bfloat16_as_ushort(__hmin(b, c))>>3);
}
