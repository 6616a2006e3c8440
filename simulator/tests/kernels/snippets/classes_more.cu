// Small pieces with classes, unions, namespaces and functions as values.

// snippet: conversions
struct Meters { float v; __device__ Meters(float a) : v(a) {}
    __device__ operator float() const { return v; } };
__device__ int len(Meters m) { return (int)(m.v * 10); }
__device__ float half(float a) { return a / 2; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Meters m = 2.5f; float g = m; m = 4.0f;
    out[t] = (int)m + (int)(g * 2) + len(3.0f) + len(m) + (m > 1.0f);
    f[t] = m * 2 + half(m);
}

// snippet: shared memory by its type
template <class T> struct SharedMemory {
    __device__ inline operator T*() { __shared__ int m[64]; return (T*)m; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int* s = SharedMemory<int>();
    s[t] = x[t];
    __syncthreads();
    SharedMemory<int> again; int* r = again;
    out[t] = r[63 - t];
}

// snippet: template of a class
template <typename T, int N>
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
template <class A, class B> __device__ A first_of(const Pair<A, B>& p) { return p.first * 2; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Ring<int, 4> r; r.clear();
    for (int i = 0; i <= t % 6; ++i) r.push(x[i]);
    const Ring<int, 4>& v = r;
    Pair<int, float> p{t, 0.5f};
    out[t] = v.last() + r[1] + Ring<int, 4>::size + sum(r) + p.first + first_of(p)
    + Ring<float, 2>::made(2.0f).items[1];
}

// snippet: a class for some arguments
template <class T> struct Size { __device__ static int get() { return 1; } };
template <> struct Size<float> { __device__ static int get() { return 2; } };
template <> struct Size<double> { __device__ int other(int k) const { return k * 3; } };
template <int N> struct Fib { static const int value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static const int value = 0; };
template <> struct Fib<1> { static const int value = 1; };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t] = Size<int>::get() + Size<float>::get() * 10 + Size<double>().other(t) + Fib<7>::value;
}

// snippet: functors and functions
struct Add { __device__ int operator()(int a, int b) const { return a + b; } };
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
    + (*f)(b, b); }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t] = fold(Add(), x, t % 5 + 1) + fold(Max{}, x, 3) + fold(Scale(3), x, 2) + fold(plus, x, 4)
    + with<plus>(t) + with<least>(t) + call(least, t, 5) + call(&plus, 1, 2);
}

// snippet: namespaces
__device__ int h(int k) { return k + 1000; }
namespace a { __device__ int f(int k) { return k + 1; } struct Box { int n;
    __device__ int get() const { return f(n) + n; } };
namespace b { constexpr int K = 5; enum class Kind { ONE, TWO = 2 };
    __device__ int g(int k) { return h(k) + f(k) + K; }
__device__ Kind kind(int k) { return k == 2 ? Kind::TWO : Kind::ONE; } } }
namespace { __device__ int hidden(int k) { return k * 2; } }
__device__ int f2(int k) { return k; }
namespace a { namespace b { __device__ int f(long k) { return 3 + (int)k; } } }
__device__ int f(short k) { return k * 2; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    using namespace a::b;
    namespace c = a;
    out[t] = K + a::b::f((long)t) + a::f(t) * 10 + ::f2(t) * 100 + c::b::g(2) + a::Box{t}.get()
    + (a::b::Kind::TWO == kind(2)) + hidden(1);
}

// snippet: early return and loops in methods
struct Finder { const int* p; int n; int steps;
    __device__ int find(int v) { for (int i = 0; i < n; ++i) { ++steps; if (p[i] == v) return i; if (i
    > 40) break; } steps += 1000; return -1; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Finder q{x, 64, 0};
    int at = q.find(x[t] > 0 ? t % 7 : -1);
    out[t] = at * 10 + q.steps;
}

// snippet: barrier within a method
struct Stage { int* s; int t; int count = 0; __device__ Stage(int* p, int i) : s(p), t(i) {}
    __device__ void put(int v) { __syncthreads(); s[t] = v; ++count; __syncthreads(); }
    __device__ int get(int d) { ++count; return s[(t + d) & 63]; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[64];
    Stage st(s, t);
    st.put(x[t]);
    int a = st.get(1);
    st.put(a);
    out[t] = st.get(5) + st.count;
}

// snippet: auto and references to results
struct Row { const int* p; __device__ const int& operator[](int i) const { return p[i]; } };
struct Grid { const int* p; int w; __device__ Row row(int i) const { return Row{p + i * w}; }
    __device__ const int& operator()(int i, int j) const { return p[i * w + j]; } };
__device__ auto deduced(int a) { if (a > 3) return a * 2; return a - 1; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Grid g{x, 8};
    auto r = g.row(t % 8);
    const int& c = g(1, t % 8);
    auto v = deduced(t);
    out[t] = r[2] + c + v + g.row(0).p[t];
}

// snippet: local class and template method
struct Any { int n; template <class T>
    __device__ T as() const { return T(n) / 2; } template <int N> __device__ int times() { return n * N; }
    template <class T> __device__ int cast(T v) { return (int)(v * n); } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    struct Local { int k; __device__ int plus(int v) const { return k + v; } };
    Local l{t}; Any a{3};
    out[t] = l.plus(2) + a.as<int>() + (int)(a.as<float>() * 2) + a.times<4>() + a.cast(1.5f);
}

// snippet: nested classes
struct Outer { typedef int Id; enum { RED = 5 }; enum class Mode { A, B };
    struct Inner { int v; __device__ void add(int n) { v += n; } }; Inner in; Id k = 2;
    __device__ int get() { in.add(10); Inner c = in; c.add(1); return c.v * k; } };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Outer o; o.in.v = t; o.in.add(o.k);
    Outer::Inner i{4}; i.add(1);
    Outer::Id id = 3;
    int got = o.get();
    out[t] = o.in.v + i.v + got + id + Outer::RED + (int)Outer::Mode::B;
}

// snippet: names for the members of an object
struct P { int a, b; };
__device__ P swapped(P p) { return {p.b, p.a}; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    P p{t, 2};
    auto [a, b] = p;
    a += 3;
    auto& [c, d] = p;
    d *= a;
    const auto [e, g] = swapped(p);
    out[t] = p.a + p.b * 10 + a + b + c + d + e * 2 + g;
}

// snippet: lambdas
template <class F> __device__ int fold(F f, const int* v, int n) {
    int s = v[0];
    for (int i = 1; i < n; ++i) s = f(s, v[i]);
    return s;
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
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
        + fold([&](int p, int q) { return p + q * w[1]; }, x, 3);
}

// snippet: a union of a struct without a name, and overloads by const
union S { struct __align__(4) { short low; short high; }; int whole; struct { int k; } other;
    union { int also; }; short in[2]; };
__device__ int& at(int4& v, int i) { return reinterpret_cast<int*>(&v)[i]; }
__device__ int at(const int4& v, int i) { return -reinterpret_cast<const int*>(&v)[i]; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    S s; s.whole = 0x10002 * t;
    s.low += 1;
    const int4 v = make_int4(1, 2, 3, t);
    int4 w = v;
    at(w, 1) += 10;
    out[t] = s.low + s.high * 3 + at(v, 3) + at(w, 1) + s.in[1] + s.other.k + s.also;
}
