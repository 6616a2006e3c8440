// Planted bugs: arithmetic.

// bug: division by zero
// launch: <<<1, 32>>> x:i32[32]=-5..26 out:i32[32]
// expect: arithmetic arithmetic at=((0,0,0),(5,0,0)) count=1
extern "C" __global__ void k(const int* x, int* out) {
    int t = threadIdx.x;
    out[t] = 100 / x[t];  // BUG
}

// bug: remainder of a division by zero
// launch: <<<1, 32>>> out:i32[32] n=7
// expect: arithmetic arithmetic at=((0,0,0),(0,0,0)) count=2
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x;
    out[t] = n % (t / 2);  // BUG
}
