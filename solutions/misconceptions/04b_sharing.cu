// Plausible wrong answers in CUDA C to the exercises of chapter 04b, each with the hint that it earns.

// %% exercise=4.10 hint="Between writing to the board and reading from it somebody else's number there must be a __syncthreads()."
-     __syncthreads();

// %% exercise=4.10 hint="Your barrier stands inside the if, where the threads beyond the end never come. Close the if before it, and open another one after it."
extern "C" __global__ void reverse_pieces(float* x, int n) {
    __shared__ float board[1024];
    int first = blockIdx.x * blockDim.x, t = threadIdx.x;
    int size = min((int)blockDim.x, n - first);
    if (t < size) {
        board[t] = x[first + t];
        __syncthreads();
        x[first + t] = board[size - 1 - t];
    }
}

// %% exercise=4.10 hint="The last piece is shorter than the block. Its first number comes from the end of the piece, not from place blockDim.x - 1, where nobody wrote."
extern "C" __global__ void reverse_pieces(float* x, int n) {
    __shared__ float board[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) board[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) x[i] = board[blockDim.x - 1 - threadIdx.x];
}

// %% exercise=4.10 hint="Where the pieces come out even, n % blockDim.x is 0, and the last block, a full one, does nothing. The smaller of blockDim.x and n - first is always right."
-     int size = min((int)blockDim.x, n - first);
+     int size = blockIdx.x == gridDim.x - 1 ? n % blockDim.x : blockDim.x;

// %% exercise=4.10 hint="You turn the whole array round. Then blocks exchange numbers, and nothing orders two blocks; each shall turn its own piece."
extern "C" __global__ void reverse_pieces(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) x[n - 1 - i] = mine;
}

// %% exercise=4.10 hint="The last block has more threads than numbers: guard the load and the store."
extern "C" __global__ void reverse_pieces(float* x, int n) {
    __shared__ float board[1024];
    int first = blockIdx.x * blockDim.x, t = threadIdx.x;
    board[t] = x[first + t];
    __syncthreads();
    x[first + t] = board[blockDim.x - 1 - t];
}

// %% exercise=4.10 hint="The piece's last number lies at place size - 1 of the board: places count from 0."
-     if (t < size) x[first + t] = board[size - 1 - t];
+     if (t < size) x[first + t] = board[size - t];

// %% exercise=4.10 hint="Every block writes its numbers to the first piece: each has a piece of its own, which begins at first."
-     if (t < size) x[first + t] = board[size - 1 - t];
+     if (t < size) x[t] = board[size - 1 - t];

// %% exercise=4.11 hint="The mistake is still there: a thread writes its new number while its neighbour may be reading the old one."
-         float mean = 0.0f;
-         if (inner) mean = (rod[t - 1] + rod[t] + rod[t + 1]) / 3.0f;
-         __syncthreads();
-         if (inner) rod[t] = mean;
+         if (inner) rod[t] = (rod[t - 1] + rod[t] + rod[t + 1]) / 3.0f;

// %% exercise=4.11 hint="The new barrier stands inside the if, and the threads at the ends never come there. Put it between two ifs."
-         float mean = 0.0f;
-         if (inner) mean = (rod[t - 1] + rod[t] + rod[t + 1]) / 3.0f;
-         __syncthreads();
-         if (inner) rod[t] = mean;
+         if (inner) {
+             float mean = (rod[t - 1] + rod[t] + rod[t + 1]) / 3.0f;
+             __syncthreads();
+             rod[t] = mean;
+         }

// %% exercise=4.11 hint="You moved the barrier. Now nobody waits after writing, and the next round reads what may not be there yet: it needs both."
          if (inner) rod[t] = mean;
-         __syncthreads();

// %% exercise=4.11 hint="The ends of the rod stay as they are: your kernel writes over them too."
-         if (inner) rod[t] = mean;
+         if (t < n) rod[t] = mean;

// %% exercise=4.11 hint="1 / 3 is 0: both are ints. Divide by 3.0f."
-         if (inner) mean = (rod[t - 1] + rod[t] + rod[t + 1]) / 3.0f;
+         if (inner) mean = (rod[t - 1] + rod[t] + rod[t + 1]) * (1 / 3);

