// Small pieces that are easy to get wrong: flow. The second implementation says what they compute.

// snippet: ternary ptr store
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int a=1,b=2;
    int* p = t&1 ? &a : &b;
    *p = 50;
    *(t&2 ? &a : &b) += t;
    out[t]=a*1000+b;
}

// snippet: ternary lvalue
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int a=1,b=2;
    (t&1 ? a : b) = 9;
    out[t]=a*10+b;
}

// snippet: incr order
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int i=t;
    int j=i++ + 1;
    out[t]=j*100+i;
    out[t] += --i * 2;
    int arr[3]={0,0,0};
    int q=0;
    arr[q++]=5;
    arr[q++]=6;
    out[t]+=arr[0]+arr[1]+q;
}

// snippet: shadow
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int v=1;
    { int v=2; v+=t; out[t]=v; }
    for(int v=0;v<2;++v) out[t]+=v;
    out[t]+=v;
}

// snippet: uniform then vary
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int n=10;
    for(int i=0;i<10;++i){ if(i==t) break; n=i; }
    out[t]=n;
    int c=0;
    while(c<t){ c+=3; if(c==9) return; }
    out[t]+=c*1000;
}

// snippet: varying continue
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0,d=0;
    for(int i=0;i<8;++i){ if((i^t)&1) continue; c++; d=i; }
    out[t]=c*100+d;
}

// snippet: do while continue
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int i=0,c=0;
    do { i++; if(i%2==t%2) continue; c+=i; } while(i<9);
    out[t]=c;
}

// snippet: nested break
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    for(int i=0;i<5;++i){ for(int j=0;j<5;++j){ if(j>t%4) break; if(i==j) continue; c+=i*j+1;
        } if(c>t) break; }
    out[t]=c;
}

// snippet: logical side
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int c=0;
    if(t>3 && (c=5)>t) out[t]=1; else out[t]=2;
    out[t]+=c*10;
    bool b = t<2 || ++c;
    out[t]+=100*c+b;
}

// snippet: comma decl
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    int a=t, b=a+1, *p=&a;
    *p=7;
    out[t]=a+b;
    unsigned u=-1;
    out[t]+= u>5;
    long long big=u;
    big+=u;
    f[t]=big;
}
