// A bit of everything that the front end knows. It is compiled, never run.
#define TILE 8
#define AT(p, i, j) ((p)[(i) * TILE + (j)])
enum Colour { RED, GREEN = 4, BLUE };
enum class Step : unsigned char { UP = 1, DOWN = UP + 1 };
struct Pair { int index; float value; };
typedef unsigned int uint32;
__constant__ float weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
__device__ int counter = 0;
constexpr int HALF = TILE / 2;
static_assert(HALF * 2 == TILE, "even");
template <typename T> __device__ __forceinline__ T biggest(const T& a, const T& b) { return a < b ? b : a; }
template <typename T, int N = 4> __device__ T total(const T (&v)[N]) {
    T sum = T(0);
    for (int i = 0; i < N; ++i) sum += v[i];
    return sum;
}
template <> __device__ int biggest<int>(const int& a, const int& b) { return b < a ? a : b; }
template __device__ double biggest<double>(const double&, const double&);
__device__ float4 operator*(float s, const float4& v) { return make_float4(s * v.x, s * v.y, s * v.z, s * v.w); }
__device__ void operator+=(Pair& a, Pair b) { a.value += b.value; }
__device__ Pair best(Pair a, Pair b) { return a.value > b.value ? a : b; }
__device__ int which(int code) {
    switch (code & 3) {
        case 0: return 1;
        case 1:
        case 2: code += 2; break;
        default: code = -code;
    }
    return code;
}
__device__ void swap(float& a, float& b) { float t = a; a = b; b = t; }
extern "C" __global__ void __launch_bounds__(256) mixed(float* __restrict__ x, const float4* in, Pair* pairs, int n, unsigned long long mask) {
    __shared__ float tile[TILE][TILE + 1];
    extern __shared__ unsigned char raw[];
    float* buffer = reinterpret_cast<float*>(raw);
    const int tid = threadIdx.x + threadIdx.y * blockDim.x;
    uint32 bits = __ballot_sync(0xffffffffu, tid % 3 == 0);
    float4 v = in[blockIdx.x], w = make_float4(1.0f, v.x, -v.y, 0.5f * v.z);
    float local[4] = {w.x, w.y, w.z, w.w};
    auto s = total(local) + total<float, 4>(local);
    if (n <= 0 || (mask >> 3) & 1ull) return;
    do {
        s = biggest(s, 2.0f) * weights[tid & 3];
        --n;
    } while (n > 0 && s < 1e3f);
    while (true) { if (++n > 3) break; else continue; }
    swap(local[0], buffer[tid]);
    tile[threadIdx.y][threadIdx.x] = s;
    __syncthreads();
    Pair p = {tid, AT(x, 1, tid)}, q;
    q.index = which(tid); q.value = (float)n / HALF;
    pairs[tid] = best(p, q);
    q += p, v = 0.5f * v;
    if (tid == 0) atomicAdd(&counter, __popc(bits));
    x[tid] = !isnan(s) ? __shfl_down_sync(~0u, tile[0][tid], 1) : *(x + tid);
    for (uint32 k = 16u; k; k >>= 1) s += __shfl_xor_sync(0xffffffff, s, k, 32);
    ((float4*)x)[tid] = v;
    int (*rows)[4] = reinterpret_cast<int (*)[4]>(pairs), *flat = &rows[1][2];
    flat[0] ^= ~rows[0][1] | (n << 2), flat++;
    assert(tid < 256 && "at most 256" && !(n > 100));
    int left = __syncthreads_count(tid & 1) + __syncthreads_or(n), right = __syncthreads_and(s > 0.0f);
    if (tid == 0) printf("%d of %u: %5.2f %s, %lld%% at %p\n", left, blockDim.x, s, "done", (long long)right, x);
    else if (printf("x") != 0) n = printf("%c%-8d|%08.3e", 'c', tid, 0.5);
    [[maybe_unused]] Colour colour = n > 3 ? GREEN : Colour::BLUE;
    n = biggest(n, 3);
    Step step = static_cast<Step>(n & 1);
    if (step == Step::UP) n += colour; else if (colour != RED) n = -BLUE;
    __stcs(x + tid, __ldcg(x) + __ldcs(&in[0]).x);
    memcpy(local, x, sizeof(local));
    x[sizeof(Pair)] = static_cast<float>(n) + 'a' + 0x1F + 1.5e-3 + (double)tid;
}
