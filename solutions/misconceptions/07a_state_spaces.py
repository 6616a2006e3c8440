"""Plausible wrong answers to the exercises of chapter 07a, each with the hint that it earns."""

# %% exercise=7.1 hint="You look at the real parts alone. A direction that turns has an imaginary part too, and 1 + step * rate is as long as its abs."
-     return float(abs(1 + step * rates).max())
+     return float((1 + step * rates).real.max())

# %% exercise=7.1 hint="That is how the spring itself fades, exp(step * rate). Euler goes straight on: 1 + step * rate."
-     return float(abs(1 + step * rates).max())
+     return float(abs(np.exp(step * rates)).max())

# %% exercise=7.1 hint="Eigenvalues of I + step A, not its norm: a norm can be above 1 for one step, and the state fades all the same."
-     return float(abs(1 + step * rates).max())
+     return float(np.linalg.norm(np.eye(len(A)) + step * A, 2))

# %% exercise=7.1 hint="You take the smallest factor. It is the direction that grows most that explodes: the largest."
-     return float(abs(1 + step * rates).max())
+     return float(abs(1 + step * rates).min())

# %% exercise=7.1 hint="The 1 is missing: h + step A h keeps h and adds to it, so a direction is multiplied by 1 + step * rate."
-     return float(abs(1 + step * rates).max())
+     return float(abs(step * rates).max())

# %% exercise=7.1 hint="First 1 + step * rate, then its length. The rates of a spring that fades point backwards, and 1 + step * abs(rate) always grows."
-     return float(abs(1 + step * rates).max())
+     return float((1 + step * abs(rates)).max())

# %% exercise=7.1 hint="You add up the squares of all directions. Each has a length of its own: the largest of them."
-     return float(abs(1 + step * rates).max())
+     return float(np.linalg.norm(1 + step * rates))

# %% exercise=7.1 hint="Of complex numbers you want the longest, and max alone does not ask for length: take abs first."
-     return float(abs(1 + step * rates).max())
+     return (1 + step * rates).max()

# %% exercise=7.2 hint="b is written with a straight line, delta B, although `euler` is False. The hold takes (exp(delta A) - 1) / A B."
-     return xp.exp(z), delta * mean * B
+     return xp.exp(z), delta * B + 0 * mean

# %% exercise=7.2 hint="a by a straight line, 1 + delta A, is Euler's step, which explodes. a is exp(delta A), and only b may be Euler's."
-     if euler:
-         return xp.exp(z), delta * B
+     if euler:
+         return 1 + z, delta * B

# %% exercise=7.2 hint="`euler` is not used: with euler=True, b is delta B."
-     if euler:
-         return xp.exp(z), delta * B

# %% exercise=7.2 hint="exp(z) - 1 loses its digits where z is small: what is left is rounding. expm1(z) keeps them."
-     mean = xp.where(still, 1, xp.expm1(z) / xp.where(still, 1, z))  # expm1: exp(z) - 1 loses digits near 0
+     mean = xp.where(still, 1, (xp.exp(z) - 1) / xp.where(still, 1, z))

# %% exercise=7.2 hint="A rate of 0 gives 0 / 0, nan. There (exp(z) - 1) / z is 1."
-     still = z == 0  # (exp(z) - 1) / z is 1 there
-     mean = xp.where(still, 1, xp.expm1(z) / xp.where(still, 1, z))  # expm1: exp(z) - 1 loses digits near 0
+     mean = xp.expm1(z) / z

# %% exercise=7.2 hint="You treat every small z as 0. Far above the last digit that is wrong already: put 1 where z is 0, and expm1 does the rest."
-     still = z == 0  # (exp(z) - 1) / z is 1 there
+     still = abs(z) < 1e-3

# %% exercise=7.2 hint="delta meets the wrong axis: each of its numbers serves N rates, so it needs an axis at its end, delta[..., None]."
-     delta = xp.asarray(delta, dtype=A.real.dtype)[..., None]
+     delta = xp.asarray(delta, dtype=A.real.dtype)

# %% exercise=7.2 hint="b is too large by 1 / delta: (exp(z) - 1) / z lacks delta, since z = delta A, and you divide by A alone."
-     return xp.exp(z), delta * mean * B
+     return xp.exp(z), mean * B

