# Plausible wrong answers to the exercises of chapter 09b, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=9.6 hint="A gradient goes neither into nor out of a stop: do not enter it, whoever points to it."
-         if name not in reached and name not in stops:
+         if name not in reached:

# %% exercise=9.6 hint="A stop gets no gradient itself, either: you stop behind it, but count it as reached."
-         if name not in reached and name not in stops:
-             reached.add(name)
-             waiting += program[name]
+         if name not in reached:
+             reached.add(name)
+             if name not in stops:
+                 waiting += program[name]

# %% exercise=9.6 hint="Of y with respect to itself there is a gradient, 1, if y is no stop: the search begins at y."
-     waiting = [y]
+     waiting = list(program[y]) if y not in stops else []

# %% exercise=9.7 hint="Several nodes may read one, and each sends a gradient: add what arrives to what is there."
-                     pending[x] = pending[x] + grad if x in pending else grad
+                     pending[x] = grad

# %% exercise=9.7 hint="You ask backward for all inputs. Those that do not lead to one of xs need none: say so in needs, and the nodes are not written."
-         needs = [x in leading for x in node.inputs]
-         if node in pending and any(needs):
+         needs = [True for x in node.inputs]
+         if node in pending and any(needs):

# %% exercise=9.7 hint="Where y does not depend on x the derivative is None, and no node: a zero would be one that somebody has to compute."
-     return [pending.get(x) for x in xs]
+     return [pending[x] if x in pending else Node(y.program, "constant") for x in xs]

# %% exercise=9.7 hint="You hand a gradient on as soon as it arrives, and it may not be complete: others may still send theirs. Go through the program from new to old, so that all readers have had their turn."
def gradients(y, xs):
    grads, waiting = {y: Node(y.program, "constant", value=1.0)}, [y]
    while waiting and len(y.program) < 5000:
        node = waiting.pop()
        back = node.backward(grads[node], [True] * len(node.inputs)) if node.inputs else []
        for x, grad in zip(node.inputs, back):
            grads[x] = grads[x] + grad if x in grads else grad
            waiting.append(x)
    return [grads.get(x) for x in xs]

# %% exercise=9.7 hint="You hand a gradient on as soon as it arrives, and it may not be complete: others may still send theirs. Go through the program from new to old, so that all readers have had their turn."
-     for node in reversed(nodes):
-         needs = [x in leading for x in node.inputs]
-         if node in pending and any(needs):
+     waiting = [y]
+     while waiting:
+         node = waiting.pop(0)
+         needs = [x in leading for x in node.inputs]
+         if node.inputs and node in pending and any(needs) and len(y.program) < 5000:
+             waiting += [x for x, need in zip(node.inputs, needs) if need]

# %% exercise=9.8 hint="Behind its assignment the velocity is the new one already, so you apply momentum twice. Compute the new velocity once, and use that node."
-     step = grad + self.momentum * moved if self.use_nesterov else moved
-     return [assign(velocity, moved), assign(v, v - self.rate(v.dtype) * step)]
+     first = assign(velocity, moved)
+     moved = velocity * self.momentum + grad
+     step = grad + self.momentum * moved if self.use_nesterov else moved
+     return [first, assign(v, v - self.rate(v.dtype) * step)]

# %% exercise=9.8 hint="Nesterov's step is the gradient plus momentum times the new velocity: you leave the gradient out."
-     step = grad + self.momentum * moved if self.use_nesterov else moved
+     step = self.momentum * moved if self.use_nesterov else moved

# %% exercise=9.8 hint="The learning rate belongs to the step of v, and not into the velocity, which takes in the gradient as it is."
-     moved = velocity * self.momentum + grad
-     step = grad + self.momentum * moved if self.use_nesterov else moved
-     return [assign(velocity, moved), assign(v, v - self.rate(v.dtype) * step)]
+     moved = velocity * self.momentum + self.rate(v.dtype) * grad
+     step = grad + self.momentum * moved if self.use_nesterov else moved
+     return [assign(velocity, moved), assign(v, v - step)]

# %% exercise=9.8 hint="Both assignments are there, in the other order: that of the velocity comes first in the list."
-     return [assign(velocity, moved), assign(v, v - self.rate(v.dtype) * step)]
+     return [assign(v, v - self.rate(v.dtype) * step), assign(velocity, moved)]

# %% exercise=9.8 hint="Each variable has a velocity of its own: self.slot(v, ...) of this v, and it has to be assigned, too."
-     return [assign(velocity, moved), assign(v, v - self.rate(v.dtype) * step)]
+     return [assign(v, v - self.rate(v.dtype) * step)]

# %% exercise=9.9 hint="v counts as a constant. If it depends on x, its own gradient comes in as well, unless you stop it."
-     (product,) = tf.gradients(tf.reduce_sum(g * tf.stop_gradient(v)), [x])
+     (product,) = tf.gradients(tf.reduce_sum(g * v), [x])

