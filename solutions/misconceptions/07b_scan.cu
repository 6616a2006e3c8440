// Plausible wrong answers in CUDA C to the exercises of chapter 07b, each with the hint that it earns.

// %% exercise=7.10 hint="The chunks know nothing of each other: add a * (what was carried) to h after the scan."
-             h += a * __shfl_sync(ALL, state, n);

// %% exercise=7.10 hint="What is carried is the state of the last lane, the last token of the chunk, not that of the first."
-             float last = __shfl_sync(ALL, h, TIME - 1);
+             float last = __shfl_sync(ALL, h, 0);

// %% exercise=7.10 hint="You add what was carried before the scan, in every lane: it is counted once for each token. Add it after the scan, times the product of the factors."
-             scan_up(a, h);
-             h += a * __shfl_sync(ALL, state, n);
+             h += a * __shfl_sync(ALL, state, n);
+             scan_up(a, h);

// %% exercise=7.10 hint="A race: a tile is used before all of it has been fetched. Wait after the four fetches."
          fetch(C, cs, start, T, 0, N, N, N + 1);
-         __syncthreads();

// %% exercise=7.10 hint="A race: the tile of y is read, or the next tiles are fetched, while others are still busy with this one. Wait between."
          xs[lane * ROW + threadIdx.y] = out;
-         __syncthreads();

// %% exercise=7.10 hint="You write beyond the last token, or the last channel: ask for t < T and c < E before you write y."
-             if (t < T && c < E) y[t * E + c] = xs[i / CHANNELS * ROW + i % CHANNELS];
+             y[t * E + c] = xs[i / CHANNELS * ROW + i % CHANNELS];

// %% exercise=7.10 hint="`carried` is behind by a chunk: its first state was given, and yours go one place further on."
-         carried += E * N;
-         if (holds) *carried = state;
+         if (holds) *carried = state;
+         carried += E * N;

// %% exercise=7.10 hint="The step is missing where x is written into the state: b is delta x B."
-         float step = ds[lane * ROW + threadIdx.y], in = step * xs[lane * ROW + threadIdx.y], out = 0.0f;
+         float step = ds[lane * ROW + threadIdx.y], in = xs[lane * ROW + threadIdx.y], out = 0.0f;

// %% exercise=7.10 hint="The values are right, but each lane writes its own token: 32 sectors for 32 numbers. Put y into a tile first, and let 8 neighbouring threads write 8 channels of a token."
-         xs[lane * ROW + threadIdx.y] = out;
-         __syncthreads();
-         for (int i = threadIdx.y * TIME + lane; i < TIME * CHANNELS; i += TIME * CHANNELS) {
-             int t = start + i / CHANNELS, c = first + i % CHANNELS;
-             if (t < T && c < E) y[t * E + c] = xs[i / CHANNELS * ROW + i % CHANNELS];
-         }
+         if (start + lane < T && e < E) y[(start + lane) * E + e] = out;
+         __syncthreads();
