// Plausible wrong answers in CUDA C to the exercises of chapter 05d, each with the hint that it earns.

// %% exercise=5.18 hint="The step is made with the old mean: use the new one, which you have just worked out."
-     mean[i] = m;
-     square[i] = s;
-     x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
+     x[i] = now * shrink - scale * (mean[i] / (sqrtf(s) + eps));
+     mean[i] = m;
+     square[i] = s;

// %% exercise=5.18 hint="shrink is missing: AdamW makes x itself smaller before the step."
-     x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
+     x[i] = now - scale * (m / (sqrtf(s) + eps));

// %% exercise=5.18 hint="decay is missing: Adam adds it times x to the gradient, for both moments."
-     float now = x[i], g = grad[i] + decay * now;
+     float now = x[i], g = grad[i];

// %% exercise=5.18 hint="The second moment is a mean of squares: g * g."
-     float m = beta1 * mean[i] + rest1 * g, s = beta2 * square[i] + rest2 * (g * g);
+     float m = beta1 * mean[i] + rest1 * g, s = beta2 * square[i] + rest2 * g;

// %% exercise=5.18 hint="eps stands below the fraction beside the root, not under it."
-     x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
+     x[i] = now * shrink - scale * (m / sqrtf(s + eps));

// %% exercise=5.18 hint="shrink belongs to the old x alone: you make the step smaller with it."
-     x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
+     x[i] = (now - scale * (m / (sqrtf(s) + eps))) * shrink;

// %% exercise=5.18 hint="The moments are not written: the next step would begin with the old ones."
-     mean[i] = m;
-     square[i] = s;

// %% exercise=5.18 hint="The guard is missing: threads beyond the last number read and write where nothing is theirs."
-     if (i >= n) return;

// %% exercise=5.18 hint="Right numbers, but x or the moments are loaded again after they were written: keep new numbers in variables of the thread."
-     x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
+     x[i] = x[i] * shrink - scale * (mean[i] / (sqrtf(square[i]) + eps));

// %% exercise=5.18 hint="The mean of squares is one of g, the gradient with its decay; you square the gradient as it came. Right for AdamW, where decay is 0."
-     float m = beta1 * mean[i] + rest1 * g, s = beta2 * square[i] + rest2 * (g * g);
+     float m = beta1 * mean[i] + rest1 * g, s = beta2 * square[i] + rest2 * (grad[i] * grad[i]);

// %% exercise=5.19 hint="Your dx is a forward convolution of dy. Forward takes x at r + i - 1 to y at r: to which row of y, then, goes x at r?"
-                 int row = r - i + 1, col = q - j + 1;
+                 int row = r + i - 1, col = q + j - 1;

// %% exercise=5.19 hint="Only one axis is turned: solve for the column of y as you did for its row."
-                 int row = r - i + 1, col = q - j + 1;
+                 int row = r - i + 1, col = q + j - 1;

// %% exercise=5.19 hint="Outside of dy there is nothing: ask for row and column before you read. A column beyond the edge is another row's."
-                 if (row < 0 || row >= height || col < 0 || col >= width) continue;
+                 if (row < 0 || row >= height) continue;

// %% exercise=5.19 hint="w is (outs, channels, 3, 3): number (o, c) begins at (o * channels + c) * 9, not at (c * outs + o) * 9."
-                 sum += w[((o * channels + c) * 3 + i) * 3 + j] * slope;
+                 sum += w[((c * outs + o) * 3 + i) * 3 + j] * slope;

// %% exercise=5.19 hint="Every channel of y was made of this number of x: add up over all o."
-     for (int o = 0; o < outs; o++)
+     for (int o = 0; o < 1; o++)

// %% exercise=5.19 hint="Each image has its own dy: it begins at n * outs planes."
-                 float slope = dy[(n * outs + o) * plane + row * width + col];
+                 float slope = dy[o * plane + row * width + col];

// %% exercise=5.19 hint="Threads to spare write beyond the end of dx: leave them out by a guard."
-     if (at >= images * channels * plane) return;

// %% exercise=5.19 hint="The right numbers, but neighbouring threads write numbers that lie far apart: let the column run fastest."
-     int q = at % width, r = at / width % height, c = at / plane % channels, n = at / plane / channels;
+     int n = at % images, c = at / images % channels, r = at / (images * channels) % height;
+     int q = at / (images * channels * height);

-     dx[at] = sum;
+     dx[(n * channels + c) * plane + r * width + q] = sum;

// %% exercise=5.19 hint="dy has `outs` channels in each image: image n begins at n * outs planes, not at n * channels."
-                 float slope = dy[(n * outs + o) * plane + row * width + col];
+                 float slope = dy[(n * channels + o) * plane + row * width + col];