# %% exercise=7.2 hint="The sign of b: exp(delta A) - 1 and A are both negative, so b has the sign of B."
-     return xp.exp(z), delta * mean * B
+     return xp.exp(z), -delta * mean * B

# %% exercise=7.2 hint="b lacks B: how x is written is B times what the hold makes of it."
-     return xp.exp(z), delta * mean * B
+     return xp.exp(z), delta * mean

# %% exercise=7.2 hint="A float64 delta turns float32 rates into float64. Bring delta to A's dtype first."
-     delta = xp.asarray(delta, dtype=A.real.dtype)[..., None]
+     delta = xp.asarray(delta, dtype=np.float64)[..., None]

# %% exercise=7.2 hint="The rates may be complex, and you take their real part: a wave would no longer turn."
-     z = delta * A  # (..., N)
+     z = delta * A.real

# %% exercise=7.2 hint="a comes first, then b: the part that is kept, and the weight of what is written."
-     if euler:
-         return xp.exp(z), delta * B
+     if euler:
+         return delta * B, xp.exp(z)

-     return xp.exp(z), delta * mean * B
+     return delta * mean * B, xp.exp(z)

# %% exercise=7.2 hint="With euler=True b is delta B, not B: a step twice as long writes twice as much."
-         return xp.exp(z), delta * B
+         return xp.exp(z), B + 0 * z

# %% exercise=7.2 hint="exp(z) - 1 loses its digits for every small z, above your threshold as well: what is left is rounding. expm1(z) keeps them, and then only z = 0 needs a 1."
-     still = z == 0  # (exp(z) - 1) / z is 1 there
-     mean = xp.where(still, 1, xp.expm1(z) / xp.where(still, 1, z))  # expm1: exp(z) - 1 loses digits near 0
+     still = abs(z) < 1e-10
+     mean = xp.where(still, 1, (xp.exp(z) - 1) / xp.where(still, 1, z))

# %% exercise=7.3 hint="Your answer comes one step late: at step 0 the 1 is just written, a**0 b C."
-     steps = xp.arange(length, dtype=a.real.dtype)[:, None, None]
+     steps = xp.arange(1, length + 1, dtype=a.real.dtype)[:, None, None]

# %% exercise=7.3 hint="C is missing: it says how the state is read."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * b).sum(-1).real

# %% exercise=7.3 hint="b is missing: it says how the 1 is written into the state."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * C).sum(-1).real

# %% exercise=7.3 hint="exp(k log a) is nan where a is 0 or negative. a**k is defined for both, and 0**0 is 1."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (np.exp(steps * np.log(a)) * (b * C)).sum(-1).real

# %% exercise=7.3 hint="You add up over the channels. Each channel has an answer of its own: sum over its N memories, the last axis."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * (b * C)).sum(1).real

# %% exercise=7.3 hint="You power and sum in the wrong order: each memory fades by its own a**k, and only then they are added up."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a.sum(-1) ** steps[..., 0] * (b * C).sum(-1)).real

# %% exercise=7.3 hint="That is the answer to a 1 at every step, all tails piled up. The kernel answers to a single 1."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * (b * C)).sum(-1).real.cumsum(0)

# %% exercise=7.3 hint="With complex numbers take the real part, not the length: the answer of a wave swings below 0."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     out = (a**steps * (b * C)).sum(-1)
+     return abs(out) if np.iscomplexobj(out) else out

# %% exercise=7.3 hint="An integer exponent, int64, turns a float32 into a float64: make the steps in a's dtype."
-     steps = xp.arange(length, dtype=a.real.dtype)[:, None, None]
+     steps = xp.arange(length)[:, None, None]

# %% exercise=7.3 hint="Complex numbers come out complex: take the real part, as the recurrence does."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * (b * C)).sum(-1)

# %% exercise=7.3 hint="Time comes first: (length, E), one row a step. Yours is turned, (E, length)."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * (b * C)).sum(-1).real.T

# %% exercise=7.3 hint="You read before you write: at step 0 the 1 is in the state already, and b C is what one reads."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     answer = (a**steps * (b * C)).sum(-1).real
+     return xp.concatenate([0 * answer[:1], answer[:-1]])

# %% exercise=7.3 hint="The real part of a product is not the product of the real parts. Multiply and add the complex numbers, and take the real part last."
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return ((a**steps).real * (b * C).real).sum(-1)

