// Small pieces that are easy to get wrong: pointers and functions. The second implementation says what they compute.

// snippet: pointer swap
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int b0[64], b1[64];
    int* cur=b0;
    int* nxt=b1;
    cur[t]=x[t];
    __syncthreads();
    for (int i=1;i<64;i*=2){ nxt[t]=cur[t]+(t>=i?cur[t-i]:0); __syncthreads(); int* h=cur; cur=nxt; nxt=h; }
    out[t]=cur[t];
}

// snippet: array of pointers
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int b[2][64];
    int* p[2] = {b[0], b[1]};
    p[0][t]=x[t];
    p[1][t]=-x[t];
    __syncthreads();
    out[t]=p[t&1][63-t];
}

// snippet: array of pointers, the last ones null
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int b[64];
    int* p[4] = {b, b+1};
    b[t]=x[t];
    __syncthreads();
    out[t]=(p[t&3] ? p[t&3][t/2] : -1) + (p[3] == nullptr);
}

// snippet: recursion
__device__ int fib(int n){ return n<2?n:fib(n-1)+fib(n-2); }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=fib(t%10);
}

// snippet: macro
#define ADD(a,b) do { (a) += (b); } while (0)
#define SWAP(T,a,b) { T tmp = (a); a = b; b = tmp; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int u=t, w=5;
    SWAP(int,w,out[u]);
    out[u]+=w;
    for(int j=0;j<3;++j) ADD(out[u], j);
}

// snippet: return in loop fn
__device__ int find(const int* x,int v){ 
    for(int i=0;i<64;++i){ if(x[i]==v) return i; if (i>50) break; }
    return -1;
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=find(x,t);
}

// snippet: ref shared
__device__ void set(int& a,int v){ a=v; a+=1; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[64];
    s[t]=0;
    set(s[t],x[t]);
    __syncthreads();
    out[t]=s[63-t];
}

// snippet: ref to ref
__device__ void one(int& a,int v){ if(v&1) return; a+=v; }
__device__ void two(int& b,int v){ one(b,v); one(b,v+1); b*=2; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int v=1;
    two(v,t);
    out[t]=v;
}

// snippet: 3d shared
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[4][4][4];
    s[t/16][t/4%4][t%4]=x[t];
    __syncthreads();
    int (*q)[4]=s[1];
    out[t]=s[t%4][t/4%4][t/16]+q[1][2];
}

// snippet: const table
__constant__ int tab[5]={1,2,3,4,5};
constexpr int N=7;
static const int two = 2;
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=tab[t%5]+two*N;
}

// snippet: overloads
__device__ int g(int a){return a;}
__device__ int g(float a){return 100;}
__device__ float g(double a){return (float)a;}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=g(t)+g(0.5f)+g((unsigned char)3);
    f[t]=g(2.5);
}

// snippet: template fn
template <typename T> __device__ T mx(T a,T b){return a>b?a:b;}
template <int N> __device__ int sum(const int* p){int s=0; for(int i=0;i<N;++i) s+=p[i]; return s;}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=mx<int>(t,30)+mx(x[t],5)+sum<4>(x);
}
