// Plausible wrong answers to the exercises of chapter 04c, each with the hint that it earns.

// %% exercise=4.17 hint="A thread without a number brings 0, and 0 is larger than any negative number. Bring minus infinity."
-     part[t] = i < n ? x[i] : -INFINITY;
+     part[t] = i < n ? x[i] : 0.0f;

// %% exercise=4.17 hint="A thread without a number brings a float near the lowest. That is still more than minus infinity: of a block of nothing else it becomes the largest. Bring -INFINITY."
-     part[t] = i < n ? x[i] : -INFINITY;
+     part[t] = i < n ? x[i] : -3.4e38f;

// %% exercise=4.17 hint="Half of 3 is 1, and then the third number is never looked at. Round the half up: the number in the middle stays for the next step."
-     for (int left = blockDim.x; left > 1;) {
-         int half = (left + 1) / 2;
+     for (int half = blockDim.x / 2; half > 0; half /= 2) {
          __syncthreads();
-         if (t + half < left) part[t] = fmaxf(part[t], part[t + half]);
-         left = half;
+         if (t < half) part[t] = fmaxf(part[t], part[t + half]);

// %% exercise=4.17 hint="A step reads what other threads have written in the step before: there must be a barrier in the loop."
      part[t] = i < n ? x[i] : -INFINITY;
+     __syncthreads();

-         __syncthreads();

// %% exercise=4.17 hint="The last block has threads beyond n: they read outside x. Guard the load."
-     part[t] = i < n ? x[i] : -INFINITY;
+     part[t] = x[i];

// %% exercise=4.17 hint="The values are right, but neighbours meet first, so that the workers are spread over all warps. Let the threads in front work: halves first."
-     for (int left = blockDim.x; left > 1;) {
-         int half = (left + 1) / 2;
+     for (int stride = 1; stride < blockDim.x; stride *= 2) {
          __syncthreads();
-         if (t + half < left) part[t] = fmaxf(part[t], part[t + half]);
-         left = half;
+         if (t % (2 * stride) == 0 && t + stride < blockDim.x) part[t] = fmaxf(part[t], part[t + stride]);

// %% exercise=4.17 hint="The values are right, and the threads in front work; but their numbers lie 2, 4, 8, .. apart and collide in banks. Let number t meet number t + half."
-     for (int left = blockDim.x; left > 1;) {
-         int half = (left + 1) / 2;
+     for (int stride = 1; stride < blockDim.x; stride *= 2) {
          __syncthreads();
-         if (t + half < left) part[t] = fmaxf(part[t], part[t + half]);
-         left = half;
+         int at = 2 * stride * t;
+         if (at + stride < blockDim.x) part[at] = fmaxf(part[at], part[at + stride]);

// %% exercise=4.17 hint="Of 3 numbers that are left, left / 2 leaves the third alone, and it is lost. Round the half up, and let the one in the middle wait."
-         int half = (left + 1) / 2;
+         int half = left / 2;
          __syncthreads();
-         if (t + half < left) part[t] = fmaxf(part[t], part[t + half]);
-         left = half;
+         if (t < half) part[t] = fmaxf(part[t], part[t + half]);
+         left = (left + 1) / 2;

// %% exercise=4.18 hint="In the last step 32 lanes add up, and fewer warps have left a sum: the other lanes still hold what they had before. They have to bring 0."
__device__ float warp_sum(float v) {  // right in lane 0
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

extern "C" __global__ void dot(const float* x, const float* y, float* result, int n) {
    __shared__ float of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i] * y[i];
    v = warp_sum(v);
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    if (warp == 0) {
        if (lane < blockDim.x / 32) v = of_warp[lane];
        v = warp_sum(v);
        if (lane == 0) atomicAdd(result, v);
    }
}

// %% exercise=4.18 hint="Right, but each warp adds to the result. Let the first warp add up the sums of the warps, and then one thread of the block."
-     __shared__ float of_warp[32];
-     int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

-     if (lane == 0) of_warp[warp] = v;
-     __syncthreads();
-     if (warp == 0) v = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : 0.0f);
-     if (threadIdx.x == 0) atomicAdd(result, v);
+     if (threadIdx.x % 32 == 0) atomicAdd(result, v);

// %% exercise=4.18 hint="All lanes of a warp add to the result, but warp_sum is right in lane 0 only. Let one thread of the block add."
-     __shared__ float of_warp[32];
-     int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

-     if (lane == 0) of_warp[warp] = v;
-     __syncthreads();
-     if (warp == 0) v = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : 0.0f);
-     if (threadIdx.x == 0) atomicAdd(result, v);
+     atomicAdd(result, v);

// %% exercise=4.18 hint="Right, but each thread adds to the result by itself, and they all wait in one line. Agree on one number in the block first."
extern "C" __global__ void dot(const float* x, const float* y, float* result, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(result, x[i] * y[i]);
    }
}

// %% exercise=4.18 hint="Each thread takes one product. If the grid is smaller than the arrays, the rest is left out: walk on by gridDim.x * blockDim.x."
-     int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
-     float v = 0.0f;
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i] * y[i];
-     v = warp_sum(v);
+     int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * blockDim.x + threadIdx.x;
+     float v = warp_sum(i < n ? x[i] * y[i] : 0.0f);

// %% exercise=4.18 hint="The first warp reads the sums of the others. Who says that they are there? A barrier belongs between."
-     __syncthreads();

// %% exercise=4.18 hint="The first warp has 32 lanes, but there are only blockDim.x / 32 sums: the other lanes read shared memory that nobody wrote."
-     if (warp == 0) v = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : 0.0f);
+     if (warp == 0) v = warp_sum(of_warp[lane]);

// %% exercise=4.18 hint="All blocks write their sum to result[0], and the last one wins. They must add to it, in one piece: atomicAdd."
-     if (threadIdx.x == 0) atomicAdd(result, v);
+     if (threadIdx.x == 0) result[0] = v;

// %% exercise=4.18 hint="All lanes of the first warp add to the result, but warp_sum is right in lane 0 only. Let one thread add."
-     if (threadIdx.x == 0) atomicAdd(result, v);
+     if (warp == 0) atomicAdd(result, v);

// %% exercise=4.18 hint="Each block walks on by its own size, so several blocks take the same products. Walk on by the threads of the whole grid."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i] * y[i];
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) v += x[i] * y[i];

