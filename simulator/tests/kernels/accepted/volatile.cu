// What is accepted of volatile, here and by NVRTC.

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1; int y = 2; out[0] = t ? x : y;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[2][3]; int b[2][3]; auto p = t ? a : b; p[0][1] = 3;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int a[2][3]; volatile int (&r)[3] = a[1]; r[2] = 1;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int a[2][3]; volatile int (*p)[3] = a; p[1][2] = 1;
}

// accepted:
struct I { volatile int v; int w; }; struct O { I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; o.i.v = 1; o.i.w = 2; int* p = &o.i.w; out[0] = o.i.v + *p;
}

// accepted:
struct I { int v; int w; }; struct O { volatile I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; o.i.v = 1; out[0] = o.i.v; int* p = &o.z;
}

// accepted:
struct I { int v; int w; }; struct O { volatile I i[2]; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; o.i[1].w = 2; volatile int* p = &o.i[1].w; out[0] = *p;
}

// accepted:
struct S { volatile int f; int g; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{1, 2}; S u = s; u = s; out[0] = u.f;
}

// accepted:
struct S { volatile int f; int g; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s = {1, 2}; S* p = &s; S u = *p; out[0] = u.f + p->f;
}

// accepted:
struct S { volatile int f; __device__ int get() const { return f; } __device__ void set(int v) { f = v; } };
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; s.set(2); out[0] = s.get();
}

// accepted:
struct S { volatile int f; __device__ volatile int* get() { return &f; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; out[0] = *s.get();
}

// accepted:
struct S { volatile int f; __device__ volatile int& get() { return f; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; s.get() = 3; out[0] = s.get();
}

// accepted:
struct S { int a[3]; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s; s.a[1] = 2; volatile int* p = s.a; out[0] = p[1];
}

// accepted:
struct S { int* p; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{out}; s.p[0] = 1; int* q = s.p;
}

// accepted:
struct S { int* volatile p; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{out}; s.p[0] = 1; int* q = s.p;
}

// accepted:
union U { volatile int i; float f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     U u; u.i = 1; out[0] = u.i; float* p = &u.f;
}

// accepted:
union U { int i; float f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile U u; u.i = 1; out[0] = u.f;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [&]() { return &v; }; volatile int* p = f(); *p = 2;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [=]() { return &v; }; out[0] = *f();
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [=]() mutable { v = 5; return v; }; out[0] = f();
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; auto f = [=](int i) { p[i] = 1; return p[i]; }; out[0] = f(1);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](volatile int* p) { return *p; }; out[0] = f(out);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](volatile int& r) { r = 1; }; f(out[0]); volatile int v; f(v);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [](int x) { return x + 1; }; out[0] = f(v);
}

// accepted:
template<class T> __device__ T f(T& r) { r = 1; return r; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 2; out[0] = f(v);
}

// accepted:
template<class T> __device__ int f(T& r) { r = 1; return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 2; out[0] = f(v);
}

// accepted:
template<class T> __device__ int f(T& r) { T* p = &r; int* q = p; return *q; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int v = 2; out[0] = f(v);
}

// accepted:
template<class T> __device__ int f(const T& r) { return r; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 2; out[0] = f(v);
}

// accepted:
template<class T> __device__ int f(volatile T& r) { T x = r; x = 3; return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 2; out[0] = f(v); int w = 3; out[0] += f(w);
}

// accepted:
template<class T> __device__ int f(const volatile T* p) { T x = *p; x++; return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const volatile int v = 2; out[0] = f(&v); int w = 3; out[0] += f(&w);
}

// accepted:
template<class T> __device__ int f(const volatile T* p) { T x = *p; x++; return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const int v = 2; volatile int w = 3; out[0] = f(&v) + f(&w);
}

// accepted:
template<class T> __device__ int f(const T* p) { T x = *p; x++; return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; out[0] = f(&w);
}

// accepted:
template<class T> __device__ int f(T a, T b) { return a + b; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; int v = 2; out[0] = f(w, v);
}

// accepted:
template<class T> __device__ int f(volatile T* a, T* b) { return *a + *b; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; int v = 2; out[0] = f(&w, &v);
}

// accepted:
template<class T> __device__ int f(volatile T* a, T b) { return *a + b; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; out[0] = f(&w, w) + f<int>(&w, 2.5f);
}