# %% exercise=7.3 hint="You take a conjugate, as an inner product of complex vectors does. Look at the formula: which of its factors is conjugated?"
-     return (a**steps * (b * C)).sum(-1).real  # (L, E, N) summed to (L, E)
+     return (a**steps * (b * C.conj())).sum(-1).real

# %% exercise=7.4 hint="The ring still has T places: what runs out at the end comes in at the beginning. It needs T + L - 1."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = max(time, kernel.shape[-2])

# %% exercise=7.4 hint="The ring is right, and you keep its last T places. y starts with the first."
-     return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)
+     return fft.irfft(product, n, axis=-2)[..., -time:, :].astype(x.dtype)

# %% exercise=7.4 hint="2 T places are enough for a kernel of T. One of L steps, which may be longer, needs T + L - 1."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = 2 * time
+     kernel = kernel[..., : time // 2 + 1, :] if kernel.shape[-2] > time else kernel

# %% exercise=7.4 hint="2 T places are enough for a kernel of T. One of L steps, which may be longer, needs T + L - 1."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = 2 * time

# %% exercise=7.4 hint="You transform along the channels. Time is the axis before the last, -2."
-     product = fft.rfft(x, n, axis=-2) * fft.rfft(kernel, n, axis=-2)
-     return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)
+     n = 2 * x.shape[-1]
+     product = fft.rfft(x, n, axis=-1) * fft.rfft(kernel[..., :1, :], n, axis=-1)
+     return fft.irfft(product, n, axis=-1)[..., : x.shape[-1]].astype(x.dtype)

# %% exercise=7.4 hint="One factor is conjugated: that turns its time round, and y hears the future. A convolution has both as they are."
-     product = fft.rfft(x, n, axis=-2) * fft.rfft(kernel, n, axis=-2)
+     product = fft.rfft(x, n, axis=-2) * fft.rfft(kernel, n, axis=-2).conj()

# %% exercise=7.4 hint="The zeros stand in front of x, so all of y comes too late. They belong behind: rfft(x, n) puts them there."
-     product = fft.rfft(x, n, axis=-2) * fft.rfft(kernel, n, axis=-2)
+     front = np.zeros((*x.shape[:-2], n - time, x.shape[-1]))
+     product = fft.rfft(np.concatenate([front, x], -2), n, axis=-2) * fft.rfft(kernel, n, axis=-2)

# %% exercise=7.4 hint="You keep the whole ring. y has as many steps as x: the first T, along axis -2."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = time + kernel.shape[-2] - 1

-     return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)
+     return fft.irfft(product, n, axis=-2).astype(x.dtype)

# %% exercise=7.4 hint="irfft cannot know whether n was even or odd, and takes it for even: it needs the same n as rfft."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = time + kernel.shape[-2] - 1

-     return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)
+     return fft.irfft(product, axis=-2)[..., :time, :].astype(x.dtype)

# %% exercise=7.4 hint="The ring is right, but you keep the last T places of it. y starts with the first."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = time + kernel.shape[-2] - 1

-     return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)
+     return fft.irfft(product, n, axis=-2)[..., -time:, :].astype(x.dtype)

# %% exercise=7.4 hint="The first T places stand along axis -2, [..., :T, :]. You cut the axis of the samples."
-     n = 1 << (time + kernel.shape[-2] - 2).bit_length()  # a power of two, at least T + L - 1
+     n = time + kernel.shape[-2] - 1

-     return fft.irfft(product, n, axis=-2)[..., :time, :].astype(x.dtype)
+     return fft.irfft(product, n, axis=-2)[:time].astype(x.dtype)

# %% exercise=7.5 hint="Nothing is conjugated: you sum grad[t] kernel[s - t], as if the outputs had made the inputs. Time runs backwards: conjugate the other factor."
-     dx = fft.irfft(g * fk.conj(), n, axis=-2)[..., :time, :]
-     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
+     dx = fft.irfft(g * fk, n, axis=-2)[..., :time, :]
+     both = (g * fx).reshape(-1, *g.shape[-2:]).sum(0)

