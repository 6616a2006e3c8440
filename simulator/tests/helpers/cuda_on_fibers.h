// CUDA C as C++: threads are fibers of one operating-system thread, blocks run one after the other, unless one
// waits for another.
//
// A second implementation beside warplens, which shares no code with it. A fiber runs until it waits: at a
// barrier for every thread of the block that has not returned, at a warp intrinsic for every such lane of the
// mask, in coalesced_threads() for all that can come there before it leaves, in __nanosleep and in a loop without
// a body for all others to have their turn. If nobody can go on, that is an error. Shared memory is poisoned
// before each block.
// What the source may say beyond this header: see cuda_oracle.py, which includes it before the source.
#pragma once

#include <cassert>
#include <cfenv>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <math.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <type_traits>
#include <ucontext.h>
#include <utility>

// ---------------------------------------------------------------------------------------------------- vectors

#define VECTOR(T, name, a2, a4)                                                                               \
    struct name##1 { T x; };                                                                                  \
    struct alignas(a2) name##2 { T x, y; };                                                                   \
    struct name##3 { T x, y, z; };                                                                            \
    struct alignas(a4) name##4 { T x, y, z, w; };                                                             \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                        \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTOR(signed char, char, 2, 4)
VECTOR(unsigned char, uchar, 2, 4)
VECTOR(short, short, 4, 8)
VECTOR(unsigned short, ushort, 4, 8)
VECTOR(int, int, 8, 16)
VECTOR(unsigned, uint, 8, 16)
VECTOR(float, float, 8, 16)
VECTOR(long long, longlong, 16, 16)
VECTOR(unsigned long long, ulonglong, 16, 16)
VECTOR(double, double, 16, 16)
#undef VECTOR

struct dim3 { unsigned x = 1, y = 1, z = 1; };

// ----------------------------------------------------------------------------------------------------- fibers

namespace fibers {

constexpr unsigned STACK = 128 << 10, MOST_THREADS = 1024, POISON = 0x7fedcba9;  // a NaN, and a large integer

// One warp intrinsic under way: who has come, with what.
struct Meeting {
    const char *what;
    unsigned mask, arrived, left;
    uint64_t value[32];
    bool open, used;
};

struct Fiber {
    uint3 thread;
    unsigned warp, lane;
    bool done, started;
    unsigned barrier;  // the number of the barrier it waits for; 0: none
    Meeting *meeting;  // the meeting it waits for
    unsigned gathers;  // the line of the coalesced_threads() in which it waits; 0: none
    unsigned together;  // the lanes that were in it with this one
    jmp_buf here;
    ucontext_t start;
};

struct Block {
    unsigned threads, live, waiting, passed, line, sum, all_sum;
    unsigned live_lanes[32];
    Meeting meetings[32][64];
};

inline Fiber fiber[MOST_THREADS];
inline Block block;
inline Fiber *self;
inline uint3 block_index;
inline dim3 block_size, grid_size;
inline char *stacks;
inline jmp_buf scheduler;
inline sigjmp_buf launch;
inline char *message;
inline void (*body)();
inline bool moved;  // somebody's wait has ended since the last look
inline bool paused;  // somebody gave way to all others since the last look

alignas(512) inline char dynamic_shared[232 << 10];

// What the kernel prints, in the order in which its threads happen to run.
inline char printed[1 << 20];
inline size_t printed_size;

[[noreturn]] inline void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(message, 200, "block (%u, %u, %u)", block_index.x, block_index.y, block_index.z);
    if (self)
        used += snprintf(message + used, 200, ", thread (%u, %u, %u)", self->thread.x, self->thread.y,
                         self->thread.z);
    used += snprintf(message + used, 10, ": ");
    vsnprintf(message + used, 400, format, arguments);
    va_end(arguments);
    siglongjmp(launch, 1);
}

// CUDA's printf gives the number of its arguments.
template <typename... A> int print(const char *format, A... arguments) {
    if (!format) return -1;
    size_t room = sizeof printed - printed_size;
    int used = snprintf(printed + printed_size, room, format, arguments...);
    if (used < 0 || (size_t)used >= room) fail("printf: more was printed than there is room for");
    printed_size += used;
    return sizeof...(arguments);
}

inline void wait() {
    if (!_setjmp(self->here)) _longjmp(scheduler, 1);
}

// In a loop that waits for another thread: all others have their turn.
inline void pause() {
    paused = true;
    wait();
}

inline void pass_barrier() {
    block.all_sum = block.sum;
    block.sum = block.waiting = 0;
    block.passed++;
    moved = true;
}

// __syncthreads: counts arrivals; the last one lets all go. Gives the sum of `value` over the block.
inline unsigned barrier(unsigned line, unsigned value = 0) {
    if (block.waiting && block.line != line)
        fail("at the barrier of line %u while others wait at that of line %u", line, block.line);
    block.line = line;
    block.sum += value;
    if (++block.waiting == block.live) {
        pass_barrier();
    } else {
        self->barrier = block.passed + 1;
        wait();
    }
    return block.all_sum;
}

inline void close_if_complete(Meeting &m, unsigned warp) {
    if (m.open && m.arrived == (m.mask & block.live_lanes[warp])) {
        m.open = false;
        moved = true;
    }
}

