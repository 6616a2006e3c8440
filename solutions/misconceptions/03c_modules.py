# %% exercise=3.10 hint="A convolution's filter looks at all input channels: in_channels times k squared weights for each output channel."
-             learned += (sizes[0] * sizes[2] ** 2 + 1) * sizes[1]
+             learned += (sizes[2] ** 2 + 1) * sizes[1]

# %% exercise=3.10 hint="The biases are missing: one number for each output of a Linear and each output channel of a Conv2d."
-             learned += (sizes[0] + 1) * sizes[1]
+             learned += sizes[0] * sizes[1]
          elif kind == "Conv2d":
-             learned += (sizes[0] * sizes[2] ** 2 + 1) * sizes[1]
+             learned += sizes[0] * sizes[2] ** 2 * sizes[1]

# %% exercise=3.10 hint="Batch norm counts its batches as well: its buffers are a mean and a variance for each channel, and one number more."
-             remembered += 2 * sizes[0] + 1
+             remembered += 2 * sizes[0]

# %% exercise=3.10 hint="The running mean and variance of batch norm are saved but not learned; you count them as learned."
def learned_and_saved(layers):
    learned = 0
    for kind, *sizes in layers:
        if kind == "Linear":
            learned += (sizes[0] + 1) * sizes[1]
        elif kind == "Conv2d":
            learned += (sizes[0] * sizes[2] ** 2 + 1) * sizes[1]
        elif kind == "Embedding":
            learned += sizes[0] * sizes[1]
        elif kind == "LayerNorm":
            learned += 2 * sizes[0]
        elif kind == "BatchNorm2d":
            learned += 4 * sizes[0] + 1
    return learned, learned

# %% exercise=3.10 hint="What is saved is more than what is learned: batch norm has buffers, a mean and a variance for each channel, and a count of its batches."
-     return learned, learned + remembered
+     return learned, learned

# %% exercise=3.10 hint="The other way round: first what is learned, then what is saved."
-     return learned, learned + remembered
+     return learned + remembered, learned

# %% exercise=3.10 hint="A square kernel of side k has k squared places, each with a weight."
-             learned += (sizes[0] * sizes[2] ** 2 + 1) * sizes[1]
+             learned += (sizes[0] * sizes[2] + 1) * sizes[1]

# %% exercise=3.10 hint="A bias belongs to an output, not to an input: the second number."
-             learned += (sizes[0] + 1) * sizes[1]
+             learned += (sizes[1] + 1) * sizes[0]
          elif kind == "Conv2d":
-             learned += (sizes[0] * sizes[2] ** 2 + 1) * sizes[1]
+             learned += (sizes[1] * sizes[2] ** 2 + 1) * sizes[0]

# %% exercise=3.10 hint="An embedding has a row for each integer, and no bias."
-             learned += sizes[0] * sizes[1]
+             learned += (sizes[0] + 1) * sizes[1]

# %% exercise=3.10 hint="Layer norm remembers nothing: it takes mean and variance anew each time."
-         if kind == "BatchNorm2d":
+         if kind in ("LayerNorm", "BatchNorm2d"):

# %% exercise=3.10 hint="A state_dict holds what is learned, too: the buffers come on top."
-     return learned, learned + remembered
+     return learned, remembered

# %% exercise=3.10 hint="You save the count of batches once for the whole network. Whose is it? Look at the keys of a state_dict with two batch norms."
-             remembered += 2 * sizes[0] + 1
-     return learned, learned + remembered
+             remembered += 2 * sizes[0]
+     return learned, learned + remembered + any(kind == "BatchNorm2d" for kind, *_ in layers)

# %% exercise=3.11 hint="Only a part of the parameters is reached. Do they come from self.parameters(), which goes into the modules below, too? And does a `return`, indented too far, end the loop after the first?"
-     for parameter in self.parameters():
-         parameter.requires_grad_(requires_grad)
+     for value in vars(self).values():
+         if isinstance(value, Parameter):
+             value.requires_grad_(requires_grad)

