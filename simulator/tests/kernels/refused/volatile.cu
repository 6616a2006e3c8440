// What is refused of volatile; key words of the message. NVRTC may accept what is unsupported.

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[2][3]; volatile int* p = a[1]; *p = 3; int* q = a[1];
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[2][3]; auto& r = a[1]; r[2] = 3; int* p = r;
}

// refused: 'volatile int *' used initialize 'int *'
struct I { volatile int v; int w; }; struct O { I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; int* p = &o.i.v;
}

// refused: 'volatile int *' used initialize 'int *'
struct I { int v; int w; }; struct O { volatile I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; int* p = &o.i.v;
}

// refused: "I" suitable copy
struct I { int v; int w; }; struct O { volatile I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; I j = o.i;
}

// refused: "=" operands 'I'
struct I { int v; int w; }; struct O { volatile I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; I j{1, 2}; o.i = j;
}

// refused: 'volatile int *' does match 'int *'
struct S { volatile int f; __device__ int* get() { return &f; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; out[0] = *s.get();
}

// refused: dropped binding 'int &'
struct S { volatile int f; __device__ int& get() { return f; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; s.get() = 3;
}

// refused: object compatible 'get'
struct S { int f; __device__ int get() const { return f; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const volatile S s{1}; out[0] = s.get();
}

// refused: 'volatile S *' used initialize 'S *'
struct S { int f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1}; out[0] = s.f; s.f = 2; volatile S* p = &s; p->f = 3; S* q = &s;
}

// refused: dropped binding 'S &'
struct S { int f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1}; const S& q = s;
}

// refused: expression modifiable lvalue
struct S { int f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1}; const volatile S& q = s; out[0] = q.f; q.f = 2;
}

// refused: 'volatile int *' used initialize 'int *'
struct S { volatile int* p; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{out}; s.p[0] = 1; int* q = s.p;
}

// refused: 'volatile int *' used initialize 'int *'
union U { volatile int i; float f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     U u; int* p = &u.i;
}

// refused: dropped binding 'int &'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [&v]() { int& r = v; return r; }; out[0] = f();
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [&]() { return &v; }; int* p = f();
}

// refused: 'volatile int *' incompatible parameter 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](int* p) { return *p; }; volatile int v = 1; out[0] = f(&v);
}

// refused: 'auto' allowed
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](auto* p) { return *p; }; volatile int v = 1; out[0] = f(&v);
}

// refused: 'auto' allowed
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](auto& p) { p = 1; return p; }; volatile int v = 1; out[0] = f(v);
}

// refused: 'auto' allowed
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](auto p) { p = 1; int* q = &p; return *q; }; volatile int v = 1; out[0] = f(v);
}

// refused: 'auto' allowed
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](auto* p) { int* q = p; return *q; }; volatile int v = 1; out[0] = f(&v);
}

// refused: dropped binding 'int &'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [](int& r) { r = 1; }; volatile int v; f(v);
}

// refused: 'volatile int *' used initialize 'int *'
template<class T> __device__ int f(T& r) { T* p = &r; int* q = p; return *q; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 2; out[0] = f(v);
}

// refused: template 'f' argument
template<class T> __device__ int f(T* a, T* b) { return *a + *b; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; int v = 2; out[0] = f(&w, &v);
}

// refused: template 'f' argument
template<class T> __device__ int f(volatile T* a, T* b) { return *a + *b; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; out[0] = f(&w, &w);
}

// refused: 'volatile int *' used initialize 'int *'
template<class T> struct S { T v; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S<volatile int> s; s.v = 2; out[0] = s.v; int* p = &s.v;
}

// refused: expression modifiable lvalue
template<class T> struct S { const T* v; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S<volatile int> s{out}; out[1] = *s.v; *s.v = 2;
}

// refused: expression modifiable lvalue
template<class T> struct S { volatile T v; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S<const int> s{2}; out[0] = s.v; s.v = 3;
}

