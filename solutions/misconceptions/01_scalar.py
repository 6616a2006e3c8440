"""Plausible wrong answers to the exercises of chapter 01, each with the hint that it earns."""

# %% exercise=1.1 hint="You nudge to one side only. Evaluate at x + h and at x - h; the bends on the two sides cancel."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return (f(x + h) - f(x)) / h

# %% exercise=1.1 hint="Your two points are 2h apart, but you divide by h: the slope comes out twice as steep."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return (f(x + h) - f(x - h)) / h

# %% exercise=1.1 hint="`//` divides and rounds down to a whole number of times. A slope may lie between: divide with `/`."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return (f(x + h) - f(x - h)) // (2 * h)

# %% exercise=1.1 hint="You always nudge by the same amount. Use the h that you are given."
+     h = 1e-5
      return (f(x + h) - f(x - h)) / (2 * h)

# %% exercise=1.1 hint="`/ 2 * h` divides by 2 and then multiplies by h. The distance of the two points is one number: put it in parentheses."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return (f(x + h) - f(x - h)) / 2 * h

# %% exercise=1.1 hint="A distance is never below 0, but this difference may be: where the curve falls, its slope is negative."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return abs(f(x + h) - f(x - h)) / (2 * h)

# %% exercise=1.2 hint="These are the derivatives of a product. If one summand grows by 1, the sum grows by 1, whatever the other one is."
-     return Value(self.data + other.data, "+", (self, other), (1.0, 1.0))
+     return Value(self.data + other.data, "+", (self, other), (other.data, self.data))

# %% exercise=1.2 hint="Your sum is a leaf: it has forgotten what it was made of, so no gradient can get past it. Value takes the operation, the inputs and the derivatives, too."
-     return Value(self.data + other.data, "+", (self, other), (1.0, 1.0))
+     return Value(self.data + other.data)

# %% exercise=1.2 hint="Only the left operand hears of its gradient. Name the right one and its derivative, too."
-     return Value(self.data + other.data, "+", (self, other), (1.0, 1.0))
+     return Value(self.data + other.data, "+", (self,), (1.0,))

# %% exercise=1.2 hint="You changed the left operand instead of making a new value. Others may still need the old number."
-     return Value(self.data + other.data, "+", (self, other), (1.0, 1.0))
+     self.data += other.data
+     return Value(self.data, "+", (self, other), (1.0, 1.0))

# %% exercise=1.2 hint="The right operand may be a plain number, which has no data. Make a Value of it first."
-     if not isinstance(other, Value):
-         other = Value(other)

# %% exercise=1.2 hint="`result = self` makes no second Value: it is another name for a, so a + 1 changes a itself. Make a new one: Value(other) is a leaf that nobody else has."
-     if not isinstance(other, Value):
-         other = Value(other)
+     if not isinstance(other, Value):
+         result = self
+         result.data += other
+         return result

# %% exercise=1.3 hint="These are the Fibonacci numbers. A rung is visited as well: one more, besides the visits of the two ladders below it."
-         before, last = last, 1 + last + before
+         before, last = last, last + before

# %% exercise=1.3 hint="That is how many rungs there are. Recursion comes by most of them many times."
def visits(n):
    return n + 1

# %% exercise=1.3 hint="Your numbers are right, but each is reached by as many calls as it says: no machine gets to 90 so. Go up from the bottom instead."
def visits(n):
    return 1 if n < 2 else 1 + visits(n - 1) + visits(n - 2)

# %% exercise=1.3 hint="Doubling is right where a value calls the same input twice. Here the two inputs stand on ladders of different height."
def visits(n):
    return 2**n - 1 if n > 1 else 1

# %% exercise=1.3 hint="That is the chapter's ladder, in which both inputs were the rung below. Here they are the two rungs below: n - 1 and n - 2."
def visits(n):
    return 2 ** (n + 1) - 1

# %% exercise=1.4 hint="Your derivative uses x where it needs tanh(x): 1 - x^2 is right only near 0."
@add_to(Value)
def tanh(self):
    return node(math.tanh(self.data), "tanh", self, 1 - self.data**2)

# %% exercise=1.4 hint="You forgot the square: the derivative is 1 - tanh(x)^2."
-     return Value(t, "tanh", (self,), (1 - t * t,))  # by the result, which spares a second tanh
+     return Value(t, "tanh", (self,), (1 - t,))

# %% exercise=1.4 hint="Your result is a leaf: it has forgotten that it was made of x. Value takes the operation, the inputs and the derivatives, too."
@add_to(Value)
def tanh(self):
    return Value(math.tanh(self.data))

