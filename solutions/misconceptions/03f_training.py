"""Plausible wrong answers to the exercises of chapter 03f, each with the hint that it earns."""

# %% exercise=3.28 hint="Images and labels come in different orders, so the pairs are wrong. Draw one order and use it for both."
-     order = numbers.permutation(len(images))
-     images, labels = images[order], labels[order]
+     images = images[numbers.permutation(len(images))]
+     labels = labels[numbers.permutation(len(labels))]

# %% exercise=3.28 hint="The pairs are right, but nothing is shuffled any more: the batches come in the file's order."
-     order = numbers.permutation(len(images))
-     images, labels = images[order], labels[order]

# %% exercise=3.28 hint="Images and labels come in different orders, so the pairs are wrong. Draw one order and use it for both."
-     images, labels = images[order], labels[order]
+     images, labels = images[order], labels[np.argsort(order)]

# %% exercise=3.28 hint="The short batch at the end is missing: all examples come once."
-     starts = range(0, len(images), batch_size)
+     starts = range(0, len(images) - batch_size + 1, batch_size)

# %% exercise=3.28 hint="The order has to come from `numbers`: the same seed gives the same order again."
-     order = numbers.permutation(len(images))
+     order = np.random.permutation(len(images))

# %% exercise=3.28 hint="Your order is the same whatever `numbers` are: each epoch would come in one order."
-     order = numbers.permutation(len(images))
+     order = np.random.default_rng(0).permutation(len(images))

# %% exercise=3.28 hint="Only whole batches change places: neighbours of the file stay together. Shuffle the examples."
def shuffled_batches(images, labels, batch_size, numbers):
    starts = range(0, len(images), batch_size)
    made = [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]
    return [made[k] for k in numbers.permutation(len(made))]

# %% exercise=3.28 hint="Only whole batches change places: neighbours of the file stay together. Shuffle the examples."
def shuffled_batches(images, labels, batch_size, numbers):
    starts = range(0, len(images), batch_size)
    made = [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]
    numbers.shuffle(made)
    return made

# %% exercise=3.28 hint="Some examples come twice, and others never. One permutation of all of them, drawn before the first batch, has each once."
-     order = numbers.permutation(len(images))
+     order = numbers.integers(0, len(images), len(images))

# %% exercise=3.28 hint="Some examples come twice, and others never. One permutation of all of them, drawn before the first batch, has each once."
def shuffled_batches(images, labels, batch_size, numbers):
    batches = []
    for start in range(0, len(images), batch_size):
        chosen = numbers.permutation(len(images))[start : start + batch_size]
        batches.append((images[chosen], labels[chosen]))
    return batches

# %% exercise=3.28 hint="You write into the caller's arrays: the data set is in another order now. Make new ones."
-     images, labels = images[order], labels[order]
+     images[:], labels[:] = images[order], labels[order]

# %% exercise=3.29 hint="Your split does not look at the labels: a rare class may be missing from one side. Cut class by class."
def stratified_split(labels, fraction, generator=None):
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    order = (generator or default_generator).numbers.permutation(len(labels)).tolist()
    cut = round(len(order) * fraction)
    return order[cut:], order[:cut]

# %% exercise=3.29 hint="You hold out the first items of each class. Where the file has an order, they are not like the rest: shuffle."
def stratified_split(labels, fraction, generator=None):
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = np.flatnonzero(labels.numpy() == label)
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held

# %% exercise=3.29 hint="What you hold out is also in the list to keep: the network learns what it is tested on."
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        held += members[: round(len(members) * fraction)].tolist()
        kept += members.tolist()
    return kept, held

# %% exercise=3.29 hint="The two lists are the wrong way round: first the items to keep, then those to hold out."
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+         raise ValueError("fraction")
+     kept, held = [], []

-     return kept, held
+     return held, kept

# %% exercise=3.29 hint="A fraction of 0, 1 or 20 is a mistake of whoever calls: raise ValueError."
-     if not 0 < fraction < 1:
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+     kept, held = [], []

# %% exercise=3.29 hint="`fraction * members` is rounded to the nearest whole number: neither cut off nor rounded up."
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+         raise ValueError("fraction")
+     kept, held = [], []

