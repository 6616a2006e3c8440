// Plausible wrong kernels for the exercises of chapter 04a, each with the hint that it earns.

// %% exercise=4.1 hint="There are more threads than numbers. Those whose index is n or more must do nothing: guard with if (i < n)."
-     if (i < n) y[i] += a * x[i];
+     y[i] += a * x[i];

// %% exercise=4.1 hint="threadIdx.x starts at 0 in each block, so all your blocks work on the same numbers. blockIdx.x * blockDim.x is missing in the index."
-     int i = blockIdx.x * blockDim.x + threadIdx.x;
+     int i = threadIdx.x;

// %% exercise=4.1 hint="You overwrite y; a * x is to be added to it."
-     if (i < n) y[i] += a * x[i];
+     if (i < n) y[i] = a * x[i];

// %% exercise=4.1 hint="You leave out the last number: its index is n - 1, and that is less than n."
-     if (i < n) y[i] += a * x[i];
+     if (i < n - 1) y[i] += a * x[i];

// %% exercise=4.1 hint="You multiply y by a; it is x that is multiplied."
-     if (i < n) y[i] += a * x[i];
+     if (i < n) y[i] = a * y[i] + x[i];

// %% exercise=4.1 hint="A block's first number is blockIdx.x times the size of a block, which is blockDim.x; gridDim.x counts blocks."
-     int i = blockIdx.x * blockDim.x + threadIdx.x;
+     int i = blockIdx.x * gridDim.x + threadIdx.x;

// %% exercise=4.3 hint="Each thread does one number and is finished. Where there are fewer threads than numbers, it must go on: a loop with the step gridDim.x * blockDim.x."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="Your step is one block, so each block does again what the blocks before it do. Step by the whole grid: gridDim.x * blockDim.x."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="Each block does all the numbers. Start at the thread's own number in the grid, blockIdx.x * blockDim.x + threadIdx.x, and step by the whole grid."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="The values are right, but a thread takes numbers side by side, so the lanes of a warp stand far apart and each wants a sector of its own. Let neighbouring threads take neighbours: start at the thread's number, step by the whole grid."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    int me = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    int share = (n + all - 1) / all;
    for (int i = me * share; i < (me + 1) * share && i < n; i++)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="gridDim.x is the number of blocks. The grid has gridDim.x * blockDim.x threads: step by that, or most numbers are done many times."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="All blocks start at the same numbers: start at blockIdx.x * blockDim.x + threadIdx.x."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="The exponent has a minus: x / (1 + exp(-x))."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] / (1.0f + expf(x[i]));
}

// %% exercise=4.3 hint="That is the sigmoid, 1 / (1 + exp(-x)). SiLU has x above the line."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 1.0f / (1.0f + expf(-x[i]));
}

// %% exercise=4.3 hint="One number too many: the last index is n - 1, so go on while i < n."
extern "C" __global__ void silu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}

// %% exercise=4.4 hint="A column that is cols or more is inside the array as long as the row is not the last, but it belongs to the next row. Test row and col, each against its own limit."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (row * cols + col < rows * cols) x[row * cols + col] += bias[col];

// %% exercise=4.4 hint="A thread may work where row < rows && col < cols: both must hold, and the last row is rows - 1. Turned round into a return, it leaves where row >= rows || col >= cols."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (row < rows || col < cols) x[row * cols + col] += bias[col];

// %% exercise=4.4 hint="bias[col % cols] keeps the report from complaining of bias, but the thread still adds to a number of the next row. It must do nothing."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (row * cols + col < rows * cols) x[row * cols + col] += bias[col % cols];

// %% exercise=4.4 hint="You test columns only; the grid has more rows than the matrix, too."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (col < cols) x[row * cols + col] += bias[col];

// %% exercise=4.4 hint="Row and column are exchanged: col goes along a row and comes from .x, as the grid is made; row comes from .y."
-     int col = blockIdx.x * blockDim.x + threadIdx.x;
-     int row = blockIdx.y * blockDim.y + threadIdx.y;
+     int col = blockIdx.y * blockDim.y + threadIdx.y;
+     int row = blockIdx.x * blockDim.x + threadIdx.x;

