// Small pieces that are easy to get wrong: numbers. The second implementation says what they compute.

// snippet: char arith
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
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
    out[t]+= 'a'+'\n';
}

// snippet: float convert
extern "C" __global__ void k(const int* x, int* out, float* f) {
    int t = threadIdx.x;
    f[t]=1/3+1/3.f+t*0.1;
    f[t]+= (float)0x7fffffff;
    f[t] += 1e10f;
    double d=f[t];
    f[t]=d*1e-10;
    out[t]=(int)3.99f+(int)-3.99;
}
