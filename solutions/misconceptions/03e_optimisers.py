# %% exercise=3.19 hint="A step multiplies by 1 - lr * h, which may go down to -1, not only to 0: the limit is twice yours."
-     return float(2 / curvatures.max())
+     return float(1 / curvatures.max())

# %% exercise=3.19 hint="You take the flattest direction. The steepest one is the first to grow."
-     return float(2 / curvatures.max())
+     return float(2 / curvatures.min())

# %% exercise=3.19 hint="You ask along each axis how steep it is, and a valley that lies at an angle is steepest in between. What you were told is a matrix: its eigenvalues are the curvatures."
-     curvatures = np.linalg.eigvalsh(np.array([slope(e) for e in np.eye(n)]))
+     curvatures = np.array([slope(e)[i] for i, e in enumerate(np.eye(n))])

# %% exercise=3.19 hint="A gradient's length at one point mixes all directions. You need the length in the direction that is stretched most: ask again at what you were told, made short, until it no longer turns."
def largest_rate(slope, n):
    x = np.ones(n) / n**0.5
    return float(2 / np.linalg.norm(slope(x)))

# %% exercise=3.19 hint="Asking again and again turns towards the steepest direction only if the start leans towards it a little. Where they are at a right angle, as (1, 1) and (1, -1), it never does: start at numbers without a pattern, drawn ones say."
def largest_rate(slope, n):
    x = np.ones(n) / np.sqrt(n)
    for _ in range(1000):
        x = slope(x)
        x = x / np.sqrt(x @ x)
    return float(2 / (x @ slope(x)))

# %% exercise=3.20 hint="You count the steps that the gradient pushes, and leave out how far the ball rolls from each push."
-     return -lr * n / (1 - momentum)
+     return -lr * n

# %% exercise=3.20 hint="1 + momentum + momentum**2 + ... is 1 / (1 - momentum)."
-     return -lr * n / (1 - momentum)
+     return -lr * n * momentum / (1 - momentum)

# %% exercise=3.20 hint="Each of the n gradients gives its own push, and the pushes add up."
-     return -lr * n / (1 - momentum)
+     return -lr / (1 - momentum)

# %% exercise=3.20 hint="This is where the weight is after n steps. It has not come to rest: the velocity is still there."
def place_of_rest(lr, momentum, n):
    place = velocity = 0.0
    for _ in range(n):
        velocity = momentum * velocity + 1
        place -= lr * velocity
    return place

# %% exercise=3.20 hint="Right but for the sign: a step goes against the gradient, so the weight rolls below 0."
-     return -lr * n / (1 - momentum)
+     return lr * n / (1 - momentum)

# %% exercise=3.20 hint="Your gradients stop rolling after n steps. Each goes on for ever, and comes to 1 / (1 - momentum) in the end."
-     return -lr * n / (1 - momentum)
+     return -lr * n * (1 - momentum**n) / (1 - momentum)

# %% exercise=3.21 hint="This is the heavy ball: its direction is the new velocity, which is grad + momentum * old velocity. Nesterov looks ahead along the new one."
-     return grad + momentum * velocity  # a look ahead: where momentum will have carried us
+     return velocity.copy()

# %% exercise=3.21 hint="Your velocity is a new array, and the optimizer keeps the old one. Change it in place: velocity *= momentum."
def nesterov(grad, velocity, momentum):
    velocity = momentum * velocity + grad
    return grad + momentum * velocity  # a look ahead: where momentum will have carried us

# %% exercise=3.21 hint="You write into the gradient, which belongs to the parameter. Make a new array for the direction."
-     return grad + momentum * velocity  # a look ahead: where momentum will have carried us
+     grad += momentum * velocity
+     return grad

# %% exercise=3.21 hint="You add the whole velocity. Only momentum times the velocity is still ahead."
-     return grad + momentum * velocity  # a look ahead: where momentum will have carried us
+     return grad + velocity

# %% exercise=3.21 hint="You look ahead before the velocity has moved in full. First v = momentum * v + grad, then take grad + momentum * v."
+     direction = grad + momentum * velocity
      velocity += grad
-     return grad + momentum * velocity  # a look ahead: where momentum will have carried us
+     return direction

# %% exercise=3.21 hint="`grad.size` counts all numbers, but of a matrix `velocity[i]` is a whole row. Does the formula need a loop at all?"
-     velocity *= momentum
-     velocity += grad
-     return grad + momentum * velocity  # a look ahead: where momentum will have carried us
+     direction = np.empty_like(grad)
+     for i in range(grad.size):
+         velocity[i] = momentum * velocity[i] + grad[i]
+         direction[i] = grad[i] + momentum * velocity[i]
+     return direction