// %% exercise=4.4 hint="The limits are exchanged: row stays below rows, col below cols."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (row < cols && col < rows) x[row * cols + col] += bias[col];

// %% exercise=4.4 hint="The matrix lies in memory row after row, and a row has cols numbers: (row, col) stands at row * cols + col."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (row < rows && col < cols) x[col * rows + row] += bias[col];

// %% exercise=4.4 hint="You overwrite x; the bias is to be added to it."
-     if (row < rows && col < cols) x[row * cols + col] += bias[col];
+     if (row < rows && col < cols) x[row * cols + col] = bias[col];

// %% exercise=4.4 hint="threadIdx starts at 0 in each block, so all blocks work on one corner of the matrix. Add what the blocks before take up, for col and for row."
-     int col = blockIdx.x * blockDim.x + threadIdx.x;
-     int row = blockIdx.y * blockDim.y + threadIdx.y;
+     int col = threadIdx.x;
+     int row = threadIdx.y;

// %% exercise=4.5 hint="A row has dim numbers: divide by dim, not by tokens."
-         int t = i / dim, d = i % dim;
+         int t = i / tokens, d = i % tokens;

// %% exercise=4.5 hint="The grid has one dimension: blockIdx.y and threadIdx.y are always 0. Work t and d out from one index."
extern "C" __global__ void embed(const float* table, const int* ids, float* out, int tokens, int dim) {
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    int t = blockIdx.y * blockDim.y + threadIdx.y;
    if (t < tokens && d < dim) out[t * dim + d] = table[ids[t] * dim + d];
}

// %% exercise=4.5 hint="The values are right, but thread i + 1 writes the next token, dim numbers further on. Let it write the next number of out: t = i / dim and d = i % dim."
-         int t = i / dim, d = i % dim;
-         out[i] = table[ids[t] * dim + d];
+         int t = i % tokens, d = i / tokens;
+         out[t * dim + d] = table[ids[t] * dim + d];

// %% exercise=4.5 hint="Quotient and remainder are exchanged: number i of out is in row i / dim, column i % dim."
-         int t = i / dim, d = i % dim;
-         out[i] = table[ids[t] * dim + d];
+         int t = i % dim, d = i / dim;
+         out[i] = table[ids[t % tokens] * dim + d % dim];

// %% exercise=4.5 hint="You copy the first rows of the table. The row wanted is not t but ids[t]."
extern "C" __global__ void embed(const float* table, const int* ids, float* out, int tokens, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * dim) out[i] = table[i];
}

// %% exercise=4.5 hint="Row ids[t] begins at ids[t] * dim, not at ids[t]: each row is dim numbers long."
-         out[i] = table[ids[t] * dim + d];
+         out[i] = table[ids[t] + d];

// %% exercise=4.5 hint="There is one id for each token, not for each number: ids[t], with t = i / dim."
extern "C" __global__ void embed(const float* table, const int* ids, float* out, int tokens, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * dim) out[i] = table[ids[i] * dim + i % dim];
}