// %% exercise=4.12 hint="The numbers are right, but each is loaded four times. Let the block load its numbers, and three more, to a board once."
extern "C" __global__ void look_back(float a, float b, float c, float d, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = a * x[i];
    if (i >= 1) sum += b * x[i - 1];
    if (i >= 2) sum += c * x[i - 2];
    if (i >= 3) sum += d * x[i - 3];
    y[i] = sum;
}

// %% exercise=4.12 hint="Between writing to the board and reading others' numbers from it there must be a __syncthreads()."
-     __syncthreads();

// %% exercise=4.12 hint="Each block begins with zeros before its first number. That is right for the first block only: the others look back into the block before."
-     if (t < 3) board[t] = i >= 3 && i - 3 < n ? x[i - 3] : 0.0f;
+     if (t < 3) board[t] = 0.0f;

// %% exercise=4.12 hint="The weights meet the numbers in the wrong order: a belongs to the newest number, d to the oldest."
-     if (i < n) y[i] = a * board[3 + t] + b * board[2 + t] + c * board[1 + t] + d * board[t];
+     if (i < n) y[i] = a * board[t] + b * board[1 + t] + c * board[2 + t] + d * board[3 + t];

// %% exercise=4.12 hint="Something is read before its first element. If it is x: the first block has nothing before it, and zeros belong on the board. If it is the board: the block's own numbers begin at place 3."
-     if (t < 3) board[t] = i >= 3 && i - 3 < n ? x[i - 3] : 0.0f;
+     if (t < 3) board[t] = x[i - 3];

// %% exercise=4.12 hint="The three places before the block's own numbers are read, and nobody has written there: load the halo too, with zeros before x[0]."
-     if (t < 3) board[t] = i >= 3 && i - 3 < n ? x[i - 3] : 0.0f;

