"""Plausible wrong answers to the exercises of chapter 03d, each with the hint that it earns."""

# %% exercise=3.6 hint="The mean was right, and momentum is used as it should be. Look at what the variance of a batch divides by."
def track_mended(running_mean, running_var, x, momentum=0.1):
    mean, var = x.mean(0), x.var(0)
    return momentum * running_mean + (1 - momentum) * mean, momentum * running_var + (1 - momentum) * var

# %% exercise=3.6 hint="This is the code as it was given: the variance still divides by n."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.var(0)

# %% exercise=3.6 hint="You took the square root: that is the standard deviation. The running average is one of variances."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.std(0, ddof=1)

# %% exercise=3.6 hint="Momentum is how much comes in from the batch, and it was right. You made it how much stays."
-     return (1 - momentum) * running_mean + momentum * mean, (1 - momentum) * running_var + momentum * var
+     return momentum * running_mean + (1 - momentum) * mean, momentum * running_var + (1 - momentum) * var

# %% exercise=3.6 hint="Your factor makes the variance smaller; it is too small already. Divide by less than n."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.var(0) * len(x) / (len(x) + 1)

# %% exercise=3.6 hint="Your factor makes the variance smaller; it is too small already. Divide by less than n."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.var(0) * (len(x) - 1) / len(x)

# %% exercise=3.6 hint="Your factor fits batches of four only. The pattern depends on n."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.var(0) * 4 / 3

# %% exercise=3.6 hint="You measure from the running mean. The mean of the batch was right; look at what the variance divides by."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), ((x - running_mean) ** 2).mean(0)

# %% exercise=3.6 hint="You take the variance of all numbers at once. Each channel has its own: keep the axis 0."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.var(ddof=1)

# %% exercise=3.38 hint="That is the variance of what the activation function gives out. The mean square counts: a mean that is not 0 adds to the next layer's sums."
-     return float(1 / np.sqrt((bend(z) ** 2 * density).sum() / density.sum()))
+     mean = (bend(z) * density).sum() / density.sum()
+     return float(1 / np.sqrt(((bend(z) - mean) ** 2 * density).sum() / density.sum()))

# %% exercise=3.38 hint="You return what the activation function keeps of the mean square. The gain pays for the loss: one over its root."
-     return float(1 / np.sqrt((bend(z) ** 2 * density).sum() / density.sum()))
+     return float((bend(z) ** 2 * density).sum() / density.sum())

# %% exercise=3.38 hint="The root is missing: the mean square is gain squared times what the activation function keeps."
-     return float(1 / np.sqrt((bend(z) ** 2 * density).sum() / density.sum()))
+     return float(1 / ((bend(z) ** 2 * density).sum() / density.sum()))

# %% exercise=3.38 hint="Not all z are equally likely: weigh each by the density of the normal distribution, or draw them."
-     density = np.exp(-z * z / 2)
+     density = np.ones_like(z)

# %% exercise=3.38 hint="You ask how far the activation function is from 0 on average, not how large its mean square is: square first."
-     return float(1 / np.sqrt((bend(z) ** 2 * density).sum() / density.sum()))
+     return float(1 / ((abs(bend(z)) * density).sum() / density.sum()))

# %% exercise=3.38 hint="You leave out what lies beyond 3. It is rare, but counts with its square: z itself gets a gain of 1.014 instead of 1. Go on until density times square is nothing."
-     z = np.linspace(-9, 9, 200_001)
+     z = np.linspace(-3, 3, 200_001)

# %% exercise=3.39 hint="The two counts are the wrong way round: an output is a sum over the inputs, axis 1."
-     return weight.shape[1] * kernel, weight.shape[0] * kernel
+     return weight.shape[0] * kernel, weight.shape[1] * kernel

# %% exercise=3.39 hint="A filter sums over its own places as well: multiply by all axes behind the first two."
-     return weight.shape[1] * kernel, weight.shape[0] * kernel
+     return weight.shape[1], weight.shape[0]

# %% exercise=3.39 hint="That is the variance, or divided by the count itself: the standard deviation is the gain over its root."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return calculate_gain(nonlinearity, a) / (fan_in if mode == "fan_in" else fan_out)

# %% exercise=3.39 hint="Your standard deviation does not depend on the activation function: multiply by its gain."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return 1 / math.sqrt(fan_in if mode == "fan_in" else fan_out)

