// Planted bugs: between blocks.

// bug: blocks write to one place
// launch: <<<2, 32>>> out:i32[32]
// expect: races global array=out
extern "C" __global__ void k(int* out) {
    out[threadIdx.x] = blockIdx.x;  // BUG
}

// bug: histogram without atomics
// launch: <<<2, 64>>> data:i32[128]=0,1,2 bins:i32[3]
// expect: races global array=bins
extern "C" __global__ void k(const int* data, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[data[i]] += 1;  // BUG
}

// bug: an atomic against a plain read
// launch: <<<4, 32>>> count:i32[1] out:i32[4]
// expect: races global array=count index=0
extern "C" __global__ void k(int* count, int* out) {
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);  // OTHER
        out[blockIdx.x] = count[0];  // BUG
    }
}

// bug: an array is moved within itself
// launch: <<<2, 64>>> x:f32[128]=1..128 n=128
// expect: races global array=x
extern "C" __global__ void k(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) x[i] = x[i + 1];  // BUG
}

// bug: a block reads what another wrote
// launch: <<<2, 64>>> x:f32[128]=1..128 out:f32[128]
// expect: races global array=x
extern "C" __global__ void k(float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i;  // OTHER
    __syncthreads();
    out[i] = x[127 - i];  // BUG
}

// bug: last block: the writer's fence is missing
// launch: <<<4, 32>>> x:f32[32]=1..32 sums:f32[4] out:f32[1] arrived:u32[1]
// expect: races global array=sums
extern "C" __global__ void k(const float* x, float* sums, float* out, unsigned int* arrived) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 8; ++i) sum += x[blockIdx.x * 8 + i];
        sums[blockIdx.x] = sum;  // OTHER
        
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += sums[b];  // BUG
        *out = total;
    }
}

// bug: flag: the writer's fence is missing
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
// expect: races global array=data
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];  // OTHER
        
        __syncthreads();
        if (t == 0) *(volatile int*)flag = 1;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];  // BUG
    }
}

// bug: flag: the reader's fence is missing
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
// expect: races global array=data
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];  // OTHER
        __threadfence();
        __syncthreads();
        if (t == 0) *(volatile int*)flag = 1;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}
            
        }
        __syncthreads();
        out[t] = data[t];  // BUG
    }
}

// bug: flag: the fence is one for a block
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
// expect: races global array=data
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];  // OTHER
        __threadfence_block();
        __syncthreads();
        if (t == 0) *(volatile int*)flag = 1;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];  // BUG
    }
}

// bug: flag: set before the data
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
// expect: races global array=data
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t == 0) *(volatile int*)flag = 1;
        data[t] = 2.0f * x[t];  // OTHER
        __threadfence();
        __syncthreads();
        if (t == 0) ;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];  // BUG
    }
}

// bug: flag: set by a plain store
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
// expect: races global array=flag index=0
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];
        __threadfence();
        __syncthreads();
        if (t == 0) flag[0] = 1;  // BUG
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}  // OTHER
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];
    }
}

// bug: flag of a warp: the fence is missing
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: races shared array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        s[t] = x[t];  // OTHER
        
        __syncwarp();
        if (t == 0) flag = 1;
        out[t] = 0.0f;
    } else {
        while (flag == 0) {}
        __threadfence_block();
        out[t] = s[63 - t];  // BUG
    }
}

// bug: a row too long runs into the next
// launch: <<<1, (8, 4)>>> out:i32[15] rows=3 cols=5
// expect: out_of_bounds out-of-bounds array=out index=15 at=((0,0,0),(5,2,0)) count=3 also=races
extern "C" __global__ void k(int* out, int rows, int cols) {
    int col = threadIdx.x, row = threadIdx.y;
    if (row < rows) {
        out[row * cols + col] = 100 * row + col;  // BUG
    }
}