// refused: 'volatile int *' used initialize 'int *'
template<class T> using V = volatile T; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     V<int> v = 3; V<int>* p = &v; int* q = p;
}

// refused: expression modifiable lvalue
typedef volatile int V; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const V v = 3; v = 2;
}

// refused: 'volatile int *' used initialize 'int *'
typedef volatile int A[3]; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     A a; a[1] = 2; out[0] = a[1]; int* p = a;
}

// refused: 'volatile int * *' used initialize 'int * *'
typedef int* P; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile P p = out; p[0] = 1; int* q = p; int** r = &p;
}

// refused: more than 'f'
__device__ int f(const int* p) { return 2; } __device__ int f(volatile int* p) { return 3; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 0; out[0] = f(&x);
}

// refused: overloaded 'f' argument
__device__ int f(int& p) { return 1; } __device__ int f(const int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int x = 0; out[0] = f(x);
}

// refused: more than 'f'
__device__ int f(const int& p) { return 1; } __device__ int f(volatile int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int x = 0; out[0] = f(x);
}

// refused: 'f' already defined
__device__ int f(int p) { return 1; } __device__ int f(volatile int p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(1);
}

// refused: more than 'f'
__device__ int f(int p) { return 1; } __device__ int f(volatile int& p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int x = 0; out[0] = f(x);
}

// refused: more than 'f'
__device__ int f(float p) { return 1; } __device__ int f(double p) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int x = 0; out[0] = f(x);
}

// refused: initial non-const lvalue
__device__ int f(volatile int& x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(3);
}

// refused: initial const lvalue
__device__ int f(const volatile int& x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(3);
}

// refused: 'volatile int *' used initialize 'int *'
__device__ volatile int* f(int* x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = *f(out); int* q = f(out);
}

// refused: 'volatile int *' does match 'int *'
__device__ int* f(volatile int* x) { return x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    
}

// refused: 'int (*)(volatile int *)' used initialize 'int (*)'
__device__ int g(volatile int* x) { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int (*h)(int*) = g; out[0] = h(out);
}

// refused: 'volatile int *' incompatible parameter 'int *'
__device__ int g(int* x) { return *x; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     auto h = g; volatile int v = 2; out[0] = h(&v);
}

// refused: template 'a' argument
__device__ int g(int* x) { return *x; } __device__ int a(int (*f)(volatile int*), volatile int* p) { return
    f(p); }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = a(g, out);
}

// refused: operator '=' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; h = 2.0f; out[0] = (int)(float)h;
}

// refused: operator '+' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; __half g = h + h;
}

// refused: operator '-' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; __half g = -h;
}

// refused: operator '+=' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; h += h;
}

// refused: operator '++' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; h++;
}

// refused: operator '==' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; if (h == __half(1)) out[0] = 1;
}

// refused: expression bool type
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; if (h) out[0] = 1;
}

// refused: 'half' used initialize 'int'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; int i = h; float f = h; out[0] = i;
}

// refused: invalid conversion 'half' 'int'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; int i = (int)h; float f = (float)h; out[0] = i;
}

// refused: operator '+' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1.5f; float f = h + 1.0f;
}

// refused: "=" operands 'half2'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2* h = (volatile __half2*)out; *h = __float2half2_rn(2);
}

// refused: "half2" suitable copy
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2* h = (volatile __half2*)out; __half2 g = *h;
}

// refused: "=" operands 'half2'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2 h; __half2 g = __float2half2_rn(1); h = g;
}

// refused: "half" suitable copy
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half g = t ? h : __half(2);
}

// refused: operator '=' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; h = 1; h = 1.5; h = 2.0f; h = 3u; h = true;
}

// refused: operator '++' operands '__nv_bfloat16'
#include <cuda_bf16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __nv_bfloat16 h = 1.5f; h++;
}

// refused: overloaded 'atomicCAS' argument
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; atomicCAS(p, 0, 1);
}