// %% exercise=4.18 hint="Two blocks read the same old result, both add, and one sum is lost. Adding must happen in one piece: atomicAdd."
-     if (threadIdx.x == 0) atomicAdd(result, v);
+     if (threadIdx.x == 0) result[0] += v;

// %% exercise=4.19 hint="The mean of the squares minus the square of the mean: two large numbers that agree in all digits that a float has. Merge distances from the mean instead."
__device__ void merge(float& n, float& mean, float& s, float n2, float mean2, float s2) {
    n += n2;
    mean += mean2;
    s += s2;
}

extern "C" __global__ void mean_var(const float* x, float* means, float* vars, int rows, int cols) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float n = 0.0f, sum = 0.0f, squares = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float v = x[row * cols + c];
        merge(n, sum, squares, 1.0f, v, v * v);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        float n2 = __shfl_xor_sync(0xffffffff, n, offset);
        float sum2 = __shfl_xor_sync(0xffffffff, sum, offset);
        float squares2 = __shfl_xor_sync(0xffffffff, squares, offset);
        merge(n, sum, squares, n2, sum2, squares2);
    }
    if (lane == 0) {
        float mean = sum / cols;
        means[row] = mean;
        vars[row] = squares / cols - mean * mean;
    }
}

// %% exercise=4.19 hint="Right, but you walk over the row twice: once for the mean, once for the distances from it. Merge both in one walk."
__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
    return v;
}

