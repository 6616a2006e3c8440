"""What is accepted of volatile and what is refused, one snippet after the other; NVRTC judges them alike.

A snippet is the body of a kernel, `extern "C" __global__ void k(int* out)`, which knows its number as `t`;
before `%%` stands what comes before the kernel, `@` for an include of half. It goes on in lines that begin
with spaces. Behind `=>` stand words of the message; what is unsupported NVRTC may accept.
"""

from __future__ import annotations

_ACCEPTED = """
volatile int x = 1; int y = 2; out[0] = t ? x : y;
volatile int a[2][3]; int b[2][3]; auto p = t ? a : b; p[0][1] = 3;
int a[2][3]; volatile int (&r)[3] = a[1]; r[2] = 1;
int a[2][3]; volatile int (*p)[3] = a; p[1][2] = 1;
struct I { volatile int v; int w; }; struct O { I i; int z; }; %% O o; o.i.v = 1; o.i.w = 2; int* p = &o.i.w;
    out[0] = o.i.v + *p;
struct I { int v; int w; }; struct O { volatile I i; int z; }; %% O o; o.i.v = 1; out[0] = o.i.v; int* p =
    &o.z;
struct I { int v; int w; }; struct O { volatile I i[2]; }; %% O o; o.i[1].w = 2; volatile int* p = &o.i[1].w;
    out[0] = *p;
struct S { volatile int f; int g; }; %% S s{1, 2}; S u = s; u = s; out[0] = u.f;
struct S { volatile int f; int g; }; %% S s = {1, 2}; S* p = &s; S u = *p; out[0] = u.f + p->f;
struct S { volatile int f; __device__ int get() const { return f; } __device__ void set(int v) { f = v; } };
    %% S s; s.set(2); out[0] = s.get();
struct S { volatile int f; __device__ volatile int* get() { return &f; } }; %% S s; out[0] = *s.get();
struct S { volatile int f; __device__ volatile int& get() { return f; } }; %% S s; s.get() = 3; out[0] =
    s.get();
struct S { int a[3]; }; %% volatile S s; s.a[1] = 2; volatile int* p = s.a; out[0] = p[1];
struct S { int* p; }; %% volatile S s{out}; s.p[0] = 1; int* q = s.p;
struct S { int* volatile p; }; %% S s{out}; s.p[0] = 1; int* q = s.p;
union U { volatile int i; float f; }; %% U u; u.i = 1; out[0] = u.i; float* p = &u.f;
union U { int i; float f; }; %% volatile U u; u.i = 1; out[0] = u.f;
volatile int v = 3; auto f = [&]() { return &v; }; volatile int* p = f(); *p = 2;
volatile int v = 3; auto f = [=]() { return &v; }; out[0] = *f();
volatile int v = 3; auto f = [=]() mutable { v = 5; return v; }; out[0] = f();
volatile int* p = out; auto f = [=](int i) { p[i] = 1; return p[i]; }; out[0] = f(1);
auto f = [](volatile int* p) { return *p; }; out[0] = f(out);
auto f = [](volatile int& r) { r = 1; }; f(out[0]); volatile int v; f(v);
volatile int v = 3; auto f = [](int x) { return x + 1; }; out[0] = f(v);
template<class T> __device__ T f(T& r) { r = 1; return r; } %% volatile int v = 2; out[0] = f(v);
template<class T> __device__ int f(T& r) { r = 1; return 2; } %% volatile int v = 2; out[0] = f(v);
template<class T> __device__ int f(T& r) { T* p = &r; int* q = p; return *q; } %% int v = 2; out[0] = f(v);
template<class T> __device__ int f(const T& r) { return r; } %% volatile int v = 2; out[0] = f(v);
template<class T> __device__ int f(volatile T& r) { T x = r; x = 3; return x; } %% volatile int v = 2; out[0]
    = f(v); int w = 3; out[0] += f(w);
template<class T> __device__ int f(const volatile T* p) { T x = *p; x++; return x; } %% const volatile int v =
    2; out[0] = f(&v); int w = 3; out[0] += f(&w);
template<class T> __device__ int f(const volatile T* p) { T x = *p; x++; return x; } %% const int v = 2;
    volatile int w = 3; out[0] = f(&v) + f(&w);
template<class T> __device__ int f(const T* p) { T x = *p; x++; return x; } %% volatile int w = 3; out[0] =
    f(&w);
template<class T> __device__ int f(T a, T b) { return a + b; } %% volatile int w = 3; int v = 2; out[0] = f(w,
    v);
template<class T> __device__ int f(volatile T* a, T* b) { return *a + *b; } %% volatile int w = 3; int v = 2;
    out[0] = f(&w, &v);
template<class T> __device__ int f(volatile T* a, T b) { return *a + b; } %% volatile int w = 3; out[0] =
    f(&w, w) + f<int>(&w, 2.5f);
template<class T, int N> __device__ int f(T (&a)[N]) { return a[N - 1]; } %% volatile int w[3]; w[2] = 2;
    out[0] = f(w);
template<class T, int N> __device__ int f(volatile T (&a)[N]) { T x = a[N - 1]; x = 2; return x; } %% volatile
    int w[3]; w[2] = 2; out[0] = f(w);
template<class T> __device__ int f(T p) { return sizeof(p); } %% out[0] = f<volatile int>(3);
template<class T> struct S { T v; }; %% S<volatile int> s; s.v = 2; volatile int* p = &s.v; out[0] = *p;
template<class T> struct S { T* v; }; %% S<volatile int> s{out}; *s.v = 2; const volatile int* p = s.v; out[0]
    = *p;
template<class T> using V = volatile T; %% V<int> v = 3; V<int>* p = &v; out[0] = *p; V<float> f = 2; f += 1;
typedef volatile int V; %% const V v = 3; const volatile int* p = &v; out[0] = *p; volatile V w = 3; out[0] +=
    w;
typedef int A[3]; %% volatile A a; a[1] = 2; out[0] = a[1]; volatile int* p = a;
typedef int* P; %% volatile P p = out; p[0] = 1; int* q = p; P volatile* r = &p; (*r)[0] = 2;
__device__ int f(const int* p) { return 2; } __device__ int f(const volatile int* p) { return 3; } %% int x =
    0; volatile int y = 0; out[0] = f(&x) + 10 * f(&y);
__device__ int f(int& p) { return 1; } __device__ int f(volatile int& p) { return 2; } %% int x = 0; volatile
    int y = 0; out[0] = f(x) + 10 * f(y);
__device__ int f(int& p) { return 1; } __device__ int f(const int& p) { return 2; } %% int x = 0; const int y
    = 0; out[0] = f(x) + 10 * f(y) + 100 * f(3);
__device__ int f(const int& p) { return 1; } __device__ int f(volatile int& p) { return 2; } %% const int x =
    0; volatile int y = 1; out[0] = f(x) + 10 * f(y) + 100 * f(3);
__device__ int f(int p) { return 1; } __device__ int f(volatile int& p) { return 2; } %% out[0] = f(3);
__device__ int f(float p) { return 1; } __device__ int f(double p) { return 2; } %% volatile float x = 0;
    volatile double y = 1; out[0] = f(x) + 10 * f(y);
__device__ int f(volatile void* p) { return 1; } __device__ int f(const void* p) { return 2; } %% volatile int
    x = 0; const int y = 0; out[0] = f(&x) + 10 * f(&y);
__device__ int f(void* p) { return 1; } __device__ int f(volatile int* p) { return 2; } %% int x = 0; out[0] =
    f(&x);
__device__ int f(volatile void* p) { return 1; } __device__ int f(bool p) { return 2; } %% volatile int x = 0;
    out[0] = f(&x);
__device__ int f(void* p) { return 1; } __device__ int f(bool p) { return 2; } %% volatile int x = 0; out[0] =
    f(&x);
__device__ int f(volatile int* p) { return *p; } __device__ int f(volatile float* p) { return *p; } %% float x
    = 3; out[0] = f(out) + f(&x);
__device__ int f(int x, volatile int* p = 0) { return p ? *p : x; } %% out[0] = f(1) + f(2, out);
__device__ int f(volatile int x = 4) { x += 1; return x; } %% out[0] = f() + f(2);
__device__ int f(const volatile int& x) { return x; } %% int a = 1; const int b = 2; volatile int c = 3;
    out[0] = f(a) + f(b) + f(c);
__device__ volatile int f(int x) { return x; } %% out[0] = f(3); auto y = f(2); y = 3; int* p = &y;
__device__ volatile int& f(int* x) { return *x; } %% f(out) += 3; volatile int& r = f(out); r++; auto& q =
    f(out); q = 2; auto v = f(out); v = 1; int* p = &v;
__device__ int* f(volatile int* x) { return (int*)x; } %% out[0] = *f(out);
__device__ auto f(volatile int* x) { return *x; } %% int v = f(out); out[0] = v;
__device__ auto f(volatile int* x) -> volatile int& { return *x; } %% f(out) = 3;
__device__ int g(volatile int* x) { return *x; } %% int (*h)(volatile int*) = g; out[0] = h(out);
__device__ int g(volatile int* x) { return *x; } %% auto h = g; volatile int v = 2; out[0] = h(&v) + h(out);
__device__ int g(volatile int* x) { return *x; } template <int (*F)(volatile int*)> __device__ int a(int* p) {
    return F(p); } %% out[0] = a<g>(out);
__device__ int g(volatile int* x) { return *x; } template <class F> __device__ int a(F f, int* p) { return
    f(p); } %% out[0] = a(g, out);
__device__ int g(volatile int* x) { return *x; } __device__ int a(int (*f)(volatile int*), volatile int* p) {
    return f(p); } %% out[0] = a(g, out);
@ %% volatile __half h = 1.5f; __half g = h; g = h; h = g; out[0] = (int)(float)g;
@ %% volatile __half h = 1.5f; __half g = __hadd(h, h);
@ %% volatile __half h = 1.5f; __half g = __hadd(__half(h), (__half)h);
@ %% volatile __half h = 1.5f; float f = __half2float(h); out[0] = f;
@ %% volatile __half* h = (volatile __half*)out; h[0] = __float2half(2); float f = __half2float(h[1]);
@ %% volatile __half2* h = (volatile __half2*)out; h->x = __float2half(2); __half g = h->y;
@ %% volatile __half2 h; h.x = __half(1); __half2 g; g.x = h.x;
@ %% __shared__ volatile __half s[32]; s[t] = __float2half(t); out[t] = __half2int_rn(s[31 - t]);
@ %% const volatile __half h = 1.5f; __half g = h; out[0] = (int)(float)g;
@ %% __half g = 2; volatile __half& r = g; r = __half(3); __half u = r; out[0] = (int)(float)u;
@ %% volatile __half h = 1; __half u = 2; __half g = t ? h : u; out[0] = (int)(float)g;
@ %% volatile __half h = 1; __half g = __shfl_sync(~0u, h, 0);
@ %% __half h = 1; volatile __half w = 2; h = w = h;
@ %% volatile __half h = 1; out[0] = __half_as_ushort(h);
@@ %% volatile __nv_bfloat16 h = 1.5f; __nv_bfloat16 g = h; g = h; h = g; out[0] = (int)(float)g;
volatile int* p = out; atomicAdd((int*)p, 1); atomicAdd(const_cast<int*>(&p[1]), 1);
__device__ volatile int lock; %% while (atomicCAS((int*)&lock, 0, 1) != 0); __threadfence(); lock = 0;
volatile __shared__ int c; atomicAdd((int*)&c, 1); int v = atomicAdd((int*)&c, 0); out[0] = v + c;
volatile int e = 3; int* p = out; atomicAdd(p, e); p[e] = e; p += e;
volatile float4 v; v.x = 1; v.w = v.x; float s = v.x + v.y; out[0] = s;
volatile float4 v = make_float4(1, 2, 3, 4); out[0] = v.z; float4 w; w.x = v.x;
volatile float4* p = (volatile float4*)out; p->x = 1; (*p).y = 2; p[1].z += 3; p++;
volatile float4* p = (volatile float4*)out; float4* q = (float4*)p; *q = make_float4(1, 2, 3, 4);
volatile float4* p = (volatile float4*)out; volatile float* q = &p->x; q[1] = 2;
float4 v; volatile float4& r = v; r.x = 3; float4 w = v;
volatile dim3 d; d.x = 3; out[0] = d.x;
volatile int x = 0; float* p = (float*)&x; *p = 1; volatile float* q = reinterpret_cast<volatile float*>(&x);
volatile int x = 0; const int* q = const_cast<const int*>(&x); out[0] = *q;
volatile int x = 0; int y = const_cast<int&>(x); const_cast<int&>(x) = 3;
volatile int x = 0; int y = static_cast<int>(x) + (int)x + int(x); out[0] = y;
volatile int x = 0; const volatile int* p = &x; int* q = const_cast<int*>(p);
volatile int x = 0; volatile void* v = &x; int* p = (int*)v; volatile int* q = static_cast<volatile int*>(v);
    *q = 1;
volatile int x = 0; const volatile void* v = &x; out[0] = *(const volatile int*)v;
volatile int x = 0; volatile char* c = (volatile char*)&x; c[1] = 2; volatile unsigned char* u =
    reinterpret_cast<volatile unsigned char*>(&x);
volatile int x = 0; unsigned long long a = (unsigned long long)&x; unsigned long long b =
    reinterpret_cast<unsigned long long>(&x); out[0] = a == b;
int x = 0; int y = *(volatile int*)&x; *(volatile int*)out = 3; ((volatile int*)out)[1] = 3;
int x = 0; int y = static_cast<volatile int&>(x); static_cast<volatile int&>(x) = 3; (volatile int&)x = 4;
int x = 0; volatile int* p = const_cast<volatile int*>(&x); *p = 1; const_cast<volatile int&>(x) = 2;
int* x = out; volatile int** p = &x;
int* x = out; volatile int* const* p = &x; out[0] = **p;
int* x = out; int* volatile* p = &x; *p = out + 1; **p = 1;
int* x = out; volatile int* volatile* p = &x;
volatile int* x = out; volatile int** p = &x; **p = 3; const volatile int* const* q = &x; out[1] = **q;
volatile int c; c = 3; out[0] = c;
constexpr volatile int c = 3; out[0] = c;
__constant__ volatile int c[3] = {1, 2, 3}; %% const volatile int* p = c; out[0] = p[1];
__device__ int volatile c; __device__ volatile int* volatile d; %% c = 2;
struct S { int a; }; __device__ volatile S s; %% s.a = 3; out[0] = s.a;
__shared__ volatile float s[2][32]; s[1][t] = 3; volatile float* q = s[1]; q[2] = 3; volatile float (*p)[32] =
    s + 1;
volatile extern __shared__ int s[]; s[t] = 1; volatile int* p = s; out[0] = p[t]; float* f = (float*)s;
volatile bool done = false; while (!done) done = true; do { done = false; } while (done); for (volatile int i
    = 0; i < 3; i++) out[i] = i;
volatile int n = 3; for (int i = 0; i < n; ++i) out[i] = n; if (n) out[0] = 1; switch (n) { case 3: out[1] =
    2; }
volatile int n = 3; switch (n) { case 1: break; default: n = 4; } out[n] = n ? n : -n; out[0] = ~n + !n +
    sizeof n;
volatile int x = {3}; volatile int y{4}; volatile int z(5); out[0] = x + y + z; volatile int w{};
volatile int x = 3.5; volatile int y{3.5};
volatile unsigned char x = 300; x <<= 2; x |= 1; x ^= 3; x %= 5; out[0] = x;
volatile long long x = 1; out[0] = __popcll(x) + __clzll(x) + __ffsll(x) + abs((int)x);
volatile int x = 3; assert(x == 3);
volatile int x = 3; int* o = out; *o++ = x++; out[x--] = --x; (void)x; x;
volatile int* p = out; p[0]++; ++*p; *p++ = 3; *++p = 4; (*p)--; out[0] = p - out; out[1] = p > out;
volatile int* p = out; if (p) *p = 3; if (!p || p == 0 || p != nullptr) *p = 3; p = nullptr; p = 0;
volatile int* p = out; const long long& q = *p; out[0] = q;
volatile int x = 3; const int& r = x + 0; out[0] = r; const int& s = (int)x; out[1] = s;
volatile int x = 3; const float& r = x; out[0] = r;
struct S { int a; volatile int b; }; %% S s{1, 2}; auto [a, b] = s; out[0] = a + b; auto& [c, d] = s; d = 3;
    int* p = &c;
struct S { int a; int b; }; %% volatile S s{1, 2}; auto& [a, b] = s; a = 3; out[0] = b;
struct S { int a; int b; }; %% S s{1, 2}; volatile auto [a, b] = s; a = 2; out[0] = a;
struct S { typedef volatile int V; }; %% S::V w = 3; S::V* p = &w; *p = 2;
struct S { int n; __device__ S(int k) : n(k) {} }; %% volatile int k = 3; S s(k); S u = S(k); out[0] = s.n +
    u.n;
struct S { int n; __device__ int operator+(int k) const { return n + k; } }; %% S s{3}; volatile int k = 2;
    out[0] = s + k;
struct S { int n; __device__ int operator[](int k) const { return n + k; } __device__ int operator()(volatile
    int* p) const { return *p; } }; %% S s{3}; volatile int k = 2; out[0] = s[k] + s(out);
struct S { volatile int* p; __device__ S(volatile int* q) : p(q) {} }; %% S s(out); *s.p = 3;
struct S { int v; __device__ void set(int k) { v = k; } }; %% S s; volatile S* p = &s; ((S*)p)->set(2);
    const_cast<S&>(*p).set(3);
struct S { static const int n = 3; volatile int v; }; %% out[0] = S::n; S s; s.v = S::n;
struct S { int a; }; %% __shared__ volatile S s[4]; s[t].a = 2; out[0] = s[1].a; volatile S* u = s + 1; u->a =
    3;
@ %% volatile __half h = 1, w = 1; h = w;
@ %% volatile __half h = 1; h = h;
@ %% volatile __half w = 3;
@ %% volatile __half w = 1; volatile __half v = w;
@ %% volatile __half w = 1; const volatile __half v(w); volatile __half u{w};
@ %% volatile __half w[2]; w[0] = w[1];
@ %% volatile __half w[2] = {1, 2};
@ %% volatile __half w = 1; __half u[2] = {w, w};
@ %% volatile __half w = 1; __half u; u = w; u = (__half)w; u = __half(w); u = static_cast<__half>(w);
@ %% volatile __half w = 1; short u = __half_as_short(w);
@ %% volatile __half w = 1; w = __half(w) + __half(w);
@ %% volatile __half w = 1; __half b = t ? w : w;
@ %% volatile __half w = 1; __half2 f = __halves2half2(w, w); f.x = w; f = make_half2(w, w);
@ %% volatile __half w = 1; printf("%f", (float)__half(w)); auto v = w;
@ %% volatile __half w = 1; auto v = w; v = v + v;
@__device__ __half f(volatile __half* p, int i) { return p[i]; } %% __shared__ __half s[4]; s[0] = f(s, 1);
@__device__ __half f(volatile __half& p) { return p; } %% __shared__ __half s[4]; s[0] = f(s[1]);
@__device__ __half f(__half p) { return p; } %% volatile __half h = 1; __half g = f(h);
@template<class T> __device__ T f(T p) { return p + p; } %% volatile __half h = 1; __half g = f(h);
@template<class T> __device__ T f(T p, T q) { return p + q; } %% volatile __half h = 1; __half g = f(h,
    __half(2));
@template<class T> __device__ float f(volatile T* p) { return (float)(T)*p; } %% volatile __half h = 1; float
    g = f(&h);
@struct S { __half h; }; %% volatile S s; s.h = __half(2); __half g = s.h;
volatile int v = 3; auto f = [v]() { const volatile int* p = &v; return *p; }; out[0] = f();
volatile int v[2] = {1, 2}; auto f = [v]() { return v[1]; }; out[0] = f();
struct S { int a; }; %% volatile S s{1}; auto f = [&s]() { return s.a; }; out[0] = f();
int x = 1; const volatile int& r = x; out[0] = r; volatile const int& q = r;
const int x = 1; const volatile int& r = x; out[0] = r;
__device__ int f(const volatile int& r) { return r; } %% int x = 1; const int y = 2; volatile int z = 3;
    out[0] = f(x) + f(y) + f(z) + f(out[1]);
__device__ int f(const volatile int& r) { return r; } __device__ int f(int r) { return r + 1; } %% out[0] =
    f(3);
struct S { int a; }; __device__ int f(const volatile S& r) { return r.a; } %% S x{1}; out[0] = f(x); volatile
    S y{2}; out[1] = f(y);
struct S { int a; }; __device__ int f(const volatile S& r) { return r.a; } __device__ int f(const S& r) {
    return r.a + 1; } %% S x{1}; out[0] = f(x); volatile S y{2}; out[1] = f(y);
struct S { int a; }; __device__ S f(volatile S& r) { return S{r.a}; } %% S s{1}; out[0] = f(s).a;
struct S { int a; }; template<class T> __device__ int f(const T& r) { return r.a; } %% volatile S y{2}; out[1]
    = f(y);
struct S { int a; }; template<class T> __device__ int f(T& r) { return r.a; } %% volatile S y{2}; out[1] =
    f(y);
struct S { int a; }; template<class T> __device__ T f(volatile T& r) { T c; c.a = r.a; return c; } %% volatile
    S y{2}; out[1] = f(y).a;
struct S { int a; }; %% S x{1}; volatile S& v = x; S* p = &x; p->a = v.a; v.a += 2; v.a++; out[0] = v.a;
struct S { int a; }; %% S x[3]; volatile S* v = x; v[1].a = 3; v++; v->a = 4; out[0] = (*v).a; volatile S& w =
    v[1]; w.a = 3;
struct S { int a; }; %% __shared__ S x[3]; volatile S* v = x; memcpy((void*)v, out, 4);
struct T { int a; __device__ int get() const { return a; } __device__ static int one() { return 1; } }; %%
    volatile T q{1}; out[0] = q.one() + T::one();
struct T { volatile int a = 3; __device__ T() {} __device__ T(int k) : a(k) {} }; %% T q, u(4); u = q; out[0]
    = q.a + u.a;
struct T { volatile int a[2]; }; %% T q{{1, 2}}; T u = q; u = q; out[0] = u.a[1];
struct T { volatile int a; __device__ T& operator+=(int k) { a += k; return *this; } }; %% T q{1}; q += 3;
    out[0] = q.a;
struct T { volatile int* a; __device__ int operator*() const { return *a; } }; %% T q{out}; out[1] = *q;
volatile int a[3]; out[0] = sizeof(a) + sizeof(a[0]) + sizeof(volatile int) + sizeof(volatile int*);
volatile int a[3] = {}; volatile int b[2][2] = {{1, 2}, {3, 4}}; out[0] = a[1] + b[1][1];
volatile int x = 1; for (volatile int* p = out; p < out + 3; ++p) *p = x;
volatile int x = 1; x = x ? x : -x; x = x > 0 && x < 3; x = x, x;
volatile unsigned x = 1; x = x << 2 >> 1; unsigned y = x++ + ++x; x %= 3u; x = ~x; out[0] = x / y;
volatile double x = 1; x = sqrt(x) + fmax(x, 2.0) + pow(x, 2.0); float y = x; out[0] = (int)x + y;
const int n = 3; volatile int a[n]; a[2] = n; switch (1) { case n: out[0] = a[2]; }
template<volatile int N> __device__ int f() { return N; } %% out[0] = f<3>();
template<class T> __device__ T zero() { return T(0); } %% volatile int v = zero<volatile int>(); out[0] = v;
template<class T> __device__ void put(T* p, T v) { *p = v; } %% volatile int v; put<volatile int>(&v, 3);
    out[0] = v;
template<class T, class U> __device__ void put(T* p, U v) { *p = v; } %% volatile int v; put(&v, 3); out[0] =
    v;
template<class T> struct P { T* p; __device__ P(T* q) : p(q) {} }; %% volatile int v = 3; P<volatile int>
    p(&v); *p.p = 2; out[0] = v;
template<class T> struct P { static const int n = 1; }; template<> struct P<volatile int> { static const int n
    = 2; }; %% out[0] = P<int>::n + 10 * P<volatile int>::n;
template<class T> __device__ int f(T*) { return 1; } template<> __device__ int f<volatile int>(volatile int*)
    { return 2; } %% out[0] = f(out) + 10 * f((volatile int*)out);
template<class T> __device__ int f(T*) { return 1; } __device__ int f(volatile int*) { return 2; } %% out[0] =
    f(out) + 10 * f((volatile int*)out);
__device__ int f(volatile int*, int*) { return 1; } __device__ int f(int*, int*) { return 2; } %% out[0] =
    f(out, out);
__device__ int f(volatile int&, const int&) { return 1; } __device__ int f(int&, volatile int&) { return 2; }
    %% out[0] = f(out[1], out[0]);
__device__ int f(volatile int&, const int&) { return 1; } __device__ int f(volatile int&, int&) { return 2; }
    %% out[0] = f(out[1], out[0]) + 10 * f(out[1], 3);
__device__ int f(int* const& p) { return 1; } __device__ int f(volatile int* p) { return 2; } %% out[0] =
    f(out);
__device__ int f(int*& p) { return 1; } __device__ int f(int* volatile& p) { return 2; } %% int* p = out; int*
    volatile q = out; out[0] = f(p) + 10 * f(q);
__device__ int f(const void*) { return 1; } __device__ int f(const volatile void*) { return 2; } %% volatile
    int v; out[0] = f(out) + 10 * f(&v);
__device__ void f(volatile int*); __device__ void f(volatile int* p) { *p = 1; } %% f(out);
__device__ void f(int); __device__ void f(volatile int p) { p = 1; } %% f(2);
extern "C" __global__ void g(volatile int* p, const volatile float* q, volatile int n) { n = 2; p[n] = q[0]; }
    %%
extern "C" __global__ void g(volatile int* __restrict__ p, int* volatile q) { p[0] = q[0]; } %%
volatile int* p = out; __threadfence(); __threadfence_block(); __syncthreads(); p[t] = __ldg(out) +
    __ldcv(out); __stwt(out, 3);
int* p = out; int v = __ldcv(p) + __ldcv(p + 1); int* q = p; auto w = __ldcv(p); w = 2;
float4* p = (float4*)out; float4 v = __ldcv(p); out[0] = v.x;
volatile int* p = out; p[0] = atomicAdd(out, 1); int v = atomicAdd(out, p[1]); atomicMax(out, p[v]);
@ %% __half w = 1; __half2 f(w, __half(1)); f = __half2(w, w); __half2 g{w, w};
__device__ int f(int g(int), int x) { return g(x); } __device__ int h(int x) { return x; } %% out[0] = f(h,
    3);
volatile int v = 3; auto f = [v]() mutable { v = 4; return v; }; out[0] = f(); auto g = f; out[1] = g();
volatile int* p = out; auto f = [=]() mutable { p++; return *p; }; out[0] = f();
int* volatile p = out; auto f = [=]() mutable { p++; return *p; }; out[0] = f();
"""

