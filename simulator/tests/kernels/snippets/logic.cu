// Small pieces that are easy to get wrong: logic. The second implementation says what they compute.

// snippet: && assigns in some threads
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    if(t>3 && (c=5)>t) out[t]=1; else out[t]=2;
    out[t]+=c*10;
}

// snippet: || counts in some threads
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    bool b = t<2 || ++c;
    out[t]=100*c+b;
}

// snippet: || assigns in some threads
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    bool b = t<2 || (c=7)>3;
    out[t]=100*c+b;
}

// snippet: ?: assigns in its arms
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0,d=0;
    int r = t<2 ? (c=7) : (d=3);
    out[t]=100*c+r+d*1000;
}

// snippet: && adds in some threads
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    if (t<2 && (c+=x[t]+1)>0) out[t]=1;
    out[t]+=c*10;
}

// snippet: && overwrites in some threads
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=t;
    if (t<2 && (c=9)>0) out[t]=1;
    out[t]+=c*10;
}

// snippet: ?: of void
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=t;
    t<2 ? (void)(c=9) : (void)0;
    out[t]+=c*10;
}

// snippet: && calls what changes its argument
__device__ bool up(int& c) { c = 4; return true; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    if (t<2 && up(c)) out[t]=1;
    out[t]+=c*10;
}
