# Plausible wrong answers to the exercises of chapter 08a, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=8.1 hint="A kernel for all devices has no numbers to work with on meta. Without a fake of its own, meta is refused."
-     row = device if device in rows or device == "meta" else "all"
+     row = device if device in rows else "all"

# %% exercise=8.1 hint="Remembering has two conditions: the grad mode is on, and some tensor wants a gradient. One of them alone will not do."
-     return (row, enabled and any(wants)) if row in rows else "refused"
+     return (row, any(wants)) if row in rows else "refused"

# %% exercise=8.1 hint="One tensor that wants a gradient is enough for the call to be remembered: any, not all."
-     return (row, enabled and any(wants)) if row in rows else "refused"
+     return (row, enabled and bool(wants) and all(wants)) if row in rows else "refused"

# %% exercise=8.1 hint="Tensors of two devices have no kernel in common: the call is refused, whichever comes first."
-     if len(set(devices)) > 1:
-         return "refused"

# %% exercise=8.1 hint="A call without any tensor has no device of its own, and is not refused: it goes to cpu."
-     if len(set(devices)) > 1:
-         return "refused"
-     device = devices[0] if devices else "cpu"
+     if len(set(devices)) != 1:
+         return "refused"
+     device = devices[0]

# %% exercise=8.2 hint="A copy gives the right gradient, silently, and costs as much memory as x. Hand x itself to the engine: it notices the change."
-     ctx.save_for_backward(inputs[0])
+     ctx.save_for_backward(inputs[0].clone())

# %% exercise=8.2 hint="You save x where the engine sees it, but also keep it as an attribute. Then it stays alive after backward: leave the attribute out, and fetch x from ctx.saved_tensors alone."
-     ctx.save_for_backward(inputs[0])
+     ctx.save_for_backward(inputs[0])
+     ctx.x = inputs[0]

-     (x,) = ctx.saved_tensors
+     x = ctx.x

# %% exercise=8.2 hint="ctx.x is an attribute still, and the engine knows nothing of it. Tensors go through ctx.save_for_backward, and come back as ctx.saved_tensors."
-     ctx.save_for_backward(inputs[0])
+     ctx.x = inputs[0].detach()

-     (x,) = ctx.saved_tensors
+     x = ctx.x

# %% exercise=8.2 hint="You save y in place of x: from it a cube root makes x again, but of a negative number that is no number."
-     ctx.save_for_backward(inputs[0])
+     ctx.save_for_backward(output)

-     (x,) = ctx.saved_tensors
+     (y,) = ctx.saved_tensors
+     x = y ** (1 / 3)

# %% exercise=8.3 hint="You compute all three and hide what is not wanted. The work is done then: put the condition in front of the product."
-     dx = grad @ weight if for_x else None
-     dweight = grad.transpose(0, 1) @ x if for_weight else None
-     dbias = grad.sum(0) if for_bias else None
-     return dx, dweight, dbias
+     dx, dweight, dbias = grad @ weight, grad.transpose(0, 1) @ x, grad.sum(0)
+     return dx if for_x else None, dweight if for_weight else None, dbias if for_bias else None

# %% exercise=8.3 hint="dweight is transposed: weight is (O, I), a row for each number of y. grad comes first, turned around."
-     dweight = grad.transpose(0, 1) @ x if for_weight else None
+     dweight = x.transpose(0, 1) @ grad if for_weight else None

# %% exercise=8.3 hint="The bias is added to each of N samples, so its gradient is the sum over samples, of shape (O,), and not their mean."
-     dbias = grad.sum(0) if for_bias else None
+     dbias = grad.mean(0) if for_bias else None

# %% exercise=8.3 hint="Where no gradient is wanted you return a tensor of zeros. None says the same, and costs nothing."
-     dx = grad @ weight if for_x else None
+     dx = grad @ weight if for_x else x * 0

