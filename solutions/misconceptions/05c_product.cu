// Plausible wrong answers to the exercises of chapter 05c, each with the hint that it earns.

// %% exercise=5.13 hint="The values are right, but each word is a load of its own. Four neighbours are one float4."
-             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + 4 * threadIdx.y);
-             x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
+             for (int c = 0; c < 4; c++) x[i + c] = as[k * (T + 4) + i / 4 * (T / 2) + 4 * threadIdx.y + c];

-             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.x);
-             y[j] = four.x, y[j + 1] = four.y, y[j + 2] = four.z, y[j + 3] = four.w;
+             for (int c = 0; c < 4; c++) y[j + c] = bs[k * (T + 4) + j / 4 * 64 + 4 * threadIdx.x + c];

// %% exercise=5.13 hint="The eight rows of a thread do not lie side by side: the second four begin T / 2 after the first."
-             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + 4 * threadIdx.y);
+             float4 four = *(const float4*)(as + k * (T + 4) + i + 8 * threadIdx.y);

// %% exercise=5.13 hint="A row of as has T + 4 words, of which the last four are padding: step k begins at k * (T + 4)."
-             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + 4 * threadIdx.y);
+             float4 four = *(const float4*)(as + k * T + i / 4 * (T / 2) + 4 * threadIdx.y);

-             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.x);
+             float4 four = *(const float4*)(bs + k * T + j / 4 * 64 + 4 * threadIdx.x);

// %% exercise=5.13 hint="sum comes with what earlier pieces of the depth have given, and your function sets it to 0: only the last piece is left. Add to what is there."
-     for (int k = 0; k < depth; k++) {
+     for (int i = 0; i < 8; i++)
+         for (int j = 0; j < T / 16; j++) sum[i][j] = 0.0f;
+     for (int k = 0; k < depth; k++) {

// %% exercise=5.13 hint="The sums begin anew in each step: add to sum, do not set it."
-             for (int j = 0; j < T / 16; j++) sum[i][j] += x[i] * y[j];
+             for (int j = 0; j < T / 16; j++) sum[i][j] = x[i] * y[j];

// %% exercise=5.13 hint="Rows go with threadIdx.y and columns with threadIdx.x: yours are exchanged."
-             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + 4 * threadIdx.y);
+             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + 4 * (threadIdx.x % (T / 8)));

-             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.x);
+             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.y);

// %% exercise=5.13 hint="Columns go with threadIdx.x: that line chooses the numbers of bs by the thread's row, so threads beside each other get the same."
-             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.x);
+             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.y);

// %% exercise=5.13 hint="The first column of a thread is number 4 * threadIdx.x: a float4 that begins at threadIdx.x is not aligned."
-             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + 4 * threadIdx.x);
+             float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + threadIdx.x);

// %% exercise=5.13 hint="The other four rows lie T / 2 further on: 64 for a tile of 128, 32 for one of 64."
-             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + 4 * threadIdx.y);
+             float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * 64 + 4 * threadIdx.y);

// %% exercise=5.14 hint="The values are right, but a thread makes one result: two words for each FMA. Give it a register tile, 4 x 4."
#define ROWS 16
#define COLUMNS 16
#define BLOCK_X 16
#define BLOCK_Y 16
extern "C" __global__ void weight_gradient(const float* x, const float* dy, float* dw, int k, int m, int n) {
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * 16, left = blockIdx.x * 16;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        a[ty][tx] = start + ty < k && top + tx < m ? x[(start + ty) * m + top + tx] : 0.0f;
        b[ty][tx] = start + ty < k && left + tx < n ? dy[(start + ty) * n + left + tx] : 0.0f;
        __syncthreads();
        for (int s = 0; s < 16; s++) sum += a[s][ty] * b[s][tx];
        __syncthreads();
    }
    if (top + ty < m && left + tx < n) dw[(top + ty) * n + left + tx] = sum;
}

// %% exercise=5.14 hint="The values are right, but nothing is shared: each thread fetches its numbers from device memory itself. Let the block fetch tiles."
#define ROWS 16
#define COLUMNS 16
#define BLOCK_X 16
#define BLOCK_Y 16
extern "C" __global__ void weight_gradient(const float* x, const float* dy, float* dw, int k, int m, int n) {
    int row = blockIdx.y * ROWS + threadIdx.y, col = blockIdx.x * COLUMNS + threadIdx.x;
    float sum = 0.0f;
    if (row < m && col < n) {
        for (int s = 0; s < k; s++) sum += x[s * m + row] * dy[s * n + col];
        dw[row * n + col] = sum;
    }
}

// %% exercise=5.14 hint="Two by two results take 4 bytes for each FMA, and 3 can do: make the register tile larger."
- #define BLOCK_X 8
- #define BLOCK_Y 8
+ #define BLOCK_X 16
+ #define BLOCK_Y 16

-     float sum[4][4] = {};
+     float sum[2][2] = {};