// accepted:
template<class T, int N> __device__ int f(T (&a)[N]) { return a[N - 1]; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w[3]; w[2] = 2; out[0] = f(w);
}

// accepted:
template<class T, int N> __device__ int f(volatile T (&a)[N]) { T x = a[N - 1]; x = 2; return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w[3]; w[2] = 2; out[0] = f(w);
}

// accepted:
template<class T> __device__ int f(T p) { return sizeof(p); } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f<volatile int>(3);
}

// accepted:
template<class T> struct S { T v; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S<volatile int> s; s.v = 2; volatile int* p = &s.v; out[0] = *p;
}

// accepted:
template<class T> struct S { T* v; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S<volatile int> s{out}; *s.v = 2; const volatile int* p = s.v; out[0] = *p;
}

// accepted:
template<class T> using V = volatile T; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     V<int> v = 3; V<int>* p = &v; out[0] = *p; V<float> f = 2; f += 1;
}

// accepted:
typedef volatile int V; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const V v = 3; const volatile int* p = &v; out[0] = *p; volatile V w = 3; out[0] += w;
}

// accepted:
typedef int A[3]; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile A a; a[1] = 2; out[0] = a[1]; volatile int* p = a;
}

// accepted:
typedef int* P; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile P p = out; p[0] = 1; int* q = p; P volatile* r = &p; (*r)[0] = 2;
}

// accepted:
__device__ int f(const int* p) { return 2; } __device__ int f(const volatile int* p) { return 3; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 0; volatile int y = 0; out[0] = f(&x) + 10 * f(&y);
}

// accepted:
__device__ int f(int& p) { return 1; } __device__ int f(volatile int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 0; volatile int y = 0; out[0] = f(x) + 10 * f(y);
}

// accepted:
__device__ int f(int& p) { return 1; } __device__ int f(const int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 0; const int y = 0; out[0] = f(x) + 10 * f(y) + 100 * f(3);
}

// accepted:
__device__ int f(const int& p) { return 1; } __device__ int f(volatile int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const int x = 0; volatile int y = 1; out[0] = f(x) + 10 * f(y) + 100 * f(3);
}

// accepted:
__device__ int f(int p) { return 1; } __device__ int f(volatile int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(3);
}

// accepted:
__device__ int f(float p) { return 1; } __device__ int f(double p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile float x = 0; volatile double y = 1; out[0] = f(x) + 10 * f(y);
}

// accepted:
__device__ int f(volatile void* p) { return 1; } __device__ int f(const void* p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int x = 0; const int y = 0; out[0] = f(&x) + 10 * f(&y);
}

// accepted:
__device__ int f(void* p) { return 1; } __device__ int f(volatile int* p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 0; out[0] = f(&x);
}

// accepted:
__device__ int f(volatile void* p) { return 1; } __device__ int f(bool p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int x = 0; out[0] = f(&x);
}

// accepted:
__device__ int f(void* p) { return 1; } __device__ int f(bool p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int x = 0; out[0] = f(&x);
}

// accepted:
__device__ int f(volatile int* p) { return *p; } __device__ int f(volatile float* p) { return *p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     float x = 3; out[0] = f(out) + f(&x);
}

// accepted:
__device__ int f(int x, volatile int* p = 0) { return p ? *p : x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(1) + f(2, out);
}

// accepted:
__device__ int f(volatile int x = 4) { x += 1; return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f() + f(2);
}

// accepted:
__device__ int f(const volatile int& x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int a = 1; const int b = 2; volatile int c = 3; out[0] = f(a) + f(b) + f(c);
}

// accepted:
__device__ volatile int f(int x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(3); auto y = f(2); y = 3; int* p = &y;
}

// accepted:
__device__ volatile int& f(int* x) { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     f(out) += 3; volatile int& r = f(out); r++; auto& q = f(out); q = 2; auto v = f(out); v = 1; int* p =
         &v;
}

// accepted:
__device__ int* f(volatile int* x) { return (int*)x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = *f(out);
}

// accepted:
__device__ auto f(volatile int* x) { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int v = f(out); out[0] = v;
}

// accepted:
__device__ auto f(volatile int* x) -> volatile int& { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     f(out) = 3;
}

// accepted:
__device__ int g(volatile int* x) { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int (*h)(volatile int*) = g; out[0] = h(out);
}

// accepted:
__device__ int g(volatile int* x) { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     auto h = g; volatile int v = 2; out[0] = h(&v) + h(out);
}