# %% exercise=3.22 hint="beta alone is raised to the power of the step: 1 - beta ** step, and not (1 - beta) ** step. In step 1 the two are the same."
-     root = math.sqrt(1 - betas[1] ** step)
-     return lr * root / (1 - betas[0] ** step), eps * root
+     root = math.sqrt((1 - betas[1]) ** step)
+     return lr * root / (1 - betas[0]) ** step, eps * root

# %% exercise=3.22 hint="eps stands beside the corrected root. When you multiply by the root of 1 - beta2**t, multiply eps too."
def bias_corrected(lr, betas, eps, step):
    return lr * math.sqrt(1 - betas[1] ** step) / (1 - betas[0] ** step), eps

# %% exercise=3.22 hint="s is corrected below the root: its factor is the root of 1 - beta2**t."
-     root = math.sqrt(1 - betas[1] ** step)
+     root = 1 - betas[1] ** step

# %% exercise=3.22 hint="Upside down: the correction of s stands below the bar of a fraction below the bar, so its root goes above."
-     return lr * root / (1 - betas[0] ** step), eps * root
+     return lr / root / (1 - betas[0] ** step), eps / root

# %% exercise=3.22 hint="The mean is too small at first, so it is divided by 1 - beta1**t, which makes the scale larger."
-     return lr * root / (1 - betas[0] ** step), eps * root
+     return lr * root * (1 - betas[0] ** step), eps * root

# %% exercise=3.22 hint="The corrections depend on the step: 1 - beta**t, not 1 - beta."
def bias_corrected(lr, betas, eps, step):
    root = math.sqrt(1 - betas[1])
    return lr * root / (1 - betas[0]), eps * root

# %% exercise=3.22 hint="The scale is right. The root that multiplies above the bar also multiplies eps, below it: do not divide eps."
-     return lr * root / (1 - betas[0] ** step), eps * root
+     return lr * root / (1 - betas[0] ** step), eps / root

# %% exercise=3.22 hint="You correct the mean alone. The root of the mean square needs its correction too: 1 - beta2**t."
def bias_corrected(lr, betas, eps, step):
    return lr / (1 - betas[0] ** step), eps

# %% exercise=3.43 hint="`velocity = ...` gives the name to a new array, and the optimiser keeps the old one. Change it in place: velocity *= momentum."
-     velocity *= momentum
-     # PyTorch's form: lr outside, not in the velocity.
-     velocity += (1 - dampening) * grad if dampening else grad
-     return velocity
+     return momentum * velocity + (1 - dampening) * grad

# %% exercise=3.43 hint="`mean = ...` gives the name to a new array, and the caller keeps the old one. Change mean and square in place: mean *= betas[0]."
-     work = (1 - betas[0]) * grad  # one work array for all that follows: the formula as it stands makes nine
-     mean *= betas[0]
-     mean += work
-     np.multiply(grad, grad, out=work)
-     work *= 1 - betas[1]
-     square *= betas[1]
-     square += work  # m and v of arXiv:1412.6980, algorithm 1
+     mean = betas[0] * mean + (1 - betas[0]) * grad
+     square = betas[1] * square + (1 - betas[1]) * grad**2
+     work = np.zeros_like(x)

# %% exercise=3.43 hint="Dampening is a share that the new gradient loses: it joins with 1 - dampening of itself."
-     velocity += (1 - dampening) * grad if dampening else grad
+     velocity += grad

# %% exercise=3.43 hint="The gradient joins the velocity whole. A running mean, with 1 - momentum of it, is what Adam takes."
-     velocity += (1 - dampening) * grad if dampening else grad
+     velocity += (1 - momentum) * (1 - dampening) * grad

# %% exercise=3.43 hint="Both means begin at 0 and are too small at first: divide them by 1 - beta**step for the step."
-     work += eps * root
+     work += eps
      np.divide(mean, work, out=work)
-     work *= lr * root / (1 - betas[0] ** step)
+     work *= lr

# %% exercise=3.43 hint="You correct what is remembered. Keep the running means as they are, and correct copies of them for the step."
-     root = math.sqrt(1 - betas[1] ** step)  # the corrections as two numbers, not as two arrays
-     np.sqrt(square, out=work)
-     work += eps * root
-     np.divide(mean, work, out=work)
-     work *= lr * root / (1 - betas[0] ** step)
-     x -= work
+     mean /= 1 - betas[0] ** step
+     square /= 1 - betas[1] ** step
+     x -= lr * mean / (np.sqrt(square) + eps)