-         cut = round(len(members) * fraction)
+         cut = int(len(members) * fraction)

# %% exercise=3.29 hint="`fraction * members` is rounded to the nearest whole number: neither cut off nor rounded up."
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+         raise ValueError("fraction")
+     kept, held = [], []

-         cut = round(len(members) * fraction)
+         cut = math.ceil(len(members) * fraction)

# %% exercise=3.29 hint="0 and 1 are excluded as well: then one of the two lists would be empty."
-     if not 0 < fraction < 1:
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+     if not 0 <= fraction <= 1:
+         raise ValueError("fraction")
+     kept, held = [], []

# %% exercise=3.29 hint="The order has to come from the `generator` that you are given: its seed repeats a split, another one makes another."
-     numbers = (generator or default_generator).numbers  # numbers.permutation(items) shuffles
+     numbers = np.random.default_rng()
      if not 0 < fraction < 1:
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+         raise ValueError("fraction")
+     kept, held = [], []

# %% exercise=3.29 hint="The order has to come from the `generator` that you are given: its seed repeats a split, another one makes another."
-     numbers = (generator or default_generator).numbers  # numbers.permutation(items) shuffles
+     numbers = np.random.default_rng(0)
      if not 0 < fraction < 1:
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+         raise ValueError("fraction")
+     kept, held = [], []

# %% exercise=3.29 hint="The order has to come from the `generator` that you are given: its seed repeats a split, another one makes another."
-     numbers = (generator or default_generator).numbers  # numbers.permutation(items) shuffles
+     numbers = default_generator.numbers
      if not 0 < fraction < 1:
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
+         raise ValueError("fraction")
+     kept, held = [], []

# %% exercise=3.29 hint="Labels need not be 0, 1, 2, ...: go through those that there are."
-         raise ValueError(f"stratified_split: the fraction must lie between 0 and 1, not {fraction}")
-     kept: list[int] = []
-     held: list[int] = []
-     for label in np.unique(labels.numpy()):
+         raise ValueError("fraction")
+     kept, held = [], []
+     for label in range(len(np.unique(labels.numpy()))):

# %% exercise=3.31 hint="You take the mean of the batches' means: a batch of one target weighs as much as one of fifty."
def accuracy(model, loader):
    means = []
    with evaluating(model):
        for inputs, targets in loader:
            count = int((targets != -100).sum().item())
            right = int((model(inputs).argmax(-1) == targets).sum().item())
            means.append(right / max(count, 1))
    return sum(means) / max(len(means), 1)

# %% exercise=3.31 hint="Missing targets (-100) count as wrong. Leave them out of the total."
-             total += int((targets != -100).sum().item())
+             total += targets.numel()

# %% exercise=3.31 hint="The model stays in training mode: dropout guesses along. Measure inside `with evaluating(model):`."
def accuracy(model, loader):
    right = total = 0
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    return right / max(total, 1)

# %% exercise=3.31 hint="You leave the model in evaluation mode: the training that goes on has no dropout any more."
-     with evaluating(model):
+     model.eval()
+     with no_grad():

# %% exercise=3.31 hint="train() at the end wakes modules that slept before. `evaluating` gives each its own mode back."
-     with evaluating(model):
+     model.eval()
+     with no_grad():

              total += int((targets != -100).sum().item())
+     model.train()

# %% exercise=3.31 hint="The model stays in training mode: dropout guesses along. Measure inside `with evaluating(model):`."
-     with evaluating(model):
+     with no_grad():

# %% exercise=3.31 hint="Evaluation mode alone is not enough: record no graph, and give each module its own mode back. `evaluating` does it."
def accuracy(model, loader):
    right = total = 0
    model.eval()
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    return right / max(total, 1)

# %% exercise=3.31 hint="Evaluation mode alone is not enough: record no graph, and give each module its own mode back. `evaluating` does it."
def accuracy(model, loader):
    right = total = 0
    model.eval()
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    model.train()
    return right / max(total, 1)

# %% exercise=3.31 hint="Evaluation mode alone is not enough: record no graph, and give each module its own mode back. `evaluating` does it."
def accuracy(model, loader):
    right = total = 0
    before = model.training
    model.eval()
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    model.train(before)
    return right / max(total, 1)