# %% exercise=8.3 hint="You ask whether any gradient is wanted, and then compute all. Each of the three has a condition of its own."
-     dx = grad @ weight if for_x else None
-     dweight = grad.transpose(0, 1) @ x if for_weight else None
-     dbias = grad.sum(0) if for_bias else None
+     if not any(ctx.needs_input_grad):
+         return None, None, None
+     dx, dweight, dbias = grad @ weight, grad.transpose(0, 1) @ x, grad.sum(0)

# %% exercise=8.4 hint="On meta your table falls back on the kernel for all devices. That one computes, and there are no numbers: on META.name only its own row counts."
-     if kernel is None and device != META.name:
+     if kernel is None:

# %% exercise=8.4 hint="The kernel for all devices comes first in yours. A device's own row goes before it."
-     kernel = self.kernels.get(device)
-     if kernel is None and device != META.name:
-         kernel = self.kernels.get(None)
+     kernel = self.kernels.get(device if device == META.name or None not in self.kernels else None)

# %% exercise=8.4 hint="setup_context gets all results where there are several, and the result itself where there is one: look at self.operator.schema.single."
-         output = results[0] if self.operator.schema.single else results
+         output = results[0]

# %% exercise=8.4 hint="The formula runs with the grad mode on: backward's own operations are remembered, and hold memory. Run it in no_grad()."
-     with no_grad():
-         found = self.operator.formula(self.ctx, *self.grads(grad))
+     found = self.operator.formula(self.ctx, *self.grads(grad))

# %% exercise=8.4 hint="Arguments that come by name alone never reach setup_context: hand them over as keyword_only_inputs, where there are any."
-         by_name = {"keyword_only_inputs": options} if options else {}
+         by_name = {"keyword_only_inputs": {name: None for name in options}} if options else {}

# %% exercise=8.4 hint="An operator without a formula has no gradient, and somebody has to hear of it: raise a RuntimeError."
-     if self.operator.formula is None:
-         raise RuntimeError(f"{self.name} has no formula for backward: give it one with register_autograd")
+     if self.operator.formula is None:
+         return tuple(None for _ in self.inputs)

# %% exercise=8.4 hint="You hand setup_context its arguments by their places, and its parameters may stand in another order. Like PyTorch, pass them by name: ctx=, inputs=, output=."
-         self.operator.setup_context(ctx=self.ctx, inputs=inputs, **by_name, output=output)
+         self.operator.setup_context(self.ctx, inputs, output, **by_name)

# %% exercise=8.5 hint="The kernel runs with the grad mode on, so its own operations are remembered or heard. Call it in no_grad(), and let nobody listen meanwhile."
-         before, mode.tracer = mode.tracer, None
-         try:
-             with no_grad():
-                 result = self.kernels[tensors[0].device](*inputs)
-         finally:
-             mode.tracer = before
+         result = self.kernels[tensors[0].device](*inputs)

# %% exercise=8.5 hint="setup runs at each call in yours. Where nothing is remembered, in no_grad() or if no tensor wants a gradient, nobody will ever ask for what it keeps."
-         if y.requires_grad and self.setup is not None:
+         if self.setup is not None:

# %% exercise=8.5 hint="Your call holds on to its inputs. What was not saved must be free as soon as the caller lets it go: keep no more than which inputs were tensors."
-     def __init__(self, op, result, is_tensor):
+     def __init__(self, op, result, is_tensor, inputs):

-         self.operator, self.result, self.is_tensor = op, result, is_tensor
+         self.operator, self.result, self.is_tensor = op, result, is_tensor
+         self.everything = inputs

-         call = Call(self, result, is_tensor)
+         call = Call(self, result, is_tensor, inputs)

# %% exercise=8.5 hint="What setup saves is an attribute of your own: the engine neither frees it after backward nor notices when it is changed. It belongs into f.saved, as arrays."
-         self.saved = tuple(x.data for x in tensors)
+         self.kept = tuple(x.data for x in tensors)

