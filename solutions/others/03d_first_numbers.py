"""Second right answers to the exercises of chapter 03d, by another way than the reference's: each earns all points."""

# %% exercise=3.14
def xavier_normal_(tensor, gain=1, generator=None):
    inputs, outputs = fan(tensor)
    variance = gain**2 / ((inputs + outputs) / 2)
    source = generator.numbers if generator else np.random.default_rng()
    tensor.data[...] = source.standard_normal(tensor.shape) * variance**0.5
    return tensor


@no_grad()
def xavier_uniform_(tensor, gain=1, generator=None):
    inputs, outputs = fan(tensor)
    tensor.uniform_(-1, 1, generator)
    tensor *= gain * (6 / (inputs + outputs)) ** 0.5
    return tensor


# %% exercise=3.18
class Watch:
    def __init__(self, path, found):
        self.path, self.found = path, found

    def __call__(self, module, inputs, output):
        alive = (output.detach().numpy() != 0).any(axis=0)
        self.found[self.path] = 1 - float(alive.mean())


def dead_units(model, x):
    from contextlib import ExitStack

    found = {}
    with ExitStack() as stack, no_grad():
        for path, module in model.named_modules():
            if type(module) is ReLU:
                stack.callback(module.register_forward_hook(Watch(path, found)))
        model(x)
    return found