# %% exercise=9.9 hint="That is the sum over the rows of the Hessian, times v. The weights come before the second gradient: of the number g times v."
-     (product,) = tf.gradients(tf.reduce_sum(g * tf.stop_gradient(v)), [x])
-     return product
+     (product,) = tf.gradients(g, [x])
+     return product * v

# %% exercise=9.9 hint="A gradient for each row writes the whole Hessian: its nodes grow with n. One gradient, of the number g times v, is enough."
-     (product,) = tf.gradients(tf.reduce_sum(g * tf.stop_gradient(v)), [x])
-     return product
+     rows = [tf.reduce_sum(tf.gradients(g[i], [x])[0] * tf.stop_gradient(v)) for i in range(int(x.shape[0]))]
+     return tf.stack(rows)

# %% exercise=9.9 hint="Right numbers, but your loop makes nodes for each number of x: the graph grows with n. Multiply the vectors as they are, and sum once."
-     (product,) = tf.gradients(tf.reduce_sum(g * tf.stop_gradient(v)), [x])
+     v = tf.stop_gradient(v)
+     dot = g[0] * v[0]
+     for i in range(1, int(x.shape[0])):
+         dot = dot + g[i] * v[i]
+     (product,) = tf.gradients(dot, [x])

# %% exercise=9.10 hint="grad_ys holds a gradient of y, of y's shape, and v has the shape of x: going back once makes the transposed Jacobian times a vector. Go back again, from that to the vector."
-     u = tf.ones_like(y)
-     (back,) = tf.gradients(y, [x], grad_ys=[u])
-     (along,) = tf.gradients(back, [u], grad_ys=[v])
-     return along
+     (back,) = tf.gradients(y, [x], grad_ys=[v])
+     return back

# %% exercise=9.10 hint="Going back once makes the transposed Jacobian times a vector. Go back again, from that to the vector."
-     u = tf.ones_like(y)
-     (back,) = tf.gradients(y, [x], grad_ys=[u])
-     (along,) = tf.gradients(back, [u], grad_ys=[v])
-     return along
+     (back,) = tf.gradients(y, [x])
+     return tf.reduce_sum(back * v) + 0.0 * y

# %% exercise=9.10 hint="The vector that you go back to is y itself, and the gradient of tanh or exp reads y too: what you get counts that road as well. Take a node that nothing else reads."
-     u = tf.ones_like(y)
+     u = y

# %% exercise=9.7 hint="You take a gradient out when it is handed on. If one of xs has inputs that lead on to others of xs, its own is gone at the end: leave it there."
-             for x, grad in zip(node.inputs, node.backward(pending[node], needs)):
+             for x, grad in zip(node.inputs, node.backward(pending.pop(node), needs)):

# %% exercise=9.7 hint="The gradient of a node that has spoken is taken away, and it may be one of xs: look it up, and leave it there."
def gradients(y, xs):
    """For each of xs the node of the derivative of y, or None where y does not depend on it."""
    nodes = list(y.program)
    depends = set(xs)
    for node in nodes:
        if any(x in depends for x in node.inputs):
            depends.add(node)

    grads = {}
    if y in depends:
        grads[y] = Node(y.program, "constant", value=1.0)
    for node in reversed(nodes):
        if node not in grads or not node.inputs:
            continue
        grad = grads.pop(node)
        needs = [x in depends for x in node.inputs]
        for x, share in zip(node.inputs, node.backward(grad, needs)):
            if share is not None:
                grads[x] = grads[x] + share if x in grads else share
    return [grads.get(x) for x in xs]

# %% exercise=9.7 hint="You ask backward for all inputs. Those that do not lead to one of xs need none: say so in needs, and the nodes are not written."
def gradients(y, xs):
    """For each of xs the node of the derivative of y, or None."""
    nodes = list(y.program)
    grads = {y: Node(y.program, "constant", value=1.0)}
    for node in reversed(nodes):
        if node not in grads or not node.inputs:
            continue
        needs = [True] * len(node.inputs)
        for x, g in zip(node.inputs, node.backward(grads[node], needs)):
            grads[x] = grads[x] + g if x in grads else g
    return [grads.get(x) for x in xs]

# %% exercise=9.10 hint="What tf.gradients gives is never J, but J or its transpose times what comes in, and where nothing is said that is ones. Give v as grad_ys to the second one: then it is J v, and there is nothing left to multiply."
def forward_gradient(y: Any, x: Any, v: Any) -> Any:
    """The node of the Jacobian of y (m,) with respect to x (n,), times v (n,)."""
    u = tf.ones_like(y)
    back = tf.gradients(y, x, grad_ys=u)[0]  # J^T u
    jacobian = tf.gradients(back, u)[0]  # J
    return jacobian @ v