-         return tuple(Tensor(array) for array in self.saved)
+         return tuple(Tensor(array) for array in self.kept)

# %% exercise=8.5 hint="One gradient for each input, tensor or not: count them, and raise a RuntimeError where the formula gave another number. In yours they end up with the wrong input, or nowhere."
-         if len(found) != len(self.is_tensor):
-             raise RuntimeError(f"{len(found)} gradients for {len(self.is_tensor)} inputs")

# %% exercise=8.5 hint="Tensors of two devices: yours asks the first one alone, and the kernel gets what it cannot read."
-         if len(devices) != 1 or not devices <= set(self.kernels):
+         if tensors[0].device not in self.kernels:

# %% exercise=8.5 hint="The formula runs with the grad mode on. Its own operations would be remembered: run it in no_grad()."
-         with no_grad():
-             found = self.operator.formula(self, Tensor(grad))
+         found = self.operator.formula(self, Tensor(grad))

# %% exercise=8.6 hint="Afterwards you turn on keys, too, that an outer `again` has turned off and still needs off. Take away what this call has added, and no more."
-         added = {*KEYS[: KEYS.index(live[0]) + 1]} - off
+         added = {*KEYS[: KEYS.index(live[0]) + 1]}

# %% exercise=8.6 hint="Yours turns off the key of the handler alone. Those above it have to be off as well, or a call within goes up again."
-         added = {*KEYS[: KEYS.index(live[0]) + 1]} - off
+         added = {live[0]} - off

# %% exercise=8.6 hint="After an error the keys stay off. Whatever happens below, they are on again afterwards: try and finally."
-         try:
-             return dispatch(table, keys, *args)
-         finally:
-             off.difference_update(added)
+         made = dispatch(table, keys, *args)
+         off.difference_update(added)
+         return made

# %% exercise=8.6 hint="You hand the lower keys on, but a call of another operator within starts at the top again. What is off is off for all calls: keep it in one place."
-     def again(*args):
-         added = {*KEYS[: KEYS.index(live[0]) + 1]} - off
-         off.update(added)
-         try:
-             return dispatch(table, keys, *args)
-         finally:
-             off.difference_update(added)
+     def again(*args):
+         return dispatch(table, keys - {*KEYS[: KEYS.index(live[0]) + 1]}, *args)

# %% exercise=8.2 hint="`saved_tensors` is a tuple, also of one tensor: take it out, as in `(x,) = ctx.saved_tensors`."
def keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    """What backward of y = x ** 3 needs."""
    ctx.save_for_backward(inputs[0])


def cubed_backward(ctx: Any, grad: Tensor) -> Tensor:
    """The gradient of x."""
    x = ctx.saved_tensors
    return 3 * grad * x**2

# %% exercise=8.5 hint="You leave out each None, and the gradients behind it move up to other tensors. A formula may have None for a tensor, too: it is the place among the inputs that says whose a gradient is."
-         return tuple(None if g is None else g.data for g, there in zip(found, self.is_tensor) if there)
+         return tuple(g.data for g in found if g is not None)

# %% exercise=8.4 hint="An operator without setup_context may have a gradient as well: your remember returns before link, and its results know of no call."
-     if self.operator.setup_context is not None:
-         output = results[0] if self.operator.schema.single else results
+     if self.operator.setup_context is None:
+         return
+     else:
+         output = results[0] if self.operator.schema.single else results

# %% exercise=8.1 hint="The device's own row comes first; the row 'all' is for those that have none."
def walk(rows: set[str], devices: list[str], wants: list[bool], enabled: bool) -> tuple[str, bool] | str:
    """The row that a call takes and whether it is remembered, or "refused"."""
    if len(set(devices)) > 1:
        return "refused"
    if len(devices) == 0:
        device = "cpu"
    else:
        device = devices[0]
    if "all" in rows and device != "meta":
        row = "all"
    elif device in rows:
        row = device
    else:
        return "refused"
    return row, enabled and any(wants)