// %% exercise=4.12 hint="Something is read before its first element. If it is x: the first block has nothing before it, and zeros belong on the board. If it is the board: the block's own numbers begin at place 3."
extern "C" __global__ void look_back(float a, float b, float c, float d, const float* x, float* y, int n) {
    __shared__ float board[3 + 256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    board[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = a * board[t] + b * board[t - 1] + c * board[t - 2] + d * board[t - 3];
}

// %% exercise=4.12 hint="Behind the end there is nothing: threads with i beyond n put a zero on the board, and write no y."
-     board[3 + t] = i < n ? x[i] : 0.0f;
+     board[3 + t] = x[i];

// %% exercise=4.12 hint="The threads that return early are missing when the halo is loaded: where the last block has one or two numbers, three threads must still fill it. Return after the barrier."
      int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
+     if (i >= n) return;

// %% exercise=4.12 hint="The numbers are right, but x is loaded up to four times and y is read back. Load to a board once, and add up in a variable."
extern "C" __global__ void look_back(float a, float b, float c, float d, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = a * x[i];
    if (i >= 1) y[i] += b * x[i - 1];
    if (i >= 2) y[i] += c * x[i - 2];
    if (i >= 3) y[i] += d * x[i - 3];
}

// %% exercise=4.12 hint="The numbers are right, but each warp loads the three before it; with a board for the whole block that is once for each block."
extern "C" __global__ void look_back(float a, float b, float c, float d, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float mine = i < n ? x[i] : 0.0f, before = lane < 3 && i >= 3 && i - 3 < n ? x[i - 3] : 0.0f;
    float sum = a * mine;
    for (int k = 1; k < 4; k++) {
        float near = __shfl_up_sync(0xffffffff, mine, k);
        float far = __shfl_sync(0xffffffff, before, (lane + 3 - k) % 32);
        sum += (k == 1 ? b : k == 2 ? c : d) * (lane >= k ? near : far);
    }
    if (i < n) y[i] = sum;
}

// %% exercise=4.13 hint="The picture is right, and the tile is read down a column of 32 words: all in one bank. Give its rows an odd length."
-     __shared__ float tile[32][33];
+     __shared__ float tile[32][32];

// %% exercise=4.13 hint="The picture is right, but each warp writes down a column of out, 32 sectors for 32 numbers. Turn a tile on the board, and write along a row."
extern "C" __global__ void quarter(const float* in, float* out, int rows, int cols) {
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    if (row < rows && col < cols) out[col * rows + rows - 1 - row] = in[row * cols + col];
}

// %% exercise=4.13 hint="That is the transpose. A quarter turn mirrors it too: in[r][c] goes to column rows - 1 - r."
-     if (row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];
+     if (row < rows && col < cols) out[col * rows + row] = tile[threadIdx.x][threadIdx.y];

// %% exercise=4.13 hint="Counter-clockwise: you mirror the rows of out, and its columns are to be mirrored."
-     if (row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];
+     if (row < rows && col < cols) out[(cols - 1 - col) * rows + row] = tile[threadIdx.x][threadIdx.y];

// %% exercise=4.13 hint="Between writing the tile and reading it there must be a __syncthreads(): other threads read what you wrote."
-     __syncthreads();

// %% exercise=4.13 hint="A thread that reads element (x, y) of the tile writes another place than it read. Its guard must fit that place: yours leaves out edges of pictures that are not square."
-     if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
+     bool inside = row < rows && col < cols;
+     if (inside) tile[threadIdx.y][threadIdx.x] = in[row * cols + col];

-     if (row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];
+     if (inside && row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];

// %% exercise=4.13 hint="The second guard is for out, which has cols rows of rows numbers: there row must be below cols, and col below rows."
-     row = blockIdx.y * 32 + threadIdx.x;  // of in: the place that this thread reads from the tile
-     col = blockIdx.x * 32 + threadIdx.y;
-     if (row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];
+     col = blockIdx.y * 32 + threadIdx.x;
+     row = blockIdx.x * 32 + threadIdx.y;
+     if (row < rows && col < cols) out[row * rows + rows - 1 - col] = tile[threadIdx.x][threadIdx.y];

// %% exercise=4.13 hint="In out the blocks are exchanged too: after the barrier col follows from blockIdx.y, and row from blockIdx.x."
-     row = blockIdx.y * 32 + threadIdx.x;  // of in: the place that this thread reads from the tile
-     col = blockIdx.x * 32 + threadIdx.y;
-     if (row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];
+     if (row < cols && col < rows) out[row * rows + rows - 1 - col] = tile[threadIdx.x][threadIdx.y];

// %% exercise=4.13 hint="In out the blocks are exchanged too: after the barrier col follows from blockIdx.y, and row from blockIdx.x."
-     row = blockIdx.y * 32 + threadIdx.x;  // of in: the place that this thread reads from the tile
-     col = blockIdx.x * 32 + threadIdx.y;

// %% exercise=4.13 hint="You mirror each tile within itself. The whole row of out is to be mirrored: change the place in out, not the one in the tile."
-     row = blockIdx.y * 32 + threadIdx.x;  // of in: the place that this thread reads from the tile
-     col = blockIdx.x * 32 + threadIdx.y;
-     if (row < rows && col < cols) out[col * rows + rows - 1 - row] = tile[threadIdx.x][threadIdx.y];
+     col = blockIdx.y * 32 + threadIdx.x;
+     row = blockIdx.x * 32 + threadIdx.y;
+     if (row < cols && col < rows) out[row * rows + col] = tile[31 - threadIdx.x][threadIdx.y];

// %% exercise=4.14 hint="Thread 0 counts its own numbers twice: they are in its variable already, and they stand on the board as well. Let the sum begin at 0, or leave out its own place."
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    __shared__ unsigned int board[256];
    unsigned int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (x[i] > limit) mine++;
    }
    board[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 0; t < blockDim.x; t++) mine += board[t];
        atomicAdd(count, mine);
    }
}

// %% exercise=4.14 hint="Right, with one atomic for each thread. Let the threads of a block leave their counts on a board, and thread 0 add them up."
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    unsigned int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (x[i] > limit) mine++;
    }
    atomicAdd(count, mine);
}

// %% exercise=4.14 hint="Right, but the threads of a block still queue up, at a counter on the board. Give each a place of its own there: that needs no atomic."
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    __shared__ unsigned int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (x[i] > limit) mine++;
    }
    atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, sum);
}

// %% exercise=4.14 hint="Right, with one atomic for each number that is above. Count in a variable of the thread first."
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (x[i] > limit) atomicAdd(count, 1u);
    }
}

// %% exercise=4.14 hint="Thread 0 adds up the board before the others have written to it: a __syncthreads() is missing."
-     __syncthreads();

// %% exercise=4.14 hint="*count += sum is three steps, and the thread 0 of another block may come in between. Use atomicAdd."
-         atomicAdd(count, sum);
+         *count += sum;