// %% exercise=4.5 hint="Your guard lets through as many threads as there are tokens; out has tokens * dim numbers."
-     if (i < tokens * dim) {
+     if (i < tokens) {

// %% exercise=4.5 hint="There are more threads than numbers in out: guard with if (i < tokens * dim)."
extern "C" __global__ void embed(const float* table, const int* ids, float* out, int tokens, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = i / dim, d = i % dim;
    out[i] = table[ids[t] * dim + d];
}

// %% exercise=4.6 hint="The values are right. But you store the new velocity and then read it from memory again: keep it in a float, and use that for both."
-         float speed = momentum * v[i] + g[i];
-         v[i] = speed;
-         p[i] -= lr * speed;
+         v[i] = momentum * v[i] + g[i];
+         p[i] -= lr * v[i];

// %% exercise=4.6 hint="The values are right. But v goes to memory and back more than once: work the new velocity out in a float, store it once, and use the float for p."
-         float speed = momentum * v[i] + g[i];
-         v[i] = speed;
-         p[i] -= lr * speed;
+         v[i] *= momentum;
+         v[i] += g[i];
+         p[i] -= lr * v[i];

// %% exercise=4.6 hint="p moves by the old velocity. First the velocity changes, then p moves by the new one."
-         float speed = momentum * v[i] + g[i];
-         v[i] = speed;
-         p[i] -= lr * speed;
+         float old = v[i];
+         v[i] = momentum * old + g[i];
+         p[i] -= lr * old;

// %% exercise=4.6 hint="The learning rate belongs to the step of p, not into the velocity: v = momentum * v + g, then p = p - lr * v."
-         float speed = momentum * v[i] + g[i];
+         float speed = momentum * v[i] + lr * g[i];
          v[i] = speed;
-         p[i] -= lr * speed;
+         p[i] -= speed;

// %% exercise=4.6 hint="You weigh the gradient with 1 - momentum, as Adam does. Here it is added whole."
-         float speed = momentum * v[i] + g[i];
+         float speed = momentum * v[i] + (1.0f - momentum) * g[i];

// %% exercise=4.6 hint="p moves uphill: subtract lr * v from it."
-         p[i] -= lr * speed;
+         p[i] += lr * speed;

// %% exercise=4.6 hint="The new velocity is used and forgotten: the next step needs it, so store it in v[i]."
extern "C" __global__ void momentum_step(float* p, float* v, const float* g, float lr, float momentum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] -= lr * (momentum * v[i] + g[i]);
}

// %% exercise=4.6 hint="There are more threads than parameters: guard with if (i < n)."
extern "C" __global__ void momentum_step(float* p, float* v, const float* g, float lr, float momentum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float speed = momentum * v[i] + g[i];
    v[i] = speed;
    p[i] -= lr * speed;
}

// %% exercise=4.6 hint="p is replaced: subtract lr * v from it."
-         p[i] -= lr * speed;
+         p[i] = lr * speed;

// %% exercise=4.7 hint="Beyond the end of a row comes the next row, which is inside the array and not the neighbour. Test y and x apart, each against 0 and its own limit."
-             int y = r + dy - 1, x = c + dx - 1;
-             if (y >= 0 && y < height && x >= 0 && x < width)
-                 sum += weights[dy * 3 + dx] * image[y * width + x];
+             int at = (r + dy - 1) * width + c + dx - 1;
+             if (at >= 0 && at < height * width) sum += weights[dy * 3 + dx] * image[at];

// %% exercise=4.7 hint="Your sum is an int, so each addition cuts off what comes behind the point. Add up in a float."
-     float sum = 0.0f;
+     int sum = 0;

// %% exercise=4.7 hint="Your window is turned around by 180 degrees: that is the convolution of mathematics. Networks, and this exercise, pair weights[0][0] with the pixel above and to the left."
-             int y = r + dy - 1, x = c + dx - 1;
+             int y = r - dy + 1, x = c - dx + 1;

// %% exercise=4.7 hint="Pixels at the border are left out. They have windows too, of which a part lies outside and counts as 0."
extern "C" __global__ void window(const float* image, const float* weights, float* out, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < 1 || c < 1 || r >= height - 1 || c >= width - 1) return;
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += weights[dy * 3 + dx] * image[(r + dy - 1) * width + c + dx - 1];
    out[r * width + c] = sum;
}

// %% exercise=4.7 hint="Your window begins at the pixel instead of around it: the neighbour's row is r + dy - 1, its column c + dx - 1."
-             int y = r + dy - 1, x = c + dx - 1;
-             if (y >= 0 && y < height && x >= 0 && x < width)
-                 sum += weights[dy * 3 + dx] * image[y * width + x];
+             int y = r + dy, x = c + dx;
+             if (y < height && x < width) sum += weights[dy * 3 + dx] * image[y * width + x];

// %% exercise=4.7 hint="The weights are transposed: row dy, column dx of the window is weights[dy * 3 + dx]."
-                 sum += weights[dy * 3 + dx] * image[y * width + x];
+                 sum += weights[dx * 3 + dy] * image[y * width + x];

