// Plausible wrong answers to the exercises of chapter 05b, each with the hint that it earns.

// %% exercise=5.8 hint="A change of one score changes all probabilities of its row: the dot product of both rows is missing."
-         for (int i = 0; i < EACH; i++) mine[i] *= slope[i] - sum;
+         for (int i = 0; i < EACH; i++) mine[i] *= slope[i];

// %% exercise=5.8 hint="Each thread subtracts the sum of its own numbers. The dot product is over the whole row: block_sum."
-         sum = block_sum(sum);

// %% exercise=5.8 hint="You subtract the sum of the gradients. Each of them weighs as much as its probability: grad times y."
-         for (int i = 0; i < EACH; i++) sum += mine[i] * slope[i];
+         for (int i = 0; i < EACH; i++) sum += slope[i];

// %% exercise=5.8 hint="What you subtract has y in it twice: it is y (grad - sum), not y (grad - y sum)."
-         for (int i = 0; i < EACH; i++) mine[i] *= slope[i] - sum;
+         for (int i = 0; i < EACH; i++) mine[i] *= slope[i] - mine[i] * sum;

// %% exercise=5.8 hint="Each block does one row. Where there are fewer blocks than rows, it must go on to the row gridDim.x further."
-     for (int row = blockIdx.x; row < rows; row += gridDim.x) {
+     for (int row = blockIdx.x; row == blockIdx.x; row += gridDim.x) {

// %% exercise=5.8 hint="The values are right, but the second walk fetches both rows anew. Load them into registers, and each number is read once."
-         float mine[EACH], slope[EACH], sum = 0.0f;
-         load<EACH>(y + start, mine, columns, 0.0f);
-         load<EACH>(grad + start, slope, columns, 0.0f);
-         for (int i = 0; i < EACH; i++) sum += mine[i] * slope[i];
+         float sum = 0.0f;
+         for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += y[start + c] * grad[start + c];
          sum = block_sum(sum);
-         for (int i = 0; i < EACH; i++) mine[i] *= slope[i] - sum;
-         store<EACH>(dx + start, mine, columns);
+         for (int c = threadIdx.x; c < columns; c += blockDim.x)
+             dx[start + c] = y[start + c] * (grad[start + c] - sum);

// %% exercise=5.8 hint="The sum goes on from one row to the next. It begins at 0 for each: set it inside the loop over rows."
-     for (int row = blockIdx.x; row < rows; row += gridDim.x) {
+     float sum = 0.0f;
+     for (int row = blockIdx.x; row < rows; row += gridDim.x) {

-         float mine[EACH], slope[EACH], sum = 0.0f;
+         float mine[EACH], slope[EACH];

// %% exercise=5.8 hint="warp_sum knows the 32 threads of one warp. The row is spread over all warps of the block: block_sum."
-         sum = block_sum(sum);
+         sum = warp_sum(sum);

// %% exercise=5.8 hint="Where a thread has no number, you fill up with -INFINITY, and that times 0 is nan. In a sum of products what is missing should be 0."
-         load<EACH>(y + start, mine, columns, 0.0f);
+         load<EACH>(y + start, mine, columns, -INFINITY);

// %% exercise=5.9 hint="The race is still there. After all have read the largest from part[0], and before anybody writes a sum there, the block must meet."
      float top = part[0];
-     __syncthreads();

// %% exercise=5.9 hint="__syncwarp makes the lanes of one warp meet. The race is between two warps: the whole block must meet."
      float top = part[0];
-     __syncthreads();
+     __syncwarp();

// %% exercise=5.9 hint="A barrier in the loop over columns: threads that have one number fewer never come to the last of them. Put it outside of the loop."
      float top = part[0];
-     __syncthreads();
      for (int c = t; c < columns; c += blockDim.x) {
+         __syncthreads();
          row[c] = expf(row[c] - top);

// %% exercise=5.9 hint="Right, but with more barriers than needed: each is a wait for the whole block. One line was missing."
      part[t] = most;
+     __syncthreads();
      for (int half = blockDim.x / 2; half > 0; half /= 2) {
          __syncthreads();
          if (t < half) part[t] = fmaxf(part[t], part[t + half]);
+         __syncthreads();

// %% exercise=5.10 hint="You take the sum of the squares. It is their mean: divide by columns before the root."
-         float by = rsqrtf(block_sum(square) / columns + eps);
+         float by = rsqrtf(block_sum(square) + eps);

// %% exercise=5.10 hint="In the forward eps belongs under the root, where it keeps a row of zeros from a division by 0."
-         float by = rsqrtf(block_sum(square) / columns + eps);
+         float by = rsqrtf(block_sum(square) / columns) + eps;

// %% exercise=5.10 hint="In the forward eps belongs under the root, where it keeps a row of zeros from a division by 0."
-         float by = rsqrtf(block_sum(square) / columns + eps);
+         float by = 1.0f / (sqrtf(block_sum(square) / columns) + eps);

// %% exercise=5.10 hint="In the backward the scale depends on all numbers of the row too. That is the second term: minus x_hat times the mean of g x_hat."
-         for (int i = 0; i < EACH; i++) mine[i] = (mine[i] - y[i] * dot) * by;
+         for (int i = 0; i < EACH; i++) mine[i] = mine[i] * by;

// %% exercise=5.10 hint="dw keeps the last row of a block only. Each row adds to it."
-             dws[i] += mine[i] * y[i];
+             dws[i] = mine[i] * y[i];

// %% exercise=5.10 hint="dw is grad times x_hat. Yours has the weight in it: add to dws before you multiply grad by it."
-             dws[i] += mine[i] * y[i];
              mine[i] *= w[i];
+             dws[i] += mine[i] * y[i];

// %% exercise=5.10 hint="In the backward the sum of g x_hat is divided by the number of columns: it is a mean."
-         dot = block_sum(dot) / columns;
+         dot = block_sum(dot);

// %% exercise=5.10 hint="In the backward each thread takes the mean over its own numbers. It is over the whole row: block_sum."
-         dot = block_sum(dot) / columns;
+         dot /= columns;

// %% exercise=5.10 hint="The values are right, but the forward walks along its row twice. Keep the numbers of a thread in an array of EACH."
-         float mine[EACH], square = 0.0f;
-         load<EACH>(x + start, mine, columns, 0.0f);
-         for (int i = 0; i < EACH; i++) square += mine[i] * mine[i];
+         float mine[EACH], square = 0.0f;
+         for (int c = threadIdx.x; c < columns; c += blockDim.x) square += x[start + c] * x[start + c];

          if (threadIdx.x == 0) scale[row] = by;
+         load<EACH>(x + start, mine, columns, 0.0f);

// %% exercise=5.10 hint="In the backward x itself stands where x_hat should: x times the scale of its row."
-             y[i] *= by;

// %% exercise=5.10 hint="dw has a row for each block, and not for each row of x. Store it once, after the loop, at blockIdx.x."
          store<EACH>(dx + start, mine, columns);
+         store<EACH>(dw + start, dws, columns);

-     store<EACH>(dw + (long long)blockIdx.x * columns, dws, columns);

// %% exercise=5.10 hint="The values are right, but the forward fetches the weights for each row. They are the same for all rows of a block: load them above the loop."
-     float w[EACH];
-     load<EACH>(weight, w, columns, 0.0f);
      for (int row = blockIdx.x; row < rows; row += gridDim.x) {
          long long start = (long long)row * columns;
-         float mine[EACH], square = 0.0f;
+         float w[EACH], mine[EACH], square = 0.0f;
+         load<EACH>(weight, w, columns, 0.0f);

// %% exercise=5.10 hint="eps belongs to the mean, not to the sum: added before the division by the columns, next to nothing is left of it."
-         float by = rsqrtf(block_sum(square) / columns + eps);
+         float by = rsqrtf((block_sum(square) + eps) / columns);
