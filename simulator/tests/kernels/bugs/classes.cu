// Planted bugs: classes and unions.

// bug: a method reads a member that nobody has written
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
// expect: uninitialised uninitialised array=this.b at=((0,0,0),(60,0,0)) count=4
struct Pair {
    float a, b;
    __device__ float sum() const {
        return a + b;  // BUG
    }
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Pair p;
    p.a = x[t];
    if (t < 60) p.b = 1.0f;
    y[t] = p.sum();
}

// bug: a constructor forgets a member
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
// expect: uninitialised uninitialised array=this.step count=64
struct Count {
    int n, step;
    __device__ Count(int a) : n(a) {}
    __device__ void next() { n += step; }  // BUG
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Count c(t);
    c.next();
    y[t] = c.n;
}

// bug: an operator [] beyond its array in an object
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
// expect: out_of_bounds out-of-bounds at=((0,0,0),(9,0,0)) count=1
struct Row {
    float v[4];
    __device__ float& operator[](int i) { return v[i]; }
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Row r = {{1, 2, 3, 4}};
    int i = t == 9 ? 4 : t % 4;
    y[t] = r[i];  // BUG
}

// bug: a method writes past a global array
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
// expect: out_of_bounds out-of-bounds array=y index=64 at=((0,0,0),(63,0,0)) count=1 also=races
struct Matrix {
    float* data;
    int width;
    __device__ void set(int i, int j, float value) {
        data[i * width + j] = value;  // BUG
    }
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Matrix m{y, 8};
    m.set(t / 8, t % 8 + 1, x[t]);
}

// bug: objects in shared memory without a barrier
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
// expect: races shared array=s
struct Pair5 {
    float a, b;
    __device__ float sum() const { return a + b; }
    __device__ void scale(float k) { a *= k; }
};
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    __shared__ Pair5 s[64];
    s[t].a = x[t];  // OTHER
    s[t].b = 1.0f;
    y[t] = s[63 - t].a;  // BUG
    __syncthreads();
    s[t].scale(2.0f);
}

// bug: a union read as what nobody wrote
// launch: <<<1, 64>>> x:f32[64]=0..63 y:f32[64] n=64
// expect: uninitialised uninitialised count=64
union Bits { double d; float f[2]; };
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    Bits b;
    b.f[0] = x[t];
    y[t] = b.f[1];  // BUG
}
