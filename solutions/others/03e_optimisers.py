"""Second right answers to the exercises of chapter 03e, by another way than the reference's: each earns all points."""

# %% exercise=3.19
def largest_rate(slope, n):
    x = np.sin(np.arange(1.0, n + 1))
    for _ in range(300):
        x = slope(x / np.linalg.norm(x))
    return 2 / float(np.linalg.norm(x))


# %% exercise=3.20
def place_of_rest(lr, momentum, n):
    place = velocity = 0.0
    for k in range(10_000):
        velocity = momentum * velocity + (k < n)
        place -= lr * velocity
    return place


# %% exercise=3.21
def nesterov(grad, velocity, momentum):
    velocity[...] = momentum * velocity + grad
    return (1 + momentum) * grad + momentum * (velocity - grad)


# %% exercise=3.22
def bias_corrected(lr, betas, eps, step):
    one, two = (-math.expm1(step * math.log(beta)) for beta in betas)
    return lr * two**0.5 / one, eps * two**0.5


# %% exercise=3.43
def heavy_ball(grad, velocity, momentum, dampening=0.0):
    velocity[...] = momentum * velocity + (1 - dampening) * grad
    return velocity.copy()


def adam(x, grad, mean, square, *, step, lr, betas, eps, weight_decay=0.0, decoupled=False):
    if decoupled:
        x -= lr * weight_decay * x
    else:
        grad = grad + weight_decay * x
    mean[...] = betas[0] * mean + (1 - betas[0]) * grad
    square[...] = betas[1] * square + (1 - betas[1]) * grad**2
    m, s = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    x -= lr * m / (np.sqrt(s) + eps)


# %% exercise=3.23
@add_to(WarmupCosine)
def rate(self, initial, step):
    if step >= self.total:
        return self.min_lr
    if step < self.warmup:
        return (step + 1) * initial / (1 + self.warmup)
    angle = math.pi * (step - self.warmup) / (self.total - self.warmup)
    return self.min_lr + (initial - self.min_lr) * math.cos(angle / 2) ** 2


# %% exercise=3.24
def clip_grad_norm_(parameters, max_norm):
    with_gradient = [p for p in _listed(parameters) if p.grad is not None]
    total = grad_norm(with_gradient)
    factor = max_norm / (total + 1e-6)
    factor = 1.0 if factor > 1 else factor
    for p in with_gradient:
        np.multiply(p.grad.data, factor, out=p.grad.data)
    return tensor(total, dtype=with_gradient[0].grad.dtype if with_gradient else None)


# %% exercise=3.25
def adamw(x, grad, mean, square, step, lr, betas, eps, decay):
    x, corrected, square = adamw_with_a_bug(x, grad, mean, square, step, lr, betas, eps, decay)
    return x, corrected * (1 - betas[0] ** step), square


# %% exercise=3.26
def lion(x, grad, mean, *, lr, betas, weight_decay):
    x *= 1 - lr * weight_decay
    work = np.subtract(grad, mean)
    np.multiply(work, 1 - betas[0], out=work)
    np.add(work, mean, out=work)
    np.sign(work, out=work)
    x -= np.multiply(work, lr, out=work)
    mean *= betas[1]
    mean += np.multiply(grad, 1 - betas[1], out=work)
