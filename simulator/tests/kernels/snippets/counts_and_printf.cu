// Small pieces that are easy to get wrong: counts and printf. The second implementation says what they compute.

// snippet: a block counts
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int n=__syncthreads_count(x[t]>20);
    out[t]=n*100+__syncthreads_and(x[t]>=0)*10+__syncthreads_or(x[t]==63);
}

// snippet: a block counts the threads that are left
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    if (x[t]>40) return;
    out[t]=__syncthreads_count(t&1);
    if (t&2) return;
    out[t]+=100*__syncthreads_count(1)+__syncthreads_and(t);
}

// snippet: a block counts in a loop
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int left=x[t]%7, n=0;
    do { n+=__syncthreads_count(left>0); --left; } while (__syncthreads_or(left>0));
    out[t]=n;
}

// snippet: a block counts in a function
__device__ int many(int a,int b) {
    if (__syncthreads_or(a<0)) return 0;
    return __syncthreads_count(a>b);
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=many(x[t],10)+many(t,20);
}

// snippet: a block counts as an operand
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=__syncthreads_or(t==3) && __syncthreads_and(t<64) ? __syncthreads_count(t<5) : -1;
}

// snippet: printf
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int r=printf("%d %5.2f|%-6u|%+d %#x %c\n", x[t], x[t]*0.25, (unsigned)t, -t, t, 65+t%26);
    out[t]=r;
    if (t%7==0) printf("%s: %lld %e %G %08.3f%%\n", "seven", (long long)t<<33, t*1e-9f, t*1e10, -t/3.0);
}

// snippet: printf in an arm
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    t<9 && printf("<%d>\n", t);
    out[t]=t&1 ? printf("odd %d\n", t) : printf("even\n");
}

// snippet: assert that holds
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    assert(t<64 && "never");
    assert(("a comma", t>=0));
    out[t]=(assert(x[t]>=0), t);
}
