extern "C" __global__ void softmax(const float *x, int columns, float *y) {
    __shared__ float part[256];
    int t = threadIdx.x;
    const float *row = x + blockIdx.x * columns;
    float top = -1e30f;
    for (int i = t; i < columns; i += 256) top = fmaxf(top, row[i]);
    part[t] = top;
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (t < stride) part[t] = fmaxf(part[t], part[t + stride]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = t; i < columns; i += 256) sum += expf(row[i] - top);
    part[t] = sum;
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (t < stride) part[t] += part[t + stride];
        __syncthreads();
    }
    for (int i = t; i < columns; i += 256) y[blockIdx.x * columns + i] = expf(row[i] - top) / part[0];
}
