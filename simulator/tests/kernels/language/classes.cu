// Classes, unions, namespaces and pointers to functions, as the front end knows them. Compiled, never run.
namespace geometry {
struct Vec {
    float x, y;
    __device__ Vec() : x(0.0f), y(0.0f) {}
    __device__ Vec(float a, float b) : x{a}, y(b) {}
    __device__ explicit Vec(int both) : x(both), y(both) {}
    __device__ Vec operator+(const Vec& o) const { return Vec(x + o.x, y + o.y); }
    __device__ Vec& operator+=(const Vec& o) { x += o.x; this->y += o.y; return *this; }
    __device__ float operator[](int i) const { return i == 0 ? x : y; }
    __device__ static Vec unit() { return {1.0f, 1.0f}; }
};
__device__ inline Vec operator*(float k, const Vec& v) { return Vec(k * v.x, k * v.y); }
namespace inner { constexpr int WIDTH = 4; enum class Axis { X, Y }; }
}
template <typename T, int N = geometry::inner::WIDTH> struct Pack {
    static constexpr int size = N;
    using value_type = T;
    T data[N];
    Pack() = default;
    __device__ explicit Pack(T v) { for (int i = 0; i < size; ++i) data[i] = v; }
    __device__ T& operator[](int i) { return data[i]; }
    __device__ const T& operator[](int i) const { return data[i]; }
    __device__ static Pack filled(T v) { return Pack(v); }
    template <typename U> __device__ U sum_as() const { U s = U(0); for (int i = 0; i < N; i++) s += data[i]; return s; }
};
template <> struct Pack<int, 1> { int only; __device__ int get() const { return only; } };
template <typename T> using Quad = Pack<T, 4>;
template <class T> struct SharedMemory {
    __device__ operator T*() { extern __shared__ int memory[]; return (T*)memory; }
};
union Bits { float f; unsigned u; unsigned char b[4]; };
class Counter {
public:
    __device__ void add(int by = 1) { n += by; }
    __device__ int get() const { return n; }
private:
    int n = 0;
};
struct Matrix {
    float* data;
    int ld;
    union { int flags; float scale; };
    __device__ float& operator()(int i, int j) const { return data[i * ld + j]; }
};
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
template <class F> __device__ float fold(F f, const float* v, int n) {
    float s = v[0];
    for (int i = 1; i < n; ++i) s = f(s, v[i]);
    return s;
}
__device__ float larger(float a, float b) { return a > b ? a : b; }
template <float (*F)(float, float)> __device__ float twice(float a) { return F(F(a, a), a); }
__device__ float apply(float (*op)(float, float), float a, float b) { return op(a, b); }
__device__ auto half_of(float a) { return a / 2; }
using namespace geometry;
extern "C" __global__ void classes(float* x, Matrix m, Counter* counters, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float* s = SharedMemory<float>();
    __shared__ Pack<int> packs[32];
    Vec v, w(1.0f, 2.0f);
    v += w;
    v = v + 2.0f * Vec::unit();
    Quad<float> p = Quad<float>::filled(2.0f), q;
    p[i % 4] += v[1];
    q = p;
    Bits b;
    b.f = p.sum_as<float>();
    b.b[3] &= 0x7f;
    Counter c;
    c.add();
    c.add(n);
    counters[i] = c;
    packs[threadIdx.x % 32][0] = c.get();
    s[threadIdx.x] = b.u >> 24;
    __syncthreads();
    const geometry::inner::Axis axis = inner::Axis::X;
    Pack<int, 1> one{7};
    m.flags = axis == inner::Axis::X ? 1 : 0;
    Pack<int>::value_type first = packs[0][Pack<float>::size - 1];
    m(i, 0) = fold(Add(), x, n) + fold(larger, x, n) + twice<larger>(x[i]) + apply(&larger, 1.0f, x[i]);
    auto scaled = [&](float a) { v.x += a; return a * p[1]; };
    auto shifted = [n, i](int k) -> int { return k + n * i; };
    auto [left, right] = v;
    x[i] = scaled(left) + shifted(1) + right;
    x[i] += s[0] + q[3] + one.get() + first + half_of(w.x) + static_cast<float>(m.flags);
}
