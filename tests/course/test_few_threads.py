"""Chapter 04: kernels whose work a few threads do earn nothing, other ways to share it earn all points."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache

import pytest
from few_threads import PLAYERS, few, played
from graded import COURSE

from coursekit import notebooks
from coursekit.grading.assemble import assemble, find_notebook, load_chapter
from coursekit.grading.live import Live
from coursekit.grading.results import ExerciseResult
from coursekit.grading.run import private_folder
from coursekit.grading.submissions import Submission

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SOME = "one thread", "one warp of each block", "one block"
BY_PLAYERS = {  # exercises whose reference has no barrier: its threads are played by these
    "4.1": tuple(PLAYERS),
    **dict.fromkeys(("4.3", "4.4", "4.5", "4.6", "4.7", "4.8"), SOME),
    "4.15": ("one thread", "one warp", "one block"),  # a block has four warps: one may do what four would
}

# The others, written anew: FEW becomes the number at which one of the threads begins, and its step.
FEW = {
    "4.10": """
extern "C" __global__ void reverse_pieces(float* x, int n) {
    FEW;
    for (int i = FIRST; i < n; i += STEP) {
        int first = i - i % blockDim.x, size = min((int)blockDim.x, n - first);
        int other = first + size - 1 - i % blockDim.x;
        if (i < other) {
            float mine = x[i];
            x[i] = x[other];
            x[other] = mine;
        }
    }
}
""",
    "4.11": """
extern "C" __global__ void warm(float* x, int n, int rounds) {
    __shared__ float rods[2][256];
    FEW;
    for (int i = FIRST; i < n; i += STEP) rods[0][i] = rods[1][i] = x[i];
    for (int r = 0; r < rounds; r++) {
        __syncwarp(STEP == 1 ? 1 : 0xffffffff);
        for (int i = FIRST + 1; i < n - 1; i += STEP)
            rods[1 - r % 2][i] = (rods[r % 2][i - 1] + rods[r % 2][i] + rods[r % 2][i + 1]) / 3.0f;
    }
    __syncwarp(STEP == 1 ? 1 : 0xffffffff);
    for (int i = FIRST; i < n; i += STEP) x[i] = rods[rounds % 2][i];
}
""",
    "4.12": """
extern "C" __global__ void look_back(float a, float b, float c, float d, const float* x, float* y, int n) {
    FEW;
    for (int i = FIRST; i < n; i += STEP) {
        float sum = a * x[i];
        if (i >= 1) sum += b * x[i - 1];
        if (i >= 2) sum += c * x[i - 2];
        if (i >= 3) sum += d * x[i - 3];
        y[i] = sum;
    }
}
""",
    "4.13": """
extern "C" __global__ void quarter(const float* in, float* out, int rows, int cols) {
    FEW;
    for (int i = FIRST; i < rows * cols; i += STEP) out[i % cols * rows + rows - 1 - i / cols] = in[i];
}
""",
    "4.14": """
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    FEW;
    unsigned int mine = 0;
    for (int i = FIRST; i < n; i += STEP) mine += x[i] > limit;
    atomicAdd(count, mine);
}
""",
    "4.16": """
extern "C" __global__ void norm_once(const float* x, float* squares, float* norm,
                                     unsigned int* tickets, int n) {
    FEW;
    float all = 0.0f;
    for (int b = FIRST; b < there; b += STEP) {
        float sum = 0.0f;
        for (int i = b * threads; i < n; i += threads * there)
            for (int k = i; k < i + threads && k < n; k++) sum += x[k] * x[k];
        squares[b] = sum;
        all += sum;
    }
    *norm = sqrtf(all);
}
""",
    "4.17": """
#define INFINITY __int_as_float(0x7f800000)
extern "C" __global__ void block_max(const float* x, float* out, int n) {
    extern __shared__ float part[];
    FEW;
    for (int b = FIRST; b < there; b += STEP) {
        float most = -INFINITY;
        for (int i = b * threads; i < n && i < (b + 1) * threads; i++) most = fmaxf(most, x[i]);
        out[b] = most;
    }
}
""",
    "4.18": """
