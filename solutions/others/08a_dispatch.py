"""Second right answers to the exercises of chapter 08a, by another way than the reference's: each earns all points."""


# %% exercise=8.1
def walk(rows, devices, wants, enabled):
    there = sorted(set(devices)) or ["cpu"]
    choices = there if there[0] == "meta" else [there[0], "all"]
    for row in choices:
        if row in rows and len(there) == 1:
            return row, enabled and sum(wants) > 0
    return "refused"


# %% exercise=8.2
def keep(ctx, inputs, output):
    (x,) = inputs
    ctx.factor = 3
    ctx.save_for_backward(x)


def cubed_backward(ctx, grad):
    x = ctx.saved_tensors[0]
    return (grad * (ctx.factor * x * x),)


# %% exercise=8.3
def linear_backward(ctx, grad):
    x, weight = ctx.saved_tensors
    makers = (lambda: grad @ weight, lambda: (x.transpose(0, 1) @ grad).transpose(0, 1), lambda: grad.sum(0))
    return tuple(make() if needed else None for make, needed in zip(makers, ctx.needs_input_grad))


# %% exercise=8.4
@add_to(CustomOpDef)
def kernel_for(self, device):
    if device in self.kernels:
        return self.kernels[device]
    if device == META.name or None not in self.kernels:
        refuse_device(self.name, device, self.kernels)
    return self.kernels[None]


@add_to(OperatorCall)
def remember(self, inputs, options, results):
    self.ctx = Context(self)
    self.wanted = list(map(wants, inputs))
    self.link(results)
    setup = self.operator.setup_context
    if setup is None:
        return
    output = results if not self.operator.schema.single else results[0]
    if options:
        setup(ctx=self.ctx, inputs=inputs, keyword_only_inputs=options, output=output)
    else:
        setup(ctx=self.ctx, inputs=inputs, output=output)


@add_to(OperatorCall)
@no_grad()
def backward(self, grad):
    formula = self.operator.formula
    if not formula:
        raise RuntimeError("this operator has no formula for backward")
    return tuple(fitting_gradients(self, self.wanted, formula(self.ctx, *self.grads(grad))))


# %% exercise=8.5
import minilib.engine as engine


class Context(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__

    def save_for_backward(self, *tensors):
        dict.__getitem__(self, "call").saved = tuple(x.data for x in tensors)

    @property
    def saved_tensors(self):
        return [Tensor(array) for array in dict.__getitem__(self, "call").saved]


class Operator:
    """The way back is tied on by hand, as `apply` would do it."""

    def __init__(self, name):
        self.name, self.table, self.way_back = name, {}, None

    def register_kernel(self, device, kernel):
        self.table[device] = kernel

    def register_autograd(self, formula, setup_context=None):
        self.way_back = formula, setup_context

    def __call__(self, *inputs):
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        first, *others = [x.device for x in tensors]
        if any(device != first for device in others) or first not in self.table:
            raise RuntimeError(f"{self.name} cannot run on {first}, {others}")
        modes = engine.mode.grad_enabled, engine.mode.tracer
        engine.mode.grad_enabled, engine.mode.tracer = False, None
        try:
            array = self.table[first](*inputs).data
        finally:
            engine.mode.grad_enabled, engine.mode.tracer = modes
        y = Tensor(array)
        if engine.is_grad_enabled() and any(x.requires_grad for x in tensors):
            self.tie(y, inputs, tensors)
        return y

    def tie(self, y, inputs, tensors):
        node, places = Function(), [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        node.inputs = tuple(x.function or x for x in tensors)
        node.serial, node.shape, node.dtype = engine._clock(), y.shape, y.dtype
        ctx, many = Context(call=node), len(inputs)
        if self.way_back and self.way_back[1]:
            self.way_back[1](ctx, inputs, y)

        def backward(grad):
            with no_grad():
                found = self.way_back[0](ctx, Tensor(grad))
            found = found if isinstance(found, tuple) else (found,)
            if len(found) != many:
                raise RuntimeError(f"{self.name}: {len(found)} gradients")
            return tuple(None if found[i] is None else found[i].data for i in places)

        node.backward = backward
        y.function, y._requires_grad = node, True


# %% exercise=8.6
off = []


def dispatch(table, keys, *args):
    for place, key in enumerate(KEYS):
        hidden = any(place <= top for top in off)
        if key in table and key in keys and not hidden:

            def again(*more, place=place):
                off.append(place)
                try:
                    return dispatch(table, keys, *more)
                finally:
                    off.pop()

            return table[key](again, *args)
    raise LookupError("nobody is left")
