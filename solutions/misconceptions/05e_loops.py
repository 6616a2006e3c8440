# Plausible wrong answers to the exercises of chapter 05e, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=5.22 hint="A line brings 16 numbers. Along a row all of them are used before the next line is needed: divide by 16."
-     lines = rows * columns // 16
+     lines = rows * columns

# %% exercise=5.22 hint="Down a column each number lies in a line of its own: a line is fetched again for each of its 16 numbers if the cache cannot hold one line of every row."
-     return 16 * lines
+     return lines

# %% exercise=5.22 hint="Does the cache help down a column? If a line of every row fits, the next column finds all of them."
-     if along_rows or rows <= room:
+     if along_rows:

# %% exercise=5.22 hint="It is one line of every row that has to fit, not the whole table."
-     if along_rows or rows <= room:
+     if along_rows or lines <= room:

# %% exercise=5.22 hint="Exactly as many rows as the cache holds lines: they fit."
-     if along_rows or rows <= room:
+     if along_rows or rows < room:

# %% exercise=5.23 hint="All threads still write the same numbers: give each block of rows a row of sums to itself."
-     sums = np.zeros((blocks, x.shape[1]), np.float32)
+     sums = np.zeros((1, x.shape[1]), np.float32)

-                 sums[k] += x[i]
+                 sums[0] += x[i]