extern "C" __global__ void dot(const float* x, const float* y, float* result, int n) {
    FEW;
    float sum = 0.0f;
    for (int i = FIRST; i < n; i += STEP) sum += x[i] * y[i];
    atomicAdd(result, sum);
}
""",
    "4.19": """
extern "C" __global__ void mean_var(const float* x, float* means, float* vars, int rows, int cols) {
    FEW;
    for (int row = FIRST; row < rows; row += STEP) {
        float mean = 0.0f, s = 0.0f;
        for (int c = 0; c < cols; c++) {
            float value = x[row * cols + c], delta = value - mean;
            mean += delta / (c + 1);
            s += delta * (value - mean);
        }
        means[row] = mean;
        vars[row] = s / cols;
    }
}
""",
    "4.21": """
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    FEW;
    for (int at = FIRST; at < m * n; at += STEP) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++) sum += A[at / n * k + i] * B[i * n + at % n];
        C[at] = sum;
    }
}
""",
    "4.22": """
extern "C" __global__ void linear(const float* x, const float* w, const float* bias, float* y,
                                  int m, int n, int k) {
    FEW;
    for (int at = FIRST; at < m * n; at += STEP) {
        float sum = bias[at % n];
        for (int i = 0; i < k; i++) sum += x[at / n * k + i] * w[at % n * k + i];
        y[at] = sum;
    }
}
""",
    "4.23": """
extern "C" __global__ void row_scan(const float* x, float* out, int rows, int cols) {
    FEW;
    for (int row = FIRST; row < rows; row += STEP) {
        float sum = 0.0f;
        for (int c = 0; c < cols; c++) out[row * cols + c] = sum += x[row * cols + c];
    }
}
""",
    "4.24": """
extern "C" __global__ void recurrence(const float* a, const float* b, float* h, int time) {
    extern __shared__ float pairs[];
    FEW;
    for (int row = FIRST; row < there; row += STEP) {
        float now = 0.0f;
        for (int t = row * time; t < (row + 1) * time; t++) h[t] = now = a[t] * now + b[t];
    }
}
""",
}

WALKERS = dict.fromkeys(FEW, ("one thread", "one warp", "one block")) | {
    "4.11": ("one thread", "one warp"),  # there is one block
    "4.16": ("one thread",),
}

SAXPY = 'extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {\n'
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;\n"
DISGUISED = {
    "the last number is left to another thread": f"""{SAXPY}{INDEX}
    if (i == (n > 1)) y[n - 1] += a * x[n - 1];
    if (i == 0) for (int k = 0; k < n - 1; k++) y[k] += a * x[k];
}}""",
    "the others read, and do nothing with it": f"""{SAXPY}{INDEX}
    float seen = 0.0f;
    for (int k = 0; k < n; k++) {{
        if (i == 0) y[k] += a * x[k];
        else seen += x[k] + x[k];
    }}
}}""",
    "each waits for its turn": f"""{SAXPY}{INDEX}
    for (int k = 0; k < n; k++) if (k == i) y[k] += a * x[k];
}}""",
    "a function that calls itself": f"""
__device__ void from(float a, const float* x, float* y, int k, int n) {{
    if (k >= n) return;
    y[k] += a * x[k];
    if (k + 1 < n) y[k + 1] += a * x[k + 1];
    if (k % 50 < 48) from(a, x, y, k + 2, n);
}}
{SAXPY}{INDEX}
    if (i == 0) for (int k = 0; k < n; k += 50) from(a, x, y, k, n);
}}""",
}

HONEST = {
    "4.1": {
        "two numbers for a thread": """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] += a * x[i];
    if (i + 1 < n) y[i + 1] += a * x[i + 1];
}
""",
        "four numbers for a thread, in a loop": """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 4 * me; i < n && i < 4 * me + 4; i++) y[i] = a * x[i] + y[i];
}
""",
        "in double, by a pointer, with prints": """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("thread %d of block %d has number %d of %d\\\\n", threadIdx.x, blockIdx.x, i, n);
    if (i < n) *(y + i) = (float)((double)a * (double)x[i] + (double)y[i]);
}
""",
    },
    "4.3": {
        "two numbers in a turn, read twice": """