// accepted:
__device__ int g(volatile int* x) { return *x; } template <int (*F)(volatile int*)> __device__ int a(int* p)
    { return F(p); }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = a<g>(out);
}

// accepted:
__device__ int g(volatile int* x) { return *x; } template <class F> __device__ int a(F f, int* p) { return
    f(p); }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = a(g, out);
}

// accepted:
__device__ int g(volatile int* x) { return *x; } __device__ int a(int (*f)(volatile int*), volatile int* p)
    { return f(p); }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = a(g, out);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; __half g = h; g = h; h = g; out[0] = (int)(float)g;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; __half g = __hadd(h, h);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; __half g = __hadd(__half(h), (__half)h);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; float f = __half2float(h); out[0] = f;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half* h = (volatile __half*)out; h[0] = __float2half(2); float f = __half2float(h[1]);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2* h = (volatile __half2*)out; h->x = __float2half(2); __half g = h->y;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2 h; h.x = __half(1); __half2 g; g.x = h.x;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __shared__ volatile __half s[32]; s[t] = __float2half(t); out[t] = __half2int_rn(s[31 - t]);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const volatile __half h = 1.5f; __half g = h; out[0] = (int)(float)g;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __half g = 2; volatile __half& r = g; r = __half(3); __half u = r; out[0] = (int)(float)u;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half u = 2; __half g = t ? h : u; out[0] = (int)(float)g;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half g = __shfl_sync(~0u, h, 0);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __half h = 1; volatile __half w = 2; h = w = h;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; out[0] = __half_as_ushort(h);
}

// accepted:
#include <cuda_bf16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __nv_bfloat16 h = 1.5f; __nv_bfloat16 g = h; g = h; h = g; out[0] = (int)(float)g;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; atomicAdd((int*)p, 1); atomicAdd(const_cast<int*>(&p[1]), 1);
}

// accepted:
__device__ volatile int lock; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     while (atomicCAS((int*)&lock, 0, 1) != 0); __threadfence(); lock = 0;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile __shared__ int c; atomicAdd((int*)&c, 1); int v = atomicAdd((int*)&c, 0); out[0] = v + c;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int e = 3; int* p = out; atomicAdd(p, e); p[e] = e; p += e;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4 v; v.x = 1; v.w = v.x; float s = v.x + v.y; out[0] = s;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4 v = make_float4(1, 2, 3, 4); out[0] = v.z; float4 w; w.x = v.x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4* p = (volatile float4*)out; p->x = 1; (*p).y = 2; p[1].z += 3; p++;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4* p = (volatile float4*)out; float4* q = (float4*)p; *q = make_float4(1, 2, 3, 4);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4* p = (volatile float4*)out; volatile float* q = &p->x; q[1] = 2;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    float4 v; volatile float4& r = v; r.x = 3; float4 w = v;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile dim3 d; d.x = 3; out[0] = d.x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; float* p = (float*)&x; *p = 1; volatile float* q = reinterpret_cast<volatile
        float*>(&x);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const int* q = const_cast<const int*>(&x); out[0] = *q;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; int y = const_cast<int&>(x); const_cast<int&>(x) = 3;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; int y = static_cast<int>(x) + (int)x + int(x); out[0] = y;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const volatile int* p = &x; int* q = const_cast<int*>(p);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; volatile void* v = &x; int* p = (int*)v; volatile int* q = static_cast<volatile
        int*>(v); *q = 1;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const volatile void* v = &x; out[0] = *(const volatile int*)v;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; volatile char* c = (volatile char*)&x; c[1] = 2; volatile unsigned char* u =
        reinterpret_cast<volatile unsigned char*>(&x);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; unsigned long long a = (unsigned long long)&x; unsigned long long b =
        reinterpret_cast<unsigned long long>(&x); out[0] = a == b;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 0; int y = *(volatile int*)&x; *(volatile int*)out = 3; ((volatile int*)out)[1] = 3;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 0; int y = static_cast<volatile int&>(x); static_cast<volatile int&>(x) = 3; (volatile int&)x =
        4;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 0; volatile int* p = const_cast<volatile int*>(&x); *p = 1; const_cast<volatile int&>(x) = 2;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int* x = out; volatile int** p = &x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int* x = out; volatile int* const* p = &x; out[0] = **p;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int* x = out; int* volatile* p = &x; *p = out + 1; **p = 1;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int* x = out; volatile int* volatile* p = &x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* x = out; volatile int** p = &x; **p = 3; const volatile int* const* q = &x; out[1] = **q;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int c; c = 3; out[0] = c;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    constexpr volatile int c = 3; out[0] = c;
}