# %% exercise=3.11 hint="Only a part of the parameters is reached. Do they come from self.parameters(), which goes into the modules below, too? And does a `return`, indented too far, end the loop after the first?"
-         parameter.requires_grad_(requires_grad)
-     return self
+         parameter.requires_grad_(requires_grad)
+         return self

# %% exercise=3.11 hint="You freeze whatever the argument says: pass requires_grad on to the parameters."
-         parameter.requires_grad_(requires_grad)
+         parameter.requires_grad_(False)

# %% exercise=3.11 hint="Return the module itself, so that calls can be chained."
-     return self

# %% exercise=3.11 hint="Freezing changes nothing. Is requires_grad passed on? And is it the Parameters that are asked, not modules, and not the detached tensors of state_dict?"
-     for parameter in self.parameters():
-         parameter.requires_grad_(requires_grad)
+     for tensor in self.state_dict().values():
+         if tensor.dtype.kind == "f":
+             tensor.requires_grad_(requires_grad)

# %% exercise=3.11 hint="Buffers are not learned: leave them alone, and ask the parameters only."
-     for parameter in self.parameters():
-         parameter.requires_grad_(requires_grad)
+     for tensor in [*self.parameters(), *(buffer for _, buffer in self.named_buffers())]:
+         if tensor.dtype.kind == "f":
+             tensor.requires_grad_(requires_grad)

# %% exercise=3.11 hint="Freezing changes nothing. Is requires_grad passed on? And is it the Parameters that are asked, not modules, and not the detached tensors of state_dict?"
-         parameter.requires_grad_(requires_grad)
+         parameter.requires_grad_()

# %% exercise=3.11 hint="Upside down: whoever asks for gradients gets none."
-         parameter.requires_grad_(requires_grad)
+         parameter.requires_grad_(not requires_grad)

# %% exercise=3.11 hint="state_dict has buffers as well, integers among them, and all its tensors are detached. Ask the parameters themselves."
-     for parameter in self.parameters():
-         parameter.requires_grad_(requires_grad)
+     for tensor in self.state_dict().values():
+         tensor.requires_grad_(requires_grad)

# %% exercise=3.11 hint="Without an argument the module should learn again: the default is True."
- def requires_grad_(self, requires_grad: bool = True) -> Self:
+ def requires_grad_(self, requires_grad: bool = False) -> Self:

# %% exercise=3.11 hint="To freeze is one thing and the mood another: leave training as it is. Whoever wants both writes .eval() himself."
-     return self
+     return self.train(requires_grad)

# %% exercise=3.11 hint="To freeze is one thing and the mood another: leave training as it is. Whoever wants both writes .eval() himself."
          parameter.requires_grad_(requires_grad)
+     self.eval()

# %% exercise=3.44 hint="A list is no Part, and nobody looks inside. Go into lists as well: enumerate gives each entry and its number."
-     inside = enumerate(part) if isinstance(part, list) else inside

# %% exercise=3.44 hint="A list may hold lists. Let the walk call itself for each entry, whatever it is."
-     inside = enumerate(part) if isinstance(part, list) else inside
      for name, one in inside:
+         for i, entry in enumerate(one) if isinstance(one, list) else ():
+             if isinstance(entry, (Parameter, Part)):
+                 yield from below(entry, f"{path}.{name}.{i}" if path else f"{name}.{i}")
          yield from below(one, f"{path}.{name}" if path else str(name))

# %% exercise=3.44 hint="A tied parameter is one parameter: named_parameters lists it once, under its first path. Remember by identity who has come."
-             if id(parameter) not in seen:
-                 seen.add(id(parameter))
-                 pairs.append((path, parameter))
+             pairs.append((path, parameter))

# %% exercise=3.44 hint="`in` on a list asks ==, which compares tensors number by number. Remember who has come in a set: there it is the object itself that counts."
-             if id(parameter) not in seen:
-                 seen.add(id(parameter))
+             if parameter not in [other for _, other in pairs]:
                  pairs.append((path, parameter))