// refused: overloaded 'atomicExch' argument
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; atomicExch(p, 0);
}

// refused: 'volatile unsigned int *' incompatible parameter 'unsigned int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile unsigned int* p = (unsigned int*)out; atomicInc(p, 3u);
}

// refused: overloaded 'atomicAdd' argument
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float* p = (float*)out; atomicAdd(p, 1.0f);
}

// refused: "float4" suitable copy
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4 v = make_float4(1, 2, 3, 4); float4 w = v;
}

// refused: "=" operands 'float4'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4* p = (volatile float4*)out; *p = make_float4(1, 2, 3, 4);
}

// refused: 'volatile float *' used initialize 'float *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile float4* p = (volatile float4*)out; float* q = &p->x;
}

// refused: "float4" suitable copy
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    float4 v; volatile float4& r = v; r.x = 3; float4 w = r;
}

// refused: "dim3" suitable copy
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    dim3 d(1, 2, 3); volatile dim3& r = d; dim3 e = r;
}

// refused: reinterpret_cast cast away
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; float* q = reinterpret_cast<float*>(&x);
}

// refused: invalid const_cast 'volatile int *' 'volatile float *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; volatile float* q = const_cast<volatile float*>(&x);
}

// refused: 'const volatile int *' used initialize 'const int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const volatile int* p = &x; const int* q = p;
}

// refused: static_cast cast away
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const volatile int* p = &x; volatile int* q = static_cast<volatile int*>(p);
}

// refused: static_cast cast away
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const volatile int* p = &x; const int* q = static_cast<const int*>(p);
}

// refused: static_cast cast away
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; volatile void* v = &x; int* p = static_cast<int*>(v);
}

// refused: 'volatile int *' used initialize 'const void *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 0; const void* v = &x;
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 0; int* p = const_cast<volatile int*>(&x);
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* const p = out; *p = 3; p[1] = 3; int* q = p;
}

// refused: expression modifiable lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* const p = out; p++;
}

// refused: expression modifiable lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile const int c = 3; c = 4;
}

// refused: 'c' requires initializer
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    const volatile int c;
}

// refused: expression constant value
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile constexpr int c = 3; int a[c];
}

// refused: 'volatile int *' used initialize 'const int *'
__constant__ volatile int c[3] = {1, 2, 3}; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     const int* p = c;
}

// refused: dropped binding 'int &'
__device__ volatile int c; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int& r = c;
}

// refused: "S" suitable copy
struct S { int a; }; __device__ volatile S s; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S u = s;
}

// refused: 'volatile float *' used initialize 'float *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    __shared__ volatile float s[2][32]; s[1][t] = 3; out[0] = s[0][t]; volatile float (*p)[32] = s; float* q
        = s[1];
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1, *p = &x, a[2] = {1, 2}; *p = a[1]; int* q = p;
}

// refused: expected identifier
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 1, volatile y = 2;
}

// refused: declaration type
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile x = 3;
}

// refused: void read written
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile void* p = out; int v = *p;
}

// refused: incomplete 'v' void
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile void v;
}

// refused: types incompatible 'volatile int *' 'float *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; float* q = (float*)out; bool b = p == q;
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; int* q = &p[1];
}

// refused: 'volatile int *' assigned entity 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; int* q; q = p;
}

// refused: dropped binding 'int &'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; const int& q = *p; out[0] = q;
}

// refused: 'volatile int *' used initialize 'int *'
struct S { int a; volatile int b; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{1, 2}; auto& [c, d] = s; int* p = &d;
}

// refused: "S" suitable copy
struct S { int a; int b; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1, 2}; auto [a, b] = s;
}

// refused: 'volatile int *' used initialize 'int *'
struct S { int a; int b; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s{1, 2}; volatile auto& [a, b] = s; int* p = &a;
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int i = 2; volatile auto& x = i; x = 3; int* p = &x;
}

