// Small pieces that are easy to get wrong: volatile. The second implementation says what they compute.

// snippet: a lock with a pause
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int lock, sum;
    if (t == 0) { lock = 0; sum = 0; }
    __syncthreads();
    unsigned ns = 8;
    for (bool done = false; !done; ) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            sum += x[t];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        } else {
            __nanosleep(ns);
            if (ns < 256) ns *= 2;
        }
    }
    __threadfence_system();
    __syncthreads();
    out[t] = sum;
}

// snippet: volatile numbers
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    volatile int a = x[t], b = 3;
    volatile unsigned char c = t * 5;
    volatile long long l = a * 3000000000LL;
    volatile float g = 0.5f * t;
    a += b++;
    c <<= 1;
    l -= ++a;
    g = g * g + a;
    volatile bool odd = a & 1;
    while (b < 9) b = b + 2;
    for (volatile int i = 0; i < 3; i++) c += i;
    out[t] = a + b * 100 + c + (int)(l % 1000) + (odd ? 7 : b) + (b, a);
    f[t] = g++ + g;
}

// snippet: volatile shared arrays and pointers
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ volatile int s[2][64];
    __shared__ int plain[64];
    s[0][t] = x[t];
    s[1][63 - t] = t;
    __syncthreads();
    volatile int* p = s[1] + t;
    volatile int (*rows)[64] = s;
    int* q = (int*)&s[0][t];
    const volatile int* r = plain;
    plain[t] = *p + rows[0][63 - t];
    __syncthreads();
    *q += const_cast<int&>(*p) + r[t ^ 1];
    __syncthreads();
    p = &plain[t];
    (*p)++;
    ++*p;
    int* volatile w = plain;
    int* volatile* ww = &w;
    out[t] = s[0][t] * 3 + p[0] + (p - plain) + (*ww)[t] + (p == w + t);
}

// snippet: the sum of a warp, as it was written once
__device__ void sum_of_warp(volatile int* s, int t) {
    for (int i = 32; i > 0; i /= 2) {
        int v = s[t] + s[t + i];
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[96];
    s[t] = x[t];
    if (t < 32) s[64 + t] = 0;
    __syncthreads();
    if (t < 32) sum_of_warp(s, t);
    __syncthreads();
    out[t] = s[0] + s[t & 31];
}

// snippet: overloads by const and volatile
__device__ int of(int* p) { return 1; }
__device__ int of(const int* p) { return 2; }
__device__ int of(volatile int* p) { return 3; }
__device__ int of(const volatile int* p) { return 4; }
__device__ int of(const volatile void* p) { return 5; }
__device__ int by(int& p) { return 1; }
__device__ int by(const int& p) { return 2; }
__device__ int by(volatile int& p) { return 3; }
__device__ int by(const volatile int& p) { return 4; }
__device__ int few(const int* p) { return 1; }
__device__ int few(const volatile int* p) { return 2; }
__device__ int two(volatile int* p, const int* q) { return 1; }
__device__ int two(int* p, const volatile int* q) { return 2; }
__device__ int two(int* p, const int* q) { return 3; }
__device__ int two(volatile int* p, int* q) { return 4; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int a = x[t];
    const int b = t;
    volatile int c = 3;
    const volatile int d = 4;
    out[t] = of(&a) + 10 * of(&b) + 100 * of(&c) + 1000 * of(&d) + 10000 * of((void*)out);
    f[t] = by(a) + 10 * by(b) + 100 * by(c) + 1000 * by(d) + 10000 * by(t + 1) + 100000 * of(x);
    out[t] += 100000 * few(&a) + 1000000 * few(&c) + 10000000 * two(out, x) + 20000000 * two(&c, out);
}

// snippet: templates of volatile types
template <typename T> __device__ T plain(volatile T* p) { T v = *p; v *= 2; return v; }
template <typename T> __device__ int changed(T& r) { r += 1; return r; }
template <typename T> __device__ int last(const volatile T* p, T v) { return *p - v; }
template <typename T> __device__ int size(const T& r) { return sizeof(T) + r; }
template <typename T> struct Cell { T value; __device__ T get() const { return value; } };
template <typename T> __device__ int kind(T*) { return 1; }
__device__ int kind(volatile int*) { return 2; }
template <typename T> struct is { static const int volatile_ = 0; };
template <> struct is<volatile int> { static const int volatile_ = 1; };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    volatile int a = x[t];
    int b = t;
    out[t] = plain(&a) + plain(&b) + 10 * changed(a) + 10 * changed(b) + last(&a, b) + size(a);
    Cell<volatile int> cell{3};
    cell.value += b;
    Cell<volatile int*> at{&cell.value};
    *at.value *= 2;
    f[t] = cell.get() + 1000 * kind(&a) + 2000 * kind(&b) + 10000 * is<volatile int>::volatile_
        + 20000 * is<int>::volatile_;
}