// A warp intrinsic: waits for the live lanes of `mask`. `leave` must follow once the values are read.
inline Meeting &meet(const char *what, unsigned mask, uint64_t value) {
    unsigned bit = 1u << self->lane;
    if (!(mask & bit)) fail("%s: lane %u is not in its own mask %#x", what, self->lane, mask);
    Meeting *found = nullptr, *free_one = nullptr;
    for (Meeting &m : block.meetings[self->warp]) {
        // Those who wait under another mask may come later: if they never do, that is a deadlock.
        if (m.used && m.open && m.mask == mask) found = &m;
        if (!m.used) free_one = &m;
    }
    if (!found) {
        if (!free_one) fail("%s: too many intrinsics under way", what);
        found = free_one;
        found->what = what, found->mask = mask, found->arrived = found->left = 0;
        found->open = found->used = true;
    }
    if (strcmp(found->what, what)) fail("%s while others of the mask wait in %s", what, found->what);
    found->arrived |= bit;
    found->value[self->lane] = value;
    close_if_complete(*found, self->warp);
    if (found->open) {
        self->meeting = found;
        wait();
    }
    return *found;
}

inline void leave(Meeting &m) {
    m.left |= 1u << self->lane;
    if (m.left == m.arrived) m.used = false;
}

// coalesced_threads: waits until nobody can go on without it; who waits in the same line then is together.
inline unsigned gather(unsigned line) {
    self->gathers = line;
    wait();
    return self->together;
}

// Nobody can go on: lets those go who wait for others to come together with. False: there are none.
inline bool let_gathered_go() {
    bool any = false;
    for (unsigned i = 0; i < block.threads; i++) {
        Fiber &f = fiber[i];
        unsigned first = i / 32 * 32, end = first + 32 < block.threads ? first + 32 : block.threads;
        f.together = 0;
        for (unsigned other = first; f.gathers && other < end; other++)
            if (fiber[other].gathers == f.gathers) f.together |= 1u << other % 32;
    }
    for (unsigned i = 0; i < block.threads; i++) {
        any = any || fiber[i].gathers;
        fiber[i].gathers = 0;
    }
    return any;
}

inline void finish() {
    self->done = moved = true;
    block.live--;
    block.live_lanes[self->warp] &= ~(1u << self->lane);
    if (block.waiting && block.waiting == block.live) pass_barrier();
    for (Meeting &m : block.meetings[self->warp])
        if (m.used) close_if_complete(m, self->warp);
}

inline void entry() {
    body();
    finish();
    _longjmp(scheduler, 1);
}

inline bool can_run(Fiber &f) {
    if (f.done) return false;
    if (f.barrier && f.barrier > block.passed) return false;
    if (f.meeting && f.meeting->open) return false;
    if (f.gathers) return false;
    return true;
}

inline void resume(Fiber &f, unsigned number) {
    static ucontext_t unused;
    self = &f;
    f.barrier = 0;
    f.meeting = nullptr;
    if (!_setjmp(scheduler)) {
        if (f.started) _longjmp(f.here, 1);
        f.started = true;
        getcontext(&f.start);
        f.start.uc_stack.ss_sp = stacks + size_t(number) * STACK;
        f.start.uc_stack.ss_size = STACK;
        f.start.uc_link = nullptr;
        makecontext(&f.start, entry, 0);
        swapcontext(&unused, &f.start);
    }
    self = nullptr;
}

inline void poison(char *from, char *to) {
    for (; from + 4 <= to; from += 4) memcpy(from, &POISON, 4);
}

// The variables that are `__shared__` stand in a section of their own.
extern "C" char __start_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_cuda_shared[] __attribute__((weak, visibility("hidden")));

inline uint32_t random_state;
inline uint32_t random_number() {
    random_state ^= random_state << 13, random_state ^= random_state >> 17, random_state ^= random_state << 5;
    return random_state;
}

// Which comes n-th: 0 forward, 1 in reverse, 2 in random order.
inline void arrange(unsigned *order, unsigned count, int schedule) {
    for (unsigned i = 0; i < count; i++) order[i] = schedule == 1 ? count - 1 - i : i;
    if (schedule == 2)
        for (unsigned i = count; i > 1; i--) std::swap(order[i - 1], order[random_number() % i]);
}

inline void begin_block() {
    unsigned count = block_size.x * block_size.y * block_size.z;
    if (__start_cuda_shared) poison(__start_cuda_shared, __stop_cuda_shared);
    poison(dynamic_shared, dynamic_shared + sizeof dynamic_shared);
    memset((void *)&block, 0, sizeof block);
    block.threads = block.live = count;
    for (unsigned i = 0; i < count; i++) {
        Fiber &f = fiber[i];
        f.thread = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
        f.warp = i / 32, f.lane = i % 32;
        f.done = f.started = false;
        f.barrier = 0, f.meeting = nullptr, f.gathers = 0;
        block.live_lanes[f.warp] |= 1u << f.lane;
    }
}

// Until all of its threads have ended; or, with false, until all that can go on only wait for something.
inline bool run_block(int schedule) {
    static unsigned order[MOST_THREADS];
    unsigned count = block.threads;
    while (block.live) {
        moved = paused = false;
        arrange(order, count, schedule);
        for (unsigned i = 0; i < count; i++)
            if (can_run(fiber[order[i]])) resume(fiber[order[i]], order[i]);
        if (moved || let_gathered_go()) continue;
        if (paused) return false;
        for (unsigned i = 0; i < count; i++)
            if (Meeting *m = fiber[i].done ? nullptr : fiber[i].meeting) {
                self = &fiber[i];
                fail("deadlock: waits in %s for lanes %#x", m->what,
                     m->mask & block.live_lanes[self->warp] & ~m->arrived);
            }
        fail("deadlock at the barrier of line %u: %u of %u threads wait", block.line, block.waiting, block.live);
    }
    return true;
}