# %% exercise=3.44 hint="A state has every path, also the second one of a tied parameter: whoever loads it looks for each name."
-         return {path: parameter.detach().numpy().copy() for path, parameter in below(self)}
+         return {path: parameter.detach().numpy().copy() for path, parameter in self.named_parameters()}

# %% exercise=3.44 hint="Your state shares its memory with the module. What was saved must stay as it was: copy the numbers."
-         return {path: parameter.detach().numpy().copy() for path, parameter in below(self)}
+         return {path: parameter.data for path, parameter in below(self)}

# %% exercise=3.44 hint="A path is all names on the way, joined by dots. Yours holds the last name alone, so equal names overwrite each other."
-         yield from below(one, f"{path}.{name}" if path else str(name))
+         yield from below(one, str(name))

# %% exercise=3.13 hint="You copy while you look, so a problem at the end leaves a module that is half old and half new. Collect all problems first."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    problems, own = [], self.state_dict()
    for name, here in own.items():
        if name not in state:
            problems += [f"{name}: missing"] if strict else []
        elif state[name].shape != here.shape:
            problems.append(f"{name}: shape")
        else:
            here.copy_(state[name])
    problems += [f"{name}: unknown" for name in state if strict and name not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You copy while you look, so a shape that differs leaves a module that is half old and half new; and your message names one problem of several. Collect all of them first."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    here = self.state_dict()
    missing = [path for path in here if path not in state]
    unknown = [path for path in state if path not in here]
    if strict and (missing or unknown):
        raise RuntimeError(str(missing + unknown))
    for path, tensor in here.items():
        if path in state:
            if tensor.shape != state[path].shape:
                raise RuntimeError(path)
            tensor.copy_(state[path])
    return IncompatibleKeys(missing, unknown)

# %% exercise=3.13 hint="The module shares memory with the state after loading. Copy the numbers with copy_ instead of handing over the array."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in [*self.named_parameters(), *self.named_buffers()]:
        if name in state:
            tensor.data = state[name].data
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You put new objects in the places of the parameters. An optimiser holds the old ones, so write into those."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    modules = dict(self.named_modules())
    for path in own:
        if path in state:
            at, _, name = path.rpartition(".")
            kind = Parameter if isinstance(getattr(modules[at], name), Parameter) else Tensor
            setattr(modules[at], name, kind(state[path].data.copy()))
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="A shape that differs is a problem also with strict=False, and also where it would broadcast: compare the shapes yourself."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = []
    if strict:
        problems += [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state and (strict or state[name].shape == tensor.shape):
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You look for what is missing in the state, but not for what the state has and the module does not know."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You stop at the first problem. Name all of them: whoever reads the message wants to mend them at once."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError(problems[0])
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="Buffers are part of the state, too: batch norm's running mean would stay as it was. Go over state_dict, not over parameters."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    with no_grad():
        for name, parameter in self.named_parameters():
            if name in state:
                parameter.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="The wrong way round: copy_ writes into the tensor that it is called on, and you call it on those of the state."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            state[name].copy_(tensor)
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You change a dict, and the module does not hear of it. Write into the tensors that the dict holds."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name in own:
        if name in state:
            own[name] = state[name]
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="With strict=False, paths that are missing or unknown are no problem: take what fits."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    problems += [f"{n}: missing" for n in own if n not in state]
    problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="strict is True unless somebody says otherwise, and then paths that are missing or unknown are a problem."
@add_to(Module)
def load_state_dict(self, state, strict=False):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="With strict=False the state may have paths that the module does not know: leave them out."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name in state:
        own[name].copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="With strict=False the state may lack some paths: leave those tensors as they are."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="As many numbers are not yet the same shape: compare the shapes themselves."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].numel() != t.numel()]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You look for what the module does not know, but not for what is missing in the state."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="The right problems and the wrong kind of error: raise a RuntimeError."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise ValueError("; ".join(problems))
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="You take paths out of the state, which belongs to whoever calls. Leave it as it was."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    found = IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])
    for name, tensor in own.items():
        if name in state:
            tensor.copy_(state.pop(name))
    return found

