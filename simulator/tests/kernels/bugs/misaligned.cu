// Planted bugs: misaligned.

// bug: float4 from the second element
// launch: <<<1, 8>>> x:f32[64]=1..64 y:f32[8]
// expect: misaligned misaligned array=x at=((0,0,0),(0,0,0)) count=8
extern "C" __global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    float4 v = *(const float4*)(x + 4 * i + 1);  // BUG
    y[i] = v.x;
}

// bug: rows of 6 floats read as float4
// launch: <<<1, 8>>> x:f32[64]=1..64 y:f32[8]
// expect: misaligned misaligned array=x at=((0,0,0),(1,0,0)) count=4
extern "C" __global__ void k(const float* x, float* y) {
    const float4* row = reinterpret_cast<const float4*>(x + 6 * threadIdx.x);
    float4 v = row[0];  // BUG
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