# %% exercise=3.31 hint="train() at the end wakes modules that slept before. `evaluating` gives each its own mode back."
-     with evaluating(model):
+     before = model.training
+     model.eval()
+     with no_grad():

              total += int((targets != -100).sum().item())
+     model.train(before)

# %% exercise=3.31 hint="The modes are right, but each batch records a graph. Do it under no_grad, or inside `evaluating`."
def accuracy(model, loader):
    right = total = 0
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    for module, training in modes:
        module.training = training
    return right / max(total, 1)

# %% exercise=3.31 hint="The classes are the last axis, however many come before it."
-             right += int((model(inputs).argmax(-1) == targets).sum().item())
+             right += int((model(inputs).argmax(1) == targets).sum().item())

# %% exercise=3.31 hint="The classes are the last axis, however many come before it."
-             right += int((model(inputs).argmax(-1) == targets).sum().item())
-             total += int((targets != -100).sum().item())
+             right += int((model(inputs).numpy().argmax(1) == targets.numpy()).sum())
+             total += int((targets.numpy() != -100).sum())

# %% exercise=3.31 hint="`len(targets)` counts missing targets too, and only along the first axis. Count those that are not -100."
-             total += int((targets != -100).sum().item())
+             total += len(targets)

# %% exercise=3.31 hint="Without targets there is nothing to divide by: the answer is 0 then."
-     return right / max(total, 1)
+     return right / total

# %% exercise=3.31 hint="You go through the loader twice. One that gives its batches only once is empty the second time: count both numbers on one walk."
def accuracy(model, loader):
    total = sum(int((targets != -100).sum().item()) for _, targets in loader)
    right = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
    return right / max(total, 1)

# %% exercise=3.32 hint="Where one shard alone has a gradient your sum is that shard's own array, and dividing it in place changes the shard. Make a new array."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        total = None
        for grad in grads:
            if grad is not None:
                total = grad if total is None else total + grad
        if total is not None:
            total /= count
        means.append(total)
    return means

# %% exercise=3.32 hint="You divide each shard by its own count and take the mean: shards with few targets weigh too much."
def averaged(shares):
    means = []
    for i in range(len(shares[0][2])):
        there = [s[2][i] / s[2][i].dtype.type(max(s[1], 1)) for s in shares if s[2][i] is not None]
        means.append(sum(there[1:], there[0]) / np.float32(len(shares)) if there else None)
    return means

# %% exercise=3.32 hint="You divide by the number of shards. Divide by the number of targets in all of them."
-     count = max(sum(share[1] for share in shares), 1)  # divided once: parts may have unequal counts

-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         means.append(sum(there[1:], there[0]) / np.float32(len(shares)) if there else None)

# %% exercise=3.32 hint="Your += writes into the first shard's own array. Make a new one."
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         for grad in there[1:]:
+             there[0] += grad
+         means.append(there[0] / there[0].dtype.type(count) if there else None)

# %% exercise=3.32 hint="One shard without a gradient does not make the others' vanish: None only where no shard has one."
-         there = [grad for grad in grads if grad is not None]
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         whole = all(grad is not None for grad in grads)
+         means.append(sum(grads[1:], grads[0]) / grads[0].dtype.type(count) if whole else None)

# %% exercise=3.32 hint="Only the shards that used a parameter count in your division. The mean is over all targets."
def averaged(shares):
    means = []
    for i in range(len(shares[0][2])):
        there = [(s[1], s[2][i]) for s in shares if s[2][i] is not None]
        count = max(sum(n for n, _ in there), 1)
        grads = [grad for _, grad in there]
        means.append(sum(grads[1:], grads[0]) / np.float32(count) if grads else None)
    return means

# %% exercise=3.32 hint="These are gradients of sums, which carry their weight already: do not multiply by the count again."
-     for grads in zip(*(share[2] for share in shares)):
-         there = [grad for grad in grads if grad is not None]
+     for i in range(len(shares[0][2])):
+         there = [s[2][i] * s[2][i].dtype.type(s[1]) for s in shares if s[2][i] is not None]