extern "C" __global__ void mean_var(const float* x, float* means, float* vars, int rows, int cols) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0.0f, squares = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += x[row * cols + c];
    float mean = warp_sum(sum) / cols;
    for (int c = lane; c < cols; c += 32) squares += (x[row * cols + c] - mean) * (x[row * cols + c] - mean);
    squares = warp_sum(squares);
    if (lane == 0) {
        means[row] = mean;
        vars[row] = squares / cols;
    }
}

// %% exercise=4.19 hint="Two groups, each of equal numbers, can still be far from each other: the distance of their means belongs into s."
-     s += s2 + delta * delta * n * n2 / total;
+     s += s2;

// %% exercise=4.19 hint="In a short row some lanes have seen nothing. When two of them merge you divide 0 by 0, and nan spreads to all."
-     if (total == 0.0f) return;

// %% exercise=4.19 hint="You divide by cols - 1, which estimates the variance of the numbers that these were drawn from. Here it is that of the row: divide by cols."
-         vars[row] = s / cols;
+         vars[row] = s / (cols - 1);

// %% exercise=4.19 hint="After the first number n stays as it was, so later ones weigh wrongly. A merged group has n + n2 numbers."
-     n = total;

// %% exercise=4.19 hint="In s, delta squared is weighed by both counts: n1 times n2, over n. Yours leaves out n1."
-     s += s2 + delta * delta * n * n2 / total;
+     s += s2 + delta * delta * n2 / total;

// %% exercise=4.19 hint="delta is the distance of the means before they merge. You change the mean first, and take the distance of what is left."
-     float total = n + n2, delta = mean2 - mean;
+     float total = n + n2;

-     mean += delta * n2 / total;
-     s += s2 + delta * delta * n * n2 / total;
+     mean += (mean2 - mean) * n2 / total;
+     s += s2 + (mean2 - mean) * (mean2 - mean) * n * n2 / total;

// %% exercise=4.19 hint="All lanes write the mean of the row, and they agree only but for the last digit: which one stays is open. Let lane 0 write."
-     if (lane == 0) {
-         means[row] = mean;
-         vars[row] = s / cols;
-     }
+     means[row] = mean;
+     vars[row] = s / cols;

// %% exercise=4.21 hint="Threads outside C leave, or fetch nothing: their places in the tiles stay empty, and others use them. All must stay, and put a number or a 0 there."
#define TILE 16
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        a[ty][tx] = start + tx < k ? A[row * k + start + tx] : 0.0f;
        b[ty][tx] = start + ty < k ? B[(start + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// %% exercise=4.21 hint="All threads stay, and now those outside fetch what does not exist: ask for row < m before A, and for col < n before B."
-         a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
-         b[ty][tx] = start + ty < k && col < n ? B[(start + ty) * n + col] : 0.0f;
+         a[ty][tx] = start + tx < k ? A[row * k + start + tx] : 0.0f;
+         b[ty][tx] = start + ty < k ? B[(start + ty) * n + col] : 0.0f;
          __syncthreads();
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[i][tx];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];

// %% exercise=4.21 hint="The tiles are filled well now, but threads outside C write too: into other rows of C, or beyond it."
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[i][tx];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];

-     if (row < m && col < n) C[row * n + col] = sum;
+     C[row * n + col] = sum;

// %% exercise=4.21 hint="Threads outside C bring zeros to both tiles. But each fetches for others: for A only its row counts, and for B only its column."
#define TILE 16
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    bool inside = row < m && col < n;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        a[ty][tx] = inside && start + tx < k ? A[row * k + start + tx] : 0.0f;
        b[ty][tx] = inside && start + ty < k ? B[(start + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];
        __syncthreads();
    }
    if (inside) C[row * n + col] = sum;
}

// %% exercise=4.21 hint="A fast warp reads tiles that a slow one has not filled yet: a barrier is missing before the inner loop."
          b[ty][tx] = start + ty < k && col < n ? B[(start + ty) * n + col] : 0.0f;
