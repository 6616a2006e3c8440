"""Plausible wrong answers to the exercises of chapter 01, each with the hint that it earns."""

# %% exercise=1.1 hint="You nudge to one side only. Evaluate at x + h and at x - h; the bends on the two sides cancel."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return (f(x + h) - f(x)) / h

# %% exercise=1.1 hint="Your two points are 2h apart, but you divide by h: the slope comes out twice as steep."
-     return (f(x + h) - f(x - h)) / (2 * h)
+     return (f(x + h) - f(x - h)) / h

# %% exercise=1.1 hint="You always nudge by the same amount. Use the h that you are given."
+     h = 1e-5
      return (f(x + h) - f(x - h)) / (2 * h)

# %% exercise=1.2 hint="These are the derivatives of a product. If one summand grows by 1, the sum grows by 1, whatever the other one is."
-     return node(self.data + other.data, "+", self, 1.0, other, 1.0)  # d(a + b)/da = d(a + b)/db = 1
+     return node(self.data + other.data, "+", self, other.data, other, self.data)

# %% exercise=1.2 hint="Your sum is a leaf: it has forgotten what it was made of, so no gradient can get past it. Make it with node(...)."
-     return node(self.data + other.data, "+", self, 1.0, other, 1.0)  # d(a + b)/da = d(a + b)/db = 1
+     return Value(self.data + other.data)

# %% exercise=1.2 hint="Only the left operand hears of its gradient. Give node the right one and its derivative, too."
-     return node(self.data + other.data, "+", self, 1.0, other, 1.0)  # d(a + b)/da = d(a + b)/db = 1
+     return node(self.data + other.data, "+", self, 1.0)

# %% exercise=1.2 hint="You changed the left operand instead of making a new value. Others may still need the old number."
-     return node(self.data + other.data, "+", self, 1.0, other, 1.0)  # d(a + b)/da = d(a + b)/db = 1
+     self.data += other.data
+     return node(self.data, "+", self, 1.0, other, 1.0)

# %% exercise=1.2 hint="The right operand may be a plain number, which has no data. Make a Value of it first, as __mul__ does."
-     if not isinstance(other, Value):
-         other = Value(other)

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

# %% exercise=1.4 hint="Your derivative uses x where it needs tanh(x): 1 - x^2 is right only near 0."
@add_to(Value)
def tanh(self):
    return node(math.tanh(self.data), "tanh", self, 1 - self.data**2)

# %% exercise=1.4 hint="You forgot the square: the derivative is 1 - tanh(x)^2."
-     return node(t, "tanh", self, 1 - t * t)  # by the result, which spares a second tanh
+     return node(t, "tanh", self, 1 - t)

# %% exercise=1.4 hint="Your result is a leaf: it has forgotten that it was made of x. Make it with node(...)."
@add_to(Value)
def tanh(self):
    return Value(math.tanh(self.data))

# %% exercise=1.4 hint="The derivative that you hand to node is 0, so no gradient gets through. It is 1 - tanh(x)^2, a number between 0 and 1: int(...) would make 0 of it."
-     return node(t, "tanh", self, 1 - t * t)  # by the result, which spares a second tanh
+     return node(t, "tanh", self, 0)

# %% exercise=1.5 hint="The derivative of e^x is e^x, the result, not x."
-     e = math.exp(self.data)  # its own derivative, so it is worked out once
-     return node(e, "exp", self, e)
+     return node(math.exp(self.data), "exp", self, self.data)

# %% exercise=1.5 hint="The derivative of log x is 1 over x, the input, not 1 over the result."
-     return node(math.log(self.data), "log", self, 1 / self.data)
+     result = math.log(self.data)
+     return node(result, "log", self, 1 / result)

# %% exercise=1.5 hint="The derivative of log x is 1 over x, not x."
-     return node(math.log(self.data), "log", self, 1 / self.data)
+     return node(math.log(self.data), "log", self, self.data)

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
-     return node(math.log(self.data), "log", self, 1 / self.data)
+     return node(math.log10(self.data), "log", self, 1 / self.data)

# %% exercise=1.5 hint="A negative number has no real logarithm. Raise a ValueError rather than take the logarithm of something else."
-     if self.data <= 0:
+     if self.data == 0:
          raise ValueError(f"log: expected a positive number, got {self.data}")
-     return node(math.log(self.data), "log", self, 1 / self.data)
+     return node(math.log(abs(self.data)), "log", self, 1 / self.data)

# %% exercise=1.6 hint="The exponent goes down by one in the derivative: n * x**(n - 1)."
@add_to(Value)
def __pow__(self, other):
    x, n = self.data, other.data if isinstance(other, Value) else number(other)
    if x < 0 and n != math.floor(n):
        raise ValueError(f"power: {x} ** {n} is not a real number")
    if not isinstance(other, Value):
        return node(x**n, f"**{n}", self, n * x**n)
    slope = x**n * math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
    return node(x**n, "**", self, n * x**n, other, slope)


@add_to(Value)
def __rpow__(self, other):
    return Value(other) ** self

# %% exercise=1.6 hint="A Value as exponent has a gradient as well: x**n grows with n by x**n * log(x)."
@add_to(Value)
def __pow__(self, other):
    x, n = self.data, other.data if isinstance(other, Value) else number(other)
    if x < 0 and n != math.floor(n):
        raise ValueError(f"power: {x} ** {n} is not a real number")
    steep = x == 0 and 0 < n < 1  # 0 ** (n - 1) would divide by 0: the tangent is vertical
    slope = math.inf if steep else n * x ** (n - 1) if n else 0.0  # x ** 0 is constant, also at 0
    return node(x**n, "**" if isinstance(other, Value) else f"**{n}", self, slope)