# %% exercise=3.39 hint="The slope below 0 does not reach the gain: calculate_gain takes it as its second argument."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return calculate_gain(nonlinearity) / math.sqrt(fan_in if mode == "fan_in" else fan_out)

# %% exercise=3.39 hint="You do not look at the mode: on the way back the outputs are summed, so the fan-out counts."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in)

# %% exercise=3.39 hint="Fan-in is right. But a pixel, too, is read at every place of the filter, and by every output: fan-out has the filter's axes in it as well."
-     return weight.shape[1] * kernel, weight.shape[0] * kernel
+     return weight.shape[1] * kernel, weight.shape[0]

# %% exercise=3.39 hint="That is a variance. What `normal_` takes, and what is asked for, is the standard deviation, its root."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return calculate_gain(nonlinearity, a) ** 2 / (fan_in if mode == "fan_in" else fan_out)

# %% exercise=3.39 hint="The gain multiplies the standard deviation. It does not belong under the root: there its square would stand."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return math.sqrt(calculate_gain(nonlinearity, a) / (fan_in if mode == "fan_in" else fan_out))

# %% exercise=3.39 hint="The root of 2 is the gain of relu alone. Here the function is named, and has a gain of its own."
-     return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)
+     return math.sqrt(2 / (fan_in if mode == "fan_in" else fan_out))

# %% exercise=3.39 hint="A mode that is neither of the two has to raise ValueError. Yours goes on as if it were one of them."
-     if mode not in ("fan_in", "fan_out"):
-         raise ValueError(f"mode is fan_in or fan_out, not {mode!r}")

# %% exercise=3.39 hint="A weight with fewer than two axes has no inputs to count: raise ValueError, before you look at its axes."
-     if weight.ndim < 2:
-         raise ValueError(f"a weight needs at least two axes, not shape {weight.shape}")

# %% exercise=3.40 hint="Each layer is to give out 1 on what it will really get. Run it on what the healed ones before it give out, and divide by what you see: no formula says it, and no output from before the healing."
-             layer.weight /= layer(x).std()
+             layer.weight *= math.sqrt(2 / layer.weight.shape[1])

# %% exercise=3.40 hint="You only stretch what is there. A layer whose units are all alike stays so: draw new numbers first."
-             layer.weight.normal_(0, 1)

# %% exercise=3.40 hint="Each layer has to be run on what the healed layers before it give out. Carry x along, and run it after the mending."
-             layer.weight /= layer(x).std()
-         x = layer(x)
+             seen, x = x, layer(x)
+             layer.weight /= layer(seen * 0 + 1).std()
+         else:
+             x = layer(x)

# %% exercise=3.40 hint="You divide by the variance; the standard deviation is its root."
-             layer.weight /= layer(x).std()
+             layer.weight /= layer(x).var()

# %% exercise=3.40 hint="The first layer is healed and the others stay as they were: go through all of them."
-         x = layer(x)
+             return

# %% exercise=3.18 hint="Your hooks share the loop's variable: when they run, it holds the last path. Make each hook in a function that takes the path."
-     def watch(path):
-         def hook(module, inputs, output):
-             fractions[path] = (output == 0).all(0).float().mean().item()
-
-         return hook

-             removers.append(module.register_forward_hook(watch(path)))
+             def hook(module, inputs, output):
+                 fractions[path] = (output == 0).all(0).float().mean().item()
+
+             removers.append(module.register_forward_hook(hook))

# %% exercise=3.18 hint="That is the fraction of zeros. A unit is dead only if it is 0 for every sample of the batch: all over axis 0, then the mean."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             fractions[path] = (output == 0).float().mean().item()

# %% exercise=3.18 hint="Right, but your hooks stay when the model raises an error. try ... finally takes them away in any case."
-     try:
-         model(x)
-     finally:
-         for remove in removers:
-             remove()
+     model(x)
+     for remove in removers:
+         remove()

# %% exercise=3.18 hint="Right, but you leave your hooks behind. Registering returns a function that takes the hook away: call it."
def dead_units(model, x):
    fractions = {}

    def watch(path):
        def hook(module, inputs, output):
            fractions[path] = (output == 0).all(0).float().mean().item()

        return hook

    for path, module in model.named_modules():
        if isinstance(module, ReLU):
            module.register_forward_hook(watch(path))
    model(x)
    return fractions