# %% exercise=3.13 hint="The state has buffers, too, and you refuse them as unknown. Compare with state_dict, not with the parameters."
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = dict(self.named_parameters())
    problems = [f"{n}: shape" for n, t in own.items() if n in state and state[n].shape != t.shape]
    if strict:
        problems += [f"{n}: missing" for n in own if n not in state]
        problems += [f"{n}: unknown" for n in state if n not in own]
    if problems:
        raise RuntimeError("; ".join(problems))
    with no_grad():
        for name, tensor in own.items():
            if name in state:
                tensor.copy_(state[name])
    return IncompatibleKeys([n for n in own if n not in state], [n for n in state if n not in own])

# %% exercise=3.13 hint="What the state lacked, and what the module does not know, is not returned. With strict=False nobody hears of it otherwise: IncompatibleKeys(missing, unknown)."
-     return IncompatibleKeys(missing, unknown)

# %% exercise=3.13 hint="Both lists, the other way round: first what is missing in the state, then what is unknown here."
-     return IncompatibleKeys(missing, unknown)
+     return IncompatibleKeys(unknown, missing)

# %% exercise=3.15 hint="The weight is a plain tensor, so no module finds it and nothing learns it. Make it a Parameter."
-         self.weight = Parameter(ones(shape)) if elementwise_affine else None
+         self.weight = ones(shape) if elementwise_affine else None

-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

# %% exercise=3.15 hint="A single number stays a number: make a tuple of it, (normalized_shape,), where it is an int."
-         shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
+         shape = normalized_shape

# %% exercise=3.15 hint="You make a weight and do not use it: pass it to F.rms_norm."
-         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
-
-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
+         return F.rms_norm(x, self.normalized_shape, eps=self.eps)

# %% exercise=3.15 hint="eps does not arrive: it is the last argument of F.rms_norm."
-         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
-
-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
+         return F.rms_norm(x, self.normalized_shape, self.weight)

# %% exercise=3.15 hint="With elementwise_affine=False there is nothing to learn: the weight is None."
-         self.weight = Parameter(ones(shape)) if elementwise_affine else None
+         self.weight = Parameter(ones(shape))

-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

# %% exercise=3.15 hint="RMSNorm has no bias: it neither subtracts a mean nor adds anything. LayerNorm does both."
class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(ones(shape)) if elementwise_affine else None
        self.bias = Parameter(ones(shape) * 0) if elementwise_affine else None

    def forward(self, x):
        y = F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
        return y if self.bias is None else y + self.bias

# %% exercise=3.15 hint="A weight of 0 turns everything into 0. It starts at 1, so that at first it changes nothing."
-         self.weight = Parameter(ones(shape)) if elementwise_affine else None
+         self.weight = Parameter(ones(shape) * 0) if elementwise_affine else None

-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

# %% exercise=3.15 hint="That is layer norm: RMS norm takes no mean away."
-         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
-
-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
+         return F.layer_norm(x, self.normalized_shape, self.weight, None, self.eps or 1e-5)

# %% exercise=3.15 hint="A tuple names several axes: the mean of the squares goes over all of them, not the last alone."
-         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
-
-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
+         y = F.rms_norm(x, x.shape[-1:], eps=self.eps)
+         return y if self.weight is None else y * self.weight

# %% exercise=3.15 hint="RMSNorm has no bias: it neither subtracts a mean nor adds anything. LayerNorm does both."
          self.weight = Parameter(ones(shape)) if elementwise_affine else None
+         self.bias = Parameter(ones(shape) * 0)

-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

# %% exercise=3.15 hint="Without elementwise_affine the attribute should be there all the same, as None."
-         self.weight = Parameter(ones(shape)) if elementwise_affine else None
+         if elementwise_affine:
+             self.weight = Parameter(ones(shape))

-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"

# %% exercise=3.15 hint="The weight counts twice: F.rms_norm multiplies by what you pass it."
-         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
-
-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
+         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps) * self.weight

# %% exercise=3.15 hint="The weight counts twice: F.rms_norm multiplies by what you pass it."
-         return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
-
-     def extra_repr(self) -> str:
-         return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
+         y = F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
+         return y if self.weight is None else y * self.weight

