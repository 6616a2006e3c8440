// Small pieces with classes, unions, namespaces and functions as values.

// snippet: method changes a register
struct P { int a, b;
    __device__ void move(int x, int y) { a += x; if (x > 1) return; b -= y; }
    __device__ int sum() const { return a + b; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    P p{1, 2};
    if (t % 3) p.move(t, 5);
    for (int i = 0; i < t % 4; ++i) p.move(i, 1);
    out[t] = p.a * 100 + p.b + p.sum();
}

// snippet: method of an element of shared memory
struct C { int n; __device__ C& add(int k) { n += k; return *this; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ C c[64];
    c[t].n = 0;
    c[t].add(x[t]);
    __syncthreads();
    C& other = c[63 - t];
    int before = other.n;
    __syncthreads();
    c[t].add(t).add(1);
    out[t] = before + c[t].n;
}

// snippet: this escapes
struct S { int v; __device__ void twice() { help(this); } __device__ S* self() { return this; }
    __device__ static void help(S* s) { s->v *= 2; } };
__device__ int touch(S& s) { s.v += 7; return s.v; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    S s; s.v = t; s.twice(); S* p = s.self(); p->v += 3;
    out[t] = s.v + touch(s) + s.v;
}

// snippet: object with a pointer in it
struct View { const int* p; int n; __device__ View(const int* q, int m) : p(q), n(m) {}
    __device__ int at(int i) const { return p[i % n]; }
    __device__ int operator[](int i) const { return at(i); }
    __device__ void shift(int k) { p += k; n -= k; } };
__device__ void change(View& v) { v.shift(2); }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[64];
    s[t] = x[t];
    __syncthreads();
    View v(s, 64);
    v.shift(t % 8);
    int last = v.at(0);
    View w = v; w.shift(1);
    View& r = w; r.shift(1);
    change(w);
    out[t] = last + v[1] * 10 + w[2] + w.n;
}

// snippet: array of pointers by index
struct T { const int* row[3]; };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int b[3][64];
    for (int i = 0; i < 3; ++i) b[i][t] = x[t] * (i + 1);
    __syncthreads();
    T tab;
    for (int i = 0; i < 3; ++i) tab.row[i] = b[i];
    const int* q = tab.row[t % 3];
    tab.row[t % 2] = tab.row[2];
    out[t] = q[t] + tab.row[0][63 - t] + tab.row[1][t];
}

// snippet: union of float and int
union U { float f; unsigned u; unsigned char b[4]; unsigned short h[2]; };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    U u; u.f = (float)x[t] * 0.5f;
    unsigned sign = u.u >> 31;
    u.u &= 0x7fffffffu;
    U w = u; w.b[3] |= 0x80;
    out[t] = (int)sign + (int)w.f + u.h[0] + (w.u == (u.u | 0x80000000u));
    f[t] = w.f;
}

// snippet: union of float4 and array
union Q { float4 v; float a[4]; };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Q q; q.v = make_float4(t, 1, 2, 3);
    q.a[t % 4] += 10;
    Q z = {}; z.a[3] = q.v.w;
    float s = 0; for (int i = 0; i < 4; ++i) s += q.a[i] + z.a[i];
    f[t] = s + q.v.x;
}

// snippet: union without a name
struct M { int kind; union { int i; float f; };
    __device__ void flip() { i ^= 0x80000000; kind++; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    M m; m.i = 0x3f800000 + t; m.kind = 1;
    M n = m; n.flip();
    f[t] = m.f + n.f + n.kind;
}

// snippet: union and parameter by value
union Word { int w; signed char c[4]; };
__device__ Word swap(Word a) { signed char k = a.c[0]; a.c[0] = a.c[3]; a.c[3] = k; return a; }
__device__ int low(int v) { Word a; a.w = v; return swap(a).c[0] + swap(a).w; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t] = low(x[t]) + low(Word{-1}.w) + swap(Word{x[t]}).w;
}

// snippet: struct with arrays by value
struct A { int n[3]; int m[2][2]; };
__device__ int total(A a) { a.n[0] += 1; return a.n[0] + a.n[1] + a.n[2] + a.m[0][1] * 2 + a.m[1][1]; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    A a = {{t, 1, 2}, {{1, 2}, {3, 4}}};
    A b = a; b.n[t % 3] = 50; b.m[t & 1][1] = -1;
    A c = t & 1 ? a : b;
    out[t] = a.n[0] + total(b) * 3 + total(c) + total(A{});
}

// snippet: constructors, defaults and lists
struct I { int k = 9; };
struct D { int n; int m = 7; I in; __device__ D() : n(1) {}
    __device__ D(int a) : n(a) { m += a; } __device__ D(int a, int b) : n{a}, m(b) { in.k = n; }
    __device__ int twice() const { return 2 * n + m; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    D a, b(t), c{t, 2}, d = D(3, t), e = t;
    D g[2] = {D(1), D(2, 3)};
    D h[3];
    out[t] = a.n + b.n * 2 + c.n * 3 + d.m + e.n + g[1].m + g[0].m + h[2].m + D(4).twice() + b.in.k;
}

// snippet: first values without a constructor
struct Acc { int sum = 3; int count = 0; __device__ void add(int v) { sum += v; ++count; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Acc a; Acc b{t}; Acc c = {};
    a.add(t); if (t & 1) a.add(5); b.add(1); c.add(2);
    out[t] = a.sum * a.count + b.sum + c.count;
}

// snippet: operators that are methods
struct V { int x, y; __device__ V() {}
    __device__ V(int a, int b) : x(a), y(b) {}
    __device__ V operator+(V o) const { return V(x + o.x, y + o.y); }
    __device__ V& operator+=(const V& o) { x += o.x; y += o.y; return *this; }
    __device__ void operator-=(const V& o) { x -= o.x; y -= o.y; }
    __device__ V& operator++() { ++x; return *this; }
    __device__ V operator++(int) { V old = *this; ++y; return old; }
    __device__ V operator-() const { return V(-x, -y); }
    __device__ V& operator=(const V& o) { x = o.x; y = o.y + 1; return *this; }
    __device__ bool operator==(const V& o) const { return x == o.x && y == o.y; }
    __device__ int operator[](int i) const { return i ? y : x; }
    __device__ int operator()(int a, int b) const { return a * x + b * y; }
    __device__ int operator*() const { return x * y; }
    __device__ explicit operator bool() const { return x > 3; } };
__device__ bool operator<(const V& a, const V& b) { return a.x < b.x; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    V a(t, 1), b(2, 3), c;
    c = a + b; c += a; c -= b; ++c; c++;
    V d = -c; bool same = a == a, less = a < b;
    c = d;
    out[t] = c.x * 1000 + c.y + same + less + c[0] + c(1, 2) + (c ? 1 : 0) + *c;
}