// accepted:
__constant__ volatile int c[3] = {1, 2, 3}; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const volatile int* p = c; out[0] = p[1];
}

// accepted:
__device__ int volatile c; __device__ volatile int* volatile d; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     c = 2;
}

// accepted:
struct S { int a; }; __device__ volatile S s; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     s.a = 3; out[0] = s.a;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    __shared__ volatile float s[2][32]; s[1][t] = 3; volatile float* q = s[1]; q[2] = 3; volatile float
        (*p)[32] = s + 1;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile extern __shared__ int s[]; s[t] = 1; volatile int* p = s; out[0] = p[t]; float* f = (float*)s;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile bool done = false; while (!done) done = true; do { done = false; } while (done); for (volatile
        int i = 0; i < 3; i++) out[i] = i;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int n = 3; for (int i = 0; i < n; ++i) out[i] = n; if (n) out[0] = 1; switch (n) { case 3:
        out[1] = 2; }
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int n = 3; switch (n) { case 1: break; default: n = 4; } out[n] = n ? n : -n; out[0] = ~n + !n
        + sizeof n;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = {3}; volatile int y{4}; volatile int z(5); out[0] = x + y + z; volatile int w{};
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 3.5; volatile int y{3.5};
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile unsigned char x = 300; x <<= 2; x |= 1; x ^= 3; x %= 5; out[0] = x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile long long x = 1; out[0] = __popcll(x) + __clzll(x) + __ffsll(x) + abs((int)x);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 3; assert(x == 3);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 3; int* o = out; *o++ = x++; out[x--] = --x; (void)x; x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; p[0]++; ++*p; *p++ = 3; *++p = 4; (*p)--; out[0] = p - out; out[1] = p > out;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; if (p) *p = 3; if (!p || p == 0 || p != nullptr) *p = 3; p = nullptr; p = 0;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; const long long& q = *p; out[0] = q;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 3; const int& r = x + 0; out[0] = r; const int& s = (int)x; out[1] = s;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 3; const float& r = x; out[0] = r;
}

// accepted:
struct S { int a; volatile int b; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{1, 2}; auto [a, b] = s; out[0] = a + b; auto& [c, d] = s; d = 3; int* p = &c;
}

// accepted:
struct S { int a; int b; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1, 2}; auto& [a, b] = s; a = 3; out[0] = b;
}

// accepted:
struct S { int a; int b; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{1, 2}; volatile auto [a, b] = s; a = 2; out[0] = a;
}

// accepted:
struct S { typedef volatile int V; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S::V w = 3; S::V* p = &w; *p = 2;
}

// accepted:
struct S { int n; __device__ S(int k) : n(k) {} }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int k = 3; S s(k); S u = S(k); out[0] = s.n + u.n;
}

// accepted:
struct S { int n; __device__ int operator+(int k) const { return n + k; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{3}; volatile int k = 2; out[0] = s + k;
}

// accepted:
struct S { int n; __device__ int operator[](int k) const { return n + k; } __device__ int
    operator()(volatile int* p) const { return *p; } };
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{3}; volatile int k = 2; out[0] = s[k] + s(out);
}

// accepted:
struct S { volatile int* p; __device__ S(volatile int* q) : p(q) {} }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s(out); *s.p = 3;
}

// accepted:
struct S { int v; __device__ void set(int k) { v = k; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; volatile S* p = &s; ((S*)p)->set(2); const_cast<S&>(*p).set(3);
}

// accepted:
struct S { static const int n = 3; volatile int v; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = S::n; S s; s.v = S::n;
}

// accepted:
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __shared__ volatile S s[4]; s[t].a = 2; out[0] = s[1].a; volatile S* u = s + 1; u->a = 3;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1, w = 1; h = w;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; h = h;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 3;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; volatile __half v = w;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; const volatile __half v(w); volatile __half u{w};
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w[2]; w[0] = w[1];
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w[2] = {1, 2};
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half u[2] = {w, w};
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half u; u = w; u = (__half)w; u = __half(w); u = static_cast<__half>(w);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; short u = __half_as_short(w);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; w = __half(w) + __half(w);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half b = t ? w : w;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half2 f = __halves2half2(w, w); f.x = w; f = make_half2(w, w);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; printf("%f", (float)__half(w)); auto v = w;
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; auto v = w; v = v + v;
}