-             float u[4], v[4];
-             for (int i = 0; i < 4; i++) {
-                 u[i] = a[s][ty + 8 * i];
-                 v[i] = b[s][tx + 8 * i];
+             float u[2], v[2];
+             for (int i = 0; i < 2; i++) {
+                 u[i] = a[s][ty + 16 * i];
+                 v[i] = b[s][tx + 16 * i];
              }
-             for (int i = 0; i < 4; i++)
-                 for (int j = 0; j < 4; j++) sum[i][j] += u[i] * v[j];
+             for (int i = 0; i < 2; i++)
+                 for (int j = 0; j < 2; j++) sum[i][j] += u[i] * v[j];

-     for (int i = 0; i < 4; i++)
-         for (int j = 0; j < 4; j++) {
-             int row = top + ty + 8 * i, col = left + tx + 8 * j;
+     for (int i = 0; i < 2; i++)
+         for (int j = 0; j < 2; j++) {
+             int row = top + ty + 16 * i, col = left + tx + 16 * j;

// %% exercise=5.14 hint="That is x @ dy read as if x were (m, k). Here x is (k, m): number (s, i) of it stands at x[s * m + i]."
-             a[s][i] = start + s < k && top + i < m ? x[(start + s) * m + top + i] : 0.0f;
+             a[s][i] = start + s < k && top + i < m ? x[(top + i) * k + start + s] : 0.0f;

// %% exercise=5.14 hint="The last blocks reach beyond x and dy: ask for each number whether it is there, and bring 0 where it is not."
-             a[s][i] = start + s < k && top + i < m ? x[(start + s) * m + top + i] : 0.0f;
-             b[s][i] = start + s < k && left + i < n ? dy[(start + s) * n + left + i] : 0.0f;
+             a[s][i] = x[(start + s) * m + top + i];
+             b[s][i] = dy[(start + s) * n + left + i];

// %% exercise=5.14 hint="A fast thread fetches the next tile while others still multiply this one: there must be a barrier at the end of the round too."
                  for (int j = 0; j < 4; j++) sum[i][j] += u[i] * v[j];
          }
-         __syncthreads();

// %% exercise=5.14 hint="The tile must be complete before anybody multiplies: a barrier after fetching."
-         __syncthreads();
          for (int s = 0; s < DEPTH; s++) {

// %% exercise=5.15 hint="The place outside gets the nearest number instead of none: it is multiplied and added too. Bring 0."
-         a[s][i] = start + s < k && top + i < m ? x[(start + s) * m + top + i] : 0.0f;
-         b[s][i] = start + s < k && left + i < n ? y[(start + s) * n + left + i] : 0.0f;
+         a[s][i] = x[min(start + s, k - 1) * m + min(top + i, m - 1)];
+         b[s][i] = y[min(start + s, k - 1) * n + min(left + i, n - 1)];

// %% exercise=5.15 hint="Where a place lies outside you still write nothing, so the tile keeps what it held. Write 0 there."
-         a[s][i] = start + s < k && top + i < m ? x[(start + s) * m + top + i] : 0.0f;
-         b[s][i] = start + s < k && left + i < n ? y[(start + s) * n + left + i] : 0.0f;
+         if (start + s < k && top + i < m) a[s][i] = x[(start + s) * m + top + i];
+         if (start + s < k && left + i < n) b[s][i] = y[(start + s) * n + left + i];

// %% exercise=5.15 hint="You ask about k, but the last columns of a tile may lie outside too: of x there are m, of y there are n."
-         a[s][i] = start + s < k && top + i < m ? x[(start + s) * m + top + i] : 0.0f;
-         b[s][i] = start + s < k && left + i < n ? y[(start + s) * n + left + i] : 0.0f;
+         a[s][i] = start + s < k ? x[(start + s) * m + top + i] : 0.0f;
+         b[s][i] = start + s < k ? y[(start + s) * n + left + i] : 0.0f;

// %% exercise=5.15 hint="You ask about the columns. The bug is along k: the last steps of the last tile lie outside."
-         a[s][i] = start + s < k && top + i < m ? x[(start + s) * m + top + i] : 0.0f;
-         b[s][i] = start + s < k && left + i < n ? y[(start + s) * n + left + i] : 0.0f;
+         a[s][i] = top + i < m ? x[(start + s) * m + top + i] : 0.0f;
+         b[s][i] = left + i < n ? y[(start + s) * n + left + i] : 0.0f;

// %% exercise=5.16 hint="Right, but it waits twice in each round. With two pairs of tiles in turn the second barrier can go."
          for (int s = 0; s < 16; s++) sum += a[now][s][ty] * b[now][s][tx];
+         __syncthreads();

// %% exercise=5.16 hint="With one barrier, who is fast fetches the next tile while others still read this one: it must go into another pair. Take two in turn, and see that two rounds in a row do not write the same."
-     for (int start = 0; start < k; start += 16, now = 1 - now) {
+     for (int start = 0; start < k; start += 16) {

// %% exercise=5.16 hint="No barrier at all: the tiles must be complete before anybody reads them."
-         __syncthreads();
          for (int s = 0; s < 16; s++) sum += a[now][s][ty] * b[now][s][tx];

// %% exercise=5.16 hint="No barrier, since nothing is shared: each thread fetches all its numbers from device memory, sixteen times as many bytes. Fetch tiles."
extern "C" __global__ void in_turn(const float* x, const float* y, float* C, int k, int m, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int s = 0; s < k; s++) sum += x[s * m + row] * y[s * n + col];
    C[row * n + col] = sum;
}
