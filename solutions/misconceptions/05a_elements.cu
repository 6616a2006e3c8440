// Plausible wrong answers in CUDA C to the exercises of chapter 05a, each with the hint that it earns.

// %% exercise=5.3 hint="That is the slope of s alone, times dy: y is x times s, so the product rule gives s + x s (1 - s)."
-     dx[i] = dy[i] * (s + x[i] * s * (1.0f - s));
+     dx[i] = dy[i] * s * (1.0f - s);

// %% exercise=5.3 hint="You take s for a constant, but x is in it, too: the product rule adds x s (1 - s)."
-     dx[i] = dy[i] * (s + x[i] * s * (1.0f - s));
+     dx[i] = dy[i] * s;

// %% exercise=5.3 hint="The chain rule is missing: multiply by dy, the gradient of the result."
-     dx[i] = dy[i] * (s + x[i] * s * (1.0f - s));
+     dx[i] = s + x[i] * s * (1.0f - s);

// %% exercise=5.3 hint="Far from 0 you get nan: e to the x overflows. Divide by 1 + expf(-x): where that is infinite, s is 0, as it should be."
-     float s = 1.0f / (1.0f + expf(-x[i]));
+     float s = expf(x[i]) / (1.0f + expf(x[i]));

// %% exercise=5.3 hint="The guard is missing: the last block has threads whose number does not exist."
-     if (i >= n) return;

// %% exercise=5.5 hint="The axes are in the wrong order: the last coordinate runs fastest, so the walk begins with the last axis."
-     for (int axis = axes - 1; axis >= 0; axis--) {
+     for (int axis = 0; axis < axes; axis++) {

// %% exercise=5.5 hint="That is the bug itself: each axis must take its share of what the axes after it have left, not of i."
-         rest /= sizes[axis];
+         rest = i / sizes[axis];

// %% exercise=5.5 hint="You divide by the step. What is left over after an axis is the quotient by its size."
-         rest /= sizes[axis];
+         rest /= steps[axis] ? steps[axis] : 1;

// %% exercise=5.5 hint="You divide before you take the remainder: this axis then reads the coordinate of the one before it."
-         place += rest % sizes[axis] * steps[axis];
-         rest /= sizes[axis];
+         rest /= sizes[axis];
+         place += rest % sizes[axis] * steps[axis];

// %% exercise=5.5 hint="`first` is lost: number 0 lies at first, which counts where an array is read backwards."
-     int rest = i, place = first;
+     int rest = i, place = 0;