# %% exercise=3.15 hint="eps is None unless somebody says otherwise: F.rms_norm then takes one that suits the dtype."
class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(ones(shape)) if elementwise_affine else None

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

# %% exercise=3.16 hint="Parameter(...) makes a new Parameter over the same memory, and so does taking .data first. From __init__ on, both layers should hold the very same object."
-         self.write.weight = self.read.weight
+         self.write.weight = Parameter(self.read.weight.data)

# %% exercise=3.16 hint="A copy is equal today and differs after the first step. Both layers should hold the very same object."
-         self.write.weight = self.read.weight
+         self.write.weight = Parameter(self.read.weight.data.copy())

# %% exercise=3.16 hint="Only a Parameter can take the place of one, and .detach() and .T make other tensors. Both layers should hold the very same Parameter, (vocabulary, width) as it is."
-         self.write.weight = self.read.weight
+         self.write.weight = self.read.weight.detach()

# %% exercise=3.16 hint="Without the last line nothing is tied: two matrices, each with its own numbers."
-         self.write.weight = self.read.weight

# %% exercise=3.16 hint="Parameter(...) makes a new Parameter over the same memory, and so does taking .data first. From __init__ on, both layers should hold the very same object."
-         self.write.weight = self.read.weight
+         self.write.weight = Parameter(self.read.weight)

# %% exercise=3.16 hint="Parameter(...) makes a new Parameter over the same memory, and so does taking .data first. From __init__ on, both layers should hold the very same object."
-         self.write.weight = self.read.weight
+         self.write.weight = Parameter(self.read.weight)

      def forward(self, x: Tensor) -> Tensor:
+         self.write.weight = self.read.weight

# %% exercise=3.16 hint="Right but for a bias that was not there: keep bias=False."
-         self.write = Linear(width, vocabulary, bias=False)
+         self.write = Linear(width, vocabulary)

# %% exercise=3.16 hint="Without a gradient of its own, what writing teaches is lost. Both layers should hold the same Parameter."
-         self.write.weight = self.read.weight
+         self.write.weight = Parameter(self.read.weight, requires_grad=False)

# %% exercise=3.16 hint="The scores are right, but a file of weights expects write.weight: keep the layer, and let it hold the object."
-         self.write = Linear(width, vocabulary, bias=False)
-         self.write.weight = self.read.weight

-         return self.write(self.mix(self.read(x)).tanh())
+         return F.linear(self.mix(self.read(x)).tanh(), self.read.weight)

# %% exercise=3.16 hint="Now the layer that writes is an embedding, which looks rows up. Share the weight, not the layer."
-         self.write = Linear(width, vocabulary, bias=False)
-         self.write.weight = self.read.weight
+         self.write = self.read

# %% exercise=3.16 hint="Only a Parameter can take the place of one, and .detach() and .T make other tensors. Both layers should hold the very same Parameter, (vocabulary, width) as it is."
-         self.write.weight = self.read.weight
+         self.write.weight = self.read.weight.T

# %% exercise=3.16 hint="You tie them in the first call. Until then there are two Parameters, and an optimiser that is made before it holds one that is thrown away: tie them in __init__."
-         self.write.weight = self.read.weight

      def forward(self, x: Tensor) -> Tensor:
+         self.write.weight = self.read.weight

# %% exercise=3.16 hint="Two Parameters, of which your lists hide one. Let both layers hold the very same object, and no list needs mending."
-         self.write.weight = self.read.weight
+         self.write.weight = Parameter(self.read.weight)

      def forward(self, x: Tensor) -> Tensor:
          return self.write(self.mix(self.read(x)).tanh())
+
+     def parameters(self):
+         return (p for path, p in self.named_parameters() if path != "write.weight")

# %% exercise=3.17 hint="Right, and it looks at neighbours and mixes channels in one go, at nine weights for each pair of channels. Do the two one after the other: groups=inputs, then a kernel of 1."
def mixer(inputs, outputs):
    return Sequential(Conv2d(inputs, outputs, 3, padding=1))