extern "C" __global__ void silu(const float* x, float* y, int n) {
    int all = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += 2 * all) {
        y[i] = x[i] / (1 + exp(-x[i]));
        if (i + all < n) y[i + all] = x[i + all] / (1 + exp(-x[i + all]));
    }
}
""",
    },
    "4.4": {
        "four rows for a thread": """
extern "C" __global__ void add_bias(float* x, const float* bias, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int first = 4 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (col >= cols) return;
    float mine = bias[col];
    for (int row = first; row < first + 4; row++)
        if (row < rows) x[row * cols + col] += mine;
}
""",
    },
    "4.5": {
        "ids on a board": """
extern "C" __global__ void embed(const float* table, const int* ids, float* out, int tokens, int dim) {
    __shared__ int words[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * dim) words[threadIdx.x] = ids[i / dim];
    __syncthreads();
    if (i < tokens * dim) out[i] = table[words[threadIdx.x] * dim + i % dim];
}
""",
    },
    "4.6": {
        "two passes over the parameters of a thread": """
extern "C" __global__ void momentum_step(
    float* p, float* v, const float* g, float lr, float momentum, int n
) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    float speed = 0.0f;
    for (int k = i; k < n; k += all) v[k] = speed = momentum * v[k] + g[k];
    for (int k = i; k < n; k += all) p[k] -= lr * speed;
}
""",
    },
    "4.7": {
        "weights and a tile with its border on a board": """
extern "C" __global__ void window(
    const float* image, const float* weights, float* out, int height, int width
) {
    __shared__ float tile[66][66], w[9];
    int me = threadIdx.x + blockDim.x * threadIdx.y, threads = blockDim.x * blockDim.y;
    int left = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1, across = blockDim.x + 2;
    for (int k = me; k < 9; k += threads) w[k] = weights[k];
    for (int k = me; k < across * (blockDim.y + 2); k += threads) {
        int y = top + k / across, x = left + k % across;
        bool inside = y >= 0 && y < height && x >= 0 && x < width;
        tile[k / across][k % across] = inside ? image[y * width + x] : 0.0f;
    }
    __syncthreads();
    int c = left + 1 + threadIdx.x, r = top + 1 + threadIdx.y;
    if (r >= height || c >= width) return;
    float sum = 0.0f;
    for (int k = 0; k < 9; k++) sum += w[k] * tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
    out[r * width + c] = sum;
}
""",
    },
    "4.10": {
        "half of the threads swap": """
extern "C" __global__ void reverse_pieces(float* x, int n) {
    int first = blockIdx.x * blockDim.x, size = min((int)blockDim.x, n - first), t = threadIdx.x;
    if (t >= size / 2) return;
    float left = x[first + t];
    x[first + t] = x[first + size - 1 - t];
    x[first + size - 1 - t] = left;
}
""",
    },
    "4.11": {
        "in registers and by barriers to spare": """
extern "C" __global__ void warm(float* x, int n, int rounds) {
    __shared__ float rod[258];
    int t = threadIdx.x;
    float mine = 0.0f;
    if (t < n) mine = x[t];
    for (int r = 0; r < rounds; r++) {
        rod[t + 1] = mine;
        __syncthreads();
        if (0 < t && t < n - 1) mine = (rod[t] + mine + rod[t + 2]) / 3;
        __syncthreads();
        __syncthreads();
    }
    if (t < n) x[t] = mine;
}
""",
    },
    "4.13": {
        "eight rows of threads do four rows each": """
