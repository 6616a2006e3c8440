// Plausible wrong answers in CUDA C to the exercises of chapter 06b, each with the hint that it earns.

// %% exercise=6.12 hint="The mean so far keeps its old scale when m grows: multiply it by exp(before - m), as merge does with the sum."
-         for (int i = 0; i < WIDEST / TILE; i++) mean[i] *= expf(before - m);

// %% exercise=6.12 hint="m grows from key to key, and the mean so far keeps its old scale: multiply it by exp(before - m) each time, as merge does with the sum."
-         float before = m, m2 = -INFINITY, d2 = 0.0f;
-         for (int j = 0; j < TILE; j++) merge(m2, d2, scores[ty][j], 1.0f);
-         merge(m, sum, m2, d2);
-         for (int i = 0; i < WIDEST / TILE; i++) mean[i] *= expf(before - m);
-         for (int j = 0; j < TILE; j++) {
-             float weight = expf(scores[ty][j] - m);
-             for (int i = 0; tx + i * TILE < d; i++) mean[i] += weight * vs[j][tx + i * TILE];
-         }
+         for (int j = 0; j < TILE; j++) {
+             if (scores[ty][j] == -INFINITY) continue;
+             merge(m, sum, scores[ty][j], 1.0f);
+             float weight = expf(scores[ty][j] - m);
+             for (int i = 0; tx + i * TILE < d; i++) mean[i] += weight * vs[j][tx + i * TILE];
+         }

// %% exercise=6.12 hint="Every query sees every key: where the key's place is beyond S - T + row, the score is -INFINITY."
-         scores[ty][tx] = start + tx <= S - T + row ? score : -INFINITY;
+         scores[ty][tx] = start + tx < S ? score : -INFINITY;

// %% exercise=6.12 hint="Your mask is off by one: a query sees its own place, S - T + row, and none beyond."
-         scores[ty][tx] = start + tx <= S - T + row ? score : -INFINITY;
+         scores[ty][tx] = start + tx < S - T + row ? score : -INFINITY;

// %% exercise=6.12 hint="Where there are more keys than queries, the queries are the last T of S: query row sees keys up to S - T + row."
-     int seen = min(S, S - T + ((int)blockIdx.x + 1) * TILE);  // keys that the tile's last query may see
+     int seen = min(S, ((int)blockIdx.x + 1) * TILE);

-         scores[ty][tx] = start + tx <= S - T + row ? score : -INFINITY;
+         scores[ty][tx] = start + tx <= row ? score : -INFINITY;

// %% exercise=6.12 hint="A race: the next tile is fetched while somebody still uses the last. Wait at the end of the loop."
-             for (int i = 0; tx + i * TILE < d; i++) mean[i] += weight * vs[j][tx + i * TILE];
-         }
-         __syncthreads();
+             for (int i = 0; tx + i * TILE < d; i++) mean[i] += weight * vs[j][tx + i * TILE];
+         }

// %% exercise=6.12 hint="A race: a row of scores is read before its 16 threads have written it. Wait in between."
          scores[ty][tx] = start + tx <= S - T + row ? score : -INFINITY;
-         __syncthreads();

// %% exercise=6.12 hint="The values are right, but you read tiles that lie wholly ahead of all 16 queries. Stop after the last key that one of them may see."
-     int seen = min(S, S - T + ((int)blockIdx.x + 1) * TILE);  // keys that the tile's last query may see
+     int seen = S;

// %% exercise=6.12 hint="You read beyond the last key: guard the fetch, and bring zeros."
-             ks[ty][c] = start + ty < S ? k[(start + ty) * d + c] : 0.0f;
-             vs[ty][c] = start + ty < S ? v[(start + ty) * d + c] : 0.0f;
+             ks[ty][c] = k[(start + ty) * d + c];
+             vs[ty][c] = v[(start + ty) * d + c];

// %% exercise=6.12 hint="The last tile may have fewer than 16 queries: threads beyond T must not write."
-     for (int i = 0; tx + i * TILE < d && row < T; i++) out[row * d + tx + i * TILE] = mean[i] / sum;
+     for (int i = 0; tx + i * TILE < d; i++) out[row * d + tx + i * TILE] = mean[i] / sum;

// %% exercise=6.12 hint="You have not divided: mean is a sum of weighted values until it is divided by the sum of the weights."
-     for (int i = 0; tx + i * TILE < d && row < T; i++) out[row * d + tx + i * TILE] = mean[i] / sum;
+     for (int i = 0; tx + i * TILE < d && row < T; i++) out[row * d + tx + i * TILE] = mean[i];

// %% exercise=6.12 hint="The new tile's weights are relative to its own largest score, and mean and sum to the largest of all tiles so far: where an earlier tile had a larger one, yours weigh too much."
-             float weight = expf(scores[ty][j] - m);
+             float weight = expf(scores[ty][j] - m2);
