"""Pieces of CUDA C with classes, unions, namespaces and functions as values, in the form of
`cuda_snippets`."""

from __future__ import annotations

CLASS_SNIPPETS = {
    "method changes a register": (
        """
    P p{1, 2};
    if (t % 3) p.move(t, 5);
    for (int i = 0; i < t % 4; ++i) p.move(i, 1);
    out[t] = p.a * 100 + p.b + p.sum();""",
        """struct P { int a, b;
    __device__ void move(int x, int y) { a += x; if (x > 1) return; b -= y; }
    __device__ int sum() const { return a + b; } };""",
    ),
    "method of an element of shared memory": (
        """
    __shared__ C c[64];
    c[t].n = 0;
    c[t].add(x[t]);
    __syncthreads();
    C& other = c[63 - t];
    int before = other.n;
    __syncthreads();
    c[t].add(t).add(1);
    out[t] = before + c[t].n;""",
        """struct C { int n; __device__ C& add(int k) { n += k; return *this; } };""",
    ),
    "this escapes": (
        """
    S s; s.v = t; s.twice(); S* p = s.self(); p->v += 3;
    out[t] = s.v + touch(s) + s.v;""",
        """struct S { int v; __device__ void twice() { help(this); } __device__ S* self() { return this; }
    __device__ static void help(S* s) { s->v *= 2; } };
__device__ int touch(S& s) { s.v += 7; return s.v; }""",
    ),
    "object with a pointer in it": (
        """
    __shared__ int s[64];
    s[t] = x[t];
    __syncthreads();
    View v(s, 64);
    v.shift(t % 8);
    int last = v.at(0);
    View w = v; w.shift(1);
    View& r = w; r.shift(1);
    change(w);
    out[t] = last + v[1] * 10 + w[2] + w.n;""",
        """struct View { const int* p; int n; __device__ View(const int* q, int m) : p(q), n(m) {}
    __device__ int at(int i) const { return p[i % n]; }
    __device__ int operator[](int i) const { return at(i); }
    __device__ void shift(int k) { p += k; n -= k; } };
__device__ void change(View& v) { v.shift(2); }""",
    ),
    "array of pointers by index": (
        """
    __shared__ int b[3][64];
    for (int i = 0; i < 3; ++i) b[i][t] = x[t] * (i + 1);
    __syncthreads();
    T tab;
    for (int i = 0; i < 3; ++i) tab.row[i] = b[i];
    const int* q = tab.row[t % 3];
    tab.row[t % 2] = tab.row[2];
    out[t] = q[t] + tab.row[0][63 - t] + tab.row[1][t];""",
        """struct T { const int* row[3]; };""",
    ),
    "union of float and int": (
        """
    U u; u.f = (float)x[t] * 0.5f;
    unsigned sign = u.u >> 31;
    u.u &= 0x7fffffffu;
    U w = u; w.b[3] |= 0x80;
    out[t] = (int)sign + (int)w.f + u.h[0] + (w.u == (u.u | 0x80000000u));
    f[t] = w.f;""",
        """union U { float f; unsigned u; unsigned char b[4]; unsigned short h[2]; };""",
    ),
    "union of float4 and array": (
        """
    Q q; q.v = make_float4(t, 1, 2, 3);
    q.a[t % 4] += 10;
    Q z = {}; z.a[3] = q.v.w;
    float s = 0; for (int i = 0; i < 4; ++i) s += q.a[i] + z.a[i];
    f[t] = s + q.v.x;""",
        """union Q { float4 v; float a[4]; };""",
    ),
    "union without a name": (
        """
    M m; m.i = 0x3f800000 + t; m.kind = 1;
    M n = m; n.flip();
    f[t] = m.f + n.f + n.kind;""",
        """struct M { int kind; union { int i; float f; };
    __device__ void flip() { i ^= 0x80000000; kind++; } };""",
    ),
    "union and parameter by value": (
        """
    out[t] = low(x[t]) + low(Word{-1}.w) + swap(Word{x[t]}).w;""",
        """union Word { int w; signed char c[4]; };
__device__ Word swap(Word a) { signed char k = a.c[0]; a.c[0] = a.c[3]; a.c[3] = k; return a; }
__device__ int low(int v) { Word a; a.w = v; return swap(a).c[0] + swap(a).w; }""",
    ),
    "struct with arrays by value": (
        """
    A a = {{t, 1, 2}, {{1, 2}, {3, 4}}};
    A b = a; b.n[t % 3] = 50; b.m[t & 1][1] = -1;
    A c = t & 1 ? a : b;
    out[t] = a.n[0] + total(b) * 3 + total(c) + total(A{});""",
        """struct A { int n[3]; int m[2][2]; };
__device__ int total(A a) { a.n[0] += 1; return a.n[0] + a.n[1] + a.n[2] + a.m[0][1] * 2 + a.m[1][1]; }""",
    ),
    "constructors, defaults and lists": (
        """
    D a, b(t), c{t, 2}, d = D(3, t), e = t;
    D g[2] = {D(1), D(2, 3)};
    D h[3];
    out[t] = a.n + b.n * 2 + c.n * 3 + d.m + e.n + g[1].m + g[0].m + h[2].m + D(4).twice() + b.in.k;""",
        """struct I { int k = 9; };
struct D { int n; int m = 7; I in; __device__ D() : n(1) {}
    __device__ D(int a) : n(a) { m += a; } __device__ D(int a, int b) : n{a}, m(b) { in.k = n; }
    __device__ int twice() const { return 2 * n + m; } };""",
    ),
    "first values without a constructor": (
        """
    Acc a; Acc b{t}; Acc c = {};
    a.add(t); if (t & 1) a.add(5); b.add(1); c.add(2);
    out[t] = a.sum * a.count + b.sum + c.count;""",
        """struct Acc { int sum = 3; int count = 0; __device__ void add(int v) { sum += v; ++count; } };""",
    ),
    "operators that are methods": (
        """
    V a(t, 1), b(2, 3), c;
    c = a + b; c += a; c -= b; ++c; c++;
    V d = -c; bool same = a == a, less = a < b;
    c = d;
    out[t] = c.x * 1000 + c.y + same + less + c[0] + c(1, 2) + (c ? 1 : 0) + *c;""",
        """struct V { int x, y; __device__ V() {}
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
__device__ bool operator<(const V& a, const V& b) { return a.x < b.x; }""",
    ),
    "conversions": (
        """
    Meters m = 2.5f; float g = m; m = 4.0f;
    out[t] = (int)m + (int)(g * 2) + len(3.0f) + len(m) + (m > 1.0f);
    f[t] = m * 2 + half(m);""",
        """struct Meters { float v; __device__ Meters(float a) : v(a) {}
    __device__ operator float() const { return v; } };
__device__ int len(Meters m) { return (int)(m.v * 10); }
__device__ float half(float a) { return a / 2; }""",
    ),
    "shared memory by its type": (
        """
    int* s = SharedMemory<int>();
    s[t] = x[t];
    __syncthreads();
    SharedMemory<int> again; int* r = again;
    out[t] = r[63 - t];""",
        """template <class T> struct SharedMemory {
    __device__ inline operator T*() { __shared__ int m[64]; return (T*)m; } };""",
    ),
    "template of a class": (
        """
    Ring<int, 4> r; r.clear();
    for (int i = 0; i <= t % 6; ++i) r.push(x[i]);
    const Ring<int, 4>& v = r;
    Pair<int, float> p{t, 0.5f};
    out[t] = v.last() + r[1] + Ring<int, 4>::size + sum(r) + p.first + first_of(p)
    + Ring<float, 2>::made(2.0f).items[1];""",
        """template <typename T, int N>
    struct Ring { T items[N]; int head; static constexpr int size = N * 2; using type = T;
    __device__ void clear() { head = 0; for (int i = 0; i < N; ++i) items[i] = T(0); }
    __device__ void push(T v) { items[head++ % N] = v; }
    __device__ T last() const { return items[(head + N - 1) % N]; }
    __device__ T& operator[](int i) { return items[i]; }
    __device__ static Ring made(T v) { Ring r; r.head = 0; for (auto i = 0; i < N; i++) r[i] = v;
    return r; } };
template <typename T, int N>
    __device__ typename Ring<T, N>::type sum(const Ring<T, N>& r) { T s = 0; for (int i = 0; i < N;
    ++i) s += r.items[i]; return s; }
template <class A, class B> struct Pair { A first; B second; };
template <class A, class B> __device__ A first_of(const Pair<A, B>& p) { return p.first * 2; }""",
    ),
    "a class for some arguments": (
        """
    out[t] = Size<int>::get() + Size<float>::get() * 10 + Size<double>().other(t) + Fib<7>::value;""",
        """template <class T> struct Size { __device__ static int get() { return 1; } };
template <> struct Size<float> { __device__ static int get() { return 2; } };
template <> struct Size<double> { __device__ int other(int k) const { return k * 3; } };
template <int N> struct Fib { static const int value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static const int value = 0; };
template <> struct Fib<1> { static const int value = 1; };""",
    ),
    "functors and functions": (
        """
    out[t] = fold(Add(), x, t % 5 + 1) + fold(Max{}, x, 3) + fold(Scale(3), x, 2) + fold(plus, x, 4)
    + with<plus>(t) + with<least>(t) + call(least, t, 5) + call(&plus, 1, 2);""",
        """struct Add { __device__ int operator()(int a, int b) const { return a + b; } };
struct Max { __device__ int operator()(int a, int b) { return a > b ? a : b; } };
struct Scale { int k; __device__ Scale(int n) : k(n) {}
    __device__ int operator()(int a, int b) const { return a + k * b; } };
__device__ int plus(int a, int b) { return a + b; }
__device__ int least(int a, int b) { return a < b ? a : b; }
template <class F>
    __device__ int fold(F f, const int* v, int n) { int s = v[0]; for (int i = 1; i < n; ++i) s = f(s,
    v[i]); return s; }
template <int (*F)(int, int)> __device__ int with(int a) { return F(a, 10); }
__device__ int call(int (*f)(int, int), int a, int b) { int (*g)(int, int) = f; return g(a, b)
    + (*f)(b, b); }""",
    ),
    "namespaces": (
        """
    using namespace a::b;
    namespace c = a;
    out[t] = K + a::b::f((long)t) + a::f(t) * 10 + ::f2(t) * 100 + c::b::g(2) + a::Box{t}.get()
    + (a::b::Kind::TWO == kind(2)) + hidden(1);""",
        """__device__ int h(int k) { return k + 1000; }
namespace a { __device__ int f(int k) { return k + 1; } struct Box { int n;
    __device__ int get() const { return f(n) + n; } };
namespace b { constexpr int K = 5; enum class Kind { ONE, TWO = 2 };
    __device__ int g(int k) { return h(k) + f(k) + K; }
__device__ Kind kind(int k) { return k == 2 ? Kind::TWO : Kind::ONE; } } }
namespace { __device__ int hidden(int k) { return k * 2; } }
__device__ int f2(int k) { return k; }
namespace a { namespace b { __device__ int f(long k) { return 3 + (int)k; } } }
__device__ int f(short k) { return k * 2; }""",
    ),
    "early return and loops in methods": (
        """
    Finder q{x, 64, 0};
    int at = q.find(x[t] > 0 ? t % 7 : -1);
    out[t] = at * 10 + q.steps;""",
        """struct Finder { const int* p; int n; int steps;
    __device__ int find(int v) { for (int i = 0; i < n; ++i) { ++steps; if (p[i] == v) return i; if (i
    > 40) break; } steps += 1000; return -1; } };""",
    ),
    "barrier within a method": (
        """
    __shared__ int s[64];
    Stage st(s, t);
    st.put(x[t]);
    int a = st.get(1);
    st.put(a);
    out[t] = st.get(5) + st.count;""",
        """struct Stage { int* s; int t; int count = 0; __device__ Stage(int* p, int i) : s(p), t(i) {}
    __device__ void put(int v) { __syncthreads(); s[t] = v; ++count; __syncthreads(); }
    __device__ int get(int d) { ++count; return s[(t + d) & 63]; } };""",
    ),
    "auto and references to results": (
        """
    Grid g{x, 8};
    auto r = g.row(t % 8);
    const int& c = g(1, t % 8);
    auto v = deduced(t);
    out[t] = r[2] + c + v + g.row(0).p[t];""",
        """struct Row { const int* p; __device__ const int& operator[](int i) const { return p[i]; } };
struct Grid { const int* p; int w; __device__ Row row(int i) const { return Row{p + i * w}; }
    __device__ const int& operator()(int i, int j) const { return p[i * w + j]; } };
__device__ auto deduced(int a) { if (a > 3) return a * 2; return a - 1; }""",
    ),
    "local class and template method": (
        """
    struct Local { int k; __device__ int plus(int v) const { return k + v; } };
    Local l{t}; Any a{3};
    out[t] = l.plus(2) + a.as<int>() + (int)(a.as<float>() * 2) + a.times<4>() + a.cast(1.5f);""",
        """struct Any { int n; template <class T>
    __device__ T as() const { return T(n) / 2; } template <int N> __device__ int times() { return n * N; }
    template <class T> __device__ int cast(T v) { return (int)(v * n); } };""",
    ),
    "nested classes": (
        """
    Outer o; o.in.v = t; o.in.add(o.k);
    Outer::Inner i{4}; i.add(1);
    Outer::Id id = 3;
    int got = o.get();
    out[t] = o.in.v + i.v + got + id + Outer::RED + (int)Outer::Mode::B;""",
        """struct Outer { typedef int Id; enum { RED = 5 }; enum class Mode { A, B };
    struct Inner { int v; __device__ void add(int n) { v += n; } }; Inner in; Id k = 2;
    __device__ int get() { in.add(10); Inner c = in; c.add(1); return c.v * k; } };""",
    ),
    "names for the members of an object": (
        """
    P p{t, 2};
    auto [a, b] = p;
    a += 3;
    auto& [c, d] = p;
    d *= a;
    const auto [e, g] = swapped(p);
    out[t] = p.a + p.b * 10 + a + b + c + d + e * 2 + g;""",
        """struct P { int a, b; };
__device__ P swapped(P p) { return {p.b, p.a}; }""",
    ),
    "lambdas": (
        """
    __shared__ int s[64];
    int a = t, b = 2, w[3] = {1, 2, 3};
    auto add = [&](int k) { a += k; s[t] = a; return a * b; };
    auto keep = [=](int k) { return a + b + k + w[k % 3]; };
    auto count = [b]() mutable -> int { b++; return b; };
    auto larger = [](int x, int y) { return x < y ? y : x; };
    int first = add(3);
    for (int i = 0; i < t % 4; ++i) add(i);
    b = 10;
    __syncthreads();
    int c = count(), d = count();
    out[t] = first + a + keep(t) + c * 100 + d + larger(t, 30) + s[63 - t] + fold(larger, x, 4)
        + fold([&](int p, int q) { return p + q * w[1]; }, x, 3);""",
        """template <class F> __device__ int fold(F f, const int* v, int n) {
    int s = v[0];
    for (int i = 1; i < n; ++i) s = f(s, v[i]);
    return s;
}""",
    ),
    "a union of a struct without a name, and overloads by const": (
        """
    S s; s.whole = 0x10002 * t;
    s.low += 1;
    const int4 v = make_int4(1, 2, 3, t);
    int4 w = v;
    at(w, 1) += 10;
    out[t] = s.low + s.high * 3 + at(v, 3) + at(w, 1) + s.in[1] + s.other.k + s.also;""",
        """union S { struct __align__(4) { short low; short high; }; int whole; struct { int k; } other;
    union { int also; }; short in[2]; };
__device__ int& at(int4& v, int i) { return reinterpret_cast<int*>(&v)[i]; }
__device__ int at(const int4& v, int i) { return -reinterpret_cast<const int*>(&v)[i]; }""",
    ),
}