# %% exercise=5.23 hint="All threads still write the same numbers: give each block of rows a row of sums to itself."
-     blocks = -(-len(x) // 8)
-     sums = np.zeros((blocks, x.shape[1]), np.float32)
+     sums = np.zeros((1, x.shape[1]), np.float32)

-         for k in range(start, stop):
-             for i in range(8 * k, min(8 * k + 8, len(x))):
-                 sums[k] += x[i]
+         for i in range(start, stop):
+             sums[0] += x[i]

-     run(work, blocks, threads, x, sums)
-     return sums.sum(axis=0)
+     run(work, len(x), threads, x, sums)
+     return sums[0]

# %% exercise=5.23 hint="The last block may be shorter than 8 rows, but its rows count too: round the number of blocks up."
-     blocks = -(-len(x) // 8)
+     blocks = max(1, len(x) // 8)

# %% exercise=5.23 hint="A place for each thread gives right sums, but rows come together in other groups with another number of threads: let blocks of a fixed length have the places."
-     blocks = -(-len(x) // 8)
-     sums = np.zeros((blocks, x.shape[1]), np.float32)
+     share = -(-len(x) // threads)
+     sums = np.zeros((len(x), x.shape[1]), np.float32)

-         for k in range(start, stop):
-             for i in range(8 * k, min(8 * k + 8, len(x))):
-                 sums[k] += x[i]
+         for i in range(start, stop):
+             sums[start // share] += x[i]

-     run(work, blocks, threads, x, sums)
+     run(work, len(x), threads, x, sums)

# %% exercise=5.23 hint="The sums are right, but your threads did nothing for them: `run` is to share the rows among them."
-     run(work, blocks, threads, x, sums)
-     return sums.sum(axis=0)
+     work(0, blocks, x, sums)
+     return sums.sum(axis=0)

# %% exercise=5.24 hint="exp of a large score overflows: take the largest of the row off all of its scores first."
-         top = x[i, 0]
-         for j in range(1, classes):
-             top = max(top, x[i, j])
+         top = 0.0

# %% exercise=5.24 hint="A share can underflow to 0, whose logarithm is no number: write the loss as log of the total, less the target's distance from the largest."
-         losses[i] = math.log(total) - (x[i, target[i]] - top)
+         losses[i] = -math.log(p[i, target[i]])

# %% exercise=5.24 hint="What was taken off all scores has to be taken off the target's too."
-         losses[i] = math.log(total) - (x[i, target[i]] - top)
+         losses[i] = math.log(total) - x[i, target[i]]

# %% exercise=5.24 hint="Each row of dx is multiplied by the gradient of its own loss, the one at the target included."
-         dx[i, target[i]] -= grad[i]
+         dx[i, target[i]] -= 1

# %% exercise=5.24 hint="dx has the one at the target with the wrong sign: the loss falls where the target's score grows."
-         dx[i, target[i]] -= grad[i]
+         dx[i, target[i]] += grad[i]

# %% exercise=5.24 hint="Right numbers, in several passes: rows come from memory again for each. Finish a row before you begin the next."
-     n, classes = x.shape
-     for i in range(n):
-         top = x[i, 0]
-         for j in range(1, classes):
-             top = max(top, x[i, j])
-         total = 0.0
+     n, classes = x.shape
+     tops = []
+     for i in range(n):
+         tops.append(max(x[i, j] for j in range(classes)))
+     for i in range(n):
+         top, total = tops[i], 0.0

# %% exercise=5.25 hint="Divide by the number of rows: batch norm's variance is the mean of the squares."
-     variance /= rows
+     variance /= max(1, rows - 1)

# %% exercise=5.25 hint="The mean of the squares less the square of the mean: two huge numbers whose difference has no digits left. Measure from a number nearby."
-             value = x[i, j]
-             away = value - mean[j]
-             mean[j] += away / (i + 1)
-             variance[j] += away * (value - mean[j])
-     variance /= rows
+             value = x[i, j]
+             mean[j] += value / rows
+             variance[j] += value * value / rows
+     variance -= mean**2

# %% exercise=5.25 hint="One distance is from the old mean, the other from the new one."
-             variance[j] += away * (value - mean[j])
+             variance[j] += away * away

# %% exercise=5.25 hint="One distance is from the old mean, the other from the new one."
-             variance[j] += away * (value - mean[j])
+             variance[j] += (value - mean[j]) ** 2

# %% exercise=5.25 hint="Right numbers, but rows come from memory more than once: one pass, with rows outside and columns inside."
-     for i in range(rows):
-         for j in range(columns):
+     for j in range(columns):
+         for i in range(rows):

# %% exercise=5.25 hint="You measure all columns from one number. A column that lies far from it has huge distances again: each column needs a number of its own, from its first row."
-     mean[:] = variance[:] = 0
+     first = x[0, 0]
+     mean[:] = variance[:] = 0

-             away = value - mean[j]
-             mean[j] += away / (i + 1)
-             variance[j] += away * (value - mean[j])
-     variance /= rows
+             mean[j] += (value - first) / rows
+             variance[j] += (value - first) ** 2 / rows
+     variance -= mean**2
+     mean += first

# %% exercise=5.26 hint="An odd number of numbers: one is left over after the pairs, and belongs to the sum."
-     half = len(numbers) // 2
-     return total(numbers[:half]) + total(numbers[half:])
+     return total([a + b for a, b in zip(numbers[::2], numbers[1::2])])

# %% exercise=5.26 hint="From the other end it is the same: what comes after the large number is lost beside it."
-     half = len(numbers) // 2
-     return total(numbers[:half]) + total(numbers[half:])
+     return total(numbers[1:]) + numbers[0] if len(numbers) < 900 else running(numbers[::-1])

# %% exercise=5.26 hint="One after the other: what is small beside the running sum is lost. Add numbers of like size."
-     half = len(numbers) // 2
-     return total(numbers[:half]) + total(numbers[half:])
+     return running(numbers)

# %% exercise=5.23 hint="A place for each block, but rows are shared out: where a thread's part ends within a block, two threads add to one place, and something is lost. Share out blocks."
-         for k in range(start, stop):
-             for i in range(8 * k, min(8 * k + 8, len(x))):
-                 sums[k] += x[i]
-
-     run(work, blocks, threads, x, sums)
+         for i in range(start, stop):
+             sums[i // 8] += x[i]
+
+     run(work, len(x), threads, x, sums)

# %% exercise=5.25 hint="The numbers are right, but the first row comes from memory again with each of the others. Keep a copy of it."
-             value = x[i, j]
-             away = value - mean[j]
-             mean[j] += away / (i + 1)
-             variance[j] += away * (value - mean[j])
-     variance /= rows
+             away = x[i, j] - x[0, j]
+             mean[j] += away
+             variance[j] += away * away
+     for j in range(columns):
+         mean[j] /= rows
+         variance[j] = variance[j] / rows - mean[j] ** 2
+         mean[j] += x[0, j]

# %% exercise=5.26 hint="Two forms are mixed: y - (t - result) is what was lost, and has to be added to the next number; the form that is subtracted is (t - result) - y."
def total(numbers: list[Single]) -> Single:
    """The sum of at least one number, in float32."""
    result = Single(0)
    lost = Single(0)
    for number in numbers:
        y = number - lost
        t = result + y
        lost = y - (t - result)
        result = t
    return result

# %% exercise=5.26 hint="Groups of a fixed size only move the limit: beside a larger number, or many more groups, their sums are lost again. Group the sums of groups too, until one is left."
-     half = len(numbers) // 2
-     return total(numbers[:half]) + total(numbers[half:])
+     return running([running(numbers[i : i + 10]) for i in range(0, len(numbers), 10)])

# %% exercise=5.23 hint="A place for each row: your threads only put rows down, and all of them are added in the end. Give the rows of a block one place, and share out blocks."
-     blocks = -(-len(x) // 8)
-     sums = np.zeros((blocks, x.shape[1]), np.float32)
+     sums = np.zeros(x.shape, np.float32)

-         for k in range(start, stop):
-             for i in range(8 * k, min(8 * k + 8, len(x))):
-                 sums[k] += x[i]
-
-     run(work, blocks, threads, x, sums)
+         for i in range(start, stop):
+             sums[i] += x[i]
+
+     run(work, len(x), threads, x, sums)