// accepted:
#include <cuda_fp16.h>
__device__ __half f(volatile __half* p, int i) { return p[i]; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __shared__ __half s[4]; s[0] = f(s, 1);
}

// accepted:
#include <cuda_fp16.h>
__device__ __half f(volatile __half& p) { return p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __shared__ __half s[4]; s[0] = f(s[1]);
}

// accepted:
#include <cuda_fp16.h>
__device__ __half f(__half p) { return p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half g = f(h);
}

// accepted:
#include <cuda_fp16.h>
template<class T> __device__ T f(T p) { return p + p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half g = f(h);
}

// accepted:
#include <cuda_fp16.h>
template<class T> __device__ T f(T p, T q) { return p + q; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half g = f(h, __half(2));
}

// accepted:
#include <cuda_fp16.h>
template<class T> __device__ float f(volatile T* p) { return (float)(T)*p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; float g = f(&h);
}

// accepted:
#include <cuda_fp16.h>
struct S { __half h; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s; s.h = __half(2); __half g = s.h;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [v]() { const volatile int* p = &v; return *p; }; out[0] = f();
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v[2] = {1, 2}; auto f = [v]() { return v[1]; }; out[0] = f();
}

// accepted:
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1}; auto f = [&s]() { return s.a; }; out[0] = f();
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 1; const volatile int& r = x; out[0] = r; volatile const int& q = r;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    const int x = 1; const volatile int& r = x; out[0] = r;
}

// accepted:
__device__ int f(const volatile int& r) { return r; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 1; const int y = 2; volatile int z = 3; out[0] = f(x) + f(y) + f(z) + f(out[1]);
}

// accepted:
__device__ int f(const volatile int& r) { return r; } __device__ int f(int r) { return r + 1; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(3);
}

// accepted:
struct S { int a; }; __device__ int f(const volatile S& r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S x{1}; out[0] = f(x); volatile S y{2}; out[1] = f(y);
}

// accepted:
struct S { int a; }; __device__ int f(const volatile S& r) { return r.a; } __device__ int f(const S& r) {
    return r.a + 1; }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S x{1}; out[0] = f(x); volatile S y{2}; out[1] = f(y);
}

// accepted:
struct S { int a; }; __device__ S f(volatile S& r) { return S{r.a}; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{1}; out[0] = f(s).a;
}

// accepted:
struct S { int a; }; template<class T> __device__ int f(const T& r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y);
}

// accepted:
struct S { int a; }; template<class T> __device__ int f(T& r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y);
}

// accepted:
struct S { int a; }; template<class T> __device__ T f(volatile T& r) { T c; c.a = r.a; return c; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y).a;
}

// accepted:
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S x{1}; volatile S& v = x; S* p = &x; p->a = v.a; v.a += 2; v.a++; out[0] = v.a;
}

// accepted:
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S x[3]; volatile S* v = x; v[1].a = 3; v++; v->a = 4; out[0] = (*v).a; volatile S& w = v[1]; w.a = 3;
}

// accepted:
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __shared__ S x[3]; volatile S* v = x; memcpy((void*)v, out, 4);
}

// accepted:
struct T { int a; __device__ int get() const { return a; } __device__ static int one() { return 1; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile T q{1}; out[0] = q.one() + T::one();
}

// accepted:
struct T { volatile int a = 3; __device__ T() {} __device__ T(int k) : a(k) {} }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     T q, u(4); u = q; out[0] = q.a + u.a;
}

// accepted:
struct T { volatile int a[2]; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     T q{{1, 2}}; T u = q; u = q; out[0] = u.a[1];
}