# %% exercise=3.32 hint="This is the gradient of the sum. For that of the mean, divide by the count of all targets."
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         means.append(sum(there[1:], there[0]) if there else None)

# %% exercise=3.32 hint="Where no shard has a gradient, the answer is None: the optimiser then leaves the parameter alone, which 0 does not."
-         there = [grad for grad in grads if grad is not None]
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         total = 0.0
+         for grad in grads:
+             if grad is not None:
+                 total = total + grad
+         means.append(total / count)

# %% exercise=3.32 hint="Each parameter needs its entry, None where no shard has a gradient: the list is matched to the parameters by place."
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         if not there:
+             continue
+         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count))

# %% exercise=3.32 hint="Your += writes into the first shard's own array. Make a new one."
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         for grad in there[1:]:
+             there[0] += grad
+         if there:
+             there[0] /= count
+         means.append(there[0] if there else None)

# %% exercise=3.32 hint="Where no target counts at all, you divide by 0. Let the count be at least 1."
-     count = max(sum(share[1] for share in shares), 1)  # divided once: parts may have unequal counts
+     count = sum(share[1] for share in shares)

# %% exercise=3.32 hint="A float64 has crept in. Gradients keep the dtype of what came in."
-         means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
+         means.append(sum(there[1:], there[0]) / np.float64(count) if there else None)

# %% exercise=3.33 hint="You note where the tensors are, not what is in them: training goes on writing there. Copy them with clone()."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-             self.best, self.waited = loss, 0
-             self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
+             self.best, self.waited, self.state = loss, 0, trainer.model.state_dict()

# %% exercise=3.33 hint="You copy the state after every epoch, so at the end you put back the last one. Copy it only where there is a new best."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-             self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
+         self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}

# %% exercise=3.33 hint="You count all epochs without a new best. They count in a row: a new best starts anew."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        if loss < self.best:
            self.best = loss
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        else:
            self.waited += 1
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)

# %% exercise=3.33 hint="You compare with the epoch before. Compare with the best of all: a loss may creep up and down for ever."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-             self.best, self.waited = loss, 0
+             self.waited = 0
              self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
+         self.best = loss

# %% exercise=3.33 hint="You wait one epoch too long: stop when `patience` epochs have passed without a new best."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-         if self.waited >= self.patience:
+         if self.waited > self.patience:

# %% exercise=3.33 hint="You copy the parameters and leave the buffers behind: batch norm's averages are of another epoch then."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = [p.data.copy() for p in trainer.model.parameters()]
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        for p, kept in zip(trainer.model.parameters(), self.state):
            p.data[...] = kept

# %% exercise=3.33 hint="Nothing is put back at the end: the model needs the state that you have kept."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-         if self.state:
-             trainer.model.load_state_dict(self.state)
+         pass

# %% exercise=3.33 hint="You put back only after a stop. A training may also end by itself: on_end is told in both cases."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-         if self.state:
+         if self.waited >= self.patience:

# %% exercise=3.33 hint="You put back only after a stop. A training may also end by itself: on_end is told in both cases."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-     def on_end(self, trainer: Trainer) -> None:
-         if self.state:
              trainer.model.load_state_dict(self.state)
+     def on_end(self, trainer):
+         pass

# %% exercise=3.33 hint="A loss that equals the best has not beaten it: it counts as waiting."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-         if loss < self.best:
+         if loss <= self.best:

# %% exercise=3.33 hint="The comparison is the wrong way round: a new best lies below the old one."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-         if loss < self.best:
+         if loss > self.best:

# %% exercise=3.33 hint="Nobody is asked to stop: call trainer.stop()."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-             trainer.stop()
+             trainer.stopped = True

# %% exercise=3.33 hint="You copy the parameters and leave the buffers behind: batch norm's averages are of another epoch then."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-             self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
+             self.state = {name: t.clone() for name, t in trainer.model.named_parameters()}

# %% exercise=3.33 hint="Right in one go. But a checkpoint saves what `remembers` names, and you keep something elsewhere: who goes on with it has forgotten that."
-         self.waited += 1
-         if loss < self.best:
-             self.best, self.waited = loss, 0
+         self.losses = [*getattr(self, "losses", []), loss]
+         self.waited = len(self.losses) - 1 - self.losses.index(min(self.losses))
+         if self.waited == 0:

# %% exercise=3.33 hint="A training that ended before its first epoch has no best state: then there is nothing to put back."
-     remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

-         self.loader, self.patience = loader, patience
-         self.best, self.waited = math.inf, 0
-         self.state: dict[str, Tensor] = {}
+         self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

-         if self.state:
-             trainer.model.load_state_dict(self.state)
+         trainer.model.load_state_dict(self.state)

# %% exercise=3.34 hint="The matrix lies on its side: row the target, column the answer."
-             np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
+             np.add.at(confusion, (scores.numpy().argmax(-1), targets.numpy()), 1)

# %% exercise=3.34 hint="`confusion[targets, answers] += 1` counts a pair once per batch, however often it occurs. np.add.at counts each."
def report(model, batches, classes):
    total, count, confusion = 0.0, 0, np.zeros((classes, classes), int)
    right = 0
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            answers = scores.numpy().argmax(-1)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            confusion[targets.numpy(), answers] += 1
            right, count = right + int((answers == targets.numpy()).sum()), count + len(answers)
    return total / count, right / count, confusion

# %% exercise=3.34 hint="Right, but the model runs more than once for each batch. Take all three numbers from the same scores."
-             scores = model(inputs)
-             total += F.cross_entropy(scores, targets, reduction="sum").item()
-             np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
+             total += F.cross_entropy(model(inputs), targets, reduction="sum").item()
+             np.add.at(confusion, (targets.numpy(), model(inputs).numpy().argmax(-1)), 1)

# %% exercise=3.34 hint="Your loss is the mean of the batches' means. Add up sums, divide once."
def report(model, batches, classes):
    means, confusion = [], np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            means.append(F.cross_entropy(scores, targets).item())
            np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
    return sum(means) / len(means), confusion.trace() / confusion.sum(), confusion