# %% exercise=1.4 hint="The derivative that you hand over is 0, so no gradient gets through. It is 1 - tanh(x)^2, a number between 0 and 1: int(...) would make 0 of it."
-     return Value(t, "tanh", (self,), (1 - t * t,))  # by the result, which spares a second tanh
+     return Value(t, "tanh", (self,), (0,))

# %% exercise=1.5 hint="The derivative of e^x is e^x, the result, not x."
-     e = math.exp(self.data)  # its own derivative, so it is worked out once
-     return Value(e, "exp", (self,), (e,))
+     return Value(math.exp(self.data), "exp", (self,), (self.data,))

# %% exercise=1.5 hint="The derivative of log x is 1 over x, the input, not 1 over the result."
-     return Value(math.log(self.data), "log", (self,), (1 / self.data,))
+     result = math.log(self.data)
+     return Value(result, "log", (self,), (1 / result,))

# %% exercise=1.5 hint="The derivative of log x is 1 over x, not x."
-     return Value(math.log(self.data), "log", (self,), (1 / self.data,))
+     return Value(math.log(self.data), "log", (self,), (self.data,))

# %% exercise=1.5 hint="Zero has no logarithm either. Refuse it yourself, with a message that names it."
-     if self.data <= 0:
+     if self.data < 0:

# %% exercise=1.5 hint="Your message does not name the number that was refused. An f-string can hold it."
-         raise ValueError(f"log: expected a positive number, got {self.data}")
+         raise ValueError("log: expected a positive number")

# %% exercise=1.5 hint="Your message does not say which operation refused the number. Begin it with log."
-         raise ValueError(f"log: expected a positive number, got {self.data}")
+         raise ValueError(f"expected a positive number, got {self.data}")

# %% exercise=1.5 hint="You took the logarithm to base 10. The natural one is math.log."
-     return Value(math.log(self.data), "log", (self,), (1 / self.data,))
+     return Value(math.log10(self.data), "log", (self,), (1 / self.data,))

# %% exercise=1.5 hint="A negative number has no real logarithm. Raise a ValueError rather than take the logarithm of something else."
-     if self.data <= 0:
+     if self.data == 0:
          raise ValueError(f"log: expected a positive number, got {self.data}")
-     return Value(math.log(self.data), "log", (self,), (1 / self.data,))
+     return Value(math.log(abs(self.data)), "log", (self,), (1 / self.data,))

# %% exercise=1.6 hint="You overwrite what another arrow has brought. A value that is used twice hears twice, and what it hears adds up."
-             i.grad += derivative * value.grad
+             i.grad = derivative * value.grad

# %% exercise=1.6 hint="Each value calls its inputs whenever it is called itself, so one that is used twice repeats what it has said before: 112. It should speak once, when all that was made from it have spoken."
@add_to(Value)
def backward(self):
    self.grad, todo = 1.0, [self]
    while todo:
        value = todo.pop()
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad
        todo += value.inputs

# %% exercise=1.6 hint="Each value speaks once, but some too early: at 48, b has spoken before c had told it anything. List each value below all of its inputs, and read the list from its end."
@add_to(Value)
def backward(self):
    self.grad, seen, todo = 1.0, set(), [self]
    while todo:
        value = todo.pop()
        if value not in seen:
            seen.add(value)
            for i, derivative in zip(value.inputs, value.derivatives):
                i.grad += derivative * value.grad
            todo += reversed(value.inputs)

# %% exercise=1.6 hint="You put a value on the list when you first meet it, and then one may speak before all that use it have spoken. It belongs there only after all that it was made of; then read the list from its end."
@add_to(Value)
def backward(self):
    order, seen, todo = [], set(), [self]
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        order.append(value)
        todo.extend(value.inputs)
    for value in order:
        if value.op:
            value.grad = 0.0
    self.grad = 1.0
    for value in order:
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad

# %% exercise=1.6 hint="The first call is right. Before the second one operations still hold what the first has left in them: set their gradients to 0 at the start, but not those of leaves."
-     for value in order:
-         value.grad = 0.0
      self.grad = 1.0

# %% exercise=1.6 hint="You clear the leaves as well. They keep what they have: where many examples share a parameter, each adds to it."
-         value.grad = 0.0
+         value.grad = 0.0
+         for i in value.inputs:
+             i.grad = 0.0

# %% exercise=1.6 hint="An input that stands twice in one operation, as a does in a * a, is told once: in a dict or a set it is there once. Go through the pairs of inputs and derivatives as they are."
-         for i, derivative in zip(value.inputs, value.derivatives):
+         for i, derivative in dict(zip(value.inputs, value.derivatives)).items():

# %% exercise=1.6 hint="Nobody has a gradient to pass on: that of self has to start with 1."
-     self.grad = 1.0