_REFUSED = """
volatile int a[2][3]; volatile int* p = a[1]; *p = 3; int* q = a[1];
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int a[2][3]; auto& r = a[1]; r[2] = 3; int* p = r;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
struct I { volatile int v; int w; }; struct O { I i; int z; }; %% O o; int* p = &o.i.v;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
struct I { int v; int w; }; struct O { volatile I i; int z; }; %% O o; int* p = &o.i.v;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
struct I { int v; int w; }; struct O { volatile I i; int z; }; %% O o; I j = o.i;
    => class "I" has no suitable copy constructor: this one is volatile
struct I { int v; int w; }; struct O { volatile I i; int z; }; %% O o; I j{1, 2}; o.i = j;
    => no operator "=" matches these operands: this 'I' is volatile
struct S { volatile int f; __device__ int* get() { return &f; } }; %% S s; out[0] = *s.get();
    => return value type 'volatile int *' does not match the function type 'int *'
struct S { volatile int f; __device__ int& get() { return f; } }; %% S s; s.get() = 3;
    => qualifiers dropped in binding reference of type 'int &'
struct S { int f; __device__ int get() const { return f; } }; %% const volatile S s{1}; out[0] = s.get();
    => the object has type qualifiers that are not compatible with the member function 'get'
struct S { int f; }; %% volatile S s{1}; out[0] = s.f; s.f = 2; volatile S* p = &s; p->f = 3; S* q = &s;
    => a value of type 'volatile S *' cannot be used to initialize an entity of type 'S *'
struct S { int f; }; %% volatile S s{1}; const S& q = s;
    => qualifiers dropped in binding reference of type 'S &'
struct S { int f; }; %% volatile S s{1}; const volatile S& q = s; out[0] = q.f; q.f = 2;
    => expression must be a modifiable lvalue
struct S { volatile int* p; }; %% S s{out}; s.p[0] = 1; int* q = s.p;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
union U { volatile int i; float f; }; %% U u; int* p = &u.i;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int v = 3; auto f = [&v]() { int& r = v; return r; }; out[0] = f();
    => qualifiers dropped in binding reference of type 'int &'
volatile int v = 3; auto f = [&]() { return &v; }; int* p = f();
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
auto f = [](int* p) { return *p; }; volatile int v = 1; out[0] = f(&v);
    => argument of type 'volatile int *' is incompatible with parameter of type 'int *'
auto f = [](auto* p) { return *p; }; volatile int v = 1; out[0] = f(&v);
    => 'auto' is not allowed here
auto f = [](auto& p) { p = 1; return p; }; volatile int v = 1; out[0] = f(v);
    => 'auto' is not allowed here
auto f = [](auto p) { p = 1; int* q = &p; return *q; }; volatile int v = 1; out[0] = f(v);
    => 'auto' is not allowed here
auto f = [](auto* p) { int* q = p; return *q; }; volatile int v = 1; out[0] = f(&v);
    => 'auto' is not allowed here
auto f = [](int& r) { r = 1; }; volatile int v; f(v);
    => qualifiers dropped in binding reference of type 'int &'
template<class T> __device__ int f(T& r) { T* p = &r; int* q = p; return *q; } %% volatile int v = 2; out[0] =
    f(v);
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
template<class T> __device__ int f(T* a, T* b) { return *a + *b; } %% volatile int w = 3; int v = 2; out[0] =
    f(&w, &v);
    => no instance of function template 'f' matches the argument list
template<class T> __device__ int f(volatile T* a, T* b) { return *a + *b; } %% volatile int w = 3; out[0] =
    f(&w, &w);
    => no instance of function template 'f' matches the argument list
template<class T> struct S { T v; }; %% S<volatile int> s; s.v = 2; out[0] = s.v; int* p = &s.v;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
template<class T> struct S { const T* v; }; %% S<volatile int> s{out}; out[1] = *s.v; *s.v = 2;
    => expression must be a modifiable lvalue
template<class T> struct S { volatile T v; }; %% S<const int> s{2}; out[0] = s.v; s.v = 3;
    => expression must be a modifiable lvalue
template<class T> using V = volatile T; %% V<int> v = 3; V<int>* p = &v; int* q = p;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
typedef volatile int V; %% const V v = 3; v = 2;
    => expression must be a modifiable lvalue
typedef volatile int A[3]; %% A a; a[1] = 2; out[0] = a[1]; int* p = a;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
typedef int* P; %% volatile P p = out; p[0] = 1; int* q = p; int** r = &p;
    => a value of type 'volatile int * *' cannot be used to initialize an entity of type 'int * *'
__device__ int f(const int* p) { return 2; } __device__ int f(volatile int* p) { return 3; } %% int x = 0;
    out[0] = f(&x);
    => more than one instance of overloaded function 'f' matches the argument list
__device__ int f(int& p) { return 1; } __device__ int f(const int& p) { return 2; } %% volatile int x = 0;
    out[0] = f(x);
    => no instance of overloaded function 'f' matches the argument list
__device__ int f(const int& p) { return 1; } __device__ int f(volatile int& p) { return 2; } %% int x = 0;
    out[0] = f(x);
    => more than one instance of overloaded function 'f' matches the argument list
__device__ int f(int p) { return 1; } __device__ int f(volatile int p) { return 2; } %% out[0] = f(1);
    => function 'f' has already been defined
__device__ int f(int p) { return 1; } __device__ int f(volatile int& p) { return 2; } %% volatile int x = 0;
    out[0] = f(x);
    => more than one instance of overloaded function 'f' matches the argument list
__device__ int f(float p) { return 1; } __device__ int f(double p) { return 2; } %% volatile int x = 0; out[0]
    = f(x);
    => more than one instance of overloaded function 'f' matches the argument list
__device__ int f(volatile int& x) { return x; } %% out[0] = f(3);
    => initial value of reference to non-const must be an lvalue
__device__ int f(const volatile int& x) { return x; } %% out[0] = f(3);
    => initial value of reference to const volatile must be an lvalue
__device__ volatile int* f(int* x) { return x; } %% out[0] = *f(out); int* q = f(out);
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
__device__ int* f(volatile int* x) { return x; } %%
    => return value type 'volatile int *' does not match the function type 'int *'
__device__ int g(volatile int* x) { return *x; } %% int (*h)(int*) = g; out[0] = h(out);
    => a value of type 'int (*)(volatile int *)' cannot be used to initialize an entity of type 'int (*)'
__device__ int g(int* x) { return *x; } %% auto h = g; volatile int v = 2; out[0] = h(&v);
    => argument of type 'volatile int *' is incompatible with parameter of type 'int *'
__device__ int g(int* x) { return *x; } __device__ int a(int (*f)(volatile int*), volatile int* p) { return
    f(p); } %% out[0] = a(g, out);
    => no instance of function template 'a' matches the argument list
@ %% volatile __half h = 1.5f; h = 2.0f; out[0] = (int)(float)h;
    => no operator '=' matches these operands: this 'half' is volatile
@ %% volatile __half h = 1.5f; __half g = h + h;
    => no operator '+' matches these operands: this 'half' is volatile
@ %% volatile __half h = 1.5f; __half g = -h;
    => no operator '-' matches these operands: this 'half' is volatile
@ %% volatile __half h = 1.5f; h += h;
    => no operator '+=' matches these operands: this 'half' is volatile
@ %% volatile __half h = 1.5f; h++;
    => no operator '++' matches these operands: this 'half' is volatile
@ %% volatile __half h = 1.5f; if (h == __half(1)) out[0] = 1;
    => no operator '==' matches these operands: this 'half' is volatile
@ %% volatile __half h = 1.5f; if (h) out[0] = 1;
    => expression must have bool type (or be convertible to bool)
@ %% volatile __half h = 1.5f; int i = h; float f = h; out[0] = i;
    => a value of type 'half' cannot be used to initialize an entity of type 'int'
@ %% volatile __half h = 1.5f; int i = (int)h; float f = (float)h; out[0] = i;
    => invalid type conversion: a cast from 'half' to 'int'
@ %% volatile __half h = 1.5f; float f = h + 1.0f;
    => no operator '+' matches these operands: this 'half' is volatile
@ %% volatile __half2* h = (volatile __half2*)out; *h = __float2half2_rn(2);
    => no operator "=" matches these operands: this 'half2' is volatile
@ %% volatile __half2* h = (volatile __half2*)out; __half2 g = *h;
    => class "half2" has no suitable copy constructor: this one is volatile
@ %% volatile __half2 h; __half2 g = __float2half2_rn(1); h = g;
    => no operator "=" matches these operands: this 'half2' is volatile
@ %% volatile __half h = 1; __half g = t ? h : __half(2);
    => class "half" has no suitable copy constructor: one of these is volatile
@ %% volatile __half h = 1; h = 1; h = 1.5; h = 2.0f; h = 3u; h = true;
    => no operator '=' matches these operands: this 'half' is volatile
@@ %% volatile __nv_bfloat16 h = 1.5f; h++;
    => no operator '++' matches these operands: this '__nv_bfloat16' is volatile
volatile int* p = out; atomicCAS(p, 0, 1);
    => no instance of overloaded function 'atomicCAS' matches the argument list
volatile int* p = out; atomicExch(p, 0);
    => no instance of overloaded function 'atomicExch' matches the argument list
volatile unsigned int* p = (unsigned int*)out; atomicInc(p, 3u);
    => argument of type 'volatile unsigned int *' is incompatible with parameter of type 'unsigned int *'
volatile float* p = (float*)out; atomicAdd(p, 1.0f);
    => no instance of overloaded function 'atomicAdd' matches the argument list
volatile float4 v = make_float4(1, 2, 3, 4); float4 w = v;
    => class "float4" has no suitable copy constructor: this one is volatile
volatile float4* p = (volatile float4*)out; *p = make_float4(1, 2, 3, 4);
    => no operator "=" matches these operands: this 'float4' is volatile
volatile float4* p = (volatile float4*)out; float* q = &p->x;
    => a value of type 'volatile float *' cannot be used to initialize an entity of type 'float *'
float4 v; volatile float4& r = v; r.x = 3; float4 w = r;
    => class "float4" has no suitable copy constructor: this one is volatile
dim3 d(1, 2, 3); volatile dim3& r = d; dim3 e = r;
    => class "dim3" has no suitable copy constructor: this one is volatile
volatile int x = 0; float* q = reinterpret_cast<float*>(&x);
    => reinterpret_cast cannot cast away volatile
volatile int x = 0; volatile float* q = const_cast<volatile float*>(&x);
    => invalid type conversion: const_cast from 'volatile int *' to 'volatile float *'
volatile int x = 0; const volatile int* p = &x; const int* q = p;
    => a value of type 'const volatile int *' cannot be used to initialize an entity of type 'const int *'
volatile int x = 0; const volatile int* p = &x; volatile int* q = static_cast<volatile int*>(p);
    => static_cast cannot cast away const
volatile int x = 0; const volatile int* p = &x; const int* q = static_cast<const int*>(p);
    => static_cast cannot cast away volatile
volatile int x = 0; volatile void* v = &x; int* p = static_cast<int*>(v);
    => static_cast cannot cast away volatile
volatile int x = 0; const void* v = &x;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'const void *'
int x = 0; int* p = const_cast<volatile int*>(&x);
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int* const p = out; *p = 3; p[1] = 3; int* q = p;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int* const p = out; p++;
    => expression must be a modifiable lvalue
volatile const int c = 3; c = 4;
    => expression must be a modifiable lvalue
const volatile int c;
    => const variable 'c' requires an initializer
volatile constexpr int c = 3; int a[c];
    => expression must have a constant value
__constant__ volatile int c[3] = {1, 2, 3}; %% const int* p = c;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'const int *'
__device__ volatile int c; %% int& r = c;
    => qualifiers dropped in binding reference of type 'int &'
struct S { int a; }; __device__ volatile S s; %% S u = s;
    => class "S" has no suitable copy constructor: this one is volatile
__shared__ volatile float s[2][32]; s[1][t] = 3; out[0] = s[0][t]; volatile float (*p)[32] = s; float* q =
    s[1];
    => a value of type 'volatile float *' cannot be used to initialize an entity of type 'float *'
volatile int x = 1, *p = &x, a[2] = {1, 2}; *p = a[1]; int* q = p;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
int x = 1, volatile y = 2;
    => expected an identifier
volatile x = 3;
    => this declaration has no type
volatile void* p = out; int v = *p;
    => a pointer to void cannot be read or written
volatile void v;
    => incomplete type is not allowed: 'v' cannot be void
volatile int* p = out; float* q = (float*)out; bool b = p == q;
    => operand types are incompatible ('volatile int *' and 'float *')
volatile int* p = out; int* q = &p[1];
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int* p = out; int* q; q = p;
    => a value of type 'volatile int *' cannot be assigned to an entity of type 'int *'
volatile int* p = out; const int& q = *p; out[0] = q;
    => qualifiers dropped in binding reference of type 'int &'
struct S { int a; volatile int b; }; %% S s{1, 2}; auto& [c, d] = s; int* p = &d;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
struct S { int a; int b; }; %% volatile S s{1, 2}; auto [a, b] = s;
    => class "S" has no suitable copy constructor: this one is volatile
struct S { int a; int b; }; %% S s{1, 2}; volatile auto& [a, b] = s; int* p = &a;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
int i = 2; volatile auto& x = i; x = 3; int* p = &x;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
int i = 2; const volatile auto* x = &i; out[0] = *x; *x = 3;
    => expression must be a modifiable lvalue
volatile int i = 2; const auto& x = i; const int* p = &x;
    => a value of type 'const volatile int *' cannot be used to initialize an entity of type 'const int *'
using V = volatile float; struct S { V v[2]; }; %% S s; s.v[1] = 2; float* p = s.v;
    => a value of type 'volatile float *' cannot be used to initialize an entity of type 'float *'
enum E { A, B }; %% volatile E e = A; E f = e; E* p = &e;
    => a value of type 'volatile E *' cannot be used to initialize an entity of type 'E *'
struct S { int n; __device__ S(int k) : n(k) {} __device__ operator int() const { return n; } }; %% volatile S
    s(3); int x = s;
    => class "S" has no suitable copy constructor: this one is volatile
struct S { int n; __device__ int operator+(int k) const { return n + k; } }; %% volatile S s{3}; int x = s +
    1;
    => the object has type qualifiers that are not compatible with the member function 'operator+'
struct S { int* p; __device__ S(int* q) : p(q) {} }; %% volatile int v; S s(&v);
    => no instance of constructor 'S' matches the argument list
struct S { int v; __device__ void set(int k) { v = k; } }; %% S s; volatile S* p = &s; p->set(2);
    => the object has type qualifiers that are not compatible with the member function 'set'
struct S { int a; }; %% __shared__ volatile S s[4]; s[t].a = 2; out[0] = s[1].a; S u = s[1];
    => class "S" has no suitable copy constructor: this one is volatile
@ %% volatile __half w = 1; float u; u = w;
    => a value of type 'half' cannot be assigned to an entity of type 'float'
@ %% volatile __half w = 1; w -= __half(2);
    => no operator '-=' matches these operands: this 'half' is volatile
@ %% volatile __half w = 1; while (w) ;
    => expression must have bool type (or be convertible to bool)
@ %% volatile __half w = 1; for (; w;) ;
    => expression must have bool type (or be convertible to bool)
@ %% volatile __half w = 1; bool b = w && true;
    => expression must have bool type (or be convertible to bool)
@ %% volatile __half w = 1; bool b = t ? w : __half(1);
    => class "half" has no suitable copy constructor: one of these is volatile
@ %% volatile __half w = 1; float f = fmaf(w, 1.0f, 1.0f);
    => argument of type 'half' is incompatible with parameter of type 'float'
@ %% volatile __half w = 1; __half2 f = __half2(w, w);
    => no instance of constructor 'half2' matches: one of its parts is volatile
@ %% volatile __half2 w; w.x = 1;
    => no operator '=' matches these operands: this 'half' is volatile
@ %% volatile __half2 w = __half2(1, 2); __half2 g = -w;
    => class "half2" has no suitable copy constructor: this one is volatile
@ %% volatile __half2 w = __half2(1, 2); __half2 g = w + w;
    => class "half2" has no suitable copy constructor: this one is volatile
@ %% volatile __half w = 1; auto& v = w; v = v + v;
    => no operator '+' matches these operands: this 'half' is volatile
@__device__ __half f(const __half& p) { return p; } %% volatile __half h = 1; __half g = f(h);
    => qualifiers dropped in binding reference of type 'half &'
volatile int v = 3; auto f = [=]() mutable { int* p = &v; return *p; }; out[0] = f();
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int v[2] = {1, 2}; auto f = [&]() { int* p = v; return p[1]; }; out[0] = f();
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
const volatile int& r = 3;
    => initial value of reference to const volatile must be an lvalue
int x = 1; const volatile int& r = x + 1;
    => initial value of reference to const volatile must be an lvalue
int x = 1; const volatile long long& r = x;
    => initial value of reference to const volatile must be an lvalue
const int x = 1; volatile int& r = x;
    => a reference of type 'int &' cannot be initialized with a value of type 'const int'
struct S { int a; }; __device__ int f(S r) { return r.a; } %% volatile S y{2}; out[1] = f(y);
    => class "S" has no suitable copy constructor: this one is volatile
struct S { int a; }; __device__ int f(S r) { return r.a; } __device__ int f(volatile S& r) { return r.a; } %%
    volatile S y{2}; out[1] = f(y);
    => class "S" has no suitable copy constructor: this one is volatile
struct S { int a; }; __device__ int f(const S& r) { return r.a; } %% volatile S y{2}; out[1] = f(y);
    => qualifiers dropped in binding reference of type 'S &'
struct S { int a; }; template<class T> __device__ int f(T r) { return r.a; } %% volatile S y{2}; out[1] =
    f(y);
    => class "S" has no suitable copy constructor: this one is volatile
struct S { int a; }; %% S x[3]; volatile S* v = x; v[1] = x[0];
    => no operator "=" matches these operands: this 'S' is volatile
struct S { int a; }; %% S x[3]; volatile S* v = x; *v = {3};
    => no operator "=" matches these operands: this 'S' is volatile
struct T { int a[2]; __device__ int& operator[](int i) { return a[i]; } }; %% volatile T q; q[0] = 1;
    => the object has type qualifiers that are not compatible with the member function 'operator[]'
struct T { const volatile int* a; __device__ void set() { *a = 3; } }; %% T q{out}; q.set();
    => expression must be a modifiable lvalue
volatile int a[3], b[3]; a = b;
    => expression must be a modifiable lvalue
volatile int x = 1; int y[x];
    => expression must have a constant value
volatile const int n = 3; switch (1) { case n: break; }
    => expression must have a constant value
template<int N> __device__ int f() { return N; } %% volatile const int n = 3; out[0] = f<n>();
    => expression must have a constant value
template<class T> __device__ void put(T* p, T v) { *p = v; } %% volatile int v; put(&v, 3); out[0] = v;
    => no instance of function template 'put' matches the argument list
template<class T> struct P { T* p; __device__ P(T* q) : p(q) {} }; %% volatile int v = 3; P<int> p(&v);
    => no instance of constructor 'P<int>' matches the argument list
__device__ int f(volatile int*, int*) { return 1; } __device__ int f(int*, volatile int*) { return 2; } %%
    out[0] = f(out, out);
    => more than one instance of overloaded function 'f' matches the argument list
__device__ void f(volatile int*) {} __device__ void f(volatile int[]) {} %%
    => function 'f' has already been defined
extern "C" __global__ void g(volatile int* p, int* q) { q = p; } %%
    => a value of type 'volatile int *' cannot be assigned to an entity of type 'int *'
volatile int* p = out; __stwt(p, 3);
    => no instance of overloaded function '__stwt' matches the argument list
volatile int* p = out; __ldca(&p[1]);
    => no instance of overloaded function '__ldca' matches the argument list
@ %% volatile __half w = 1; __half2 f{w, w};
    => no instance of constructor 'half2' matches: one of its parts is volatile
@ %% volatile __half w = 1; __half2 f = {w, w};
    => no instance of constructor 'half2' matches: one of its parts is volatile
@ %% volatile __half w = 1; __half2 f = __half2{w, w};
    => no instance of constructor 'half2' matches: one of its parts is volatile
volatile int v = 3; int w = 2; auto f = [=]() { return v + w; }; auto g = f; g = f;
    => a lambda cannot be changed: its operator= is a deleted function
auto f = [=]() { return 1; }; auto g = f; g = f;
    => a lambda cannot be changed: its operator= is a deleted function
int w = 2; auto f = [=]() { return w; }; auto g = f; g = f;
    => a lambda cannot be changed: its operator= is a deleted function
int w = 2; auto f = [&]() { return w; }; f = f;
    => a lambda cannot be changed: its operator= is a deleted function
struct S { int f; }; %% volatile S s{1}; S u = s;
    => class "S" has no suitable copy constructor: this one is volatile
volatile int* p = out; int* q = p;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
volatile int* p = out; const int* q = p;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'const int *'
volatile int a[4]; int* q = a;
    => a value of type 'volatile int *' cannot be used to initialize an entity of type 'int *'
int a[4]; for (volatile int& v : a) v = 1;
    => unsupported: for over a range
volatile int x = 1; volatile int y = 2; (t ? x : y) = 3;
    => unsupported: changing the result of an assignment or of ?:
volatile int x = 1; int y = 2; volatile int& r = t ? x : y; r = 3;
    => unsupported: a reference to the result of an assignment
struct I { int v; int w; }; struct O { volatile I i; int z; }; %% O o; o.i.v = 1; o.i.w = 2; o.z = 3; O u = o;
    out[0] = u.z;
    => unsupported: a copy of a 'O', which has a volatile object
struct S { int f; __device__ int get() volatile { return f; } __device__ int get() { return 2; } }; %% S s;
    out[0] = s.get();
    => unsupported: 'volatile' behind a method
template<class T> __device__ int f(T* p) { return 1; } template<class T> __device__ int f(volatile T* p) {
    return 2; } %% volatile int w = 3; int v = 2; out[0] = f(&w) + 10 * f(&v);
    => unsupported: a choice between templates by which is the more special one
__device__ int g(int* x) { return 1; } __device__ int g(volatile int* x) { return 2; } %% int (*h)(volatile
    int*) = g; out[0] = h(out);
    => unsupported: the function 'g' is used as a value
@ %% volatile __half h = 1; h = __half(2) = h;
    => unsupported: changing a value that is not stored
__constant__ volatile int c = 3; %% c = 4;
    => unsupported: writing to __constant__ memory in a kernel
volatile int* p = out; int&& q = *p;
    => unsupported: references with &&
@struct S { volatile __half h; }; %% S s; s.h = __half(2); __half g = s.h; S u = s;
    => unsupported: a copy of a 'S', which has a volatile object
"""


def _read(text: str) -> list[str]:
    """One snippet from each line that does not go on the line before."""
    return text.strip().replace("\n    ", " ").splitlines()


def source(snippet: str) -> str:
    """The whole text of a snippet."""
    before, _, body = snippet.rpartition("%%")
    before = before.replace("@@", "#include <cuda_bf16.h>\n").replace("@", "#include <cuda_fp16.h>\n")
    return f'{before}\nextern "C" __global__ void k(int* out) {{\n    int t = threadIdx.x;\n    {body}\n}}\n'


ACCEPTED = _read(_ACCEPTED)
REFUSED = [tuple(part.strip() for part in snippet.split("=>")) for snippet in _read(_REFUSED)]