// %% exercise=4.14 hint="Each thread looks at one number only, and there are more numbers than threads: a grid-stride loop is missing."
-     unsigned int mine = 0;
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         if (x[i] > limit) mine++;
-     }
-     board[threadIdx.x] = mine;
+     int i = blockIdx.x * blockDim.x + threadIdx.x;
+     board[threadIdx.x] = i < n && x[i] > limit;

// %% exercise=4.14 hint="A number that equals limit does not lie above it."
-         if (x[i] > limit) mine++;
+         if (x[i] >= limit) mine++;

// %% exercise=4.14 hint="Atomics on the board are counted too. Count in a variable, and give each thread a place of its own on the board: that needs none."
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    __shared__ unsigned int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (x[i] > limit) atomicAdd(&sum, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, sum);
}

// %% exercise=4.14 hint="Every block counts all the numbers: the step of a grid-stride loop is as wide as the whole grid."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) {

// %% exercise=4.14 hint="Every thread adds the block's sum to *count: one of them is enough."
-     if (threadIdx.x == 0) {
+     {

// %% exercise=4.14 hint="A block may have fewer than 256 threads, and the rest of the board is garbage: add up blockDim.x places."
-         for (int k = 0; k < blockDim.x; k++) sum += board[k];
+         for (int k = 0; k < 256; k++) sum += board[k];

// %% exercise=4.14 hint="*count = sum writes over what was there, and over the other blocks' sums: add to it, with atomicAdd."
-         atomicAdd(count, sum);
+         *count = sum;

// %% exercise=4.15 hint="The loads are right. But two stores of one float each touch every sector twice: store the pair as one float2, too."
-         ((float2*)out)[i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));
+         out[2 * i] = p.x * cosf(p.y);
+         out[2 * i + 1] = p.x * sinf(p.y);

// %% exercise=4.15 hint="No warp divides any more. But two loads of one float each touch every sector twice: load the pair as one float2."
-         float2 p = ((const float2*)polar)[i];
+         float2 p = make_float2(polar[2 * i], polar[2 * i + 1]);

// %% exercise=4.15 hint="?: counts as no branch. But both lanes of a pair load its numbers, so every sector is loaded more than once. Let one thread load the pair, as one float2, and make both."
-     if (i < n) {
-         float2 p = ((const float2*)polar)[i];
-         ((float2*)out)[i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));
+     if (i < 2 * n) {
+         out[i] = i % 2 == 0 ? polar[i] * cosf(polar[i + 1]) : polar[i - 1] * sinf(polar[i]);

// %% exercise=4.15 hint="No warp divides any more. But two loads of one float each touch every sector twice: load the pair as one float2."
-         float2 p = ((const float2*)polar)[i];
-         ((float2*)out)[i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));
+         float r = polar[2 * i], angle = polar[2 * i + 1];
+         out[2 * i] = r * cosf(angle);
+         out[2 * i + 1] = r * sinf(angle);

// %% exercise=4.15 hint="Neighbouring lanes still go separate ways: even ones compute cosines, odd ones sines. Let one thread compute both numbers of a pair."
extern "C" __global__ void cartesian(const float* polar, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 2 * n) {
        if (i % 2 == 0) out[i] = polar[i] * cosf(polar[i + 1]);
        else out[i] = polar[i - 1] * sinf(polar[i]);
    }
}

// %% exercise=4.15 hint="The pair is (r cos, r sin): your two are the other way round."
-         ((float2*)out)[i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));
+         ((float2*)out)[i] = make_float2(p.x * sinf(p.y), p.x * cosf(p.y));

// %% exercise=4.15 hint="There are n pairs, and n / 2 of them are left out: n counts pairs already."
-     if (i < n) {
+     if (i < n / 2) {

// %% exercise=4.15 hint="A float2 counts in pairs: pair i is at [i], and [2 * i] lies twice as far."
-         float2 p = ((const float2*)polar)[i];
-         ((float2*)out)[i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));
+         float2 p = ((const float2*)polar)[2 * i];
+         ((float2*)out)[2 * i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));

