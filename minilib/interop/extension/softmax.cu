// Softmax over the rows of a CUDA tensor, forward and backward. A block has a row; its threads go over the columns
// side by side, so a row may be of any length. Below the kernels, what calls them from PyTorch.

#define THREADS 256

// The sum, or the largest, of `x` over all threads of a block, known to all of them.
template <bool LARGEST>
__device__ float over_block(float x) {
    __shared__ float of_thread[THREADS];
    __syncthreads();  // somebody may still read what the last call wrote
    of_thread[threadIdx.x] = x;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            float other = of_thread[threadIdx.x + half];
            of_thread[threadIdx.x] = LARGEST ? fmaxf(of_thread[threadIdx.x], other) : of_thread[threadIdx.x] + other;
        }
    }
    __syncthreads();
    return of_thread[0];
}

// y = softmax(x) for arrays (gridDim.x, columns).
extern "C" __global__ void softmax_forward(const float* x, float* y, long long columns) {
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float largest = __int_as_float(0xff800000), sum = 0.0f;  // minus infinity
    for (long long c = threadIdx.x; c < columns; c += THREADS) largest = fmaxf(largest, x[c]);
    largest = over_block<true>(largest);
    for (long long c = threadIdx.x; c < columns; c += THREADS) sum += expf(x[c] - largest);
    sum = over_block<false>(sum);
    for (long long c = threadIdx.x; c < columns; c += THREADS) y[c] = expf(x[c] - largest) / sum;
}

// dx = y (grad - sum(grad y)) for arrays (gridDim.x, columns).
extern "C" __global__ void softmax_backward(const float* grad, const float* y, float* dx, long long columns) {
    grad += blockIdx.x * columns;
    y += blockIdx.x * columns;
    dx += blockIdx.x * columns;
    float dot = 0.0f;
    for (long long c = threadIdx.x; c < columns; c += THREADS) dot += grad[c] * y[c];
    dot = over_block<false>(dot);
    for (long long c = threadIdx.x; c < columns; c += THREADS) dx[c] = y[c] * (grad[c] - dot);
}

#ifndef __CUDACC_RTC__  // NVRTC and the simulator compile the kernels alone

#include <cuda_runtime.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Where this tensor's device works just now: the caller's stream, not the default one.
static cudaStream_t current_stream(const Tensor& x) {
    void* stream = nullptr;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
    return static_cast<cudaStream_t>(stream);
}

static int64_t columns_of(const Tensor& x) {
    STD_TORCH_CHECK(x.dim() > 0, "rowops: expected a tensor with rows, got one without dimensions");
    STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float, "rowops: on CUDA softmax takes float32");
    return x.size(x.dim() - 1);
}

static Tensor softmax_cuda(const Tensor& given) {
    Tensor x = torch::stable::contiguous(given), y = torch::stable::empty_like(x);
    const int64_t columns = columns_of(x);
    if (x.numel() == 0) return y;  // a grid of no blocks is refused
    torch::stable::accelerator::DeviceGuard here(x.get_device_index());
    softmax_forward<<<x.numel() / columns, THREADS, 0, current_stream(x)>>>(
        x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), columns);
    STD_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

static Tensor softmax_backward_cuda(const Tensor& given_grad, const Tensor& given_y) {
    Tensor grad = torch::stable::contiguous(given_grad), y = torch::stable::contiguous(given_y);
    STD_TORCH_CHECK(grad.is_cuda() && y.is_cuda(), "rowops: a gradient lies on the device of the result");
    STD_TORCH_CHECK(grad.scalar_type() == y.scalar_type(), "rowops: a gradient has the dtype of the result");
    STD_TORCH_CHECK(grad.sizes().vec() == y.sizes().vec(), "rowops: a gradient has the shape of the result");
    Tensor dx = torch::stable::empty_like(y);
    const int64_t columns = columns_of(y);
    if (y.numel() == 0) return dx;
    torch::stable::accelerator::DeviceGuard here(y.get_device_index());
    softmax_backward<<<y.numel() / columns, THREADS, 0, current_stream(y)>>>(
        grad.const_data_ptr<float>(), y.const_data_ptr<float>(), dx.mutable_data_ptr<float>(), columns);
    STD_CUDA_KERNEL_LAUNCH_CHECK();
    return dx;
}

STABLE_TORCH_LIBRARY_IMPL(rowops, CUDA, m) {
    m.impl("softmax", TORCH_BOX(&softmax_cuda));
    m.impl("softmax_backward", TORCH_BOX(&softmax_backward_cuda));
}

#endif
