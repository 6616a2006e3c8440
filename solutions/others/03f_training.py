"""Second right answers to the exercises of chapter 03f, by another way than the reference's: each earns all points."""

# %% exercise=3.28
def shuffled_batches(images, labels, batch_size, numbers):
    pairs = list(zip(images, labels))
    numbers.shuffle(pairs)
    parts = [pairs[i : i + batch_size] for i in range(0, len(pairs), batch_size)]
    return [(np.stack([x for x, _ in part]), np.stack([y for _, y in part])) for part in parts]


# %% exercise=3.29
def stratified_split(labels, fraction, generator=None):
    if fraction <= 0 or fraction >= 1:
        raise ValueError("between 0 and 1")
    order = (generator or default_generator).numbers.permutation(len(labels)).tolist()
    left = {int(c): round(n * fraction) for c, n in zip(*np.unique(labels.numpy(), return_counts=True))}
    kept, held = [], []
    for i in order:
        c = int(labels.numpy()[i])
        (held if left[c] else kept).append(i)
        left[c] -= left[c] > 0
    return kept, held


# %% exercise=3.31
def accuracy(model, loader):
    right = []
    with evaluating(model):
        for inputs, targets in loader:
            answers, wanted = model(inputs).numpy().argmax(-1), targets.numpy()
            right.extend((answers == wanted)[wanted != -100].tolist())
    return sum(right) / len(right) if right else 0.0


# %% exercise=3.32
def averaged(shares):
    count = max(sum(n for _, n, _ in shares), 1)
    means = []
    for i in range(len(shares[0][2])):
        total = None
        for _, _, grads in shares:
            if grads[i] is not None:
                share = grads[i] * grads[i].dtype.type(1 / count)
                total = share if total is None else total + share
        means.append(total)
    return means


# %% exercise=3.33
class EarlyStopping(Callback):
    remembers = "history", "state"

    def __init__(self, loader, patience=5):
        self.loader, self.patience, self.history, self.state = loader, patience, [], None

    def on_epoch(self, trainer):
        self.history.append(trainer.evaluate(self.loader))
        first = self.history.index(min(self.history))
        if first == len(self.history) - 1:
            self.state = {k: Tensor(t.numpy().copy()) for k, t in trainer.model.state_dict().items()}
        if len(self.history) - 1 - first >= self.patience:
            trainer.stop()

    def on_end(self, trainer):
        if self.state is not None:
            trainer.model.load_state_dict(self.state)


# %% exercise=3.34
def report(model, batches, classes):
    inputs = Tensor(np.concatenate([x.numpy() for x, _ in batches]))
    targets = np.concatenate([y.numpy() for _, y in batches])
    with evaluating(model):
        scores = model(inputs)
    confusion = np.zeros((classes, classes), int)
    for wanted, answer in zip(targets, scores.numpy().argmax(-1)):
        confusion[wanted, answer] += 1
    loss = F.cross_entropy(scores, Tensor(targets)).item()
    return loss, float((scores.numpy().argmax(-1) == targets).mean()), confusion


# %% exercise=3.48
class Training:
    def __init__(self, model, optimizer, scheduler, images, labels, batch_size, seed):
        self.parts = model, optimizer, scheduler
        self.model, self.data, self.batch_size = model, (images, labels), batch_size
        self.seed, self.step = seed, 0

    def run(self, steps):
        images, labels = self.data
        self.model.train()
        losses, each = [], -(-len(labels) // self.batch_size)
        for _ in range(steps):
            epoch, i = divmod(self.step, each)
            order = np.random.default_rng((self.seed, epoch)).permutation(len(labels))
            batch = order[i * self.batch_size : (i + 1) * self.batch_size]
            loss = F.cross_entropy(self.model(images[batch]), labels[batch])
            self.model.zero_grad()
            loss.backward()
            self.parts[1].step()
            self.parts[2].step()
            self.step += 1
            losses.append(loss.item())
        return losses

    def state_dict(self):
        states = [part.state_dict() for part in self.parts]
        states[0] = {name: Tensor(t.numpy().copy()) for name, t in states[0].items()}
        return copy.deepcopy(states[1:]), states[0], self.seed, self.step, default_generator.get_state()

    def load_state_dict(self, state):
        (optimizer, scheduler), model, self.seed, self.step, drawn = state
        for part, one in zip(self.parts, (model, optimizer, scheduler)):
            part.load_state_dict(one)
        default_generator.set_state(drawn)


# %% exercise=3.49
def diagnose(learned, held):
    if learned[0] > 5:
        return RUNS[0]
    if np.isnan(learned).any() or np.nanmax(learned) > 4:
        return RUNS[1]
    if np.abs(learned - learned[0]).max() < 0.2:
        return RUNS[3]
    if learned.min() > 1:
        return RUNS[2]
    return RUNS[4 + (held[-1] < 0.3 + learned[-1])]


# %% exercise=3.35
def accumulate(model, loss, batches):
    params = [p for p in model.parameters() if p.requires_grad]
    sums, loss_sum, targets = [0.0] * len(params), 0.0, 0
    for batch in batches:
        for p in params:
            p.grad = None
        total, count = loss(model, batch)
        total.backward()
        sums = [s + p.grad.numpy() for s, p in zip(sums, params)]
        loss_sum, targets = loss_sum + float(total.item()), targets + count
    for p, s in zip(params, sums):
        p.grad = Tensor(s / np.float32(targets))
    return loss_sum / targets


# %% exercise=3.50
def small_reader(images, labels):
    manual_seed(1)
    window = [nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    deeper = [nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.GELU("tanh")]
    model = nn.Sequential(nn.Sequential(*window), nn.Sequential(*deeper), nn.Flatten(), nn.Linear(64, 10))
    draws, optimizer = np.random.default_rng(3), AdamW(model.parameters(), lr=0.01)
    schedule = WarmupCosine(optimizer, 20, 600)
    for _ in range(600):
        batch = draws.choice(len(labels), 48)
        moved, right = shifted((images[batch], labels[batch]), draws)
        model.zero_grad()
        F.cross_entropy(model(moved), right).backward()
        optimizer.step()
        schedule.step()
    return model
