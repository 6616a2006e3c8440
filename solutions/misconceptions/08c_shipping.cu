// Plausible wrong answers in CUDA C to the exercises of chapter 08c, each with the hint that it earns.

// %% exercise=8.21 hint="You read the gradient as if it were contiguous. It begins at row * row_stride, and its columns are column_stride apart."
-     grad += blockIdx.x * row_stride;
+     grad += blockIdx.x * columns;

-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dot += grad[c * column_stride] * y[c];
+     for (int c = threadIdx.x; c < columns; c += blockDim.x) dot += grad[c] * y[c];

-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[c] = y[c] * (grad[c * column_stride] - dot);
+     for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[c] = y[c] * (grad[c] - dot);

// %% exercise=8.21 hint="The sum is missing: every number of a row has a say in the gradient of each, dx = y (g - sum of g y)."
-     dot = block_sum(dot);
+     dot = 0.0f;

// %% exercise=8.21 hint="Each thread subtracts its own part of the sum. block_sum joins them."
-     dot = block_sum(dot);

// %% exercise=8.21 hint="A block has 256 threads, and a row may have more columns: each thread takes every 256th."
-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dot += grad[c * column_stride] * y[c];
+     int c = threadIdx.x;
+     if (c < columns) dot += grad[c * column_stride] * y[c];

-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[c] = y[c] * (grad[c * column_stride] - dot);
+     if (c < columns) dx[c] = y[c] * (grad[c * column_stride] - dot);

// %% exercise=8.21 hint="The block has 256 threads, and the loop goes on by 32: columns are taken more than once. Go on by `blockDim.x`."
-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dot += grad[c * column_stride] * y[c];
+     for (int c = threadIdx.x; c < columns; c += 32) dot += grad[c * column_stride] * y[c];

-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[c] = y[c] * (grad[c * column_stride] - dot);
+     for (int c = threadIdx.x; c < columns; c += 32) dx[c] = y[c] * (grad[c * column_stride] - dot);

// %% exercise=8.21 hint="What you keep from the first loop is the last column that the thread has read, and in a long row a thread has several. Whose numbers does the second loop need each time?"
-     float dot = 0.0f;
-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dot += grad[c * column_stride] * y[c];
-     dot = block_sum(dot);
-     for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[c] = y[c] * (grad[c * column_stride] - dot);
+     float dot = 0.0f, g = 0.0f, p = 0.0f;
+     for (int c = threadIdx.x; c < columns; c += blockDim.x) {
+         g = grad[c * column_stride];
+         p = y[c];
+         dot += g * p;
+     }
+     dot = block_sum(dot);
+     for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[c] = p * (g - dot);
