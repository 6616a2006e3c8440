"""Plausible wrong answers to the exercises of chapter 03d, each with the hint that it earns."""


# %% exercise=3.27 hint="Where nothing is left over, the last batch is a whole one, not an empty one."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n, batch_size)
    if drop_last:
        return whole * epochs, batch_size if whole else 0
    return math.ceil(n / batch_size) * epochs, left


# %% exercise=3.27 hint="The leftover of one epoch does not flow into the next: each epoch rounds for itself."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n, batch_size)
    last = left if left and not drop_last else batch_size if whole else 0
    return (n * epochs // batch_size if drop_last else math.ceil(n * epochs / batch_size)), last


# %% exercise=3.27 hint="Where nothing is left over, no batch comes on top of the whole ones."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n, batch_size)
    if drop_last:
        return whole * epochs, batch_size if whole else 0
    return (whole + 1) * epochs, left or batch_size


# %% exercise=3.27 hint="These are the steps of one epoch. Each epoch takes as many again."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n, batch_size)
    if left and not drop_last:
        return whole + 1, left
    return whole, batch_size if whole else 0


# %% exercise=3.27 hint="The leftover of one epoch does not flow into the next: each epoch rounds for itself."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n * epochs, batch_size)
    if left and not drop_last:
        return whole + 1, left
    return whole, batch_size if whole else 0


# %% exercise=3.27 hint="What is left over is the last batch only if it makes a batch: not where it is 0, and not with drop_last."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n, batch_size)
    return (whole if drop_last or not left else whole + 1) * epochs, left


# %% exercise=3.27 hint="With drop_last, too few items for one batch make no batch at all: then the last one has 0 items."
def steps(n, batch_size, epochs, drop_last):
    whole, left = divmod(n, batch_size)
    if left and not drop_last:
        return (whole + 1) * epochs, left
    return whole * epochs, batch_size


# %% exercise=3.28 hint="Images and labels come in different orders, so the pairs are wrong. Draw one order and use it for both."
def shuffled_batches(images, labels, batch_size, numbers):
    images = images[numbers.permutation(len(images))]
    labels = labels[numbers.permutation(len(labels))]
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


# %% exercise=3.28 hint="The pairs are right, but nothing is shuffled any more: the batches come in the file's order."
def shuffled_batches(images, labels, batch_size, numbers):
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


# %% exercise=3.28 hint="Images and labels come in different orders, so the pairs are wrong. Draw one order and use it for both."
def shuffled_batches(images, labels, batch_size, numbers):
    order = numbers.permutation(len(images))
    images, labels = images[order], labels[np.argsort(order)]
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


# %% exercise=3.28 hint="The short batch at the end is missing: all examples come once."
def shuffled_batches(images, labels, batch_size, numbers):
    order = numbers.permutation(len(images))
    images, labels = images[order], labels[order]
    starts = range(0, len(images) - batch_size + 1, batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


# %% exercise=3.28 hint="The order has to come from `numbers`: the same seed gives the same order again."
def shuffled_batches(images, labels, batch_size, numbers):
    order = np.random.permutation(len(images))
    images, labels = images[order], labels[order]
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


# %% exercise=3.28 hint="Your order is the same whatever `numbers` are: each epoch would come in one order."
def shuffled_batches(images, labels, batch_size, numbers):
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


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


# %% exercise=3.28 hint="You draw with replacement: some examples come twice and others never. A permutation has each once."
def shuffled_batches(images, labels, batch_size, numbers):
    order = numbers.integers(0, len(images), len(images))
    images, labels = images[order], labels[order]
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


# %% exercise=3.28 hint="You write into the caller's arrays: the data set is in another order now. Make new ones."
def shuffled_batches(images, labels, batch_size, numbers):
    order = numbers.permutation(len(images))
    images[:], labels[:] = images[order], labels[order]
    starts = range(0, len(images), batch_size)
    return [(images[i : i + batch_size], labels[i : i + batch_size]) for i in starts]


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
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return held, kept


# %% exercise=3.29 hint="A fraction of 0, 1 or 20 is a mistake of whoever calls: raise ValueError."
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="`fraction * members` is rounded to the nearest whole number: neither cut off nor rounded up."
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = int(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="`fraction * members` is rounded to the nearest whole number: neither cut off nor rounded up."
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = math.ceil(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="0 and 1 are excluded as well: then one of the two lists would be empty."
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    if not 0 <= fraction <= 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="The order has to come from the `generator` that you are given: its seed repeats a split, another one makes another."
def stratified_split(labels, fraction, generator=None):
    numbers = np.random.default_rng()
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="The order has to come from the `generator` that you are given: its seed repeats a split, another one makes another."
def stratified_split(labels, fraction, generator=None):
    numbers = np.random.default_rng(0)
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="The order has to come from the `generator` that you are given: its seed repeats a split, another one makes another."
def stratified_split(labels, fraction, generator=None):
    numbers = default_generator.numbers
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.29 hint="Labels need not be 0, 1, 2, ...: go through those that there are."
def stratified_split(labels, fraction, generator=None):
    numbers = (generator or default_generator).numbers
    if not 0 < fraction < 1:
        raise ValueError("fraction")
    kept, held = [], []
    for label in range(len(np.unique(labels.numpy()))):
        members = numbers.permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held


# %% exercise=3.30 hint="You always drop the last batch with drop_last, even where it is whole. Only what is too short goes."
def batches(order, batch_size, drop_last=False):
    made = [list(order[i : i + batch_size]) for i in range(0, len(order), batch_size)]
    return made[:-1] if drop_last else made


# %% exercise=3.30 hint="What is left at the end is lost, although drop_last is off."
def batches(order, batch_size, drop_last=False):
    stop = len(order) - len(order) % batch_size
    return [list(order[i : i + batch_size]) for i in range(0, stop, batch_size)]


# %% exercise=3.30 hint="You return positions. The item numbers stand in `order`, at these positions."
def batches(order, batch_size, drop_last=False):
    stop = len(order) - len(order) % batch_size if drop_last else len(order)
    return [list(range(i, min(i + batch_size, len(order)))) for i in range(0, stop, batch_size)]


# %% exercise=3.30 hint="You do not look at drop_last: what is left still makes a batch."
def batches(order, batch_size, drop_last=False):
    return [list(order[i : i + batch_size]) for i in range(0, len(order), batch_size)]


# %% exercise=3.30 hint="It is the other way round: with drop_last, what is left is left out."
def batches(order, batch_size, drop_last=False):
    stop = len(order) if drop_last else len(order) - len(order) % batch_size
    return [list(order[i : i + batch_size]) for i in range(0, stop, batch_size)]


# %% exercise=3.30 hint="array_split makes equal parts. Here all batches but the last have `batch_size` items."
def batches(order, batch_size, drop_last=False):
    made = [part.tolist() for part in np.array_split(order, math.ceil(len(order) / batch_size))]
    return [part for part in made if len(part) == batch_size or not drop_last]


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
def accuracy(model, loader):
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += targets.numel()
    return right / max(total, 1)


# %% exercise=3.31 hint="The model stays in training mode: dropout guesses along. Measure inside `with evaluating(model):`."
def accuracy(model, loader):
    right = total = 0
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    return right / max(total, 1)


# %% exercise=3.31 hint="You leave the model in evaluation mode: the training that goes on has no dropout any more."
def accuracy(model, loader):
    right = total = 0
    model.eval()
    with no_grad():
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    return right / max(total, 1)


# %% exercise=3.31 hint="train() at the end wakes modules that slept before. `evaluating` gives each its own mode back."
def accuracy(model, loader):
    right = total = 0
    model.eval()
    with no_grad():
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    model.train()
    return right / max(total, 1)


# %% exercise=3.31 hint="The model stays in training mode: dropout guesses along. Measure inside `with evaluating(model):`."
def accuracy(model, loader):
    right = total = 0
    with no_grad():
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
def accuracy(model, loader):
    right = total = 0
    before = model.training
    model.eval()
    with no_grad():
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    model.train(before)
    return right / max(total, 1)


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
def accuracy(model, loader):
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    return right / max(total, 1)


# %% exercise=3.31 hint="The classes are the last axis, however many come before it."
def accuracy(model, loader):
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).numpy().argmax(1) == targets.numpy()).sum())
            total += int((targets.numpy() != -100).sum())
    return right / max(total, 1)


# %% exercise=3.31 hint="`len(targets)` counts missing targets too, and only along the first axis. Count those that are not -100."
def accuracy(model, loader):
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += len(targets)
    return right / max(total, 1)


# %% exercise=3.31 hint="Without targets there is nothing to divide by: the answer is 0 then."
def accuracy(model, loader):
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    return right / total


# %% exercise=3.32 hint="You divide each shard by its own count and take the mean: shards with few targets weigh too much."
def averaged(shares):
    means = []
    for i in range(len(shares[0][2])):
        there = [s[2][i] / s[2][i].dtype.type(max(s[1], 1)) for s in shares if s[2][i] is not None]
        means.append(sum(there[1:], there[0]) / np.float32(len(shares)) if there else None)
    return means


# %% exercise=3.32 hint="You divide by the number of shards. Divide by the number of targets in all of them."
def averaged(shares):
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        means.append(sum(there[1:], there[0]) / np.float32(len(shares)) if there else None)
    return means


# %% exercise=3.32 hint="Your += writes into the first shard's own array. Make a new one."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        for grad in there[1:]:
            there[0] += grad
        means.append(there[0] / there[0].dtype.type(count) if there else None)
    return means


# %% exercise=3.32 hint="One shard without a gradient does not make the others' vanish: None only where no shard has one."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        whole = all(grad is not None for grad in grads)
        means.append(sum(grads[1:], grads[0]) / grads[0].dtype.type(count) if whole else None)
    return means


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
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for i in range(len(shares[0][2])):
        there = [s[2][i] * s[2][i].dtype.type(s[1]) for s in shares if s[2][i] is not None]
        means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
    return means


# %% exercise=3.32 hint="This is the gradient of the sum. For that of the mean, divide by the count of all targets."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        means.append(sum(there[1:], there[0]) if there else None)
    return means


# %% exercise=3.32 hint="Where no shard has a gradient, the answer is None: the optimiser then leaves the parameter alone, which 0 does not."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        total = 0.0
        for grad in grads:
            if grad is not None:
                total = total + grad
        means.append(total / count)
    return means


# %% exercise=3.32 hint="Each parameter needs its entry, None where no shard has a gradient: the list is matched to the parameters by place."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        if not there:
            continue
        means.append(sum(there[1:], there[0]) / there[0].dtype.type(count))
    return means


# %% exercise=3.32 hint="Your += writes into the first shard's own array. Make a new one."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        for grad in there[1:]:
            there[0] += grad
        if there:
            there[0] /= count
        means.append(there[0] if there else None)
    return means


# %% exercise=3.32 hint="Where no target counts at all, you divide by 0. Let the count be at least 1."
def averaged(shares):
    count = sum(share[1] for share in shares)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
    return means


# %% exercise=3.32 hint="A float64 has crept in. Gradients keep the dtype of what came in."
def averaged(shares):
    count = max(sum(share[1] for share in shares), 1)
    means = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        means.append(sum(there[1:], there[0]) / np.float64(count) if there else None)
    return means


# %% exercise=3.33 hint="You note where the tensors are, not what is in them: training goes on writing there. Copy them with clone()."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited, self.state = loss, 0, trainer.model.state_dict()
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


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
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.waited = 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        self.best = loss
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.33 hint="You wait one epoch too long: stop when `patience` epochs have passed without a new best."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited > self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


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
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        pass


# %% exercise=3.33 hint="You put back only after a stop. A training may also end by itself: on_end is told in both cases."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.waited >= self.patience:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.33 hint="You put back only after a stop. A training may also end by itself: on_end is told in both cases."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()
            trainer.model.load_state_dict(self.state)

    def on_end(self, trainer):
        pass


# %% exercise=3.33 hint="A loss that equals the best has not beaten it: it counts as waiting."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss <= self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.33 hint="The comparison is the wrong way round: a new best lies below the old one."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss > self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.33 hint="Nobody is asked to stop: call trainer.stop()."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stopped = True

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.33 hint="You copy the parameters and leave the buffers behind: batch norm's averages are of another epoch then."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.named_parameters()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.33 hint="A training that ended before its first epoch has no best state: then there is nothing to put back."
class EarlyStopping(Callback):
    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.best, self.waited, self.state = loader, patience, math.inf, 0, {}

    def on_epoch(self, trainer):
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        trainer.model.load_state_dict(self.state)


# %% exercise=3.34 hint="The matrix lies on its side: row the target, column the answer."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            np.add.at(confusion, (scores.numpy().argmax(-1), targets.numpy()), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion


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
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            total += F.cross_entropy(model(inputs), targets, reduction="sum").item()
            np.add.at(confusion, (targets.numpy(), model(inputs).numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion


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
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    model.eval()
    with no_grad():
        for inputs, targets in batches:
            scores = model(inputs)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion


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
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
    return total, confusion.trace() / confusion.sum(), confusion


# %% exercise=3.34 hint="The second number counts what is right. The accuracy is its fraction of all."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace(), confusion


# %% exercise=3.34 hint="The matrix counts: it holds integers, and np.zeros makes floats unless you say int."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes))
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion


# %% exercise=3.34 hint="Axis 0 counts the examples. The class of each is the largest score along the last axis."
def report(model, batches, classes):
    total, confusion = 0.0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            scores = model(inputs)
            total += F.cross_entropy(scores, targets, reduction="sum").item()
            np.add.at(confusion, (targets.numpy(), scores.numpy().argmax(0)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion


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
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    return loss_sum / targets


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
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / targets
    return loss_sum


# %% exercise=3.35 hint="The gradients are right, but you return the last batch's mean, not that of all targets."
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / targets
    return total.item() / count


# %% exercise=3.35 hint="Divide by the number of targets, not of batches; `batches` may not even have a length."
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / len(batches)
    return loss_sum / targets


# %% exercise=3.35 hint="Divide by the number of targets, not of batches; `batches` may not even have a length."
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / len(batches)
    return loss_sum / len(batches)


# %% exercise=3.35 hint="A parameter that took no part has no gradient: leave None as it is."
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total.item(), targets + count
    for p in model.parameters():
        p.grad = p.grad / targets
    return loss_sum / targets


# %% exercise=3.35 hint="You return a tensor, and it keeps all graphs alive. Add up numbers: total.item()."
def accumulate(model, loss, batches):
    model.zero_grad()
    loss_sum, targets = 0.0, 0
    for batch in batches:
        total, count = loss(model, batch)
        total.backward()
        loss_sum, targets = loss_sum + total, targets + count
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / targets
    return loss_sum / targets