// accepted:
struct T { volatile int a; __device__ T& operator+=(int k) { a += k; return *this; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     T q{1}; q += 3; out[0] = q.a;
}

// accepted:
struct T { volatile int* a; __device__ int operator*() const { return *a; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     T q{out}; out[1] = *q;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[3]; out[0] = sizeof(a) + sizeof(a[0]) + sizeof(volatile int) + sizeof(volatile int*);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[3] = {}; volatile int b[2][2] = {{1, 2}, {3, 4}}; out[0] = a[1] + b[1][1];
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1; for (volatile int* p = out; p < out + 3; ++p) *p = x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1; x = x ? x : -x; x = x > 0 && x < 3; x = x, x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile unsigned x = 1; x = x << 2 >> 1; unsigned y = x++ + ++x; x %= 3u; x = ~x; out[0] = x / y;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile double x = 1; x = sqrt(x) + fmax(x, 2.0) + pow(x, 2.0); float y = x; out[0] = (int)x + y;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    const int n = 3; volatile int a[n]; a[2] = n; switch (1) { case n: out[0] = a[2]; }
}

// accepted:
template<volatile int N> __device__ int f() { return N; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f<3>();
}

// accepted:
template<class T> __device__ T zero() { return T(0); } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = zero<volatile int>(); out[0] = v;
}

// accepted:
template<class T> __device__ void put(T* p, T v) { *p = v; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v; put<volatile int>(&v, 3); out[0] = v;
}

// accepted:
template<class T, class U> __device__ void put(T* p, U v) { *p = v; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v; put(&v, 3); out[0] = v;
}

// accepted:
template<class T> struct P { T* p; __device__ P(T* q) : p(q) {} }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 3; P<volatile int> p(&v); *p.p = 2; out[0] = v;
}

// accepted:
template<class T> struct P { static const int n = 1; }; template<> struct P<volatile int> { static const int
    n = 2; };
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = P<int>::n + 10 * P<volatile int>::n;
}

// accepted:
template<class T> __device__ int f(T*) { return 1; } template<> __device__ int f<volatile int>(volatile
    int*) { return 2; }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out) + 10 * f((volatile int*)out);
}

// accepted:
template<class T> __device__ int f(T*) { return 1; } __device__ int f(volatile int*) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out) + 10 * f((volatile int*)out);
}

// accepted:
__device__ int f(volatile int*, int*) { return 1; } __device__ int f(int*, int*) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out, out);
}

// accepted:
__device__ int f(volatile int&, const int&) { return 1; } __device__ int f(int&, volatile int&) { return 2;
    }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out[1], out[0]);
}

// accepted:
__device__ int f(volatile int&, const int&) { return 1; } __device__ int f(volatile int&, int&) { return 2;
    }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out[1], out[0]) + 10 * f(out[1], 3);
}

// accepted:
__device__ int f(int* const& p) { return 1; } __device__ int f(volatile int* p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out);
}

// accepted:
__device__ int f(int*& p) { return 1; } __device__ int f(int* volatile& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int* p = out; int* volatile q = out; out[0] = f(p) + 10 * f(q);
}

// accepted:
__device__ int f(const void*) { return 1; } __device__ int f(const volatile void*) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v; out[0] = f(out) + 10 * f(&v);
}

// accepted:
__device__ void f(volatile int*); __device__ void f(volatile int* p) { *p = 1; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     f(out);
}

// accepted:
__device__ void f(int); __device__ void f(volatile int p) { p = 1; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     f(2);
}

// accepted:
extern "C" __global__ void g(volatile int* p, const volatile float* q, volatile int n) { n = 2; p[n] = q[0];
    }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    
}

// accepted:
extern "C" __global__ void g(volatile int* __restrict__ p, int* volatile q) { p[0] = q[0]; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; __threadfence(); __threadfence_block(); __syncthreads(); p[t] = __ldg(out) +
        __ldcv(out); __stwt(out, 3);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int* p = out; int v = __ldcv(p) + __ldcv(p + 1); int* q = p; auto w = __ldcv(p); w = 2;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    float4* p = (float4*)out; float4 v = __ldcv(p); out[0] = v.x;
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; p[0] = atomicAdd(out, 1); int v = atomicAdd(out, p[1]); atomicMax(out, p[v]);
}

// accepted:
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __half w = 1; __half2 f(w, __half(1)); f = __half2(w, w); __half2 g{w, w};
}

// accepted:
__device__ int f(int g(int), int x) { return g(x); } __device__ int h(int x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(h, 3);
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [v]() mutable { v = 4; return v; }; out[0] = f(); auto g = f; out[1] = g();
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; auto f = [=]() mutable { p++; return *p; }; out[0] = f();
}

// accepted:
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int* volatile p = out; auto f = [=]() mutable { p++; return *p; }; out[0] = f();
}