# %% exercise=3.43 hint="Whoever asks for `decoupled` wants the decay outside of Adam's means: x shrinks by 1 - lr * decay, and the gradient stays."
-     if weight_decay and decoupled:
-         x *= 1 - lr * weight_decay  # apart from the gradient, so that its scale does not shrink the decay
-     elif weight_decay:
+     if weight_decay:
          grad = grad + weight_decay * x

# %% exercise=3.43 hint="The gradient belongs to the parameter. `grad += ...` writes into it: make a new one for the decay."
-         grad = grad + weight_decay * x
+         grad += weight_decay * x

# %% exercise=3.43 hint="eps stands outside of the root, beside the corrected one. Below the root a small eps becomes a large one."
-     root = math.sqrt(1 - betas[1] ** step)  # the corrections as two numbers, not as two arrays
-     np.sqrt(square, out=work)
-     work += eps * root
-     np.divide(mean, work, out=work)
-     work *= lr * root / (1 - betas[0] ** step)
-     x -= work
+     x -= lr * mean / (1 - betas[0] ** step) / np.sqrt(square / (1 - betas[1] ** step) + eps)

# %% exercise=3.43 hint="The weight shrinks by lr * decay, not by decay alone: with a smaller rate everything goes slower."
-         x *= 1 - lr * weight_decay  # apart from the gradient, so that its scale does not shrink the decay
+         x *= 1 - weight_decay

# %% exercise=3.43 hint="With `decoupled` it is the weight from before the step that shrinks. You shrink it afterwards, and the step that it has just made along with it."
-     if weight_decay and decoupled:
-         x *= 1 - lr * weight_decay  # apart from the gradient, so that its scale does not shrink the decay
-     elif weight_decay:
+     if weight_decay and not decoupled:

      x -= work
+     if decoupled:
+         x -= lr * weight_decay * x

# %% exercise=3.23 hint="Step 0 has a rate of nothing, and is lost. Step k of the warm-up has (k + 1) / (w + 1) of the rate."
-         return initial * (step + 1) / (self.warmup + 1)
+         return initial * step / self.warmup

# %% exercise=3.23 hint="The fall begins at step w: the part of the way is (step - w) / (T - w)."
-     part = min(step - self.warmup, self.total - self.warmup) / (self.total - self.warmup)
+     part = min(step, self.total) / self.total

# %% exercise=3.23 hint="After step T your cosine rises again. Hold the part of the way at 1."
-     part = min(step - self.warmup, self.total - self.warmup) / (self.total - self.warmup)
+     part = (step - self.warmup) / (self.total - self.warmup)

# %% exercise=3.23 hint="You add min_lr without taking it from the height of the fall, so the rate begins above initial."
-     return self.min_lr + (initial - self.min_lr) * (1 + math.cos(math.pi * part)) / 2
+     return self.min_lr + initial * (1 + math.cos(math.pi * part)) / 2

# %% exercise=3.23 hint="After step T the rate stays at min_lr, not at 0."
-     part = min(step - self.warmup, self.total - self.warmup) / (self.total - self.warmup)
+     if step > self.total:
+         return 0.0
+     part = (step - self.warmup) / (self.total - self.warmup)

# %% exercise=3.23 hint="Step 0 has a rate of nothing, and is lost. Count the steps from 1: (step + 1) / (w + 1)."
-         return initial * (step + 1) / (self.warmup + 1)
+         return initial * step / (self.warmup + 1)

# %% exercise=3.23 hint="Your warm-up arrives one step early. Step w is the first with the whole rate: divide by w + 1."
-         return initial * (step + 1) / (self.warmup + 1)
+         return initial * (step + 1) / self.warmup

# %% exercise=3.23 hint="Right where min_lr is 0: the warm-up goes from 0 to initial, and min_lr belongs to the fall behind it."
-         return initial * (step + 1) / (self.warmup + 1)
+         return self.min_lr + (initial - self.min_lr) * (step + 1) / (self.warmup + 1)

# %% exercise=3.23 hint="Your fall is at its end in step T - 1, one too early: T - w points have one interval less between them. How many steps are there from w to T?"
-     part = min(step - self.warmup, self.total - self.warmup) / (self.total - self.warmup)
+     part = min((step - self.warmup) / (self.total - self.warmup - 1), 1)