// refused: expression modifiable lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int i = 2; const volatile auto* x = &i; out[0] = *x; *x = 3;
}

// refused: 'const volatile int *' used initialize 'const int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int i = 2; const auto& x = i; const int* p = &x;
}

// refused: 'volatile float *' used initialize 'float *'
using V = volatile float; struct S { V v[2]; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; s.v[1] = 2; float* p = s.v;
}

// refused: 'volatile E *' used initialize 'E *'
enum E { A, B }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile E e = A; E f = e; E* p = &e;
}

// refused: "S" suitable copy
struct S { int n; __device__ S(int k) : n(k) {} __device__ operator int() const { return n; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s(3); int x = s;
}

// refused: object compatible 'operator+'
struct S { int n; __device__ int operator+(int k) const { return n + k; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{3}; int x = s + 1;
}

// refused: constructor 'S' argument
struct S { int* p; __device__ S(int* q) : p(q) {} }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v; S s(&v);
}

// refused: object compatible 'set'
struct S { int v; __device__ void set(int k) { v = k; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; volatile S* p = &s; p->set(2);
}

// refused: "S" suitable copy
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     __shared__ volatile S s[4]; s[t].a = 2; out[0] = s[1].a; S u = s[1];
}

// refused: 'half' assigned entity 'float'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; float u; u = w;
}

// refused: operator '-=' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; w -= __half(2);
}

// refused: expression bool type
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; while (w) ;
}

// refused: expression bool type
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; for (; w;) ;
}

// refused: expression bool type
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; bool b = w && true;
}

// refused: "half" suitable copy
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; bool b = t ? w : __half(1);
}

// refused: 'half' incompatible parameter 'float'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; float f = fmaf(w, 1.0f, 1.0f);
}

// refused: constructor 'half2' parts
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half2 f = __half2(w, w);
}

// refused: operator '=' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2 w; w.x = 1;
}

// refused: "half2" suitable copy
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2 w = __half2(1, 2); __half2 g = -w;
}

// refused: "half2" suitable copy
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half2 w = __half2(1, 2); __half2 g = w + w;
}

// refused: operator '+' operands 'half'
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; auto& v = w; v = v + v;
}

// refused: dropped binding 'half &'
#include <cuda_fp16.h>
__device__ __half f(const __half& p) { return p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; __half g = f(h);
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; auto f = [=]() mutable { int* p = &v; return *p; }; out[0] = f();
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v[2] = {1, 2}; auto f = [&]() { int* p = v; return p[1]; }; out[0] = f();
}

// refused: initial const lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    const volatile int& r = 3;
}

// refused: initial const lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 1; const volatile int& r = x + 1;
}

// refused: initial const lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int x = 1; const volatile long long& r = x;
}

// refused: reference 'int &' initialized 'const int'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    const int x = 1; volatile int& r = x;
}

// refused: "S" suitable copy
struct S { int a; }; __device__ int f(S r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y);
}

// refused: "S" suitable copy
struct S { int a; }; __device__ int f(S r) { return r.a; } __device__ int f(volatile S& r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y);
}

// refused: dropped binding 'S &'
struct S { int a; }; __device__ int f(const S& r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y);
}

// refused: "S" suitable copy
struct S { int a; }; template<class T> __device__ int f(T r) { return r.a; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S y{2}; out[1] = f(y);
}

// refused: "=" operands 'S'
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S x[3]; volatile S* v = x; v[1] = x[0];
}

// refused: "=" operands 'S'
struct S { int a; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S x[3]; volatile S* v = x; *v = {3};
}

// refused: object compatible 'operator[]'
struct T { int a[2]; __device__ int& operator[](int i) { return a[i]; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile T q; q[0] = 1;
}

// refused: expression modifiable lvalue
struct T { const volatile int* a; __device__ void set() { *a = 3; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     T q{out}; q.set();
}

// refused: expression modifiable lvalue
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[3], b[3]; a = b;
}

// refused: expression constant value
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1; int y[x];
}

