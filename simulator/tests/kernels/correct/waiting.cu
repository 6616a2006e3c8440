// Correct kernels: flags, fences and who waits.

// correct: flag between two fences
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];
        __threadfence();
        __syncthreads();
        if (t == 0) *(volatile int*)flag = 1;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];
    }
}

// correct: flag of a block that begins later
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
// expect: note resident
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        
        data[t] = 2.0f * x[t];
        __threadfence();
        __syncthreads();
        if (t == 0) *(volatile int*)flag = 1;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];
    }
}

// correct: flag by atomics, with a pause
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) __nanosleep(50);
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];
    }
}

// correct: flag of a warp
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        s[t] = x[t];
        __threadfence_block();
        __syncwarp();
        if (t == 0) flag = 1;
        out[t] = 0.0f;
    } else {
        while (flag == 0) {}
        __threadfence_block();
        out[t] = s[63 - t];
    }
}

// correct: last block: the reader's fence is missing
// launch: <<<4, 32>>> x:f32[32]=1..32 sums:f32[4] out:f32[1] arrived:u32[1]
// expect: note last-block
extern "C" __global__ void k(const float* x, float* sums, float* out, unsigned int* arrived) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 8; ++i) sum += x[blockIdx.x * 8 + i];
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += sums[b];
        *out = total;
    }
}

// correct: last block, with both fences
// launch: <<<4, 32>>> x:f32[32]=1..32 sums:f32[4] out:f32[1] arrived:u32[1]
extern "C" __global__ void k(const float* x, float* sums, float* out, unsigned int* arrived) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 8; ++i) sum += x[blockIdx.x * 8 + i];
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += sums[b];
        *out = total;
    }
}