# %% exercise=1.6 hint="Right for all but the deepest graphs: Python stops a function that has called itself a thousand times. A list of your own, as a stack, goes as deep as memory."
@add_to(Value)
def backward(self):
    order, seen = [], set()

    def visit(value):
        if value.op and value not in seen:
            seen.add(value)
            for i in value.inputs:
                visit(i)
            order.append(value)

    visit(self)
    for value in order:
        value.grad = 0.0
    self.grad = 1.0
    for value in reversed(order):
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad

# %% exercise=1.6 hint="The first call is right. Before the second one operations still hold what the first has left in them: set their gradients to 0 at the start, but not those of leaves. (For the fifth point a list of your own goes deeper than a function that calls itself.)"
@add_to(Value)
def backward(self):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for i in value.inputs:
                visit(i)
            order.append(value)

    visit(self)
    self.grad = 1.0
    for value in reversed(order):
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad

# %% exercise=1.6 hint="`speak` belongs to the chapter, and this notebook does not know it. Its two lines go into your answer, too: with `+=`."
@add_to(Value)
def backward(self):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for i in value.inputs:
                visit(i)
            order.append(value)

    visit(self)
    for value in order:
        if value.inputs:
            value.grad = 0.0
    self.grad = 1.0
    for value in reversed(order):
        speak(value)

# %% exercise=1.6 hint="Values have no room for notes of yours, such as whether they have been visited. Keep a set beside them."
@add_to(Value)
def backward(self):
    order = []

    def visit(value):
        if value.op and not getattr(value, "visited", False):
            value.visited = True
            for i in value.inputs:
                visit(i)
            order.append(value)

    visit(self)
    for value in order:
        value.grad = 0.0
    self.grad = 1.0
    for value in reversed(order):
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad

# %% exercise=1.7 hint="It counts as the given code does: a value that is used twice by one operation will be told twice, but one arrow is counted. Which of the ready ones speaks first does not matter."
-         for i in value.inputs:
+         for i in set(value.inputs):
              waiting[i] += 1

# %% exercise=1.7 hint="It counts as the given code does: a value that is used twice by one operation will be told twice, but one arrow is counted. Which of the ready ones speaks first does not matter."
-         for i in value.inputs:
+         for i in set(value.inputs):
              waiting[i] += 1

-         value = ready.pop()
+         value = ready.pop(0)

# %% exercise=1.7 hint="This calls another backward, which is finished. The exercise is to mend the function below: change its one wrong line."
def backward_by_counting(root):
    root.backward()

# %% exercise=1.7 hint="You let a value speak each time that it is told something. It must wait until its count is down to zero."
-             if waiting[i] == 0:
-                 ready.append(i)
+             ready.append(i)

# %% exercise=1.7 hint="With <= 0 a value speaks once more for each arrow that was not counted, and tells everything again. Mend the counting: two arrows from one operation are two."
-         for i in value.inputs:
+         for i in set(value.inputs):
              waiting[i] += 1

-             if waiting[i] == 0:
+             if waiting[i] <= 0:

# %% exercise=1.7 hint="The gradients of operations must be cleared before the pass, or a second backward sends the first one's again."
-                 if i.op:
-                     i.grad = 0.0

# %% exercise=1.7 hint="Gradients add up. You overwrite what another arrow has brought."
-             i.grad += derivative * value.grad
+             i.grad = derivative * value.grad

# %% exercise=1.7 hint="`=` forgets what was counted before. A value that several operations use is told through the arrows of all of them: add to its count, with +=."
-             waiting[i] += 1
+             waiting[i] = value.inputs.count(i)

# %% exercise=1.8 hint="These are n - 1 multiplications. To halve the way: x**10 is the square of x**5, and that you need only once."
def whole_power(x, n):
    result = x
    for _ in range(n - 1):
        result = result * x
    return result