@add_to(Value)
def __rpow__(self, other):
    return Value(other) ** self

# %% exercise=1.6 hint="A negative base with a fractional exponent has no real result; Python gives a complex number. Refuse it with a ValueError."
@add_to(Value)
def __pow__(self, other):
    x, n = self.data, other.data if isinstance(other, Value) else number(other)
    steep = x == 0 and 0 < n < 1  # 0 ** (n - 1) would divide by 0: the tangent is vertical
    slope = math.inf if steep else n * x ** (n - 1) if n else 0.0  # x ** 0 is constant, also at 0
    if not isinstance(other, Value):
        return node(x**n, f"**{n}", self, slope)
    up = x**n * math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
    return node(x**n, "**", self, slope, other, up)


@add_to(Value)
def __rpow__(self, other):
    return Value(other) ** self

# %% exercise=1.6 hint="Look at x = 0 once more: x**0 is flat everywhere, and x**0.5 is infinitely steep there. n * x**(n - 1) divides by zero."
@add_to(Value)
def __pow__(self, other):
    x, n = self.data, other.data if isinstance(other, Value) else number(other)
    if x < 0 and n != math.floor(n):
        raise ValueError(f"power: {x} ** {n} is not a real number")
    slope = n * x ** (n - 1)
    if not isinstance(other, Value):
        return node(x**n, f"**{n}", self, slope)
    up = x**n * math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
    return node(x**n, "**", self, slope, other, up)


@add_to(Value)
def __rpow__(self, other):
    return Value(other) ** self

# %% exercise=1.6 hint="The logarithm of a base that is not positive fails. The slope with respect to n is 0 at x = 0 and math.nan below it."
-         raise ValueError(f"power: {x} ** {n} is not a real number; a negative base needs a whole exponent")
-     power = x**n
+         raise ValueError(f"power: {x} ** {n} is not a real number")

-         return node(power, f"**{n}", self, slope)
-     if x > 0:
-         return node(power, "**", self, slope, other, power * math.log(x))
-     return node(power, "**", self, slope, other, 0.0 if x == 0 else math.nan)
+         return node(x**n, f"**{n}", self, slope)
+     return node(x**n, "**", self, slope, other, x**n * math.log(x))

# %% exercise=1.6 hint="In 2**n the plain number is the base, and self is the exponent: you have swapped them in __rpow__."
@add_to(Value)
def __pow__(self, other):
    x, n = self.data, other.data if isinstance(other, Value) else number(other)
    if x < 0 and n != math.floor(n):
        raise ValueError(f"power: {x} ** {n} is not a real number")
    steep = x == 0 and 0 < n < 1  # 0 ** (n - 1) would divide by 0: the tangent is vertical
    slope = math.inf if steep else n * x ** (n - 1) if n else 0.0  # x ** 0 is constant, also at 0
    if not isinstance(other, Value):
        return node(x**n, f"**{n}", self, slope)
    up = x**n * math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
    return node(x**n, "**", self, slope, other, up)


@add_to(Value)
def __rpow__(self, other):
    return self ** Value(other)

# %% exercise=1.7 hint="This is still the given code. A value that is used twice by one operation will be told twice, but you count one arrow."
def backward_by_counting(root):
    counting_with_a_bug(root)

# %% exercise=1.7 hint="This calls the engine's own backward, which is finished. The exercise is to mend the function below: copy it, and change its one wrong line."
def backward_by_counting(root):
    root.backward()

# %% exercise=1.7 hint="You let a value speak each time that it is told something. It must wait until its count is down to zero."
-     waiting: Counter[Value] = Counter()

-         value = stack.pop()
-         for i in value.inputs:
-             waiting[i] += 1
+         for i in stack.pop().inputs:

-             waiting[i] -= 1
-             if waiting[i] == 0:
-                 ready.append(i)
+             ready.append(i)

# %% exercise=1.7 hint="The gradients of operations must be cleared before the pass, or a second backward sends the first one's again."
-         value = stack.pop()
-         for i in value.inputs:
+         for i in stack.pop().inputs:

-                 if i.op:
-                     i.grad = 0.0

# %% exercise=1.7 hint="Gradients add up. You overwrite what another arrow has brought."
-         value = stack.pop()
-         for i in value.inputs:
+         for i in stack.pop().inputs:

-             i.grad += derivative * value.grad
+             i.grad = derivative * value.grad

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

# %% exercise=1.10 hint="You have mixed up the two: the sum grows with a weight as fast as its input is large, and with an input by its weight."
def weighted_sum(weights, inputs, bias):
    x = [v.data if isinstance(v, Value) else number(v) for v in inputs]
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
    x = [v.data if isinstance(v, Value) else number(v) for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x):
        total += weight.data * value
    return wide_node(total, "weighted_sum", [bias, *weights], [1.0, *x])

# %% exercise=1.10 hint="The bias is missing from the inputs of your node, so it never learns."
-     for weight, value in zip(weights, x, strict=True):  # strict: one input for each weight
+     for weight, value in zip(weights, x):
          total += weight.data * value
-     made_of, derivatives = [bias, *weights], [1.0, *x]  # d/d bias = 1, d/d w[i] = x[i]
+     made_of, derivatives = [*weights], [*x]

-     return wide_node(total, "weighted_sum", made_of, derivatives)
+     return wide_node(total, "weighted_sum", made_of, derivatives) if made_of else Value(total)

# %% exercise=1.10 hint="An input may be a plain number, which has no data. Look which of the two it is before you ask."
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
