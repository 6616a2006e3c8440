"""Small pieces of CUDA C that are easy to get wrong; the second implementation says what they compute.

Each is the body of `k(const int* x, int* out, float* f)` for 64 threads with `t`, and what stands before it.
"""

from __future__ import annotations

SNIPPETS = {
    "pointer swap": (
        """
    __shared__ int b0[64], b1[64];
    int* cur=b0;
    int* nxt=b1;
    cur[t]=x[t];
    __syncthreads();
    for (int i=1;i<64;i*=2){ nxt[t]=cur[t]+(t>=i?cur[t-i]:0); __syncthreads(); int* h=cur; cur=nxt; nxt=h; }
    out[t]=cur[t];""",
        """""",
    ),
    "array of pointers": (
        """
    __shared__ int b[2][64];
    int* p[2] = {b[0], b[1]};
    p[0][t]=x[t];
    p[1][t]=-x[t];
    __syncthreads();
    out[t]=p[t&1][63-t];""",
        """""",
    ),
    "array of pointers, the last ones null": (
        """
    __shared__ int b[64];
    int* p[4] = {b, b+1};
    b[t]=x[t];
    __syncthreads();
    out[t]=(p[t&3] ? p[t&3][t/2] : -1) + (p[3] == nullptr);""",
        """""",
    ),
    "recursion": (
        """
    out[t]=fib(t%10);""",
        """__device__ int fib(int n){ return n<2?n:fib(n-1)+fib(n-2); }""",
    ),
    "macro": (
        """
    int u=t, w=5;
    SWAP(int,w,out[u]);
    out[u]+=w;
    for(int j=0;j<3;++j) ADD(out[u], j);""",
        """#define ADD(a,b) do { (a) += (b); } while (0)
#define SWAP(T,a,b) { T tmp = (a); a = b; b = tmp; }""",
    ),
    "return in loop fn": (
        """
    out[t]=find(x,t);""",
        """__device__ int find(const int* x,int v){ 
    for(int i=0;i<64;++i){ if(x[i]==v) return i; if (i>50) break; }
    return -1;
}""",
    ),
    "ref shared": (
        """
    __shared__ int s[64];
    s[t]=0;
    set(s[t],x[t]);
    __syncthreads();
    out[t]=s[63-t];""",
        """__device__ void set(int& a,int v){ a=v; a+=1; }""",
    ),
    "ref to ref": (
        """
    int v=1;
    two(v,t);
    out[t]=v;""",
        """__device__ void one(int& a,int v){ if(v&1) return; a+=v; }
__device__ void two(int& b,int v){ one(b,v); one(b,v+1); b*=2; }""",
    ),
    "3d shared": (
        """
    __shared__ int s[4][4][4];
    s[t/16][t/4%4][t%4]=x[t];
    __syncthreads();
    int (*q)[4]=s[1];
    out[t]=s[t%4][t/4%4][t/16]+q[1][2];""",
        """""",
    ),
    "const table": (
        """
    out[t]=tab[t%5]+two*N;""",
        """__constant__ int tab[5]={1,2,3,4,5};
constexpr int N=7;
static const int two = 2;""",
    ),
    "overloads": (
        """
    out[t]=g(t)+g(0.5f)+g((unsigned char)3);
    f[t]=g(2.5);""",
        """__device__ int g(int a){return a;}
__device__ int g(float a){return 100;}
__device__ float g(double a){return (float)a;}""",
    ),
    "template fn": (
        """
    out[t]=mx<int>(t,30)+mx(x[t],5)+sum<4>(x);""",
        """template <typename T> __device__ T mx(T a,T b){return a>b?a:b;}
template <int N> __device__ int sum(const int* p){int s=0; for(int i=0;i<N;++i) s+=p[i]; return s;}""",
    ),
    "ternary ptr store": (
        """
    int a=1,b=2;
    int* p = t&1 ? &a : &b;
    *p = 50;
    *(t&2 ? &a : &b) += t;
    out[t]=a*1000+b;""",
        """""",
    ),
    "ternary lvalue": (
        """
    int a=1,b=2;
    (t&1 ? a : b) = 9;
    out[t]=a*10+b;""",
        """""",
    ),
    "incr order": (
        """
    int i=t;
    int j=i++ + 1;
    out[t]=j*100+i;
    out[t] += --i * 2;
    int arr[3]={0,0,0};
    int q=0;
    arr[q++]=5;
    arr[q++]=6;
    out[t]+=arr[0]+arr[1]+q;""",
        """""",
    ),
    "shadow": (
        """
    int v=1;
    { int v=2; v+=t; out[t]=v; }
    for(int v=0;v<2;++v) out[t]+=v;
    out[t]+=v;""",
        """""",
    ),
    "uniform then vary": (
        """
    int n=10;
    for(int i=0;i<10;++i){ if(i==t) break; n=i; }
    out[t]=n;
    int c=0;
    while(c<t){ c+=3; if(c==9) return; }
    out[t]+=c*1000;""",
        """""",
    ),
    "varying continue": (
        """
    int c=0,d=0;
    for(int i=0;i<8;++i){ if((i^t)&1) continue; c++; d=i; }
    out[t]=c*100+d;""",
        """""",
    ),
    "do while continue": (
        """
    int i=0,c=0;
    do { i++; if(i%2==t%2) continue; c+=i; } while(i<9);
    out[t]=c;""",
        """""",
    ),
    "nested break": (
        """
    int c=0;
    for(int i=0;i<5;++i){ for(int j=0;j<5;++j){ if(j>t%4) break; if(i==j) continue; c+=i*j+1;
        } if(c>t) break; }
    out[t]=c;""",
        """""",
    ),
    "logical side": (
        """
    int c=0;
    if(t>3 && (c=5)>t) out[t]=1; else out[t]=2;
    out[t]+=c*10;
    bool b = t<2 || ++c;
    out[t]+=100*c+b;""",
        """""",
    ),
    "comma decl": (
        """
    int a=t, b=a+1, *p=&a;
    *p=7;
    out[t]=a+b;
    unsigned u=-1;
    out[t]+= u>5;
    long long big=u;
    big+=u;
    f[t]=big;""",
        """""",
    ),
    "char arith": (
        """
    char c=200;
    unsigned char u=c;
    c+=100;
    u*=3;
    short s=70000;
    out[t]=c+u*1000+s;
    bool q=2;
    out[t]+=q;
    q=0.5f;
    out[t]+=q;
    out[t]+= 'a'+'\\n';""",
        """""",
    ),
    "float convert": (
        """
    f[t]=1/3+1/3.f+t*0.1;
    f[t]+= (float)0x7fffffff;
    f[t] += 1e10f;
    double d=f[t];
    f[t]=d*1e-10;
    out[t]=(int)3.99f+(int)-3.99;""",
        """""",
    ),
    "shared struct": (
        """
    __shared__ P s[64];
    s[t].a=x[t];
    s[t].b=t;
    __syncthreads();
    P q=s[63-t];
    P* w=&q;
    w->a+=1;
    out[t]=w->a;
    f[t]=q.b+s[t].b;""",
        """struct P { int a; float b; };""",
    ),
    "struct fn": (
        """
    V v=mk(t,2.f);
    v=add(v,mk(1,1.f));
    out[t]=v.i;
    f[t]=v.f+v.get();""",
        """struct V { int i; float f; __device__ float get() const { return f*2; } };
__device__ V mk(int i,float f){ V v; v.i=i; v.f=f; return v; }
__device__ V add(const V& a, V b){ b.i+=a.i; b.f+=a.f; return b; }""",
    ),
    "switch fall": (
        """
    int r=0;
    switch(t%6){ case 0: r=1; case 1: r+=10; break; case 2: case 3: r=7; if(t>20) break; r+=100;
        default: r+=1000; }
    out[t]=r;""",
        """""",
    ),
    "switch return": (
        """
    switch(t&3){ case 0: out[t]=5; return; case 1: for(int i=0;i<9;++i){ if(i>t) break; out[t]+=i;
        } break; default: break; }
    out[t]+=1;""",
        """""",
    ),
    "atomic return": (
        """
    int r=atomicAdd(&out[t],5);
    out[t]+=r;
    unsigned old=atomicExch((unsigned*)&out[t], 9u);
    out[t]+=old;
    f[t]=atomicAdd(&f[t],1.5f);
    double d=0;""",
        """""",
    ),
    "loop carried ptr": (
        """
    const int* p=x;
    int s=0;
    while(p < x+t){ s+=*p; p+=2; }
    out[t]=s;
    for(const int* q=x+63;q>x+60;--q) out[t]+=*q;""",
        """""",
    ),
    "syncthreads_count": (
        """
    out[t]=__syncthreads_count(t%3==0);
    out[t]+=__syncthreads_or(t==5)*1000+__syncthreads_and(t<64)*10000;""",
        """""",
    ),
    "lambda-less auto": (
        """
    auto v = t*2.5f;
    auto w = x[t];
    const auto& r = w;
    f[t]=v;
    out[t]=r;
    using I = int;
    typedef unsigned U;
    I z=(U)3;
    out[t]+=z+sizeof(I)+sizeof(v)+sizeof v;""",
        """""",
    ),
    "early ret fn w/ local array": (
        """
    int a[4];
    fill(a,t);
    out[t]=a[0]+a[1]*10+a[3]*100;""",
        """__device__ void fill(int* a,int t){ for(int i=0;i<4;++i) a[i]=i; if(t<9) return; a[t%4]=77; }""",
    ),
    "min max mixed": (
        """
    out[t]=min(t,5)+max(3u,(unsigned)t)+min(x[t],(int)7)+abs(t-30);
    f[t]=fminf(t,3)+max(1.5f,(float)t)+fabsf(-2)+min(2.0f,1.0f)+pow(2.0f,3)+fmodf(t,3.f);""",
        """""",
    ),
    "ull shifts": (
        """
    unsigned long long u=1ull<<(t%64);
    out[t]=(int)(u>>32)+(int)u+__popcll(u);
    long long s=-(1LL<<40);
    out[t]+= (int)(s>>38)+(int)(s/1000000007);""",
        """""",
    ),
    "&& assigns in some threads": (
        """
    int c=0;
    if(t>3 && (c=5)>t) out[t]=1; else out[t]=2;
    out[t]+=c*10;""",
        """""",
    ),
    "|| counts in some threads": (
        """
    int c=0;
    bool b = t<2 || ++c;
    out[t]=100*c+b;""",
        """""",
    ),
    "|| assigns in some threads": (
        """
    int c=0;
    bool b = t<2 || (c=7)>3;
    out[t]=100*c+b;""",
        """""",
    ),
    "?: assigns in its arms": (
        """
    int c=0,d=0;
    int r = t<2 ? (c=7) : (d=3);
    out[t]=100*c+r+d*1000;""",
        """""",
    ),
    "&& adds in some threads": (
        """
    int c=0;
    if (t<2 && (c+=x[t]+1)>0) out[t]=1;
    out[t]+=c*10;""",
        """""",
    ),
    "&& overwrites in some threads": (
        """
    int c=t;
    if (t<2 && (c=9)>0) out[t]=1;
    out[t]+=c*10;""",
        """""",
    ),
    "?: of void": (
        """
    int c=t;
    t<2 ? (void)(c=9) : (void)0;
    out[t]+=c*10;""",
        """""",
    ),
    "&& calls what changes its argument": (
        """
    int c=0;
    if (t<2 && up(c)) out[t]=1;
    out[t]+=c*10;""",
        """__device__ bool up(int& c) { c = 4; return true; }""",
    ),
    "a block counts": (
        """
    int n=__syncthreads_count(x[t]>20);
    out[t]=n*100+__syncthreads_and(x[t]>=0)*10+__syncthreads_or(x[t]==63);""",
        """""",
    ),
    "a block counts the threads that are left": (
        """
    if (x[t]>40) return;
    out[t]=__syncthreads_count(t&1);
    if (t&2) return;
    out[t]+=100*__syncthreads_count(1)+__syncthreads_and(t);""",
        """""",
    ),
    "a block counts in a loop": (
        """
    int left=x[t]%7, n=0;
    do { n+=__syncthreads_count(left>0); --left; } while (__syncthreads_or(left>0));
    out[t]=n;""",
        """""",
    ),
    "a block counts in a function": (
        """
    out[t]=many(x[t],10)+many(t,20);""",
        """__device__ int many(int a,int b) {
    if (__syncthreads_or(a<0)) return 0;
    return __syncthreads_count(a>b);
}""",
    ),
    "a block counts as an operand": (
        """
    out[t]=__syncthreads_or(t==3) && __syncthreads_and(t<64) ? __syncthreads_count(t<5) : -1;""",
        """""",
    ),
    "printf": (
        """
    int r=printf("%d %5.2f|%-6u|%+d %#x %c\\n", x[t], x[t]*0.25, (unsigned)t, -t, t, 65+t%26);
    out[t]=r;
    if (t%7==0) printf("%s: %lld %e %G %08.3f%%\\n", "seven", (long long)t<<33, t*1e-9f, t*1e10, -t/3.0);""",
        """""",
    ),
    "printf in an arm": (
        """
    t<9 && printf("<%d>\\n", t);
    out[t]=t&1 ? printf("odd %d\\n", t) : printf("even\\n");""",
        """""",
    ),
    "assert that holds": (
        """
    assert(t<64 && "never");
    assert(("a comma", t>=0));
    out[t]=(assert(x[t]>=0), t);""",
        """""",
    ),
    "half of numbers": (
        """
    const float a[8]={65519.0f,65520.0f,-65536.0f,2.9802322e-8f,2.9802326e-8f,1.00048828125f,0.1f,-0.0f};
    const int b[8]={2049,2051,65519,65520,-70000,2147483647,-2147483648,0};
    half h=a[t&7], g=b[t&7];
    if (t&8) h=(double)a[t&7]*1.0000000001;
    if (t&16) g=(unsigned)b[t&7];
    if (t&32) g=(long long)b[t&7]*3;
    f[t]=h;
    out[t]=__half_as_ushort(g)<<16|__half_as_ushort(h);""",
        """#include <cuda_fp16.h>""",
    ),
    "numbers of half": (
        """
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
    f[t]=(float)h;""",
        """#include <cuda_fp16.h>""",
    ),
    "reads and writes past a cache": (
        """
    __stcs(out+t, __ldcs(x+t)+__ldcg(x+63-t));
    float4* v=(float4*)f;
    if (t<16) __stcg(v+t, make_float4(t, __ldca(x+t), 2, 3));
    __syncthreads();
    if (t<32) __stwt(&f[t], __ldcv(f+t)+1.5);
    __stwb(out+t, __ldlu(out+t)+0.75f);""",
        """""",
    ),
    "memcpy": (
        """
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
    memcpy((void*)&f[t], (const float*)memcpy(s+t, s+t, 4), 0);""",
        """""",
    ),
    "enums": (
        """
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
    f[t]=c*0.5f+(op==Op::MUL)+(op<Op::NEG)+(int)op;""",
        """enum Colour { RED, GREEN=5, BLUE, };
enum class Op : unsigned char { ADD=1, MUL, NEG=MUL+7 };
typedef enum { READ=1<<0, WRITE=1<<1 } Flags;
template <Op op> __device__ int apply(int a, int b) { return op==Op::ADD ? a+b : a*b; }
__device__ int run(Op op, int a, int b) {
    switch (op) { case Op::ADD: return a+b; case Op::MUL: return a*b; default: return -a; }
}""",
    ),
    "headers and attributes": (
        """
    [[maybe_unused]] uint8_t small=300+t;
    int64_t large=INT64_MAX-t;
    uint u=UINT_MAX;
    f[t]=t==0 ? INFINITY : t==1 ? -FLT_MAX : t==2 ? M_PI : t==3 ? FLT_EPSILON : (float)DBL_MAX_EXP;
    switch (t&3) {
        case 0: small+=1; [[fallthrough]];
        case 1: small+=CHAR_BIT; break;
        default: small=t;
    }
    out[t]=small+(int)(large>>32)+(u>>28)+scaled(INT_MIN/2, t)+(f[t]>FLT_MIN);""",
        """#include <cfloat>
#include <cmath>
#include <climits>
#include <stdint.h>
#include <sys/types.h>
[[nodiscard]] __device__ int scaled(int x, [[maybe_unused]] int unused) { return x/1024; }""",
    ),
    "instances of templates that are written out": (
        """
    float y=scaled(t*0.5f);
    f[t]=y+total<3>(&f[t])+first<float>();
    out[t]=scaled(t)+scaled((unsigned)t)+total<2>(x)+first<int>();""",
        """template <typename T> __device__ T scaled(T x) { return 2*x; }
template <> __device__ float scaled<float>(float x) { return x/2; }
template <> __device__ unsigned scaled(unsigned x) { return x+100; }
template __device__ int scaled<int>(int);
template <int N, typename T> __device__ int total(const T* x) { return N+total<N-1>(x); }
template <> __device__ int total<1, int>(const int* x) { return x[1]; }
template <> __device__ int total<0>(const float* x) { return 0; }
template <typename T> __device__ T first();
template <> __device__ __forceinline__ int first<int>() { return 7; }
template <> __device__ __forceinline__ float first<float>() { return 0.25f; }""",
    ),
    "operators of its own": (
        """
    float3 a=make_float3(t, 1, 2), b=a*2.0f, sum=make_float3(0, 0, 0);
    for (int i=0;i<3;++i) sum += 0.5f*(a+b)*(float)i - -a;
    const Ratio r={t+1, 3}, s={2, 5};
    Ratio q=r*s;
    q *= r;
    f[t]=sum.x+10*sum.y+100*sum.z;
    out[t]=q.up*100+q.down+(r==s)+2*(!r)+4*(r<s ? 1 : 0)+(int)(Bits::A|Bits::B)+(q<<2).up;""",
        """struct Ratio { int up, down; };
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
__device__ Bits operator|(Bits a, Bits b) { return (Bits)((int)a|(int)b); }""",
    ),
    "arithmetic of halves": (
        """
    const unsigned short bits[16]={0x7c00,0xfc00,0x7e00,0x7bff,0xd640,0x5640,0x0001,0xbbff,
                                   0x3c00,0x8000,0x4248,0x03ff,0x7801,0xb555,0x2e66,0x4900};
    half h=__ushort_as_half(bits[t&15]), g=__ushort_as_half(bits[(t*7+t/16)&15]), r=h;
    switch (t>>4) {
        case 0: r=h+g*h-h/g; break;
        case 1: r+=g; r*=1.5f; r-=1; ++r; r--; break;
        case 2: r=-h; r=h<g ? __hmax(h, g) : __hfma(h, g, __hsub(g, h)); break;
        default: r=hsqrt(__habs(h))+hrcp(g)+hfloor(h)+__hmin(h, g);
    }
    f[t]=__hisnan(r) ? -7777.0f : (float)r;
    out[t]=(h<g)+2*(h<=g)+4*(h==g)+8*(h!=g)+16*(h>=g)+32*__hne(h, g)+64*__hltu(h, g)+128*__hisinf(h)
        +256*__hadd(t, 3)+__half2int_rn(g)%1000+(__half2uint_rn(h)&255)+(int)(__ll2half_rn(t*t)/half(3));""",
        """#include <cuda_fp16.h>""",
    ),
    "pairs of halves": (
        """
    __shared__ half2 s[64];
    half2 a=make_half2(t*0.5f, 3-t), b(1.5f, t), c=__float2half2_rn(0.1f), d[2]={a, __half2half2(b.y)};
    s[t]=a*b+c;
    __syncthreads();
    const half2* p=s;
    a=p[63-t];
    a+=b;
    a-=-c;
    d[t&1]*=__hfma2(a, b, __lowhigh2highlow(c))/__half2(2, 4);
    b.x+=a.y;
    a=t%3 ? __hmax2(a, d[1]) : __highs2half2(d[0], b);
    float2 q=__half22float2(__hadd2(a, h2sqrt(__habs2(b))));
    f[t]=q.x+q.y;
    half2 words=reinterpret_cast<const half2*>(bits)[t&3];
    out[t]=(int)__low2float(d[t&1])+__half_as_short(__high2half(words))+sizeof(half2);
    out[t]+=(int)__hmin2(a, b).x;""",
        """#include <cuda_fp16.h>
__constant__ unsigned short bits[8]={0x3c00,0x4000,0x4248,0x3555,0xbc00,0x0001,0x7bff,0x3800};""",
    ),
    "half by reference, in arrays and in a function": (
        """
    __shared__ half s[64];
    half a[2][2]={{1, x[t]}, {0.1f}};
    set(s[t], a[t&1][1]);
    __syncthreads();
    const half* p=s+63-t;
    f[t]=twice(*p);
    out[t]=sizeof(a)+(int)__shfl_xor_sync(~0u, s[t], 1)+(int)(p-s);""",
        """#include <cuda_fp16.h>
__device__ void set(half& to, half value) { to = value; }
__device__ float twice(half x) { return 2.0f * __half2float(x); }""",
    ),
    "arithmetic of bfloat16": (
        """
    const unsigned short bits[16]={0x7f80,0xff80,0x7fff,0x7f7f,0xc2c8,0x42c8,0x0001,0xbf7f,
                                   0x3f80,0x8000,0x4049,0x007f,0x7f01,0xb555,0x3dcd,0x4120};
    __nv_bfloat16 h=__ushort_as_bfloat16(bits[t&15]), g=__short_as_bfloat16(bits[(t*7+t/16)&15]), r=h;
    switch (t>>4) {
        case 0: r=h+g*h-h/g; break;
        case 1: r+=g; r*=1.5f; r-=1; ++r; r--; break;
        case 2: r=-h; r=h<g ? __hmax(h, g) : __hfma(h, g, __hsub_rn(g, h)); break;
        default: r=hsqrt(__habs(h))+hrcp(g)+hfloor(h)+__hmin(h, g)*htrunc(g);
    }
    f[t]=__hisnan(r) ? -7777.0f : (float)r;
    out[t]=(h<g)+2*(h<=g)+4*(h==g)+8*(h!=g)+16*(h>=g)+32*__hne(h, g)+64*__hltu(h, g)+128*__hisinf(h)
        +256*(unsigned)__bfloat162uint_rd(h)+__bfloat162int_ru(g)%1000+(int)hrint(g)%7
        +__bfloat16_as_ushort(__hneg(g))*!__hisnan(g);""",
        """#include <cuda_bf16.h>""",
    ),
    "bfloat16 of all other numbers, and back": (
        """
    long long far=(x[t]*0x10001LL+1)<<(t%40);
    __nv_bfloat16 a=far, b=__double2bfloat16(1.0+x[t]/256.0+ldexp(1.0, -40)), c=__ull2bfloat16_rn(far);
    __nv_bfloat16 d=(unsigned char)(x[t]*9), e=x[t]*0.1f, u=__uint2bfloat16_rn(~0u>>t%32);
    __nv_bfloat16 g=(__nv_bfloat16)(half)(x[t]*1.001f);
    f[t]=(float)a+10.0f*__bfloat162float(b)+(float)d;
    half small=(half)e;
    out[t]=__bfloat16_as_ushort(c)+(int)g+(signed char)a+(unsigned short)e+(int)((float)small*1000)
        +(t%3 ? !d : 7)+(int)(long long)u%1000;
    if (e) out[t]+=1000000*__bfloat16_as_short(e);""",
        """#include <cuda_bf16.h>""",
    ),
    "a fused product and sum of bfloat16, rounded once": (
        """
    __nv_bfloat16 one=__ushort_as_bfloat16(0x3f81), tiny=__ushort_as_bfloat16(0x3f80-t*0x80*2);
    f[t]=__hfma(one, one, t&1 ? tiny : -tiny);
    out[t]=__bfloat16_as_ushort(__hfma(one, __ushort_as_bfloat16(0x3f80+t), tiny*tiny));""",
        """#include <cuda_bf16.h>""",
    ),
    "pairs of bfloat16": (
        """
    __shared__ __nv_bfloat162 s[64];
    __nv_bfloat162 a=make_bfloat162(t*0.37f, 3-t), b(1.5f, t), c=__float2bfloat162_rn(0.1f), d[2]={a, b};
    s[t]=a*b+c;
    __syncthreads();
    const __nv_bfloat162* p=s;
    a=p[63-t];
    a+=b;
    a-=-c;
    d[t&1]*=__hfma2(a, b, __lowhigh2highlow(c))/__nv_bfloat162(3, 4);
    b.x+=a.y;
    a=t%3 ? __hmax2(a, d[1]) : __highs2bfloat162(d[0], __bfloat162bfloat162(b.y));
    float2 q=__bfloat1622float2(__hadd2(a, h2sqrt(__habs2(b))));
    f[t]=q.x+q.y;
    __nv_bfloat162 words=reinterpret_cast<const __nv_bfloat162*>(bits)[t&3];
    out[t]=(int)__low2float(d[t&1])+__bfloat16_as_short(__high2bfloat16(words))+sizeof(__nv_bfloat162);
    out[t]+=(int)__hmin2(a, b).x+(int)__shfl_xor_sync(~0u, b.y, 3);""",
        """#include <cuda_bf16.h>
__constant__ unsigned short bits[8]={0x3f80,0x4000,0x4248,0x3555,0xbc00,0x0001,0x7bff,0x3800};""",
    ),
    "the larger and the smaller of two zeros": (
        """
    half h=__ushort_as_half(t&1 ? 0x8000 : 0), g=__ushort_as_half(t&2 ? 0x8000 : 0);
    __nv_bfloat16 b=__ushort_as_bfloat16(t&1 ? 0x8000 : 0), c=__ushort_as_bfloat16(t&2 ? 0x8000 : 0);
    out[t]=__half_as_ushort(__hmax(h, g))+(__half_as_ushort(__hmin(h, g))>>1)
        +(__bfloat16_as_ushort(__hmax(b, c))>>2)+(__bfloat16_as_ushort(__hmin(b, c))>>3);""",
        """#include <cuda_bf16.h>""",
    ),
    "a block and its tiles": (
        """
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(warp);
    cg::thread_block_tile<8> forgets = quarter;
    __shared__ int s[64];
    s[block.thread_rank()] = x[t];
    block.sync();
    int v = cg::reduce(warp, s[block.size() - 1 - t], cg::plus<int>());
    v += 1000 * quarter.shfl_xor(t, 5) + quarter.shfl(x[t], 9);
    v += quarter.shfl_up(t, 3) - warp.shfl_down(x[t], 4);
    v ^= quarter.ballot(x[t] & 1) << 8 | quarter.any(t == 3) << 3 | warp.all(t < 40);
    out[t] = v + 7 * quarter.meta_group_rank() + forgets.meta_group_size() * warp.meta_group_rank();
    f[t] = cg::reduce(quarter, x[t] * 0.1f, cg::plus<float>());
    f[t] += cg::reduce(quarter, f[t], cg::greater<float>());
    cg::sync(quarter);
    out[t] += cg::reduce(quarter, x[t], cg::bit_xor<int>()) + cg::reduce(forgets, t, cg::less<int>());""",
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;""",
    ),
    "groups of any kind in functions": (
        """
    __shared__ int s[64];
    thread_block block = this_thread_block();
    thread_group four = tiled_partition(block, 4);
    out[t] = total(block, s, x[t]) + 3 * total(four, s + t / 4 * 4, t);
    thread_block_tile<16> tile = tiled_partition<16>(block);
    out[t] += spread(tile, x[t]) + first<thread_block>(block) + first(tile) + (int)group_size(tile);
    out[t] += total(tile, s + t / 16 * 16, x[t] & 7) + tile_of(tiled_partition<2>(tile));""",
        """#include <cooperative_groups.h>
using namespace cooperative_groups;
__device__ int total(thread_group group, int* s, int v) {
    int rank = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        group.sync();
        s[rank] = v;
        group.sync();
        if (rank < i) v += s[rank + i];
    }
    group.sync();
    if (rank == 0) s[0] = v;
    group.sync();
    v = s[0];
    group.sync();
    return v;
}
template <unsigned N> __device__ int spread(const thread_block_tile<N>& tile, int v) {
    return tile.shfl(v, N / 2);
}
template <typename G> __device__ int first(const G& group) { return group.thread_rank() == 0; }
template <unsigned N, typename P> __device__ int tile_of(thread_block_tile<N, P> tile) {
    return 100 * N + tile.meta_group_rank() + tile.meta_group_size();
}""",
    ),
    "coalesced threads": (
        """
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::labeled_partition(warp, x[t] % 3);
    out[t] = 100 * part.meta_group_rank() + part.meta_group_size() + cg::reduce(part, x[t], cg::plus<int>());
    out[t] += 7 * part.shfl_up(t, 1) + 11 * part.shfl_down(x[t], 2) + part.shfl(t, 0) + part.thread_rank();
    f[t] = cg::inclusive_scan(part, x[t] * 0.5f) + cg::exclusive_scan(warp, x[t] * 0.25f);
    out[t] += cg::exclusive_scan(part, t, cg::greater<int>()) + (part.ballot(t & 2) & 0xff);
    if (x[t] % 3 == 1) { part.sync(); out[t] += part.size() + part.any(t > 60) + part.all(x[t] > -9); }""",
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;""",
    ),
    "threads that run together": (
        """
    out[t] = -1;
    if (t % 32 > 6 && t % 3) {
        cg::coalesced_group g = cg::coalesced_threads();
        out[t] = 100 * g.size() + g.thread_rank() + 1000 * g.shfl(x[t], 3);
        out[t] += cg::reduce(g, t, cg::plus<int>());
        f[t] = cg::reduce(g, x[t] * 0.1f, cg::plus<float>());
    } else {
        auto others = cg::coalesced_threads();
        out[t] = others.num_threads() + 100 * others.ballot(x[t] & 2) + others.meta_group_size();
    }
    __syncwarp();
    for (int i = 0; i < (t & 3) + 1; i++) {
        auto still = cg::coalesced_threads();
        out[t] += still.size() << 4 * i;
    }
    __syncwarp();
    if (t > 40) return;
    auto rest = cg::coalesced_threads();
    out[t] ^= rest.size() << 20 | rest.all(t < 41) << 27;""",
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;""",
    ),
    "parts of threads that run together": (
        """
    auto part = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), x[t] % 3);
    auto four = cg::tiled_partition(part, 4);
    auto same = cg::tiled_partition(part, 16);
    out[t] = four.thread_rank() + 10 * four.meta_group_rank() + 100 * four.meta_group_size();
    out[t] += 10000 * four.size();
    out[t] += 100000 * same.meta_group_rank() + 1000000 * same.meta_group_size();
    auto two = cg::binary_partition(part, x[t] > 20);
    auto one = cg::binary_partition(four, true);
    f[t] = two.meta_group_rank() + 10 * two.meta_group_size() + 100 * one.meta_group_size();
    f[t] += 1000 * two.size();
    f[t] += 100000 * cg::labeled_partition(part, t % 5 == 1).meta_group_rank();
    out[t] += cg::inclusive_scan(two, t);""",
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;""",
    ),
    "a sum of a whole warp that runs together": (
        """
    cg::coalesced_group g = cg::coalesced_threads();
    f[t] = cg::reduce(g, 1.0f / (x[t] + 3), cg::plus<float>());
    out[t] = cg::reduce(g, x[t], cg::less<int>()) + g.shfl_down(t, 3) + 100 * g.shfl_up(t, 30);""",
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;""",
    ),
    "sums of halves and of bfloat16 in groups": (
        """
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    auto part = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), x[t] % 3);
    __nv_bfloat16 b = x[t] * 1.01f;
    half h = x[t] * 33.3f;
    f[t] = cg::reduce(tile, b, cg::plus<__nv_bfloat16>());
    f[t] += 1000 * (float)cg::reduce(part, b, cg::plus<__nv_bfloat16>()) + (float)tile.shfl_down(b, 3);
    f[t] += (float)cg::inclusive_scan(tile, b, cg::plus<__nv_bfloat16>());
    f[t] += (float)cg::exclusive_scan(part, b);
    out[t] = 7 * (int)cg::reduce(tile, h, cg::plus<half>()) + (int)cg::inclusive_scan(part, h);
    out[t] += (int)cg::reduce(part, b, cg::less<__nv_bfloat16>()) + (int)part.shfl(h, 1);""",
        """#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;""",
    ),
    "a lock with a pause": (
        """
    __shared__ int lock, sum;
    if (t == 0) { lock = 0; sum = 0; }
    __syncthreads();
    unsigned ns = 8;
    for (bool done = false; !done; ) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            sum += x[t];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        } else {
            __nanosleep(ns);
            if (ns < 256) ns *= 2;
        }
    }
    __threadfence_system();
    __syncthreads();
    out[t] = sum;""",
        """""",
    ),
    "volatile numbers": (
        """
    volatile int a = x[t], b = 3;
    volatile unsigned char c = t * 5;
    volatile long long l = a * 3000000000LL;
    volatile float g = 0.5f * t;
    a += b++;
    c <<= 1;
    l -= ++a;
    g = g * g + a;
    volatile bool odd = a & 1;
    while (b < 9) b = b + 2;
    for (volatile int i = 0; i < 3; i++) c += i;
    out[t] = a + b * 100 + c + (int)(l % 1000) + (odd ? 7 : b) + (b, a);
    f[t] = g++ + g;""",
        """""",
    ),
    "volatile shared arrays and pointers": (
        """
    __shared__ volatile int s[2][64];
    __shared__ int plain[64];
    s[0][t] = x[t];
    s[1][63 - t] = t;
    __syncthreads();
    volatile int* p = s[1] + t;
    volatile int (*rows)[64] = s;
    int* q = (int*)&s[0][t];
    const volatile int* r = plain;
    plain[t] = *p + rows[0][63 - t];
    __syncthreads();
    *q += const_cast<int&>(*p) + r[t ^ 1];
    __syncthreads();
    p = &plain[t];
    (*p)++;
    ++*p;
    int* volatile w = plain;
    int* volatile* ww = &w;
    out[t] = s[0][t] * 3 + p[0] + (p - plain) + (*ww)[t] + (p == w + t);""",
        """""",
    ),
    "the sum of a warp, as it was written once": (
        """
    __shared__ int s[96];
    s[t] = x[t];
    if (t < 32) s[64 + t] = 0;
    __syncthreads();
    if (t < 32) sum_of_warp(s, t);
    __syncthreads();
    out[t] = s[0] + s[t & 31];""",
        """__device__ void sum_of_warp(volatile int* s, int t) {
    for (int i = 32; i > 0; i /= 2) {
        int v = s[t] + s[t + i];
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
}""",
    ),
    "overloads by const and volatile": (
        """
    int a = x[t];
    const int b = t;
    volatile int c = 3;
    const volatile int d = 4;
    out[t] = of(&a) + 10 * of(&b) + 100 * of(&c) + 1000 * of(&d) + 10000 * of((void*)out);
    f[t] = by(a) + 10 * by(b) + 100 * by(c) + 1000 * by(d) + 10000 * by(t + 1) + 100000 * of(x);
    out[t] += 100000 * few(&a) + 1000000 * few(&c) + 10000000 * two(out, x) + 20000000 * two(&c, out);""",
        """__device__ int of(int* p) { return 1; }
__device__ int of(const int* p) { return 2; }
__device__ int of(volatile int* p) { return 3; }
__device__ int of(const volatile int* p) { return 4; }
__device__ int of(const volatile void* p) { return 5; }
__device__ int by(int& p) { return 1; }
__device__ int by(const int& p) { return 2; }
__device__ int by(volatile int& p) { return 3; }
__device__ int by(const volatile int& p) { return 4; }
__device__ int few(const int* p) { return 1; }
__device__ int few(const volatile int* p) { return 2; }
__device__ int two(volatile int* p, const int* q) { return 1; }
__device__ int two(int* p, const volatile int* q) { return 2; }
__device__ int two(int* p, const int* q) { return 3; }
__device__ int two(volatile int* p, int* q) { return 4; }""",
    ),
    "templates of volatile types": (
        """
    volatile int a = x[t];
    int b = t;
    out[t] = plain(&a) + plain(&b) + 10 * changed(a) + 10 * changed(b) + last(&a, b) + size(a);
    Cell<volatile int> cell{3};
    cell.value += b;
    Cell<volatile int*> at{&cell.value};
    *at.value *= 2;
    f[t] = cell.get() + 1000 * kind(&a) + 2000 * kind(&b) + 10000 * is<volatile int>::volatile_
        + 20000 * is<int>::volatile_;""",
        """template <typename T> __device__ T plain(volatile T* p) { T v = *p; v *= 2; return v; }
template <typename T> __device__ int changed(T& r) { r += 1; return r; }
template <typename T> __device__ int last(const volatile T* p, T v) { return *p - v; }
template <typename T> __device__ int size(const T& r) { return sizeof(T) + r; }
template <typename T> struct Cell { T value; __device__ T get() const { return value; } };
template <typename T> __device__ int kind(T*) { return 1; }
__device__ int kind(volatile int*) { return 2; }
template <typename T> struct is { static const int volatile_ = 0; };
template <> struct is<volatile int> { static const int volatile_ = 1; };""",
    ),
    "volatile members and objects": (
        """
    __shared__ volatile Part s[64];
    __shared__ Whole w[2];
    s[t].n = x[t];
    s[t].f = 0.5f * t;
    if (t < 2) { w[t].flag = t; w[t].count = 5; w[t].inner.n = 7; }
    __syncthreads();
    Whole own{1, 2};
    own.inner.n = t;
    own.set(own.get() + w[t & 1].flag);
    Whole copy = own;
    copy.flag += w[0].inner.n;
    volatile Part& r = s[63 - t];
    volatile Part* p = &s[t ^ 1];
    volatile int* n = &w[1].flag;
    const volatile Part& c = *p;
    out[t] = r.n + p->n * 3 + own.flag + copy.get() * 100 + *n + c.n + own.inner.n;
    f[t] = r.f + p->f + c.f;""",
        """struct Part { int n; float f; };
struct Inner { volatile int n; };
struct Whole {
    volatile int flag;
    int count;
    Inner inner;
    __device__ int get() const { return flag + count; }
    __device__ void set(int n) { flag = n; count ^= n; }
};""",
    ),
    "volatile references": (
        """
    int a = x[t];
    volatile int b = t;
    volatile int& ra = a;
    auto& rb = b;
    const volatile int& rc = a;
    ra += 5;
    rb = rc - rb;
    static_cast<volatile int&>(a) += 2;
    add(a, rb);
    add(rb, 3);
    cell(&out[t]) = rc + 1;
    cell(out + t) += twice(b) + twice(a) + (b > 9 ? ra : rb);
    f[t] = rc + next(&a) + next(&b);""",
        """__device__ void add(volatile int& r, int v) { r += v; r ^= 1; }
__device__ int twice(const volatile int& r) { return r + r; }
__device__ volatile int& cell(int* p) { return *p; }
__device__ auto next(volatile int* p) -> volatile int& { *p += 1; return *p; }""",
    ),
    "volatile halves and vectors": (
        """
    __shared__ volatile half h[64];
    __shared__ volatile float4 v[64];
    h[t] = __float2half(x[t] * 0.5f);
    v[t].x = x[t];
    v[t].w = t;
    __syncthreads();
    half a = h[63 - t];
    volatile half b = a;
    volatile half2 c = __floats2half2_rn(1.5f, x[t]);
    a = a + (half)b + __half(c.y);
    b = a;
    __syncthreads();
    h[t] = b;
    volatile int2 w = make_int2(t, 5);
    w.y += w.x++;
    volatile float* p = &v[t ^ 1].x;
    out[t] = w.x + 1000 * w.y + (int)v[63 - t].x;
    f[t] = __half2float(b) + __half2float(h[t]) + *p + p[3] + __half2float(c.x);""",
        """#include <cuda_fp16.h>""",
    ),
    "lambdas that hold what is volatile": (
        """
    volatile int v = x[t];
    volatile int* p = out + t;
    auto by_value = [=]() { return v + 1; };
    auto changes = [v]() mutable { v += 2; return v; };
    auto by_reference = [&](int k) { v = v + k; return v; };
    auto first = [](volatile int* q) { return q[0]; };
    int a = by_value() + changes() + changes() + by_reference(5) + by_reference(1);
    *p = a + v;
    out[t] = first(p) + apply(by_value) + [=]() { return *p; }();""",
        """template <typename F> __device__ int apply(F call) { return 3 * call(); }""",
    ),
    "a warp waits for another one": (
        """
    __shared__ volatile int flag;
    __shared__ int s[64];
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        if (t == 0) {
            while (flag == 0) {}
            __threadfence_block();
        }
        __syncwarp();
        out[t] = s[32 + t] + flag;
    } else {
        s[t] = x[t];
        __threadfence_block();
        __syncwarp();
        if (t == 32) flag = 7;
        out[t] = 1;
    }""",
        """""",
    ),
    "two warps hand a number to and fro": (
        """
    __shared__ int turn, sum;
    if (t == 0) { turn = 0; sum = 1; }
    __syncthreads();
    if ((t & 31) == 0)
        for (int i = t / 32; i < 10; i += 2) {
            wait_for(turn, i);
            __threadfence_block();
            sum = sum * 3 + x[i] + t;
            __threadfence_block();
            atomicExch(&turn, i + 1);
        }
    __syncthreads();
    out[t] = sum;""",
        """__device__ void wait_for(const volatile int& turn, int mine) {
    while (turn != mine) {}
}""",
    ),
    "a wait by atomics": (
        """
    __shared__ int arrived, s[64];
    if (t == 0) arrived = 0;
    __syncthreads();
    s[t] = x[t];
    __threadfence_block();
    __syncwarp();
    if ((t & 31) == 0) {
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < 2) __nanosleep(20);
        __threadfence_block();
    }
    __syncwarp();
    out[t] = s[63 - t];""",
        """""",
    ),
}