// %% exercise=4.7 hint="Where the window reaches beyond the image you take the nearest pixel. Outside counts as 0: leave those products out."
-             int y = r + dy - 1, x = c + dx - 1;
-             if (y >= 0 && y < height && x >= 0 && x < width)
-                 sum += weights[dy * 3 + dx] * image[y * width + x];
+             int y = min(max(r + dy - 1, 0), height - 1), x = min(max(c + dx - 1, 0), width - 1);
+             sum += weights[dy * 3 + dx] * image[y * width + x];

// %% exercise=4.7 hint="You read outside the image: the neighbour of a pixel at the border may have a row or column of -1, or one too large. Test both before you read."
-         for (int dx = 0; dx < 3; dx++) {
-             int y = r + dy - 1, x = c + dx - 1;
-             if (y >= 0 && y < height && x >= 0 && x < width)
-                 sum += weights[dy * 3 + dx] * image[y * width + x];
-         }
+         for (int dx = 0; dx < 3; dx++)
+             sum += weights[dy * 3 + dx] * image[(r + dy - 1) * width + c + dx - 1];

// %% exercise=4.7 hint="Row 0 and column 0 are inside the image: a neighbour counts from 0 on, not from 1."
-             if (y >= 0 && y < height && x >= 0 && x < width)
+             if (y > 0 && y < height && x > 0 && x < width)

// %% exercise=4.7 hint="Pixels are missing, and not at the border alone. x counts columns: c comes from .x, r from .y."
-     int c = blockIdx.x * blockDim.x + threadIdx.x;
-     int r = blockIdx.y * blockDim.y + threadIdx.y;
+     int c = blockIdx.y * blockDim.y + threadIdx.y;
+     int r = blockIdx.x * blockDim.x + threadIdx.x;

// %% exercise=4.7 hint="You add to what is in out, and nobody has set it to 0: sum in a float, and store it once."
-     float sum = 0.0f;

-                 sum += weights[dy * 3 + dx] * image[y * width + x];
+                 out[r * width + c] += weights[dy * 3 + dx] * image[y * width + x];
          }
-     out[r * width + c] = sum;

// %% exercise=4.8 hint="The loads are by four, the stores one by one: write v back in one go, too."
-         v.x *= a;
-         v.y *= a;
-         v.z *= a;
-         v.w *= a;
-         reinterpret_cast<float4*>(y)[i] = v;
+         y[4 * i] = a * v.x;
+         y[4 * i + 1] = a * v.y;
+         y[4 * i + 2] = a * v.z;
+         y[4 * i + 3] = a * v.w;

// %% exercise=4.8 hint="The values are right, but each number is a request of its own. Load a float4: one request for four numbers of each lane."
extern "C" __global__ void scale4(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 4 * i; k < 4 * i + 4 && k < n; k++) y[k] = a * x[k];
}

// %% exercise=4.8 hint="The numbers after the last whole group of four are left out: up to three of them, one by one."
extern "C" __global__ void scale4(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i + 3 < n) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x *= a; v.y *= a; v.z *= a; v.w *= a;
        reinterpret_cast<float4*>(y)[i] = v;
    }
}

// %% exercise=4.8 hint="Where n is not a multiple of four, the last group reaches beyond the end. Take a float4 only where 4 * i + 3 < n."
extern "C" __global__ void scale4(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x *= a; v.y *= a; v.z *= a; v.w *= a;
        reinterpret_cast<float4*>(y)[i] = v;
    }
}

// %% exercise=4.8 hint="Thread i starts at x + i, which is no multiple of 16 bytes, and takes what is its neighbour's. Its group begins at x + 4 * i."
extern "C" __global__ void scale4(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        v.x *= a; v.y *= a; v.z *= a; v.w *= a;
        *reinterpret_cast<float4*>(y + i) = v;
    }
}

// %% exercise=4.8 hint="A float4 pointer counts in groups of four: its index is the number of a group, and you give it the number of a float."
extern "C" __global__ void scale4(float a, const float* x, float* y, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x *= a; v.y *= a; v.z *= a; v.w *= a;
        reinterpret_cast<float4*>(y)[i] = v;
    } else {
        for (int k = i; k < n; k++) y[k] = a * x[k];
    }
}