// A block that gives way to the others: what the variables above hold of it, and its memory.
struct Held {
    uint3 index;
    Block block;
    char *stacks, *shared;
    Fiber fiber[MOST_THREADS];
    char dynamic[sizeof dynamic_shared];
    Held *next;
};
inline Held *held;
inline char **regions;  // of memory for stacks: one for each block that is held, and one more
inline unsigned regions_used;

inline char *new_stacks() {
    void *region = mmap(nullptr, size_t(STACK) * MOST_THREADS, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return regions[regions_used++] = (char *)region;
}

// Between the variables and what is held of a block.
inline void exchange(Held &h, bool back) {
    auto copy = [back](void *kept, void *used, size_t size) {
        back ? memcpy(used, kept, size) : memcpy(kept, used, size);
    };
    copy(&h.index, &block_index, sizeof block_index);
    copy(&h.block, &block, sizeof block);
    copy(&h.stacks, &stacks, sizeof stacks);
    copy(h.fiber, fiber, sizeof(Fiber) * h.block.threads);
    copy(h.dynamic, dynamic_shared, sizeof dynamic_shared);
    if (__start_cuda_shared) copy(h.shared, __start_cuda_shared, __stop_cuda_shared - __start_cuda_shared);
}

inline void hold() {
    Held *h = (Held *)malloc(sizeof(Held)), **last = &held;
    h->shared = (char *)malloc(__start_cuda_shared ? __stop_cuda_shared - __start_cuda_shared : 1);
    h->next = nullptr;
    exchange(*h, false);
    stacks = nullptr;
    while (*last) last = &(*last)->next;
    *last = h;
}

inline void forget(Held *h) {
    free(h->shared);
    free(h);
}

// Those that wait go on in turn, until all have ended.
inline void run_held(int schedule) {
    while (held)
        for (Held **place = &held; *place;) {
            Held *h = *place;
            exchange(*h, true);
            if (run_block(schedule)) {
                *place = h->next;
                forget(h);
            } else {
                exchange(*h, false);
                place = &h->next;
            }
        }
}

inline void out_of_time(int) { fail("still running when its time was up"); }

inline int run_grid(const unsigned *size, int schedule, double seconds, char *text, void (*kernel)()) {
    static struct sigaction before;
    static itimerval timer, none;
    static unsigned *order;
    static Held *last;
    grid_size = {size[0], size[1], size[2]};
    block_size = {size[3], size[4], size[5]};
    message = text, body = kernel, self = nullptr, random_state = 2463534242u;
    printed_size = 0, printed[0] = 0;
    unsigned blocks = grid_size.x * grid_size.y * grid_size.z;
    stacks = nullptr, held = nullptr, regions_used = 0;
    regions = (char **)malloc(sizeof(char *) * (blocks + 1));
    order = (unsigned *)malloc(sizeof(unsigned) * blocks);
    arrange(order, blocks, schedule);
    struct sigaction limit = {};
    limit.sa_handler = out_of_time;
    sigaction(SIGVTALRM, &limit, &before);
    timer.it_value.tv_sec = (long)seconds;
    timer.it_value.tv_usec = (long)((seconds - (long)seconds) * 1e6);
    int failed = sigsetjmp(launch, 1);
    if (!failed) {
        setitimer(ITIMER_VIRTUAL, &timer, nullptr);
        for (unsigned i = 0; i < blocks; i++) {
            unsigned b = order[i];
            block_index = {b % grid_size.x, b / grid_size.x % grid_size.y, b / grid_size.x / grid_size.y};
            if (!stacks) stacks = new_stacks();
            begin_block();
            if (!run_block(schedule)) hold();
        }
        run_held(schedule);
    }
    setitimer(ITIMER_VIRTUAL, &none, nullptr);
    sigaction(SIGVTALRM, &before, nullptr);
    for (; held; forget(last)) last = held, held = held->next;
    while (regions_used) munmap(regions[--regions_used], size_t(STACK) * MOST_THREADS);
    free(regions);
    free(order);
    return failed;
}

// An argument as Python sends it, and as a parameter of type T takes it.
union Argument {
    int64_t integer;
    double number;
    void *pointer;
};

template <typename T> T take(const Argument &a) {
    if constexpr (std::is_pointer_v<T>) return (T)a.pointer;
    else if constexpr (std::is_class_v<T>) return T::taken(a);  // half
    else if constexpr (std::is_floating_point_v<T>) return (T)a.number;
    else return (T)a.integer;
}

inline const Argument *arguments;

template <typename... P, size_t... I>
void call(void (*kernel)(P...), std::index_sequence<I...>) {
    kernel(take<P>(arguments[I])...);
}

template <typename... P> constexpr size_t count_parameters(void (*)(P...)) { return sizeof...(P); }
template <typename... P> void call(void (*kernel)(P...)) { call(kernel, std::index_sequence_for<P...>()); }

// ------------------------------------------------------------------------------------------- warp intrinsics

template <typename T> uint64_t bits(T value) {
    static_assert(sizeof(T) <= 8);
    uint64_t b = 0;
    memcpy(&b, &value, sizeof value);
    return b;
}

// As PTX defines shfl: `c` holds the clamp and the mask of the segment.
template <typename T> T shuffle(const char *what, char mode, unsigned mask, T value, unsigned b, int width) {
    if (width < 1 || width > 32 || (width & (width - 1))) fail("%s: width %d is no power of two", what, width);
    Meeting &m = meet(what, mask, bits(value));
    int lane = (int)self->lane, segment = 32 - width, clamp = mode == 'u' ? 0 : 31;
    int low = lane & segment, limit = low | (clamp & ~segment & 31);
    b &= 31;
    int source = mode == 'u' ? lane - (int)b : mode == 'd' ? lane + (int)b : mode == 'x' ? lane ^ (int)b
                 : low | ((int)b & ~segment & 31);
    if (mode == 'u' ? source < limit : source > limit) source = lane;
    if (!(m.arrived >> source & 1)) fail("%s: reads lane %d, which takes no part", what, source);
    T result;
    memcpy(&result, &m.value[source], sizeof result);
    leave(m);
    return result;
}

inline unsigned ballot(const char *what, unsigned mask, bool vote, unsigned *voters = nullptr) {
    Meeting &m = meet(what, mask, vote);
    unsigned yes = 0;
    for (unsigned i = 0; i < 32; i++)
        if (m.arrived >> i & 1 && m.value[i]) yes |= 1u << i;
    if (voters) *voters = m.arrived;
    leave(m);
    return yes;
}

inline bool all(unsigned mask, bool vote) {
    unsigned voters, yes = ballot("__all_sync", mask, vote, &voters);
    return yes == voters;
}

}  // namespace fibers