extern "C" __global__ void quarter(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, left = blockIdx.x * 32, top = blockIdx.y * 32;
    if (ty < 8)
        for (int y = ty; y < 32; y += 8)
            if (top + y < rows && left + tx < cols) tile[y][tx] = in[(top + y) * cols + left + tx];
    __syncthreads();
    if (ty < 8)
        for (int y = ty; y < 32; y += 8)
            if (top + tx < rows && left + y < cols)
                out[(left + y) * rows + rows - 1 - top - tx] = tile[tx][y];
}
""",
    },
    "4.14": {
        "barriers that count": """
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    int first = blockIdx.x * blockDim.x, all = gridDim.x * blockDim.x;
    unsigned int sum = 0;
    for (; first < n; first += all) {
        int i = first + threadIdx.x;
        sum += __syncthreads_count(i < n && x[min(i, n - 1)] > limit);
    }
    if (threadIdx.x == 0) atomicAdd(count, sum);
}
""",
        "a tree": """
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    __shared__ unsigned int board[256];
    int t = threadIdx.x;
    board[t] = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) board[t] += x[i] > limit;
    for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
        int half = (left + 1) / 2;
        __syncthreads();
        if (t + half < left) board[t] += board[t + half];
    }
    if (t == 0) atomicAdd(count, board[0]);
}
""",
    },
    "4.16": {
        "tickets are set back by an atomic": """
extern "C" __global__ void norm_once(const float* x, float* squares, float* norm,
                                     unsigned int* tickets, int n) {
    __shared__ float board[256];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) sum += x[i] * x[i];
    board[t] = sum;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < blockDim.x; k++) sum += board[k];
        squares[blockIdx.x] = sum;
        __threadfence();
        if (atomicAdd(tickets, 1u) == gridDim.x - 1) {
            __threadfence();
            float all = 0.0f;
            for (int b = 0; b < gridDim.x; b++) all += squares[b];
            *norm = sqrtf(all);
            atomicExch(tickets, 0u);
        }
    }
}
""",
    },
    "4.17": {
        "shuffles where the block is made of warps": """
#define INFINITY __int_as_float(0x7f800000)
extern "C" __global__ void block_max(const float* x, float* out, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float most = i < n ? x[i] : -INFINITY;
    if (blockDim.x % 32) {
        part[t] = most;
        __syncthreads();
        for (int half = 1; half < blockDim.x; half *= 2) {
            if (t + half < blockDim.x) most = fmaxf(most, part[t + half]);
            __syncthreads();
            part[t] = most;
            __syncthreads();
        }
    } else {
        for (int o = 16; o > 0; o /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, o));
        if (t % 32 == 0) part[t / 32] = most;
        __syncthreads();
        most = t < blockDim.x / 32 ? part[t] : -INFINITY;
        if (t < 32) for (int o = 16; o > 0; o /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, o));
    }
    if (t == 0) out[blockIdx.x] = most;
}
""",
    },
    "4.18": {
        "two barriers, and a thread that adds up the warps": """
extern "C" __global__ void dot(const float* x, const float* y, float* result, int n) {
    __shared__ float of_warp[32];
    if (threadIdx.x < 32) of_warp[threadIdx.x] = 0.0f;
    __syncthreads();
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v = fmaf(x[i], y[i], v);
    for (int o = 1; o < 32; o *= 2) v += __shfl_xor_sync(0xffffffff, v, o);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < 32; w++) v += of_warp[w];
    atomicAdd(result, v);
}
""",
    },
    "4.19": {
        "the board in place of shuffles": """
extern "C" __global__ void mean_var(const float* x, float* means, float* vars, int rows, int cols) {
    __shared__ float board[4][3][32];
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    float (*mine)[32] = board[threadIdx.y];
    float n = 0.0f, mean = 0.0f, s = 0.0f;
    if (row < rows)
        for (int c = lane; c < cols; c += 32) {
            float value = x[row * cols + c], delta = value - mean;
            n += 1;
            mean += delta / n;
            s += delta * (value - mean);
        }
    mine[0][lane] = n;
    mine[1][lane] = mean;
    mine[2][lane] = s;
    __syncthreads();
    if (lane > 0 || row >= rows) return;
    for (int k = 1; k < 32; k++) {
        float total = n + mine[0][k], delta = mine[1][k] - mean;
        if (mine[0][k] == 0) continue;
        s += mine[2][k] + delta * delta * n * mine[0][k] / total;
        mean += delta * mine[0][k] / total;
        n = total;
    }
    means[row] = mean;
    vars[row] = s / cols;
}
""",
    },
    "4.21": {
        "without tiles": """
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    double sum = 0;
    for (int i = 0; i < k; i++) sum += (double)A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
