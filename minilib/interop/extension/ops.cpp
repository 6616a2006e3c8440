// Softmax over the rows of a CPU tensor, forward and backward, and the schemas of both for every device.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

namespace {

template <typename T>
void forward_row(const T* x, T* y, int64_t columns) {
    T largest = -std::numeric_limits<T>::infinity();
    for (int64_t c = 0; c < columns; c++) largest = std::max(largest, x[c]);
    T sum = 0;
    for (int64_t c = 0; c < columns; c++) sum += y[c] = std::exp(x[c] - largest);
    for (int64_t c = 0; c < columns; c++) y[c] /= sum;
}

template <typename T>
void backward_row(const T* grad, const T* y, T* dx, int64_t columns) {
    T dot = 0;
    for (int64_t c = 0; c < columns; c++) dot += grad[c] * y[c];
    for (int64_t c = 0; c < columns; c++) dx[c] = y[c] * (grad[c] - dot);
}

int64_t columns_of(const Tensor& x) {
    STD_TORCH_CHECK(x.dim() > 0, "rowops: expected a tensor with rows, got one without dimensions");
    return x.size(x.dim() - 1);
}

// Calls `row(offset, columns)` for each row, on several threads where there are many numbers.
template <typename F>
void each_row(const Tensor& x, F row) {
    const int64_t columns = columns_of(x), numbers = x.numel();
    if (numbers == 0) return;
    const int64_t together = std::max<int64_t>(1, 16384 / columns);  // rows that are worth a thread
    torch::stable::parallel_for(0, numbers / columns, together, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r++) row(r * columns, columns);
    });
}

template <typename T>
void forward(const Tensor& x, Tensor& y) {
    const T* in = x.const_data_ptr<T>();
    T* out = y.mutable_data_ptr<T>();
    each_row(x, [=](int64_t at, int64_t columns) { forward_row(in + at, out + at, columns); });
}

template <typename T>
void backward(const Tensor& grad, const Tensor& y, Tensor& dx) {
    const T *g = grad.const_data_ptr<T>(), *in = y.const_data_ptr<T>();
    T* out = dx.mutable_data_ptr<T>();
    each_row(y, [=](int64_t at, int64_t columns) { backward_row(g + at, in + at, out + at, columns); });
}

Tensor softmax(const Tensor& given) {
    Tensor x = torch::stable::contiguous(given);  // the loops read rows that lie one behind the other
    Tensor y = torch::stable::empty_like(x);
    if (x.scalar_type() == ScalarType::Float) {
        forward<float>(x, y);
    } else {
        STD_TORCH_CHECK(x.scalar_type() == ScalarType::Double, "rowops: softmax takes float32 or float64");
        forward<double>(x, y);
    }
    return y;
}

Tensor softmax_backward(const Tensor& given_grad, const Tensor& given_y) {
    Tensor grad = torch::stable::contiguous(given_grad), y = torch::stable::contiguous(given_y);
    STD_TORCH_CHECK(grad.scalar_type() == y.scalar_type(), "rowops: a gradient has the dtype of the result");
    STD_TORCH_CHECK(grad.sizes().vec() == y.sizes().vec(), "rowops: a gradient has the shape of the result");
    Tensor dx = torch::stable::empty_like(y);
    if (y.scalar_type() == ScalarType::Float) {
        backward<float>(grad, y, dx);
    } else {
        STD_TORCH_CHECK(y.scalar_type() == ScalarType::Double, "rowops: softmax takes float32 or float64");
        backward<double>(grad, y, dx);
    }
    return dx;
}

}  // namespace

STABLE_TORCH_LIBRARY(rowops, m) {
    m.def("softmax(Tensor x) -> Tensor");
    m.def("softmax_backward(Tensor grad, Tensor y) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(rowops, CPU, m) {
    m.impl("softmax", TORCH_BOX(&softmax));
    m.impl("softmax_backward", TORCH_BOX(&softmax_backward));
}