# %% exercise=3.18 hint="You take all hooks away, those of others as well. Keep what registering returns, and call only that."
-     fractions, removers = {}, []
+     fractions = {}

-             removers.append(module.register_forward_hook(watch(path)))
+             module.register_forward_hook(watch(path))

-         for remove in removers:
-             remove()
+         for module in model.modules():
+             module._hooks_after = ()

# %% exercise=3.18 hint="You look at the first level only. Which method gives the modules below those, too?"
-     for path, module in model.named_modules():
+     for path, module in model.named_children():

# %% exercise=3.18 hint="A unit that is 0 now and then is alive. Dead is one that is 0 for every sample."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             fractions[path] = (output == 0).any(0).float().mean().item()

# %% exercise=3.18 hint="The samples lie along axis 0. Ask each unit over those: not over axis 1, nor over everything."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             fractions[path] = (output == 0).all(1).float().mean().item()

# %% exercise=3.18 hint="That is how many units are dead; a fraction was asked for."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             fractions[path] = (output == 0).all(0).float().sum().item()

# %% exercise=3.18 hint="The samples lie along axis 0. Ask each unit over those: not over axis 1, nor over everything."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             fractions[path] = float((output == 0).all().item())

# %% exercise=3.18 hint="Your fractions are tensors of one number: make them numbers of Python."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             fractions[path] = (output == 0).all(0).float().mean()

# %% exercise=3.18 hint="What a hook returns takes the place of the output, and all who come later get that. Return nothing."
              fractions[path] = (output == 0).all(0).float().mean().item()
+             return (output == 0).all(0).float().mean()

# %% exercise=3.18 hint="What a hook returns takes the place of the output, and all who come later get that. Return nothing."
              fractions[path] = (output == 0).all(0).float().mean().item()
+             return output * 1

# %% exercise=3.18 hint="You leave the model in another mood than it was in: do not touch training."
              removers.append(module.register_forward_hook(watch(path)))
+     model.eval()

# %% exercise=3.18 hint="model.forward leaves out the hooks of the model itself: call the model."
-         model(x)
+         model.forward(x)

# %% exercise=3.18 hint="Behind a convolution each place of each channel is a unit of its own, and dead only if it is 0 in all samples: ask over axis 0 alone, and over no axis of the picture."
-             fractions[path] = (output == 0).all(0).float().mean().item()
+             zero = (output.data == 0).reshape(*output.shape[:2], -1)
+             fractions[path] = float(zero.all((0, 2)).mean())

# %% exercise=3.18 hint="You change the model's mode. It runs in the mode in which it is, and stays in it: no eval() and no train() here."
-     try:
-         model(x)
+     model.eval()
+     try:
+         model(x)

-             remove()
-     return fractions
+             remove()
+         model.train()
+     return fractions

# %% exercise=3.40 hint="Each layer is to give out 1 on what it will really get. Run it on what the healed ones before it give out, and divide by what you see: no formula says it, and no output from before the healing."
-             layer.weight /= layer(x).std()
-         x = layer(x)
+             y = layer(x)
+             layer.weight /= y.std()
+             x = y
+         else:
+             x = layer(x)

# %% exercise=3.38 hint="That is not the density of the normal distribution: z itself, which loses nothing, must get the gain 1. The exponent is z squared, halved, with a minus."
-     density = np.exp(-z * z / 2)
+     density = np.exp(-z * z)

# %% exercise=3.6 hint="n is how many numbers a channel has, the rows of x. x.size counts those of all channels together."
-     mean, var = x.mean(0), x.var(0, ddof=1)
+     mean, var = x.mean(0), x.var(0) * x.size / (x.size - 1)

# %% exercise=3.40 hint="What counts is the mean square of what comes in, its mean included: after a ReLU, and in x, the numbers do not lie round 0."
def heal(model: Module, x: Tensor) -> None:
    """New first numbers for all Linear layers, so that each gives out a standard deviation of 1 on `x`."""
    with no_grad():
        for layer in model:
            if isinstance(layer, Linear):
                fan_in = layer.weight.shape[1]
                layer.weight.normal_(0, 1 / (math.sqrt(fan_in) * x.std().item()))
                layer.bias.fill_(0)
            x = layer(x)