-         __syncthreads();

// %% exercise=4.21 hint="A fast warp fetches the next tiles while a slow one still reads the old: a barrier is missing after the inner loop."
          for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[i][tx];
-         __syncthreads();

// %% exercise=4.21 hint="Where a thread has nothing to fetch, its place in the tile keeps what was there before, or nothing. Outside the matrix the tile needs a 0."
-         a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
-         b[ty][tx] = start + ty < k && col < n ? B[(start + ty) * n + col] : 0.0f;
+         if (row < m && start + tx < k) a[ty][tx] = A[row * k + start + tx];
+         if (start + ty < k && col < n) b[ty][tx] = B[(start + ty) * n + col];

// %% exercise=4.21 hint="Where a thread has nothing to fetch, its place in the tile keeps what was there before, or nothing. Outside the matrix the tile needs a 0."
-         a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
+         if (row < m && start + tx < k) a[ty][tx] = A[row * k + start + tx];

// %% exercise=4.21 hint="Of A only the column is guarded: a thread below the last row fetches a row that does not exist."
-         a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
+         a[ty][tx] = start + tx < k ? A[row * k + start + tx] : 0.0f;

// %% exercise=4.21 hint="You ask whether a place lies in the memory, not whether it lies in the matrix: behind the last column of a row comes the next row. Where does the thread with col = n read and write?"
-         a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
-         b[ty][tx] = start + ty < k && col < n ? B[(start + ty) * n + col] : 0.0f;
+         a[ty][tx] = row * k + start + tx < m * k ? A[row * k + start + tx] : 0.0f;
+         b[ty][tx] = (start + ty) * n + col < k * n ? B[(start + ty) * n + col] : 0.0f;

-     if (row < m && col < n) C[row * n + col] = sum;
+     if (row * n + col < m * n) C[row * n + col] = sum;

// %% exercise=4.21 hint="You ask whether a place lies in the memory, not whether it lies in the matrix: behind the last column of a row comes the next row. Where does the thread with col = n read and write?"
-     if (row < m && col < n) C[row * n + col] = sum;
+     if (row * n + col < m * n) C[row * n + col] = sum;

// %% exercise=4.22 hint="Right, but 16 lanes go down a column of a tile that is 16 wide, and meet in two banks. One column more, and they part."
-     __shared__ float a[TILE][TILE], b[TILE][TILE + 1];
+     __shared__ float a[TILE][TILE], b[TILE][TILE];

-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[tx][i];

// %% exercise=4.22 hint="Right, but you transpose while you fetch: neighbours in tx read numbers of w that lie k apart, each in a sector of its own. Fetch side by side, and transpose in shared memory."
-     int row = blockIdx.y * TILE + ty, first = blockIdx.x * TILE, col = first + tx;
+     int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;

-         b[ty][tx] = first + ty < n && start + tx < k ? w[(first + ty) * k + start + tx] : 0.0f;
+         b[ty][tx] = start + ty < k && col < n ? w[col * k + start + ty] : 0.0f;
          __syncthreads();
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];

// %% exercise=4.22 hint="Right, but each thread fetches all its numbers itself, 8 bytes for two flops. Fetch tiles, and use each number 16 times."
extern "C" __global__ void linear(const float* x, const float* w, const float* bias, float* y,
                                  int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = bias[col];
    for (int i = 0; i < k; ++i) sum += x[row * k + i] * w[col * k + i];
    y[row * n + col] = sum;
}

// %% exercise=4.22 hint="You read w as (k, n). It is stored as (n, k): number i of row j stands at w[j * k + i]."
-     __shared__ float a[TILE][TILE], b[TILE][TILE + 1];
+     __shared__ float a[TILE][TILE], b[TILE][TILE];
      int ty = threadIdx.y, tx = threadIdx.x;
-     int row = blockIdx.y * TILE + ty, first = blockIdx.x * TILE, col = first + tx;
+     int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;