extern "C" inline __attribute__((used)) const char *printed_text() { return fibers::printed; }

// ------------------------------------------------------------------------------------------- CUDA's own words

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static __attribute__((section("cuda_shared")))
#undef __restrict__
#define __restrict__
#define __restrict
#define __forceinline__ inline
#undef __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#undef assert
#define assert(condition) ((condition) ? (void)0 : fibers::fail("assertion `%s` failed", #condition))
#define printf(...) (fibers::print(__VA_ARGS__))

#define threadIdx (fibers::self->thread)
#define blockIdx (fibers::block_index)
#define blockDim (fibers::block_size)
#define gridDim (fibers::grid_size)
constexpr int warpSize = 32;

#define __syncthreads() ((void)fibers::barrier(__LINE__))
#define __syncthreads_count(p) ((int)fibers::barrier(__LINE__, (p) ? 1 : 0))
#define __syncthreads_or(p) ((int)(fibers::barrier(__LINE__, (p) ? 1 : 0) != 0))
#define __syncthreads_and(p) ((int)(fibers::barrier(__LINE__, (p) ? 0 : 1) == 0))
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) { fibers::pause(); }

inline void __syncwarp(unsigned mask = 0xffffffffu) { fibers::leave(fibers::meet("__syncwarp", mask, 0)); }
template <typename T> T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    return fibers::shuffle("__shfl_sync", 'i', mask, value, (unsigned)lane, width);
}
template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return fibers::shuffle("__shfl_up_sync", 'u', mask, value, delta, width);
}
template <typename T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return fibers::shuffle("__shfl_down_sync", 'd', mask, value, delta, width);
}
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
    return fibers::shuffle("__shfl_xor_sync", 'x', mask, value, (unsigned)lanes, width);
}
inline unsigned __ballot_sync(unsigned mask, int vote) { return fibers::ballot("__ballot_sync", mask, vote); }
inline int __any_sync(unsigned mask, int vote) { return fibers::ballot("__any_sync", mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return fibers::all(mask, vote); }

// Atomics are plain: no fiber is interrupted in one.
#define ATOMIC(name, formula)                                                                                  \
    template <typename T> T name(T *place, std::common_type_t<T> value) {                                      \
        T old = *place;                                                                                        \
        *place = (T)(formula);                                                                                 \
        return old;                                                                                            \
    }
template <typename T> auto wrapped(T a) {
    if constexpr (std::is_integral_v<T>) return (std::make_unsigned_t<T>)a;
    else return a;
}
ATOMIC(atomicAdd, wrapped(old) + wrapped(value))
ATOMIC(atomicSub, wrapped(old) - wrapped(value))
ATOMIC(atomicMax, old < value ? value : old)
ATOMIC(atomicMin, value < old ? value : old)
ATOMIC(atomicExch, value)
ATOMIC(atomicAnd, old & value)
ATOMIC(atomicOr, old | value)
ATOMIC(atomicXor, old ^ value)
#undef ATOMIC
template <typename T> T atomicCAS(T *place, std::common_type_t<T> expected, std::common_type_t<T> value) {
    T old = *place;
    if (old == expected) *place = value;
    return old;
}

// ------------------------------------------------------------------------------------------ cooperative groups

namespace cooperative_groups {

inline unsigned my_rank() { return fibers::self->warp * 32 + fibers::self->lane; }
inline unsigned block_threads() { return fibers::block.threads; }
inline unsigned count(unsigned mask) { return (unsigned)__builtin_popcount(mask); }

struct thread_block {
    void sync(unsigned line = __builtin_LINE()) const { fibers::barrier(line); }
    unsigned size() const { return block_threads(); }
    unsigned num_threads() const { return block_threads(); }
    unsigned thread_rank() const { return my_rank(); }
    dim3 group_index() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    dim3 thread_index() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    dim3 group_dim() const { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Some lanes of a warp, which know the number of each lane among them.
struct lanes {
    unsigned mask, meta_rank, meta_size;
    unsigned lane_of(unsigned rank) const {
        for (unsigned lane = 0; lane < 32; lane++)
            if ((mask >> lane & 1) && rank-- == 0) return lane;
        return 32;
    }
    void sync(unsigned = 0) const { __syncwarp(mask); }
    unsigned size() const { return count(mask); }
    unsigned num_threads() const { return count(mask); }
    unsigned thread_rank() const { return count(mask & ((1u << fibers::self->lane) - 1)); }
    unsigned meta_group_rank() const { return meta_rank; }
    unsigned meta_group_size() const { return meta_size; }
    unsigned packed(unsigned votes) const {
        unsigned result = 0;
        for (unsigned rank = 0; rank < size(); rank++) result |= (votes >> lane_of(rank) & 1) << rank;
        return result;
    }
    int any(int vote) const { return __any_sync(mask, vote); }
    int all(int vote) const { return __all_sync(mask, vote); }
    unsigned ballot(int vote) const { return packed(__ballot_sync(mask, vote)); }
    template <typename T> T from(T value, int rank) const {
        unsigned lane = rank < 0 ? 32 : lane_of((unsigned)rank);
        return __shfl_sync(mask, value, lane < 32 ? lane : fibers::self->lane);
    }
    template <typename T> T shfl(T value, int rank) const { return from(value, rank); }
    template <typename T> T shfl_up(T value, unsigned by) const { return from(value, (int)(thread_rank() - by)); }
    template <typename T> T shfl_down(T value, unsigned by) const { return from(value, (int)(thread_rank() + by)); }
};
struct coalesced_group : lanes {
    coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1) : lanes{mask, meta_rank, meta_size} {}
};
inline coalesced_group coalesced_threads(unsigned line = __builtin_LINE()) { return {fibers::gather(line)}; }
// Parts of `n` by their numbers in the group; one that is no larger stays as it is.
inline coalesced_group tiled_partition(const coalesced_group &group, unsigned n) {
    if (group.size() <= n) return group;
    unsigned mask = 0, first = group.thread_rank() / n * n;
    for (unsigned rank = first; rank < first + n && rank < group.size(); rank++) mask |= 1u << group.lane_of(rank);
    return {mask, group.thread_rank() / n, (group.size() + n - 1) / n};
}

template <unsigned N, typename Parent = void> struct thread_block_tile : lanes {
    template <typename T> T shfl(T value, int rank) const { return from(value, rank & (int)(N - 1)); }
    template <typename T> T shfl_xor(T value, unsigned by) const { return from(value, (int)(thread_rank() ^ by)); }
    template <typename Other> operator thread_block_tile<N, Other>() const {
        thread_block_tile<N, Other> other;
        (lanes &)other = *this;
        return other;
    }
};
template <unsigned N, typename Parent> thread_block_tile<N, Parent> tiled_partition(const Parent &parent) {
    thread_block_tile<N, Parent> tile;
    unsigned first = my_rank() / N * N, left = block_threads() - first;
    tile.mask = (unsigned)((1ull << (left < N ? left : N)) - 1) << first % 32;
    tile.meta_rank = parent.thread_rank() / N, tile.meta_size = (parent.size() + N - 1) / N;
    return tile;
}

struct thread_group {
    bool block;
    lanes some;
    thread_group(thread_block) : block(true) {}
    thread_group(lanes some) : block(false), some(some) {}
    void sync(unsigned line = __builtin_LINE()) const { block ? (void)fibers::barrier(line) : some.sync(); }
    unsigned long long size() const { return block ? block_threads() : some.size(); }
    unsigned long long thread_rank() const { return block ? my_rank() : some.thread_rank(); }
};
inline thread_group tiled_partition(const thread_group &group, unsigned n) {
    unsigned rank = (unsigned)group.thread_rank(), first = my_rank() - rank % n;
    unsigned end = my_rank() - rank + (unsigned)group.size(), left = end - first;
    lanes some = {(unsigned)((1ull << (left < n ? left : n)) - 1) << first % 32, 0, 0};
    return some;
}

template <typename G> void sync(const G &group, unsigned line = __builtin_LINE()) { group.sync(line); }
template <typename G> auto thread_rank(const G &group) { return group.thread_rank(); }
template <typename G> auto group_size(const G &group) { return group.size(); }

#define OPERATION(name, formula)                                                                               \
    template <typename T> struct name {                                                                        \
        T operator()(T a, T b) const { return (T)(formula); }                                                  \
    };
OPERATION(plus, a + b)
OPERATION(less, b < a ? b : a)
OPERATION(greater, a < b ? b : a)
OPERATION(bit_and, a & b)
OPERATION(bit_or, a | b)
OPERATION(bit_xor, a ^ b)
#undef OPERATION

template <typename G, typename T, typename F> T inclusive_scan(const G &group, T value, F f) {
    for (unsigned by = 1; by < group.size(); by *= 2) {
        T other = group.shfl_up(value, by);
        if (group.thread_rank() >= by) value = f(value, other);
    }
    return value;
}
template <typename G, typename T, typename F> T exclusive_scan(const G &group, T value, F f) {
    T before = group.shfl_up(inclusive_scan(group, value, f), 1);
    return group.thread_rank() ? before : T();
}
template <typename G, typename T> T inclusive_scan(const G &group, T value) {
    return inclusive_scan(group, value, plus<T>());
}
template <typename G, typename T> T exclusive_scan(const G &group, T value) {
    return exclusive_scan(group, value, plus<T>());
}
template <unsigned N, typename P, typename T, typename F> T reduce(const thread_block_tile<N, P> &tile, T value, F f) {
    for (unsigned by = N / 2; by; by /= 2) value = f(value, tile.shfl_xor(value, by));
    return value;
}
template <typename T, typename F> T reduce(const coalesced_group &group, T value, F f) {
    if (group.size() == 32) {  // then as a tile does, in whose order floats are added
        for (unsigned by = 16; by; by /= 2) value = f(value, group.shfl(value, (int)(group.thread_rank() ^ by)));
        return value;
    }
    return group.shfl(inclusive_scan(group, value, f), (int)group.size() - 1);
}
template <typename G, typename T> coalesced_group labeled_partition(const G &group, T label) {
    coalesced_group found(0, 0, 0);
    unsigned mine = 32;
    T labels[32];
    for (unsigned rank = 0; rank < group.size(); rank++) labels[rank] = group.shfl(label, (int)rank);
    for (unsigned rank = 0; rank < group.size(); rank++) {
        bool first = true;
        for (unsigned before = 0; before < rank; before++) first = first && labels[before] != labels[rank];
        if (labels[rank] == label) found.mask |= 1u << group.lane_of(rank);
        if (labels[rank] == label && mine == 32) mine = rank, found.meta_rank = found.meta_size;
        found.meta_size += first;
    }
    return found;
}
template <typename G> coalesced_group binary_partition(const G &group, bool says) {
    unsigned yes = __ballot_sync(group.mask, says);
    if (yes == 0 || yes == group.mask) return {group.mask};
    return {says ? yes : group.mask & ~yes, says, 2};
}
template <typename G> coalesced_group labeled_partition(const G &group, bool label) {
    return binary_partition(group, label);
}

}  // namespace cooperative_groups

// --------------------------------------------------------------------------------------- half and __nv_bfloat16

// A number of two bytes: a sign, then what a significand of `P` bits leaves for the exponent; its smallest
// number is 2^LEAST. Rounded by hand, to the nearest, ties to even: a long double holds any number of C exactly.
template <int P, int LEAST> class two_bytes {
    static constexpr int HIDDEN = 1 << (P - 1), MOST = (1 << (16 - P)) - 1;  // of the exponent: no number
    uint16_t bits;

    static uint16_t rounded(long double x) {
        if (x != x) return 0x7fff;
        int sign = signbit(x) ? 0x8000 : 0, exponent = 0;
        long double a = fabsl(x);
        if (a > 1e300L) return sign | MOST << (P - 1);
        frexpl(a, &exponent);                                   // a < 2^exponent
        int unit = exponent - P < LEAST ? LEAST : exponent - P;  // the last digit stands for 2^unit
        int digits = (int)nearbyintl(ldexpl(a, -unit));
        if (digits == 2 * HIDDEN) digits = HIDDEN, unit++;
        if (unit - LEAST + 1 >= MOST) return sign | MOST << (P - 1);
        return digits < HIDDEN ? sign | digits : sign | (unit - LEAST + 1) << (P - 1) | (digits - HIDDEN);
    }
    double value() const {
        int exponent = bits >> (P - 1) & MOST, digits = bits & (HIDDEN - 1);
        double a = exponent == MOST ? (digits ? NAN : INFINITY)
                   : exponent ? ldexp(HIDDEN + digits, exponent - 1 + LEAST) : ldexp(digits, LEAST);
        return bits & 0x8000 ? -a : a;
    }
    template <typename T> T whole() const {  // towards zero, to the ends of the type
        double a = trunc(value()), low = (double)std::numeric_limits<T>::min();
        double high = low ? -low : ldexp(1, 8 * sizeof(T));
        if (a != a) return 0;
        return a <= low ? std::numeric_limits<T>::min() : a >= high ? std::numeric_limits<T>::max() : (T)a;
    }

public:
    two_bytes() = default;
    two_bytes(const two_bytes &) = default;
    two_bytes &operator=(const two_bytes &) = default;
    two_bytes(const volatile two_bytes &h) : bits(h.bits) {}
    void operator=(two_bytes h) volatile { bits = h.bits; }
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>> two_bytes(T x) : bits(rounded(x)) {}
    template <int Q, int M> explicit two_bytes(two_bytes<Q, M> x) : bits(rounded((float)x)) {}
    static two_bytes of_bits(uint16_t b) { two_bytes h; h.bits = b; return h; }
    // NumPy has a half, and of a bfloat16 only the bits.
    static two_bytes taken(const fibers::Argument &a) {
        return P == 11 ? two_bytes(a.number) : of_bits((uint16_t)a.integer);
    }
    uint16_t as_bits() const { return bits; }
    operator float() const { return (float)value(); }
    operator bool() const { return bits & 0x7fff; }
    operator signed char() const { return whole<signed char>(); }
    operator unsigned char() const { return whole<unsigned char>(); }
    operator char() const { return whole<signed char>(); }
    operator short() const { return whole<short>(); }
    operator unsigned short() const { return whole<unsigned short>(); }
    operator int() const { return whole<int>(); }
    operator unsigned() const { return whole<unsigned>(); }
    operator long long() const { return whole<long long>(); }
    operator unsigned long long() const { return whole<unsigned long long>(); }
    bool operator!() const { return !(bits & 0x7fff); }
};

// x * y is exact; of the sum's bits that are cut off the last one tells, so that it is rounded once.
inline double to_odd(double x, double y, double z) {
    int mode = fegetround();
    fesetround(FE_TOWARDZERO);
    feclearexcept(FE_INEXACT);
    volatile double product = x * y, sum = product + z;
    bool more = fetestexcept(FE_INEXACT);
    fesetround(mode);
    uint64_t raw = fibers::bits<double>(sum) | more;
    memcpy(&x, &raw, 8);
    return x;
}

#define TWO_BYTES_OPERATOR(T, op, name)                                                                       \
    inline T operator op(T a, T b) { return (double)(float)a op (double)(float)b; }                           \
    inline T name(T a, T b) { return a op b; }                                                                \
    inline T &operator op##=(T &a, T b) { return a = a op b; }
#define TWO_BYTES_COMPARISON(T, op, name)                                                                     \
    inline bool operator op(T a, T b) { return (float)a op (float)b; }                                        \
    inline bool __h##name##u(T a, T b) { float x = a, y = b; return x op y || x != x || y != y; }             \
    inline bool __h##name(T a, T b) { float x = a, y = b; return x op y && x == x && y == y; }
#define PAIR_OPERATOR(T, op, name)                                                                            \
    inline T operator op(T a, T b) { return {a.x op b.x, a.y op b.y}; }                                       \
    inline T name(T a, T b) { return a op b; }                                                                \
    inline T &operator op##=(T &a, T b) { return a = a op b; }
#define OF_ONE(T, T2, name, call)                                                                             \
    inline T h##name(T a) { return call; }                                                                    \
    inline T2 h2##name(T2 a) { return {h##name(a.x), h##name(a.y)}; }

// The type T with its pair T2, of which CUDA's functions speak as `word`. Each result of + - * / is exact in
// double or close enough to it that rounding once more changes nothing.
#define OF_TWO_BYTES(T, T2, word)                                                                             \
    inline float __##word##2float(T h) { return h; }                                                          \
    inline T __float2##word(float x) { return x; }                                                            \
    inline T __float2##word##_rn(float x) { return x; }                                                       \
    inline T __double2##word(double x) { return x; }                                                          \
    inline T __int2##word##_rn(int x) { return x; }                                                           \
    inline T __uint2##word##_rn(unsigned x) { return x; }                                                     \
    inline T __short2##word##_rn(short x) { return x; }                                                       \
    inline T __ushort2##word##_rn(unsigned short x) { return x; }                                             \
    inline T __ll2##word##_rn(long long x) { return x; }                                                      \
    inline T __ull2##word##_rn(unsigned long long x) { return x; }                                            \
    inline int __##word##2int_rn(T a) { return T(rintf(a)); }                                                 \
    inline int __##word##2int_rz(T a) { return T(truncf(a)); }                                                \
    inline int __##word##2int_rd(T a) { return T(floorf(a)); }                                                \
    inline int __##word##2int_ru(T a) { return T(ceilf(a)); }                                                 \
    inline unsigned __##word##2uint_rn(T a) { return T(rintf(a)); }                                           \
    inline unsigned __##word##2uint_rz(T a) { return T(truncf(a)); }                                          \
    inline unsigned __##word##2uint_rd(T a) { return T(floorf(a)); }                                          \
    inline unsigned __##word##2uint_ru(T a) { return T(ceilf(a)); }                                           \
    inline unsigned short __##word##_as_ushort(T h) { return h.as_bits(); }                                   \
    inline short __##word##_as_short(T h) { return (short)h.as_bits(); }                                      \
    inline T __ushort_as_##word(unsigned short b) { return T::of_bits(b); }                                   \
    inline T __short_as_##word(short b) { return T::of_bits((uint16_t)b); }                                   \
    TWO_BYTES_OPERATOR(T, +, __hadd)                                                                          \
    TWO_BYTES_OPERATOR(T, -, __hsub)                                                                          \
    TWO_BYTES_OPERATOR(T, *, __hmul)                                                                          \
    TWO_BYTES_OPERATOR(T, /, __hdiv)                                                                          \
    inline T __hadd_rn(T a, T b) { return a + b; }                                                            \
    inline T __hsub_rn(T a, T b) { return a - b; }                                                            \
    inline T __hmul_rn(T a, T b) { return a * b; }                                                            \
    inline T __hfma(T a, T b, T c) { return to_odd((float)a, (float)b, (float)c); }                           \
    inline T operator-(T a) { return T::of_bits(a.as_bits() ^ 0x8000); }                                      \
    inline T operator+(T a) { return a; }                                                                     \
    inline T __hneg(T a) { return -a; }                                                                       \
    inline T __habs(T a) { return T::of_bits(a.as_bits() & 0x7fff); }                                         \
    inline T &operator++(T &a) { return a += T(1); }                                                          \
    inline T &operator--(T &a) { return a -= T(1); }                                                          \
    inline T operator++(T &a, int) { T b = a; ++a; return b; }                                                \
    inline T operator--(T &a, int) { T b = a; --a; return b; }                                                \
    TWO_BYTES_COMPARISON(T, ==, eq)                                                                           \
    TWO_BYTES_COMPARISON(T, !=, ne)                                                                           \
    TWO_BYTES_COMPARISON(T, <, lt)                                                                            \
    TWO_BYTES_COMPARISON(T, <=, le)                                                                           \
    TWO_BYTES_COMPARISON(T, >, gt)                                                                            \
    TWO_BYTES_COMPARISON(T, >=, ge)                                                                           \
    inline bool __hisnan(T a) { return (float)a != (float)a; }                                                \
    inline int __hisinf(T a) { return isinf((float)a) ? (a.as_bits() & 0x8000 ? -1 : 1) : 0; }                \
    /* Of a number and a nan the number; +0 is larger than -0. */                                             \
    inline T __hmax(T a, T b) {                                                                               \
        return __hisnan(a) ? b : __hisnan(b) ? a : a == b ? (a.as_bits() & 0x8000 ? b : a) : a > b ? a : b;   \
    }                                                                                                         \
    inline T __hmin(T a, T b) {                                                                               \
        return __hisnan(a) ? b : __hisnan(b) ? a : a == b ? (a.as_bits() & 0x8000 ? a : b) : a < b ? a : b;   \
    }                                                                                                         \
    struct alignas(4) T2 {                                                                                    \
        T x, y;                                                                                               \
        T2() = default;                                                                                       \
        T2(T a, T b) : x(a), y(b) {}                                                                          \
    };                                                                                                        \
    inline T2 make_##word##2(T a, T b) { return {a, b}; }                                                     \
    inline T2 __halves2##word##2(T a, T b) { return {a, b}; }                                                 \
    inline T2 __##word##2##word##2(T a) { return {a, a}; }                                                    \
    inline T2 __float2##word##2_rn(float a) { return {a, a}; }                                                \
    inline T2 __floats2##word##2_rn(float a, float b) { return {a, b}; }                                      \
    inline T2 __float22##word##2_rn(float2 a) { return {a.x, a.y}; }                                          \
    inline float2 __##word##22float2(T2 a) { return {a.x, a.y}; }                                             \
    inline T __low2##word(T2 a) { return a.x; }                                                               \
    inline T __high2##word(T2 a) { return a.y; }                                                              \
    inline float __low2float(T2 a) { return a.x; }                                                            \
    inline float __high2float(T2 a) { return a.y; }                                                           \
    inline T2 __low2##word##2(T2 a) { return {a.x, a.x}; }                                                    \
    inline T2 __high2##word##2(T2 a) { return {a.y, a.y}; }                                                   \
    inline T2 __lowhigh2highlow(T2 a) { return {a.y, a.x}; }                                                  \
    inline T2 __lows2##word##2(T2 a, T2 b) { return {a.x, b.x}; }                                             \
    inline T2 __highs2##word##2(T2 a, T2 b) { return {a.y, b.y}; }                                            \
    PAIR_OPERATOR(T2, +, __hadd2)                                                                             \
    PAIR_OPERATOR(T2, -, __hsub2)                                                                             \
    PAIR_OPERATOR(T2, *, __hmul2)                                                                             \
    PAIR_OPERATOR(T2, /, __h2div)                                                                             \
    inline T2 __hadd2_rn(T2 a, T2 b) { return a + b; }                                                        \
    inline T2 __hsub2_rn(T2 a, T2 b) { return a - b; }                                                        \
    inline T2 __hmul2_rn(T2 a, T2 b) { return a * b; }                                                        \
    inline T2 operator-(T2 a) { return {-a.x, -a.y}; }                                                        \
    inline T2 __hneg2(T2 a) { return -a; }                                                                    \
    inline T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; }                                            \
    inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }            \
    inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                            \
    inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                            \
    OF_ONE(T, T2, sqrt, sqrt((double)(float)a))                                                               \
    OF_ONE(T, T2, rcp, 1 / (double)(float)a)                                                                  \
    OF_ONE(T, T2, floor, floorf(a))                                                                           \
    OF_ONE(T, T2, ceil, ceilf(a))                                                                             \
    OF_ONE(T, T2, trunc, truncf(a))                                                                           \
    OF_ONE(T, T2, rint, rintf(a))                                                                             \
    OF_ONE(T, T2, rsqrt, 1 / sqrt((double)(float)a))                                                          \
    OF_ONE(T, T2, exp, exp((double)(float)a))                                                                 \
    OF_ONE(T, T2, exp2, exp2((double)(float)a))                                                               \
    OF_ONE(T, T2, exp10, exp10((double)(float)a))                                                             \
    OF_ONE(T, T2, log, log((double)(float)a))                                                                 \
    OF_ONE(T, T2, log2, log2((double)(float)a))                                                               \
    OF_ONE(T, T2, log10, log10((double)(float)a))                                                             \
    OF_ONE(T, T2, sin, sin((double)(float)a))                                                                 \
    OF_ONE(T, T2, cos, cos((double)(float)a))

