// Small pieces that are easy to get wrong: types. The second implementation says what they compute.

// snippet: half of numbers
#include <cuda_fp16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    const float a[8]={65519.0f,65520.0f,-65536.0f,2.9802322e-8f,2.9802326e-8f,1.00048828125f,0.1f,-0.0f};
    const int b[8]={2049,2051,65519,65520,-70000,2147483647,-2147483648,0};
    half h=a[t&7], g=b[t&7];
    if (t&8) h=(double)a[t&7]*1.0000000001;
    if (t&16) g=(unsigned)b[t&7];
    if (t&32) g=(long long)b[t&7]*3;
    f[t]=h;
    out[t]=__half_as_ushort(g)<<16|__half_as_ushort(h);
}

// snippet: numbers of half
#include <cuda_fp16.h>
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    const unsigned short bits[8]={0x7c00,0xfc00,0x7e00,0x7bff,0xd640,0x5640,0x0001,0xbbff};
    half h=__ushort_as_half(bits[t&7]);
    switch (t>>3) {
        case 0: out[t]=h; break;
        case 1: out[t]=(unsigned)h; break;
        case 2: out[t]=(short)h; break;
        case 3: out[t]=(unsigned short)h; break;
        case 4: out[t]=(signed char)h; break;
        case 5: out[t]=(unsigned char)h; break;
        case 6: out[t]=(int)((long long)h>>3); break;
        default: out[t]=(bool)h+2*!h+(h ? 4 : 8)+(h && t ? 16 : 0);
    }
    f[t]=(float)h;
}

// snippet: reads and writes past a cache
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __stcs(out+t, __ldcs(x+t)+__ldcg(x+63-t));
    float4* v=(float4*)f;
    if (t<16) __stcg(v+t, make_float4(t, __ldca(x+t), 2, 3));
    __syncthreads();
    if (t<32) __stwt(&f[t], __ldcv(f+t)+1.5);
    __stwb(out+t, __ldlu(out+t)+0.75f);
}

// snippet: memcpy
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    __shared__ int s[64];
    int mine[4]={t, t+1, t+2, t+3}, other[4]={-1,-2,-3,-4};
    memcpy(other+1, mine, 2*sizeof(int));
    memcpy(&s[t], &x[t], sizeof s[0]);
    __syncthreads();
    float y;
    int bits=0x3f800000+t;
    memcpy(&y, &bits, 4);
    f[t]=y;
    int sum=0;
    for (int i=0;i<4;++i) sum=sum*7+other[i];
    char* bytes=(char*)mine;
    memcpy(bytes, x, 5);
    memcpy(mine+2, &x[t&3], t%9);
    memset(other, t, t%17);
    out[t]=sum+s[63-t]+3*mine[0]+(mine[1]&255)+5*mine[2]+7*mine[3]+other[0]+2*other[3]+*(int*)memset(mine,-1,4);
    memcpy((void*)&f[t], (const float*)memcpy(s+t, s+t, 4), 0);
}

// snippet: enums
enum Colour { RED, GREEN=5, BLUE, };
enum class Op : unsigned char { ADD=1, MUL, NEG=MUL+7 };
typedef enum { READ=1<<0, WRITE=1<<1 } Flags;
template <Op op> __device__ int apply(int a, int b) { return op==Op::ADD ? a+b : a*b; }
__device__ int run(Op op, int a, int b) {
    switch (op) { case Op::ADD: return a+b; case Op::MUL: return a*b; default: return -a; }
}
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    Colour c=(Colour)(t%4);
    Op op=t%3==0 ? Op::ADD : t%3==1 ? Op::MUL : Op::NEG;
    enum { WIDTH=8, HALF=WIDTH/2 };
    int row[HALF];
    for (int i=0;i<HALF;++i) row[i]=i*c;
    switch (c) {
        case RED: row[0]=GREEN; break;
        case Colour::GREEN: row[1]=~c; break;
        case BLUE: row[2]=c ? -BLUE : 3;
        default: row[3]+=c<GREEN;
    }
    Flags both=static_cast<Flags>(READ|WRITE);
    out[t]=row[0]+10*row[1]+100*row[2]+1000*row[3]+apply<Op::ADD>(t,c);
    out[t]+=run(op,t,WIDTH)+(both & WRITE)+sizeof(Op);
    f[t]=c*0.5f+(op==Op::MUL)+(op<Op::NEG)+(int)op;
}