-         b[ty][tx] = first + ty < n && start + tx < k ? w[(first + ty) * k + start + tx] : 0.0f;
+         b[ty][tx] = start + ty < k && col < n ? w[(start + ty) * n + col] : 0.0f;
          __syncthreads();
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];

// %% exercise=4.22 hint="The tile of w holds rows of w, so the guard of its row is first + ty < n, not col < n: col belongs to the thread's own result."
-         b[ty][tx] = first + ty < n && start + tx < k ? w[(first + ty) * k + start + tx] : 0.0f;
+         b[ty][tx] = col < n && start + tx < k ? w[(first + ty) * k + start + tx] : 0.0f;
          __syncthreads();
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[tx][i];

// %% exercise=4.22 hint="The bias has one number for each column of y: bias[col]."
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[tx][i];

-     if (row < m && col < n) y[row * n + col] = sum + bias[col];
+     if (row < m && col < n) y[row * n + col] = sum + bias[tx];

// %% exercise=4.22 hint="A fast warp fetches the next tiles while a slow one still reads the old: a barrier is missing at the end of the loop."
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
-         __syncthreads();
+         for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[tx][i];

// %% exercise=4.22 hint="tx runs along k here, so the row of w belongs to ty: it is first + ty. With col each thread fetches from another row."
-         b[ty][tx] = first + ty < n && start + tx < k ? w[(first + ty) * k + start + tx] : 0.0f;
+         b[ty][tx] = col < n && start + tx < k ? w[col * k + start + tx] : 0.0f;

// %% exercise=4.22 hint="You have fetched w as it lies: row r of the tile belongs to column r of y. Thread tx must walk along row tx of it, not down a column."
-         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[tx][i];
+         for (int i = 0; i < TILE; i++) sum += a[ty][i] * b[i][tx];

// %% exercise=4.22 hint="The bias has one number for each column of y: it is col, not row, that picks it."
-     if (row < m && col < n) y[row * n + col] = sum + bias[col];
+     if (row < m && col < n) y[row * n + col] = sum + bias[row];

// %% exercise=4.23 hint="Lanes 0 to offset - 1 skip the shuffle, but its mask names them. All lanes make the call; then lane >= offset decides who adds."
-             float before = __shfl_up_sync(0xffffffff, v, offset);
-             if (lane >= offset) v += before;
+             if (lane >= offset) v += __shfl_up_sync(0xffffffff, v, offset);

// %% exercise=4.23 hint="A lane with nobody so far before it gets its own number from the shuffle, and adds it a second time. Only lane >= offset adds."
-         for (int offset = 1; offset < 32; offset *= 2) {
-             float before = __shfl_up_sync(0xffffffff, v, offset);
-             if (lane >= offset) v += before;
-         }
+         for (int offset = 1; offset < 32; offset *= 2) v += __shfl_up_sync(0xffffffff, v, offset);

// %% exercise=4.23 hint="Each 32 numbers start at 0 again. Keep the total of all before in a register, and add it."
-     float carry = 0.0f;

-         v += carry;
          if (c < cols) out[row * cols + c] = v;
-         carry = __shfl_sync(0xffffffff, v, 31);