// %% exercise=4.15 hint="There are n pairs, and a float2 holds a whole one: only threads with i below n have a pair."
-     if (i < n) {
+     if (i < 2 * n) {

// %% exercise=4.15 hint="The radius comes first: p.x is the radius, p.y the angle."
-         ((float2*)out)[i] = make_float2(p.x * cosf(p.y), p.x * sinf(p.y));
+         ((float2*)out)[i] = make_float2(p.y * cosf(p.x), p.y * sinf(p.x));

// %% exercise=4.16 hint="Nothing says that a block's sum is in memory before its ticket: a __threadfence() belongs between them, and one between the last ticket and the reading."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

-     __threadfence();
      if (atomicAdd(tickets, 1u) < gridDim.x - 1) return;
-     __threadfence();

// %% exercise=4.16 hint="*tickets is not 0 afterwards: the next launch would find no last block."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

-     *tickets = 0;

// %% exercise=4.16 hint="That is the sum of squares: the norm is its root."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

-     *norm = sqrtf(sum);
+     *norm = sum;

// %% exercise=4.16 hint="atomicAdd returns what was there before: the last of G tickets is G - 1, and nobody draws G."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

-     if (atomicAdd(tickets, 1u) < gridDim.x - 1) return;
+     if (atomicAdd(tickets, 1u) != gridDim.x) return;

// %% exercise=4.16 hint="You add up floats with an atomic: in another order the sum has other bits. Each block writes its own place of squares, and the last block adds them up."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

      squares[blockIdx.x] = sum;
+     atomicAdd(norm, sum);

-     sum = 0.0f;
-     for (int b = 0; b < gridDim.x; b++) sum += squares[b];
-     *norm = sqrtf(sum);
+     *norm = sqrtf(*norm);

// %% exercise=4.16 hint="You add up floats with an atomic: in another order the sum has other bits. Each block writes its own place of squares, and the last block adds them up."
extern "C" __global__ void norm_once(const float* x, float* squares, float* norm,
                                     unsigned int* tickets, int n) {
    __shared__ float board[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];
    board[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    sum = 0.0f;
    for (int k = 0; k < blockDim.x; k++) sum += board[k];
    squares[blockIdx.x] = sum;
    atomicAdd(norm, sum);
    if (atomicAdd(tickets, 1u) < gridDim.x - 1) return;
    *norm = sqrtf(*norm);
    *tickets = 0;
}

// %% exercise=4.16 hint="You add up floats with an atomic: in another order the sum has other bits. Each block writes its own place of squares, and the last block adds them up."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

-     squares[blockIdx.x] = sum;
+     atomicAdd(&squares[0], sum);

-     sum = 0.0f;
-     for (int b = 0; b < gridDim.x; b++) sum += squares[b];
-     *norm = sqrtf(sum);
+     *norm = sqrtf(squares[0]);

// %% exercise=4.16 hint="You add up floats with an atomic: in another order the sum has other bits. Each block writes its own place of squares, and the last block adds them up."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

      squares[blockIdx.x] = sum;
+     if (blockIdx.x > 0) atomicAdd(&squares[0], sum);

-     sum = 0.0f;
-     for (int b = 0; b < gridDim.x; b++) sum += squares[b];
-     *norm = sqrtf(sum);
+     *norm = sqrtf(squares[0]);

// %% exercise=4.16 hint="A block may have fewer than 256 threads, and the rest of the board is garbage: add up blockDim.x places."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];

-     for (int k = 0; k < blockDim.x; k++) sum += board[k];
+     for (int k = 0; k < 256; k++) sum += board[k];

// %% exercise=4.16 hint="Thread 0 adds up the board before the others have written to it: a __syncthreads() is missing."
-     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
-         sum += x[i] * x[i];
-     }
+     for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];
      board[threadIdx.x] = sum;
-     __syncthreads();

// %% exercise=4.15 hint="`p.x` is another number by the time that the second line reads it: keep the radius first."
extern "C" __global__ void cartesian(const float* polar, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 p = ((const float2*)polar)[i];
        p.x *= cosf(p.y);
        p.y = p.x * sinf(p.y);
        ((float2*)out)[i] = p;
    }
}

// %% exercise=4.16 hint="The sum begins with that of the block that happens to come last, so the order of the additions is another each time, and so are the last bits. Add up squares from the first to the last, your own where it stands."
-     sum = 0.0f;
-     for (int b = 0; b < gridDim.x; b++) sum += squares[b];
+     for (int b = 0; b < gridDim.x; b++) {
+         if (b != blockIdx.x) sum += squares[b];
+     }