""",
    },
    "4.23": {
        "lanes sum up runs of their own": """
extern "C" __global__ void row_scan(const float* x, float* out, int rows, int cols) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float carry = 0.0f;
    for (int c = lane; c - lane < cols; c += 32) {
        float v = c < cols ? x[row * cols + c] : 0.0f, sum = 0.0f;
        for (int k = 0; k < 32; k++) {
            float other = __shfl_sync(0xffffffff, v, k);
            if (k <= lane) sum += other;
        }
        if (c < cols) out[row * cols + c] = carry + sum;
        carry += __shfl_sync(0xffffffff, sum, 31);
    }
}
""",
    },
    "4.24": {
        "two boards in turn, of static size": """
extern "C" __global__ void recurrence(const float* a, const float* b, float* h, int time) {
    __shared__ float as[2][1024], bs[2][1024];
    int t = threadIdx.x, i = blockIdx.x * time + t, now = 0;
    as[0][t] = t < time ? a[i] : 1.0f;
    bs[0][t] = t < time ? b[i] : 0.0f;
    for (int offset = 1; offset < time; offset *= 2, now ^= 1) {
        __syncthreads();
        float ours = as[now][t], sum = bs[now][t];
        if (t >= offset) {
            sum += ours * bs[now][t - offset];
            ours *= as[now][t - offset];
        }
        as[now ^ 1][t] = ours;
        bs[now ^ 1][t] = sum;
    }
    if (t < time) h[i] = bs[now][t];
}
""",
    },
}


@pytest.fixture(scope="module")
def result():
    """The result of an answer to an exercise."""
    with ExitStack() as stack:

        @cache
        def live(part: str) -> Live:
            folder = stack.enter_context(private_folder())
            made = Live(load_chapter(find_notebook(COURSE.solutions, part)), COURSE, folder, seed=7)
            stack.callback(made.close)
            return made

        def of(number: str, source: str) -> ExerciseResult:
            here = live(part_of(number))
            exercise, answers = here.exercises[number], {number: source}
            run = here.run(exercise, assemble(here.chapter, answers))
            mine = Submission("you", "you", here.chapter.path.name, answers, ())
            return here.measure(exercise).result(mine, run).exercises[0]

        yield of


def part_of(number: str) -> str:
    place = int(number.partition(".")[2])
    return "04a" if place < 9 else "04b" if place < 17 else "04c"


@cache
def reference(number: str) -> str:
    chapter = load_chapter(find_notebook(COURSE.solutions, part_of(number)))
    return notebooks.cuda_text(next(one.reference for one in chapter.exercises if one.number == number))


def assert_few(result: ExerciseResult) -> None:
    assert result.points == 0
    assert "share the work among the threads" in result.messages[0]


@pytest.mark.parametrize(("number", "players"), [(n, one) for n, who in BY_PLAYERS.items() for one in who])
def test_the_references_threads_played_by_a_few_earn_nothing(result, number, players):
    assert_few(result(number, played(reference(number), players)))


@pytest.mark.parametrize(("number", "players"), [(n, one) for n, who in WALKERS.items() for one in who])
def test_a_few_threads_that_walk_through_all_earn_nothing(result, number, players):
    assert_few(result(number, few(FEW[number], players)))


@pytest.mark.parametrize("how", DISGUISED)
def test_work_of_one_thread_in_disguise_earns_nothing(result, how):
    assert_few(result("4.1", DISGUISED[how]))


@pytest.mark.parametrize(("number", "how"), [(n, how) for n, many in HONEST.items() for how in many])
def test_another_way_to_share_the_work_earns_all_points(result, number, how):
    got = result(number, HONEST[number][how])
    assert (got.points, got.messages) == (got.exercise.points, ())