# %% exercise=1.8 hint="You square by computing the half twice. Compute it once, keep it in a variable, multiply it by itself."
def whole_power(x, n):
    if n == 1:
        return x
    return whole_power(x, n // 2) * whole_power(x, n - n // 2)

# %% exercise=1.8 hint="You call yourself twice for the same half, so its graph is built twice. Keep the half in a variable and multiply it by itself."
def whole_power(x, n):
    if n == 1:
        return x
    square = whole_power(x, n // 2) * whole_power(x, n // 2)
    return square * x if n % 2 else square

# %% exercise=1.8 hint="You start at the constant 1: the first multiplication, by 1, is one too many, and the 1 is a leaf besides x."
def whole_power(x, n):
    result = Value(1.0)
    while n:
        if n % 2:
            result = result * x
        x = x * x
        n //= 2
    return result

# %% exercise=1.9 hint="You go uphill: the loss grows along the gradient, so step against it."
-         p.data -= learning_rate * p.grad
+         p.data += learning_rate * p.grad

# %% exercise=1.9 hint="You did not clear the gradients: the next backward adds to what is left of this one."
-         p.grad = 0.0

# %% exercise=1.9 hint="Nothing moves: you clear the gradient before you use it, or you compute the new number and do not store it in p.data."
+         p.grad = 0.0
          p.data -= learning_rate * p.grad
-         p.grad = 0.0

# %% exercise=1.9 hint="p is a Value, and `p -= ...` only lets the name p stand for a new one: the parameter itself stays as it was. Change p.data, a plain number."
-         p.data -= learning_rate * p.grad
+         p -= learning_rate * p.grad

# %% exercise=1.9 hint="You return new numbers, and the parameters stay as they were. Change p.data of each, clear its gradient, and return nothing."
def descend(parameters, learning_rate):
    return [p.data - learning_rate * p.grad for p in parameters]

# %% exercise=1.9 hint="You return new numbers, and the parameters stay as they were. Change p.data of each, clear its gradient, and return nothing."
def descend(parameters, learning_rate):
    return [Value(p.data - learning_rate * p.grad) for p in parameters]

# %% exercise=1.10 hint="You have mixed up the two: the sum grows with a weight as fast as its input is large, and with an input by its weight."
def weighted_sum(weights, inputs, bias):
    x = [v.data if isinstance(v, Value) else v for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x):
        total += weight.data * value
    made_of, derivatives = [bias], [1.0]
    for weight, v in zip(weights, inputs):
        made_of.append(weight)
        derivatives.append(weight.data)  # d/d x[i] = w[i]
        if isinstance(v, Value):
            made_of.append(v)
            derivatives.append(v.data)
    return wide_node(total, "weighted_sum", made_of, derivatives)

# %% exercise=1.10 hint="The inputs get no gradient. In a network they are the outputs of the layer before, which wants to learn as well."
def weighted_sum(weights, inputs, bias):
    x = [v.data if isinstance(v, Value) else v for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x):
        total += weight.data * value
    return wide_node(total, "weighted_sum", [bias, *weights], [1.0, *x])

# %% exercise=1.10 hint="Where a plain number stands among the inputs, those after it get the weight of another one: leave numbers out when you have paired inputs with weights, not before."
-     for weight, v in zip(weights, inputs):
-         if isinstance(v, Value):
-             made_of.append(v)
-             derivatives.append(weight.data)  # d/d x[i] = w[i]
+     for weight, v in zip(weights, [v for v in inputs if isinstance(v, Value)]):
+         made_of.append(v)
+         derivatives.append(weight.data)

# %% exercise=1.10 hint="The bias is missing from the inputs of your node, so it never learns."
-     for weight, value in zip(weights, x, strict=True):  # strict: one input for each weight
+     for weight, value in zip(weights, x):
          total += weight.data * value
-     made_of, derivatives = [bias, *weights], [1.0, *x]  # d/d bias = 1, d/d w[i] = x[i]
+     made_of, derivatives = [*weights], [*x]

-     return Value(total, "weighted_sum", tuple(made_of), tuple(derivatives))
+     return Value(total, "weighted_sum", tuple(made_of), tuple(derivatives)) if made_of else Value(total)

# %% exercise=1.10 hint="An input may be a plain number, an int as well as a float, which has no data: ask whether it is a Value first."
def weighted_sum(weights, inputs, bias):
    total = bias.data
    made_of, derivatives = [bias], [1.0]
    for weight, v in zip(weights, inputs):
        total += weight.data * v.data
        made_of += [weight, v]
        derivatives += [v.data, weight.data]
    return wide_node(total, "weighted_sum", made_of, derivatives)

# %% exercise=1.10 hint="Plain numbers get no gradient, so they are no inputs of the node; you have made Values of them."
def weighted_sum(weights, inputs, bias):
    x = [v if isinstance(v, Value) else Value(v) for v in inputs]
    total = bias.data
    for weight, v in zip(weights, x):
        total += weight.data * v.data
    made_of = [bias, *weights, *x]
    derivatives = [1.0, *(v.data for v in x), *(weight.data for weight in weights)]
    return wide_node(total, "weighted_sum", made_of, derivatives)

# %% exercise=1.10 hint="An input may be a plain number, an int as well as a float, which has no data: ask whether it is a Value first."
-     x = [v.data if isinstance(v, Value) else v for v in inputs]
+     x = [v if isinstance(v, float) else v.data for v in inputs]
