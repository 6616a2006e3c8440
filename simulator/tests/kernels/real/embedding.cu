// Rows of a table (vocabulary, width) for tokens, and the gradient of the table. One block per token.
extern "C" __global__ void embedding_gather(const float* table, const int* tokens, float* out, int width) {
    const int token = tokens[blockIdx.x];
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        out[blockIdx.x * width + c] = table[token * width + c];
    }
}

// Tokens repeat, so several blocks add to one row: that needs atomics.
extern "C" __global__ void embedding_scatter_add(const float* dout, const int* tokens, float* dtable, int width) {
    const int token = tokens[blockIdx.x];
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        atomicAdd(&dtable[token * width + c], dout[blockIdx.x * width + c]);
    }
}