// refused: expression constant value
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile const int n = 3; switch (1) { case n: break; }
}

// refused: expression constant value
template<int N> __device__ int f() { return N; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile const int n = 3; out[0] = f<n>();
}

// refused: template 'put' argument
template<class T> __device__ void put(T* p, T v) { *p = v; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v; put(&v, 3); out[0] = v;
}

// refused: constructor 'P<int>' argument
template<class T> struct P { T* p; __device__ P(T* q) : p(q) {} }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int v = 3; P<int> p(&v);
}

// refused: more than 'f'
__device__ int f(volatile int*, int*) { return 1; } __device__ int f(int*, volatile int*) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     out[0] = f(out, out);
}

// refused: 'f' already defined
__device__ void f(volatile int*) {} __device__ void f(volatile int[]) {} 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    
}

// refused: 'volatile int *' assigned entity 'int *'
extern "C" __global__ void g(volatile int* p, int* q) { q = p; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    
}

// refused: overloaded '__stwt' argument
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; __stwt(p, 3);
}

// refused: overloaded '__ldca' argument
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; __ldca(&p[1]);
}

// refused: constructor 'half2' parts
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half2 f{w, w};
}

// refused: constructor 'half2' parts
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half2 f = {w, w};
}

// refused: constructor 'half2' parts
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half w = 1; __half2 f = __half2{w, w};
}

// refused: changed operator= deleted
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int v = 3; int w = 2; auto f = [=]() { return v + w; }; auto g = f; g = f;
}

// refused: changed operator= deleted
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    auto f = [=]() { return 1; }; auto g = f; g = f;
}

// refused: changed operator= deleted
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int w = 2; auto f = [=]() { return w; }; auto g = f; g = f;
}

// refused: changed operator= deleted
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int w = 2; auto f = [&]() { return w; }; f = f;
}

// refused: "S" suitable copy
struct S { int f; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile S s{1}; S u = s;
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; int* q = p;
}

// refused: 'volatile int *' used initialize 'const int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; const int* q = p;
}

// refused: 'volatile int *' used initialize 'int *'
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int a[4]; int* q = a;
}

// refused: unsupported over range
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    int a[4]; for (volatile int& v : a) v = 1;
}

// refused: unsupported changing result assignment
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1; volatile int y = 2; (t ? x : y) = 3;
}

// refused: unsupported reference result assignment
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int x = 1; int y = 2; volatile int& r = t ? x : y; r = 3;
}

// refused: unsupported copy 'O' object
struct I { int v; int w; }; struct O { volatile I i; int z; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     O o; o.i.v = 1; o.i.w = 2; o.z = 3; O u = o; out[0] = u.z;
}

// refused: unsupported 'volatile' behind method
struct S { int f; __device__ int get() volatile { return f; } __device__ int get() { return 2; } }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; out[0] = s.get();
}

// refused: unsupported choice between special
template<class T> __device__ int f(T* p) { return 1; } template<class T> __device__ int f(volatile T* p) {
    return 2; }
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile int w = 3; int v = 2; out[0] = f(&w) + 10 * f(&v);
}

// refused: unsupported function 'g' used
__device__ int g(int* x) { return 1; } __device__ int g(volatile int* x) { return 2; } 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     int (*h)(volatile int*) = g; out[0] = h(out);
}

// refused: unsupported changing value stored
#include <cuda_fp16.h>
 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     volatile __half h = 1; h = __half(2) = h;
}

// refused: unsupported writing __constant__ memory
__constant__ volatile int c = 3; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     c = 4;
}

// refused: unsupported references
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
    volatile int* p = out; int&& q = *p;
}

// refused: unsupported copy 'S' object
#include <cuda_fp16.h>
struct S { volatile __half h; }; 
extern "C" __global__ void k(int* out) {
    int t = threadIdx.x;
     S s; s.h = __half(2); __half g = s.h; S u = s;
}
