// Small pieces that are easy to get wrong: functions and atomics. The second implementation says what they compute.

// snippet: shared struct
struct P { int a; float b; };
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ P s[64];
    s[t].a=x[t];
    s[t].b=t;
    __syncthreads();
    P q=s[63-t];
    P* w=&q;
    w->a+=1;
    out[t]=w->a;
    f[t]=q.b+s[t].b;
}

// snippet: struct fn
struct V { int i; float f; __device__ float get() const { return f*2; } };
__device__ V mk(int i,float f){ V v; v.i=i; v.f=f; return v; }
__device__ V add(const V& a, V b){ b.i+=a.i; b.f+=a.f; return b; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    V v=mk(t,2.f);
    v=add(v,mk(1,1.f));
    out[t]=v.i;
    f[t]=v.f+v.get();
}

// snippet: switch fall
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int r=0;
    switch(t%6){ case 0: r=1; case 1: r+=10; break; case 2: case 3: r=7; if(t>20) break; r+=100;
        default: r+=1000; }
    out[t]=r;
}

// snippet: switch return
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    switch(t&3){ case 0: out[t]=5; return; case 1: for(int i=0;i<9;++i){ if(i>t) break; out[t]+=i;
        } break; default: break; }
    out[t]+=1;
}

// snippet: atomic return
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int r=atomicAdd(&out[t],5);
    out[t]+=r;
    unsigned old=atomicExch((unsigned*)&out[t], 9u);
    out[t]+=old;
    f[t]=atomicAdd(&f[t],1.5f);
    double d=0;
}

// snippet: loop carried ptr
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    const int* p=x;
    int s=0;
    while(p < x+t){ s+=*p; p+=2; }
    out[t]=s;
    for(const int* q=x+63;q>x+60;--q) out[t]+=*q;
}

// snippet: syncthreads_count
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=__syncthreads_count(t%3==0);
    out[t]+=__syncthreads_or(t==5)*1000+__syncthreads_and(t<64)*10000;
}

// snippet: lambda-less auto
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    auto v = t*2.5f;
    auto w = x[t];
    const auto& r = w;
    f[t]=v;
    out[t]=r;
    using I = int;
    typedef unsigned U;
    I z=(U)3;
    out[t]+=z+sizeof(I)+sizeof(v)+sizeof v;
}

// snippet: early ret fn w/ local array
__device__ void fill(int* a,int t){ for(int i=0;i<4;++i) a[i]=i; if(t<9) return; a[t%4]=77; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int a[4];
    fill(a,t);
    out[t]=a[0]+a[1]*10+a[3]*100;
}

// snippet: min max mixed
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    out[t]=min(t,5)+max(3u,(unsigned)t)+min(x[t],(int)7)+abs(t-30);
    f[t]=fminf(t,3)+max(1.5f,(float)t)+fabsf(-2)+min(2.0f,1.0f)+pow(2.0f,3)+fmodf(t,3.f);
}

// snippet: ull shifts
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    unsigned long long u=1ull<<(t%64);
    out[t]=(int)(u>>32)+(int)u+__popcll(u);
    long long s=-(1LL<<40);
    out[t]+= (int)(s>>38)+(int)(s/1000000007);
}