// snippet: volatile members and objects
struct Part { int n; float f; };
struct Inner { volatile int n; };
struct Whole {
    volatile int flag;
    int count;
    Inner inner;
    __device__ int get() const { return flag + count; }
    __device__ void set(int n) { flag = n; count ^= n; }
};
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ volatile Part s[64];
    __shared__ Whole w[2];
    s[t].n = x[t];
    s[t].f = 0.5f * t;
    if (t < 2) { w[t].flag = t; w[t].count = 5; w[t].inner.n = 7; }
    __syncthreads();
    Whole own{1, 2};
    own.inner.n = t;
    own.set(own.get() + w[t & 1].flag);
    Whole copy = own;
    copy.flag += w[0].inner.n;
    volatile Part& r = s[63 - t];
    volatile Part* p = &s[t ^ 1];
    volatile int* n = &w[1].flag;
    const volatile Part& c = *p;
    out[t] = r.n + p->n * 3 + own.flag + copy.get() * 100 + *n + c.n + own.inner.n;
    f[t] = r.f + p->f + c.f;
}

// snippet: volatile references
__device__ void add(volatile int& r, int v) { r += v; r ^= 1; }
__device__ int twice(const volatile int& r) { return r + r; }
__device__ volatile int& cell(int* p) { return *p; }
__device__ auto next(volatile int* p) -> volatile int& { *p += 1; return *p; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int a = x[t];
    volatile int b = t;
    volatile int& ra = a;
    auto& rb = b;
    const volatile int& rc = a;
    ra += 5;
    rb = rc - rb;
    static_cast<volatile int&>(a) += 2;
    add(a, rb);
    add(rb, 3);
    cell(&out[t]) = rc + 1;
    cell(out + t) += twice(b) + twice(a) + (b > 9 ? ra : rb);
    f[t] = rc + next(&a) + next(&b);
}

// snippet: volatile halves and vectors
#include <cuda_fp16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ volatile half h[64];
    __shared__ volatile float4 v[64];
    h[t] = __float2half(x[t] * 0.5f);
    v[t].x = x[t];
    v[t].w = t;
    __syncthreads();
    half a = h[63 - t];
    volatile half b = a;
    volatile half2 c = __floats2half2_rn(1.5f, x[t]);
    a = a + (half)b + __half(c.y);
    b = a;
    __syncthreads();
    h[t] = b;
    volatile int2 w = make_int2(t, 5);
    w.y += w.x++;
    volatile float* p = &v[t ^ 1].x;
    out[t] = w.x + 1000 * w.y + (int)v[63 - t].x;
    f[t] = __half2float(b) + __half2float(h[t]) + *p + p[3] + __half2float(c.x);
}

// snippet: lambdas that hold what is volatile
template <typename F> __device__ int apply(F call) { return 3 * call(); }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    volatile int v = x[t];
    volatile int* p = out + t;
    auto by_value = [=]() { return v + 1; };
    auto changes = [v]() mutable { v += 2; return v; };
    auto by_reference = [&](int k) { v = v + k; return v; };
    auto first = [](volatile int* q) { return q[0]; };
    int a = by_value() + changes() + changes() + by_reference(5) + by_reference(1);
    *p = a + v;
    out[t] = first(p) + apply(by_value) + [=]() { return *p; }();
}

// snippet: a warp waits for another one
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ volatile int flag;
    __shared__ int s[64];
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        if (t == 0) {
            while (flag == 0) {}
            __threadfence_block();
        }
        __syncwarp();
        out[t] = s[32 + t] + flag;
    } else {
        s[t] = x[t];
        __threadfence_block();
        __syncwarp();
        if (t == 32) flag = 7;
        out[t] = 1;
    }
}

// snippet: two warps hand a number to and fro
__device__ void wait_for(const volatile int& turn, int mine) {
    while (turn != mine) {}
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int turn, sum;
    if (t == 0) { turn = 0; sum = 1; }
    __syncthreads();
    if ((t & 31) == 0)
        for (int i = t / 32; i < 10; i += 2) {
            wait_for(turn, i);
            __threadfence_block();
            sum = sum * 3 + x[i] + t;
            __threadfence_block();
            atomicExch(&turn, i + 1);
        }
    __syncthreads();
    out[t] = sum;
}

// snippet: a wait by atomics
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int arrived, s[64];
    if (t == 0) arrived = 0;
    __syncthreads();
    s[t] = x[t];
    __threadfence_block();
    __syncwarp();
    if ((t & 31) == 0) {
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < 2) __nanosleep(20);
        __threadfence_block();
    }
    __syncwarp();
    out[t] = s[63 - t];
}
