"""Plausible wrong answers to the exercises of chapter 03d, each with the hint that it earns."""

# %% exercise=3.14 hint="That is the way forward alone: Xavier takes the mean of fan-in and fan-out, so divide 2 by their sum."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain / math.sqrt(fan(tensor)[0]), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = gain * math.sqrt(3 / fan(tensor)[0])

# %% exercise=3.14 hint="Your normal numbers are right. Numbers drawn evenly up to b have a standard deviation of b / sqrt(3), so the bound is sqrt(3) times as large."
-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = gain * math.sqrt(2 / sum(fan(tensor)))

# %% exercise=3.14 hint="You use the variance as the standard deviation: take the root of 2 / (fan_in + fan_out)."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain**2 * 2 / sum(fan(tensor)), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = math.sqrt(3) * gain**2 * 2 / sum(fan(tensor))

# %% exercise=3.14 hint="The gain is missing, or stands under the root: it multiplies the standard deviation."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, math.sqrt(gain * 2 / sum(fan(tensor))), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = math.sqrt(gain * 6 / sum(fan(tensor)))

# %% exercise=3.14 hint="You do not pass the generator on, so nobody can draw the same weights again."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))))

-     return tensor.uniform_(-bound, bound, generator)
+     return tensor.uniform_(-bound, bound)

# %% exercise=3.14 hint="You count rows and columns only. Each output of a convolution sums over its kernel as well: fan counts that."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain * math.sqrt(2 / (tensor.shape[0] + tensor.shape[1])), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = gain * math.sqrt(6 / (tensor.shape[0] + tensor.shape[1]))

# %% exercise=3.14 hint="You use the variance as the standard deviation: take the root of 2 / (fan_in + fan_out)."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain * 2 / sum(fan(tensor)), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = gain * 6 / sum(fan(tensor))

# %% exercise=3.14 hint="The mean of two counts is half of their sum: a factor of 2 is missing under the root."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain * math.sqrt(1 / sum(fan(tensor))), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = gain * math.sqrt(3 / sum(fan(tensor)))

# %% exercise=3.14 hint="The gain is missing, or stands under the root: it multiplies the standard deviation."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, math.sqrt(2 / sum(fan(tensor))), generator)

-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = math.sqrt(6 / sum(fan(tensor)))

# %% exercise=3.14 hint="Half of the numbers should be negative: the mean is 0."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator).abs()

-     return tensor.uniform_(-bound, bound, generator)
+     return tensor.uniform_(0, bound, generator)

# %% exercise=3.14 hint="The right numbers, and nothing comes back: return the tensor."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)

-     return tensor.uniform_(-bound, bound, generator)
+     tensor.uniform_(-bound, bound, generator)

# %% exercise=3.14 hint="You make a new tensor. Write into the one that you are given: names that end in _ work in place."
-     return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans
+     new = ones(*tensor.shape)
+     return new.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)

-     return tensor.uniform_(-bound, bound, generator)
+     new = ones(*tensor.shape)
+     return new.uniform_(-bound, bound, generator)

# %% exercise=3.14 hint="From -b to b is a width of 2b: the root of 12 belongs to the whole width, the root of 3 to b."
-     bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
+     bound = gain * math.sqrt(12 * 2 / sum(fan(tensor)))

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