# %% exercise=7.5 hint="You conjugate grad. It is the other factor, the kernel's or x's, whose time is turned round."
-     dx = fft.irfft(g * fk.conj(), n, axis=-2)[..., :time, :]
-     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
+     dx = fft.irfft(g.conj() * fk, n, axis=-2)[..., :time, :]
+     both = (g.conj() * fx).reshape(-1, *g.shape[-2:]).sum(0)

# %% exercise=7.5 hint="The ring has only T places, so the end of one gradient falls on its beginning: T + L - 1, or more."
-     n = 1 << (time + length - 2).bit_length()
+     n = max(time, length)

# %% exercise=7.5 hint="One kernel serves all samples, and each sends it a gradient: sum them, do not take their mean."
-     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
+     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).mean(0)

# %% exercise=7.5 hint="The gradient of the kernel has L steps, its own length, whatever T is."
-     return dx.astype(x.dtype), fft.irfft(both, n, axis=-2)[:length].astype(kernel.dtype)
+     return dx.astype(x.dtype), fft.irfft(both, n, axis=-2)[:time].astype(kernel.dtype)

# %% exercise=7.5 hint="One kernel serves all samples, so it has one gradient, (L, E): sum over the samples."
-     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
-     return dx.astype(x.dtype), fft.irfft(both, n, axis=-2)[:length].astype(kernel.dtype)
+     both = fft.irfft(g * fx.conj(), n, axis=-2)[..., :length, :]
+     return dx.astype(x.dtype), both.astype(kernel.dtype)

# %% exercise=7.5 hint="Nothing is conjugated, so time runs forwards: that is y's own sum again. Conjugate the kernel for dx, and x for dkernel."
-     n = 1 << (time + length - 2).bit_length()
+     n = time + length - 1

-     dx = fft.irfft(g * fk.conj(), n, axis=-2)[..., :time, :]
-     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
+     dx = fft.irfft(g * fk, n, axis=-2)[..., :time, :]
+     both = (g * fx).reshape(-1, *g.shape[-2:]).sum(0)

# %% exercise=7.5 hint="You conjugate grad, and turn its time round. It is the kernel's time, or x's, that turns."
-     n = 1 << (time + length - 2).bit_length()
+     n = time + length - 1

-     dx = fft.irfft(g * fk.conj(), n, axis=-2)[..., :time, :]
-     both = (g * fx.conj()).reshape(-1, *g.shape[-2:]).sum(0)  # of all samples
+     dx = fft.irfft(g.conj() * fk, n, axis=-2)[..., :time, :]
+     both = (g.conj() * fx).reshape(-1, *g.shape[-2:]).sum(0)

# %% exercise=7.5 hint="Without n, irfft takes the ring for one with an even number of places: where your n is odd, all comes back on one that is too short. Give it the n that rfft had."
-     n = 1 << (time + length - 2).bit_length()
+     n = time + length

-     dx = fft.irfft(g * fk.conj(), n, axis=-2)[..., :time, :]
+     dx = fft.irfft(g * fk.conj(), axis=-2)[..., :time, :]

-     return dx.astype(x.dtype), fft.irfft(both, n, axis=-2)[:length].astype(kernel.dtype)
+     return dx.astype(x.dtype), fft.irfft(both, axis=-2)[:length].astype(kernel.dtype)

# %% exercise=7.5 hint="The ring has to hold both, one behind the other, T + L - 1 numbers. In a shorter one the end wraps round and is added to the start."
-     n = 1 << (time + length - 2).bit_length()
+     n = 1 << (max(time, length) - 1).bit_length()

# %% exercise=7.5 hint="`irfft` cannot know how long the ring was: tell it `n`, or an odd length becomes an even one."
def fft_convolve_backward(grad: Array, x: Array, kernel: Array) -> tuple[Array, Array]:
    """Gradients of x (..., T, E) and of kernel (L, E) from that of y (..., T, E): correlations."""
    T, L = x.shape[-2], len(kernel)
    n = T + L - 1
    g, fx, fk = (np.fft.rfft(s, n, axis=-2) for s in (grad, x, kernel))
    dx = np.fft.irfft(g * fk.conj(), axis=-2)[..., :T, :]
    dkernel = np.fft.irfft(g * fx.conj(), axis=-2)[..., :L, :]
    dkernel = dkernel.sum(axis=tuple(range(x.ndim - 2)))
    return dx.astype(x.dtype), dkernel.astype(kernel.dtype)