# %% exercise=3.24 hint="Each gradient is clipped by its own length, which turns the direction. One length, one factor, for all."
def clip_grad_norm_(parameters, max_norm):
    parameters = _listed(parameters)
    norm = grad_norm(parameters)
    for p in parameters:
        if p.grad is not None:
            scale = max_norm / (grad_norm(p) + 1e-6)
            if not scale >= 1:
                p.grad.data *= scale
    return Tensor(norm, next((p.grad.dtype for p in parameters if p.grad is not None), np.float32))

# %% exercise=3.24 hint="A generator is empty after one walk: grad_norm has used it up, and nothing is left to clip. Make a list first."
def clip_grad_norm_(parameters, max_norm):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    norm = grad_norm(parameters)
    scale = max_norm / (norm + 1e-6)  # PyTorch's 1e-6: a gradient of 0 divides by no 0
    dtype = np.float32
    for p in parameters:
        if p.grad is not None:
            dtype = p.grad.dtype
            if not scale >= 1:
                p.grad.data *= scale
    return Tensor(norm, np.float64)

# %% exercise=3.24 hint="You stretch gradients that are shorter than max_norm. Only longer ones change."
def clip_grad_norm_(parameters, max_norm):
    parameters = _listed(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = grad_norm(parameters)
    for grad in grads:
        grad.data *= max_norm / (norm + 1e-6)
    return Tensor(norm, grads[0].dtype if grads else np.float32)

# %% exercise=3.24 hint="You return the length after clipping. The one before tells whether training is healthy."
-     norm = grad_norm(parameters)
-     scale = max_norm / (norm + 1e-6)  # PyTorch's 1e-6: a gradient of 0 divides by no 0
+     scale = max_norm / (grad_norm(parameters) + 1e-6)

-     return Tensor(norm, grads[0].dtype if grads else np.float32)
+     return Tensor(grad_norm(parameters), grads[0].dtype if grads else np.float32)

# %% exercise=3.24 hint="You clip each number, as clip_grad_value_ does. The norm is one length, and the direction must stay."
def clip_grad_norm_(parameters, max_norm):
    parameters = _listed(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = grad_norm(parameters)
    for grad in grads:
        np.clip(grad.data, -max_norm, max_norm, out=grad.data)
    return Tensor(norm, grads[0].dtype if grads else np.float32)

# %% exercise=3.24 hint="You put something new in the place of the gradient, or of its array. In place means: grad.data *= scale, since others may hold the same array."
-             grad.data *= scale
+             grad.data = grad.data * scale

# %% exercise=3.24 hint="Where the length is NaN, every comparison is false, and your gradients stay. Ask `if not scale >= 1`."
-     if not scale >= 1:  # where the norm is NaN too, as in PyTorch
+     if scale < 1:

# %% exercise=3.24 hint="Nearly: PyTorch divides by the length plus 1e-6, and you by the length alone."
-     scale = max_norm / (norm + 1e-6)  # PyTorch's 1e-6: a gradient of 0 divides by no 0
-     if not scale >= 1:  # where the norm is NaN too, as in PyTorch
+     if norm > max_norm:
          for grad in grads:
-             grad.data *= scale
+             grad.data *= max_norm / norm

# %% exercise=3.24 hint="You ask the first parameter's gradient for the dtype, and that one may be None. Which gradients are sure to be there?"
-     return Tensor(norm, grads[0].dtype if grads else np.float32)
+     return Tensor(norm, parameters[0].grad.dtype if parameters else np.float32)

# %% exercise=3.25 hint="This is still the given code: the mean that you return has been divided, and the next step goes on from that. Return the plain running mean."
def adamw(x, grad, mean, square, step, lr, betas, eps, decay):
    return adamw_with_a_bug(x, grad, mean, square, step, lr, betas, eps, decay)

# %% exercise=3.25 hint="Out of the second line, and nowhere else: this step needs the corrected mean. Divide a copy of it for the step."
-     m, s = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
+     m, s = mean, square / (1 - betas[1] ** step)

# %% exercise=3.25 hint="You divide twice: once in what is remembered, once more in the step. Only the step divides."
-     mean = betas[0] * mean + (1 - betas[0]) * grad
+     mean = (betas[0] * mean + (1 - betas[0]) * grad) / (1 - betas[0] ** step)

# %% exercise=3.25 hint="The mean is mended, and now the square has its trouble: remember the plain running mean of squares, and correct a copy."
-     square = betas[1] * square + (1 - betas[1]) * grad**2
-     m, s = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
-     return x - lr * m / (np.sqrt(s) + eps), mean, square
+     square = (betas[1] * square + (1 - betas[1]) * grad**2) / (1 - betas[1] ** step)
+     return x - lr * mean / (1 - betas[0] ** step) / (np.sqrt(square) + eps), mean, square

# %% exercise=3.25 hint="The correction depends on the step: 1 - beta**step. Yours is right in step 1 alone."
-     m, s = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
+     m, s = mean / (1 - betas[0]), square / (1 - betas[1] ** step)

# %% exercise=3.25 hint="`mean *= ...` writes into the array that came in. Make a new one: mean = betas[0] * mean + ..."
-     mean = betas[0] * mean + (1 - betas[0]) * grad
+     mean *= betas[0]
+     mean += (1 - betas[0]) * grad

# %% exercise=3.25 hint="The decay stood in its right place: x shrinks by 1 - lr * decay before the step. Leave that line as it was."
def adamw(x, grad, mean, square, step, lr, betas, eps, decay):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    m, s = mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
    return (1 - lr * decay) * (x - lr * m / (np.sqrt(s) + eps)), mean, square

# %% exercise=3.25 hint="The mean is mended, and eps has slipped below the root. It is added to the root, as in the given code: where squares are small, the root of eps is far larger than eps."
-     return x - lr * m / (np.sqrt(s) + eps), mean, square
+     return x - lr * m / np.sqrt(s + eps), mean, square

# %% exercise=3.26 hint="Right, with a new array for each operation. Give the results a place: np.sign(work, out=work), work *= lr."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    c = betas[0] * mean + (1 - betas[0]) * grad
    x -= lr * (np.sign(c) + weight_decay * x)
    mean[...] = betas[1] * mean + (1 - betas[1]) * grad

# %% exercise=3.26 hint="Right, with two new arrays. Write c as grad + beta1 * (mean - grad), and one of them is enough."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    work = betas[0] * mean
    other = (1 - betas[0]) * grad
    work += other
    np.sign(work, out=work)
    work *= lr
    x *= 1 - lr * weight_decay
    x -= work
    np.multiply(grad, 1 - betas[1], out=other)
    mean *= betas[1]
    mean += other

# %% exercise=3.26 hint="The direction takes beta1 and the memory beta2. You update the mean first and take the sign of that."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    mean *= betas[1]
    mean += (1 - betas[1]) * grad
    x *= 1 - lr * weight_decay
    x -= lr * np.sign(mean)

# %% exercise=3.26 hint="You swap the betas: the first makes the direction, the second the new mean."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    c = betas[1] * mean + (1 - betas[1]) * grad
    x *= 1 - lr * weight_decay
    x -= lr * np.sign(c)
    mean *= betas[0]
    mean += (1 - betas[0]) * grad

# %% exercise=3.26 hint="You use the gradient as scratch. It belongs to the parameter and must stay as it is."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    mean -= grad
    c = betas[0] * mean + grad
    x *= 1 - lr * weight_decay
    x -= lr * np.sign(c)
    mean *= betas[1]
    mean += grad
    grad *= 0

# %% exercise=3.26 hint="`mean = ...` gives the name to a new array, and the caller's mean stays as it was. Write into it: mean *= ..., mean += ..."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    c = betas[0] * mean + (1 - betas[0]) * grad
    x -= lr * (np.sign(c) + weight_decay * x)
    mean = betas[1] * mean + (1 - betas[1]) * grad

# %% exercise=3.26 hint="The direction is worked out from the mean as it came in. You change the mean first: make c before."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    mean *= betas[1]
    mean += (1 - betas[1]) * grad
    c = betas[0] * mean + (1 - betas[0]) * grad
    x *= 1 - lr * weight_decay
    x -= lr * np.sign(c)

# %% exercise=3.26 hint="The learning rate multiplies the bracket, sign and decay together. Your decay is as large as if lr were 1."
def lion(x, grad, mean, *, lr, betas, weight_decay):
    c = betas[0] * mean + (1 - betas[0]) * grad
    x *= 1 - weight_decay
    x -= lr * np.sign(c)
    mean *= betas[1]
    mean += (1 - betas[1]) * grad

# %% exercise=3.26 hint="Your decay shrinks the step as well: shrink x before you take the step off."
-     x *= 1 - lr * weight_decay
-     x -= work
+     x -= work
+     x *= 1 - lr * weight_decay

# %% exercise=3.22 hint="The root is that of 1 - beta2 to the power t as a whole: the power belongs to beta2 alone. In step 1 the two are the same."
-     root = math.sqrt(1 - betas[1] ** step)
+     root = math.sqrt(1 - betas[1]) ** step