using __half = two_bytes<11, -24>;
using half = __half;
OF_TWO_BYTES(__half, half2, half)
using __half2 = half2;
using __nv_bfloat16 = two_bytes<8, -133>;
using nv_bfloat16 = __nv_bfloat16;
OF_TWO_BYTES(__nv_bfloat16, __nv_bfloat162, bfloat16)
using nv_bfloat162 = __nv_bfloat162;
#undef OF_TWO_BYTES
inline int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }

// ------------------------------------------------------------------------------------------------- arithmetic

#define EXTREMES(R, A, B)                                                                                      \
    inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                               \
    inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
EXTREMES(int, int, int)
EXTREMES(unsigned, unsigned, unsigned)
EXTREMES(unsigned, int, unsigned)
EXTREMES(unsigned, unsigned, int)
EXTREMES(long, long, long)
EXTREMES(unsigned long, unsigned long, unsigned long)
EXTREMES(long long, long long, long long)
EXTREMES(unsigned long long, unsigned long long, unsigned long long)
#undef EXTREMES
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

template <typename T> T __ldg(const T *place) { return *place; }
template <typename T> T __ldca(const T *place) { return *place; }
template <typename T> T __ldcg(const T *place) { return *place; }
template <typename T> T __ldcs(const T *place) { return *place; }
template <typename T> T __ldcv(const T *place) { return *place; }
template <typename T> T __ldlu(const T *place) { return *place; }
template <typename T, typename V> void __stwb(T *place, V value) { *place = value; }
template <typename T, typename V> void __stcg(T *place, V value) { *place = value; }
template <typename T, typename V> void __stcs(T *place, V value) { *place = value; }
template <typename T, typename V> void __stwt(T *place, V value) { *place = value; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
inline int __float_as_int(float x) { return (int)fibers::bits(x); }
inline unsigned __float_as_uint(float x) { return (unsigned)fibers::bits(x); }
inline float __int_as_float(int x) { float f; memcpy(&f, &x, 4); return f; }
inline float __uint_as_float(unsigned x) { float f; memcpy(&f, &x, 4); return f; }