# %% exercise=3.17 hint="Right, and close. For the last point: a kernel of (3, 1) and then one of (1, 3) have six weights together instead of nine, and bias=False saves the rest."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(inputs, inputs, 3, padding=1, groups=inputs),
        Conv2d(inputs, outputs, 1),
    )

# %% exercise=3.17 hint="With groups alone each output sees one group of channels. Something must mix them: a convolution with a kernel of 1."
-         Conv2d(inputs, outputs, 1, bias=False),
+         *[Conv2d(inputs, outputs, 1, groups=math.gcd(inputs, outputs), bias=False)],

# %% exercise=3.17 hint="Your network squeezes everything through a few channels, which must forget. In between there may never be fewer than the inputs."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(inputs, 2, 1, bias=False),
        Conv2d(2, 2, 3, padding=1, bias=False),
        Conv2d(2, outputs, 1, bias=False),
    )

# %% exercise=3.17 hint="Without padding the picture shrinks by two pixels: a kernel of 3 needs a padding of 1."
def mixer(inputs, outputs):
    return Sequential(Conv2d(inputs, inputs, 3, groups=inputs), Conv2d(inputs, outputs, 1))

# %% exercise=3.17 hint="With groups alone each output sees one group of channels. Something must mix them: a convolution with a kernel of 1."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(inputs, outputs, 3, padding=1, groups=inputs),
    )

# %% exercise=3.17 hint="With groups alone each output sees one group of channels. Something must mix them: a convolution with a kernel of 1."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(inputs, outputs, 3, padding=1, groups=math.gcd(inputs, outputs)),
    )

# %% exercise=3.17 hint="The right thing in the wrong box: return a Sequential, also of one layer."
def mixer(inputs, outputs):
    return Conv2d(inputs, outputs, 3, padding=1)

# %% exercise=3.17 hint="A ReLU is no convolution, and needs none here: Conv2d alone."
          Conv2d(inputs, inputs, (1, 3), padding=(0, 1), groups=inputs, bias=False),
+         ReLU(),

# %% exercise=3.17 hint="padding=1 is for both axes, and a kernel of (3, 1) has its 3 on one: pad the other by 0."
-         Conv2d(inputs, inputs, (3, 1), padding=(1, 0), groups=inputs, bias=False),
-         Conv2d(inputs, inputs, (1, 3), padding=(0, 1), groups=inputs, bias=False),
+         Conv2d(inputs, inputs, (3, 1), padding=1, groups=inputs, bias=False),
+         Conv2d(inputs, inputs, (1, 3), padding=1, groups=inputs, bias=False),

# %% exercise=3.17 hint="16 and 32 are written into it: other channels should work, too."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(16, 16, (3, 1), padding=(1, 0), groups=16, bias=False),
        Conv2d(16, 16, (1, 3), padding=(0, 1), groups=16, bias=False),
        Conv2d(16, 32, 1, bias=False),
    )

# %% exercise=3.17 hint="Right. Look at the neighbours while there are few channels, before you make more of them."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(inputs, outputs, 1, bias=False),
        Conv2d(outputs, outputs, (3, 1), padding=(1, 0), groups=outputs, bias=False),
        Conv2d(outputs, outputs, (1, 3), padding=(0, 1), groups=outputs, bias=False),
    )

# %% exercise=3.17 hint="Right. Look at the neighbours while there are few channels, before you make more of them."
def mixer(inputs, outputs):
    return Sequential(
        Conv2d(inputs, outputs, 1),
        Conv2d(outputs, outputs, 3, padding=1, groups=outputs),
    )

# %% exercise=3.11 hint="You ask one parameter and take its answer for all. A part of a module may be frozen and another not: the rest stays as it was."
-     for parameter in self.parameters():
-         parameter.requires_grad_(requires_grad)
+     parameters = list(self.parameters())
+     if parameters and parameters[0].requires_grad == requires_grad:
+         return self
+     for parameter in parameters:
+         parameter.requires_grad_(requires_grad)