// snippet: headers and attributes
#include <cfloat>
#include <cmath>
#include <climits>
#include <stdint.h>
#include <sys/types.h>
[[nodiscard]] __device__ int scaled(int x, [[maybe_unused]] int unused) { return x/1024; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    [[maybe_unused]] uint8_t small=300+t;
    int64_t large=INT64_MAX-t;
    uint u=UINT_MAX;
    f[t]=t==0 ? INFINITY : t==1 ? -FLT_MAX : t==2 ? M_PI : t==3 ? FLT_EPSILON : (float)DBL_MAX_EXP;
    switch (t&3) {
        case 0: small+=1; [[fallthrough]];
        case 1: small+=CHAR_BIT; break;
        default: small=t;
    }
    out[t]=small+(int)(large>>32)+(u>>28)+scaled(INT_MIN/2, t)+(f[t]>FLT_MIN);
}

// snippet: instances of templates that are written out
template <typename T> __device__ T scaled(T x) { return 2*x; }
template <> __device__ float scaled<float>(float x) { return x/2; }
template <> __device__ unsigned scaled(unsigned x) { return x+100; }
template __device__ int scaled<int>(int);
template <int N, typename T> __device__ int total(const T* x) { return N+total<N-1>(x); }
template <> __device__ int total<1, int>(const int* x) { return x[1]; }
template <> __device__ int total<0>(const float* x) { return 0; }
template <typename T> __device__ T first();
template <> __device__ __forceinline__ int first<int>() { return 7; }
template <> __device__ __forceinline__ float first<float>() { return 0.25f; }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    float y=scaled(t*0.5f);
    f[t]=y+total<3>(&f[t])+first<float>();
    out[t]=scaled(t)+scaled((unsigned)t)+total<2>(x)+first<int>();
}

// snippet: operators of its own
struct Ratio { int up, down; };
enum class Bits { A=8, B=16 };
__device__ float3 operator+(const float3& a, const float3& b) {
    return make_float3(a.x+b.x, a.y+b.y, a.z+b.z);
}
__device__ float3 operator-(float3 a, float3 b) { return make_float3(a.x-b.x, a.y-b.y, a.z-b.z); }
__device__ float3 operator-(float3 a) { return make_float3(-a.x, -a.y, -a.z); }
template <typename T> __device__ T operator*(T a, float s) { return make_float3(a.x*s, a.y*s, a.z*s); }
__device__ float3 operator*(float s, float3 a) { return a*s; }
__device__ void operator+=(float3& a, float3 b) { a=a+b; }
__device__ Ratio operator*(Ratio a, Ratio b) { return {a.up*b.up, a.down*b.down}; }
__device__ Ratio operator*=(Ratio& a, const Ratio& b) { a=a*b; return a; }
__device__ Ratio operator<<(Ratio a, int count) { a.up <<= count; return a; }
__device__ bool operator==(Ratio a, Ratio b) { return a.up*b.down==b.up*a.down; }
__device__ bool operator<(Ratio a, Ratio b) { return a.up*b.down<b.up*a.down; }
__device__ bool operator!(Ratio a) { return a.up%2==0; }
__device__ Bits operator|(Bits a, Bits b) { return (Bits)((int)a|(int)b); }
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    float3 a=make_float3(t, 1, 2), b=a*2.0f, sum=make_float3(0, 0, 0);
    for (int i=0;i<3;++i) sum += 0.5f*(a+b)*(float)i - -a;
    const Ratio r={t+1, 3}, s={2, 5};
    Ratio q=r*s;
    q *= r;
    f[t]=sum.x+10*sum.y+100*sum.z;
    out[t]=q.up*100+q.down+(r==s)+2*(!r)+4*(r<s ? 1 : 0)+(int)(Bits::A|Bits::B)+(q<<2).up;
}