// %% exercise=4.23 hint="In the last round the lanes beyond the end of the row have left the loop, and the shuffles of the others name them. Let all lanes stay: loop over the start of each 32."
-     for (int start = 0; start < cols; start += 32) {
-         int c = start + lane;
-         float v = c < cols ? x[row * cols + c] : 0.0f;
+     for (int c = lane; c < cols; c += 32) {
+         float v = x[row * cols + c];

-         if (c < cols) out[row * cols + c] = v;
+         out[row * cols + c] = v;

// %% exercise=4.23 hint="What you carry on is the total of the last 32 numbers alone. The total of all before belongs to it: add the old carry first."
-         v += carry;
-         if (c < cols) out[row * cols + c] = v;
+         if (c < cols) out[row * cols + c] = v + carry;

// %% exercise=4.23 hint="Yours is the exclusive scan, which leaves out the own number. Here it belongs to the sum."
-         float v = c < cols ? x[row * cols + c] : 0.0f;
+         float own = c < cols ? x[row * cols + c] : 0.0f, v = own;

-         if (c < cols) out[row * cols + c] = v;
+         if (c < cols) out[row * cols + c] = v - own;

// %% exercise=4.23 hint="Each lane carries its own sum on. All lanes need the total of the 32, and lane 31 alone holds it."
-         carry = __shfl_sync(0xffffffff, v, 31);
+         carry = v;

// %% exercise=4.23 hint="You hand on what lane 0 holds, the sum up to the first of the 32 numbers. The total stands in the last lane."
-         carry = __shfl_sync(0xffffffff, v, 31);
+         carry = __shfl_sync(0xffffffff, v, 0);

// %% exercise=4.23 hint="The last offset is 8, so each sum reaches back over 16 numbers only. 32 lanes take five steps."
-         for (int offset = 1; offset < 32; offset *= 2) {
+         for (int offset = 1; offset < 16; offset *= 2) {

// %% exercise=4.23 hint="In the last round some lanes lie beyond the end of the row, and still read. They must stay for the shuffles, but bring a 0."
-         float v = c < cols ? x[row * cols + c] : 0.0f;
+         float v = x[row * cols + c];

// %% exercise=4.24 hint="The pair from the left came first in time: what it has left is multiplied by your a, not what you have by its a."
-             sum += mine * bs[t - offset];
+             sum = as[t - offset] * sum + bs[t - offset];

// %% exercise=4.24 hint="You have changed your a before b needed the old one. Work out b first."
+             mine *= as[t - offset];
              sum += mine * bs[t - offset];
-             mine *= as[t - offset];

// %% exercise=4.24 hint="A fast thread stores its next pair while another still reads the old one: the step needs a second barrier."
          }
-         __syncthreads();

// %% exercise=4.24 hint="Right, but one thread walks through the row while all others look on. Let every thread hold a pair, and combine with what lies 1, 2, 4, .. to the left."
extern "C" __global__ void recurrence(const float* a, const float* b, float* h, int time) {
    if (threadIdx.x > 0) return;
    float state = 0.0f;
    for (int i = blockIdx.x * time; i < (blockIdx.x + 1) * time; ++i) {
        state = a[i] * state + b[i];
        h[i] = state;
    }
}

// %% exercise=4.24 hint="Your pairs look back over half of the block only: let offset go on while it is smaller than blockDim.x."
-     for (int offset = 1; offset < blockDim.x; offset *= 2) {
+     for (int offset = 1; offset < blockDim.x / 2; offset *= 2) {

// %% exercise=4.24 hint="A fast warp reads the pairs of others before they are stored: a barrier is missing between."
          bs[t] = sum;
-         __syncthreads();

// %% exercise=4.24 hint="The rows are time numbers long, not blockDim.x: row r starts at r * time."
-     int t = threadIdx.x, i = blockIdx.x * time + t;
+     int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

// %% exercise=4.19 hint="The last term needs the old n: keep it until s is worked out, or work s out first."
-     mean += delta * n2 / total;
-     s += s2 + delta * delta * n * n2 / total;
-     n = total;
+     n = total;
+     mean += delta * n2 / total;
+     s += s2 + delta * delta * n * n2 / total;

// %% exercise=4.23 hint="By then v holds the carry as well, and so does the total of lane 31: set the carry to it, or take the total before you add."
-         carry = __shfl_sync(0xffffffff, v, 31);
+         carry += __shfl_sync(0xffffffff, v, 31);

// %% exercise=4.18 hint="Lane 0 of every warp adds, so sums of warps come on top of the block's. One thread of the block may add: threadIdx.x == 0."
-     if (threadIdx.x == 0) atomicAdd(result, v);
+     if (lane == 0) atomicAdd(result, v);