# %% exercise=3.34 hint="The model stays in training mode: dropout guesses along. Measure inside `with evaluating(model):`."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    for inputs, targets in batches:
        scores = model(inputs)
        total += F.cross_entropy(scores, targets, reduction="sum").item()
        np.add.at(confusion, (targets.numpy(), scores.detach().numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion

# %% exercise=3.34 hint="All right, but each batch records a graph, which costs memory. Inside `evaluating` there is none."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    model.eval()
    for inputs, targets in batches:
        scores = model(inputs)
        total += F.cross_entropy(scores, targets, reduction="sum").item()
        np.add.at(confusion, (targets.numpy(), scores.detach().numpy().argmax(-1)), 1)
    model.train()
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion

# %% exercise=3.34 hint="You leave the model in evaluation mode: the training that goes on has no dropout any more."
-     with evaluating(model):
+     model.eval()
+     with no_grad():

# %% exercise=3.34 hint="Evaluation mode alone is not enough: record no graph, and put the old mode back. `evaluating` does it."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    model.eval()
    for inputs, targets in batches:
        scores = model(inputs)
        total += F.cross_entropy(scores, targets, reduction="sum").item()
        np.add.at(confusion, (targets.numpy(), scores.detach().numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion

# %% exercise=3.34 hint="The first number is the sum of all losses: divide it by the number of targets."
-     return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion
+     return total, confusion.trace() / confusion.sum(), confusion

# %% exercise=3.34 hint="The second number counts what is right. The accuracy is its fraction of all."
-     return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion
+     return total / confusion.sum(), confusion.trace(), confusion

# %% exercise=3.34 hint="The matrix counts: it holds integers, and np.zeros makes floats unless you say int."
-     total, confusion = 0.0, np.zeros((classes, classes), int)
+     total, confusion = 0.0, np.zeros((classes, classes))

# %% exercise=3.34 hint="Axis 0 counts the examples. The class of each is the largest score along the last axis."
-             np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
+             np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(0)), 1)

# %% exercise=3.34 hint="Only your accuracy is wrong: it is the mean over the classes, where a small class weighs as much as a large one. Divide all that are right by all examples."
-     return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion
+     accuracy = (confusion.diagonal() / confusion.sum(1)).mean()
+     return total / confusion.sum(), accuracy, confusion

# %% exercise=3.48 hint="What is left of the epoch is forgotten: the one that takes over begins a new epoch. Keep it in the state."
-         self.left = state["left"]
+         self.left = np.zeros(0, int)

# %% exercise=3.48 hint="What the optimiser remembers, its means and its steps, belongs into the state, and so does the schedule's place."
-         for name in ("model", "optimizer", "scheduler"):
+         for name in ("model", "scheduler"):

# %% exercise=3.48 hint="What the optimiser remembers, its means and its steps, belongs into the state, and so does the schedule's place."
-         for name in ("model", "optimizer", "scheduler"):
+         for name in ("model", "optimizer"):

# %% exercise=3.48 hint="Right at the cut, and then a number is drawn from elsewhere: the order's generator, or dropout's, is not in the state."
-         self.numbers.bit_generator.state = state["numbers"]

# %% exercise=3.48 hint="Your state shares arrays with the model, which go on changing. Return copies."
-             "model": {name: t.clone() for name, t in self.model.state_dict().items()},
+             "model": self.model.state_dict(),

# %% exercise=3.48 hint="Your state shares arrays with the model, which go on changing. Return copies."
-             "model": {name: t.clone() for name, t in self.model.state_dict().items()},
-             "optimizer": copy.deepcopy(self.optimizer.state_dict()),
+             "model": copy.copy(self.model.state_dict()),
+             "optimizer": copy.copy(self.optimizer.state_dict()),

# %% exercise=3.48 hint="You put another model in the place of the one that you were given, whose weights stay as they are. Load the state into it."
-             "model": {name: t.clone() for name, t in self.model.state_dict().items()},
-             "optimizer": copy.deepcopy(self.optimizer.state_dict()),
-             "scheduler": self.scheduler.state_dict(),
+             "parts": copy.deepcopy((self.model, self.optimizer, self.scheduler)),

-         for name in ("model", "optimizer", "scheduler"):
-             getattr(self, name).load_state_dict(state[name])
+         self.model, self.optimizer, self.scheduler = state["parts"]

# %% exercise=3.48 hint="All gradients since the beginning add up: forget the old ones in each step."
-             self.optimizer.zero_grad()

# %% exercise=3.48 hint="The schedule does not move: after each step of the optimiser comes one of the schedule."
-             self.scheduler.step()

# %% exercise=3.48 hint="An example comes twice in an epoch while another waits: draw an order and use it up, do not draw each batch anew."
-             batch, self.left = self.left[: self.batch_size], self.left[self.batch_size :]
+             batch, self.left = self.left[: self.batch_size], self.left[:0]

# %% exercise=3.49 hint="A loss that is no number any more is a rate that was too high; nan compares as False with everything, in Python's `max` as well."
-     if not np.isfinite(learned).all() or learned[-1] > 1.1 * learned[0]:
+     if learned[-1] > 1.1 * learned[0]:

# %% exercise=3.49 hint="A loss that is no number any more is a rate that was too high; nan compares as False with everything, in Python's `max` as well."
-     if not np.isfinite(learned).all() or learned[-1] > 1.1 * learned[0]:
+     if not max(learned) < 1.3 * learned[0]:

# %% exercise=3.49 hint="Overfitting shows between the two curves: one goes on falling, and the other stays above it."
-     if held[-1] > learned[-1] + 0.3:
+     if held[-1] > held[0]:

# %% exercise=3.49 hint="A slow fall is not standing still: noise goes up and down, and what learns too slowly ends lower than it began."
-     if learned[-1] > 0.97 * learned[0]:
+     if learned[-1] > 0.7 * learned[0]:

# %% exercise=3.49 hint="A healthy run comes down as far as one that overfits. Only `held` tells them apart: does it come down along with the other?"
-     if held[-1] > learned[-1] + 0.3:
-         return "overfitting"
-     return "rate too low" if learned[-1] > 1 else "healthy"
+     return "rate too low" if learned[-1] > 1 else "overfitting"

# %% exercise=3.49 hint="A small gap is no sickness: what has not been seen is nearly always read a little worse. Ask for a gap that is larger than those of healthy runs."
-     if held[-1] > learned[-1] + 0.3:
+     if held[-1] > learned[-1]:

# %% exercise=3.49 hint="A run that comes down far, on both curves, is healthy. A rate that is too low leaves it near 2."
-     return "rate too low" if learned[-1] > 1 else "healthy"
+     return "rate too low"

# %% exercise=3.35 hint="You add up gradients of means: a batch of one target weighs as much as one of twelve. Divide once, at the end."
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum = targets = number = 0
    for batch in batches:
        total, count = loss(model, batch)
        (total / count).backward()
        loss_sum, targets, number = loss_sum + total.item(), targets + count, number + 1
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / number
    return loss_sum / targets

# %% exercise=3.35 hint="Right, but all graphs are alive at once: as much memory as the big batch. Go backward after each batch."
def accumulate(model, loss, batches):
    model.zero_grad()
    pairs = [loss(model, batch) for batch in batches]
    total, targets = sum([t for t, _ in pairs[1:]], pairs[0][0]), sum(n for _, n in pairs)
    (total / targets).backward()
    return total.item() / targets

# %% exercise=3.35 hint="The gradients that were there before are still in the sum. Forget them first."
def accumulate(model, loss, batches):
    loss_sum = targets = 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / targets
    return loss_sum / targets

# %% exercise=3.35 hint="These are gradients of the sum: divide them by the count of all targets."
-     for p in model.parameters():
-         if p.grad is not None:
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+     return loss_sum / targets

# %% exercise=3.35 hint="You forget the gradients before each batch, so only those of the last one are left."
def accumulate(model, loss, batches):
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        model.zero_grad()
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / targets
    return loss_sum / targets

# %% exercise=3.35 hint="The gradients are right, but you return the sum of the losses, not their mean."
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+             p.grad = p.grad / targets
+     return loss_sum

# %% exercise=3.35 hint="The gradients are right, but you return the last batch's mean, not that of all targets."
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+             p.grad = p.grad / targets
+     return total.item() / count

# %% exercise=3.35 hint="Divide by the number of targets, not of batches; `batches` may not even have a length."
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+             p.grad = p.grad / len(batches)
+     return loss_sum / targets

# %% exercise=3.35 hint="Divide by the number of targets, not of batches; `batches` may not even have a length."
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+             p.grad = p.grad / len(batches)
+     return loss_sum / len(batches)

# %% exercise=3.35 hint="A parameter that took no part has no gradient: leave None as it is."
-         if p.grad is not None:
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+         p.grad = p.grad / targets
+     return loss_sum / targets

# %% exercise=3.35 hint="You return a tensor, and it keeps all graphs alive. Add up numbers: total.item()."
-         loss_sum, targets = loss_sum + total.item(), targets + count
+         loss_sum, targets = loss_sum + total, targets + count

-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+             p.grad = p.grad / targets
+     return loss_sum / targets

# %% exercise=3.50 hint="A row of 64 numbers pays for each pixel and knows nothing of neighbours. Filters share their weights: begin with a convolution."
-         *(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
-         *(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
-         *(nn.Flatten(), nn.Linear(64, 10)),
+         *(nn.Flatten(), nn.Linear(64, 26), nn.ReLU(), nn.Linear(26, 10)),

# %% exercise=3.50 hint="Too many parameters: count them layer by layer. Pool before the linear layer, or give fewer channels to the next convolution."
-         *(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
-         *(nn.Flatten(), nn.Linear(64, 10)),
+         *(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU()),
+         *(nn.Flatten(), nn.Linear(256, 10)),

-     numbers, size, epochs = np.random.default_rng(0), 64, 15
+     numbers, size, epochs = np.random.default_rng(0), 64, 1

# %% exercise=3.50 hint="It guesses: the network that you return has not learned. Do labels go with their images, does the optimiser hold this network's parameters, is there a step for each batch, and is the learning rate still there after the first epoch (a schedule counts its own steps)?"
-     optimizer = AdamW(model.parameters(), lr=0.01)
+     optimizer = AdamW(nn.Linear(4, 2).parameters(), lr=0.01)

-     numbers, size, epochs = np.random.default_rng(0), 64, 15
+     numbers, size, epochs = np.random.default_rng(0), 64, 1

# %% exercise=3.50 hint="A module of your own may keep numbers that nobody counts: return an nn.Sequential of the layers in LAYERS."
-     return model
+     class Reader(nn.Module):
+         def __init__(self):
+             self.inner = model
+
+         def forward(self, x):
+             return self.inner(x)
+
+     return Reader()

-     numbers, size, epochs = np.random.default_rng(0), 64, 15
+     numbers, size, epochs = np.random.default_rng(0), 64, 1

# %% exercise=3.35 hint="You divide after each batch, and so the first ones again and again. Add up all gradients, and divide once, by the count of all targets."
-         loss_sum, targets = loss_sum + total.item(), targets + count
-     for p in model.parameters():
-         if p.grad is not None:
-             p.grad = p.grad / max(targets, 1)
+         loss_sum, targets = loss_sum + total.item(), targets + count
+         for p in model.parameters():
+             if p.grad is not None:
+                 p.grad = p.grad / max(count, 1)

# %% exercise=3.35 hint="You divide after each batch, and so the first ones again and again. Add up all gradients, and divide once, by the count of all targets."
-         loss_sum, targets = loss_sum + total.item(), targets + count
-     for p in model.parameters():
-         if p.grad is not None:
-             p.grad = p.grad / max(targets, 1)
+         loss_sum, targets = loss_sum + total.item(), targets + count
+         for p in model.parameters():
+             if p.grad is not None:
+                 p.grad = p.grad / max(targets, 1)

# %% exercise=3.35 hint="Your second walk through `batches` finds nothing where it is a generator: that can be walked through only once. What has to be known before the first backward, and what only at the end?"
-     loss_sum, targets = 0.0, 0
-     for batch in batches:
-         total, count = loss(model, batch)
-         total.backward()
-         loss_sum, targets = loss_sum + total.item(), targets + count
-     for p in model.parameters():
-         if p.grad is not None:
-             p.grad = p.grad / max(targets, 1)
-     return loss_sum / max(targets, 1)
+     targets, mean = sum(loss(model, batch)[1] for batch in batches), 0.0
+     for batch in batches:
+         part = loss(model, batch)[0] / targets
+         part.backward()
+         mean += part.item()
+     return mean

# %% exercise=3.34 hint="`confusion[a, b] += 1` counts a pair once that comes twice: `np.add.at` adds for each."
def report(model: Module, batches: list[Batch], classes: int) -> tuple[float, float, np.ndarray]:
    """Mean loss, accuracy and confusion matrix."""
    total, count = 0.0, 0
    confusion = np.zeros((classes, classes), int)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            for x, target in batches:
                scores = model(x)
                total += F.cross_entropy(scores, target, reduction="sum").item()
                confusion[target.numpy(), scores.numpy().argmax(axis=1)] += 1
                count += len(target.numpy())
    finally:
        for module, training in modes:
            module.training = training
    return total / count, float(np.trace(confusion)) / count, confusion

# %% exercise=3.29 hint="You cut from the end, with a minus sign. Where a class is so small that none of it is held out, -0 is 0, and the cut lies at the start: all of it is held out."
-         held += members[:cut].tolist()
-         kept += members[cut:].tolist()
+         held += members[-cut:].tolist()
+         kept += members[:-cut].tolist()

# %% exercise=3.31 hint="A single batch without targets ends your count with 0, and the other batches are forgotten. Whether there are no targets at all is known only after the last batch."
-             right += int((model(inputs).argmax(-1) == targets).sum().item())
-             total += int((targets != -100).sum().item())
+             count = int((targets != -100).sum().item())
+             if count == 0:
+                 return 0.0
+             right += int((model(inputs).argmax(-1) == targets).sum().item())
+             total += count

# %% exercise=3.48 hint="What is loaded is used up: `left` is the list in the state itself, and you delete from it. Take a copy on the way in as well, or make a new list of what is left."
-             batch, self.left = self.left[: self.batch_size], self.left[self.batch_size :]
+             if not isinstance(self.left, list):
+                 self.left = self.left.tolist()
+             batch = np.array(self.left[: self.batch_size])
+             del self.left[: self.batch_size]
