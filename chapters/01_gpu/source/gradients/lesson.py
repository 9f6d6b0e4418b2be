# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   labkit:
#     title: Gradients
#     number: 1
#     minutes: 55
#     needs: [torch]
#     able: derive and write the gradients of a layer, test any gradient by nudging, and say what all of a network's slopes cost
#     runs_on: any CPU
# ---

# %% [markdown]
# # Gradients
#
# **545,098 numbers, and each must move the right way.**
# <!-- holds: parameters == 545_098 -->
# The network of this course tells ten kinds of photographs apart.
# It learned to do so by moving its 545,098 **weights** and **biases** a little at a time.
# How does one find out which way to move each of them, and what does that cost?
# It takes sums of products, which accelerators are built for; we first write them on a CPU.
#
# ## What you will be able to do
#
# - turn the formula of a layer into code that goes backwards;
# - test a gradient, your own or anybody's, by nudging;
# - say what all the slopes of a network cost, however many weights it has.
#
# You need Python with NumPy, matrix products, and the chain rule.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## A first line
#
# A fully connected layer is made of one small sum.
# For one output, each number of the input, a **feature**, is multiplied by a weight of its own, and the products and a bias are added up:
#
# ```
# features x     1      2      3
# weights w      0.5   -1      2
# products       0.5   -2      6       their sum is 4.5
# bias b         0.25                  the output is 4.75
# ```
#
# **Exercise `gpu.one_output`**: this output, for any features, weights and bias, in one line.
# In this lesson's exercises, use Python and NumPy alone, and not labkit's own functions.
# Write it in place of `None`, and run the cell: `check` says **Right**, or what is wrong.
# For help, run `hint("gpu.one_output")` in a new cell, then `hint("gpu.one_output", 2)`.


# %% tags=["exercise:gpu.one_output"]
import numpy as np

from labkit import check, figures, hint, predict, quiz


def one_output(x, w, b):
    """features x [D], weights w [D], bias b  ->  one number"""
    # STUB:
    # y = None
    # BEGIN SOLUTION
    y = np.sum(x * w) + b
    # END SOLUTION
    return y


one_output = check("gpu.one_output", one_output)

# %% [markdown]
# ## Predict
#
# One number, the **loss**, tells how wrong the network is.
# The **slope** of a weight says how fast the loss rises when this weight grows, and all slopes together are the **gradient**.
# There are two ways to get it:
#
# - **nudging**: add a tiny number to one weight, run the network, and look at the loss; subtract it instead, and run again.
#   These are two runs for each weight, $2 \cdot 545{,}098 = 1{,}090{,}196$ in all;
# - **the chain rule**: run the network once, then go backwards through its layers.
#
# Guess two numbers in place of `None`.
#
# 1. A training step by the chain rule runs the network, goes backwards, and moves all weights.
#    How many runs of the network alone would take as much arithmetic?
# 2. Python's numbers have about 16 digits.
#    At $x = 3$, the slope of $x^4$ is $4 \cdot 3^3 = 108$.
#    If you try the nudges 0.1, 0.01, 0.001 and so on, how many digits of the slope come out right with the best one?

# %%
# STUB:
# step_guess = predict("gpu.gradient_cost", None, "runs")
# digits_guess = predict("gpu.nudge_digits", None, "digits")
# BEGIN SOLUTION
step_guess = predict("gpu.gradient_cost", 20, "runs")
digits_guess = predict("gpu.nudge_digits", 15, "digits")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### One weight at a time
#
# Take two images with three features each, and a layer with two outputs.
# Suppose we know `dy`: how fast the loss rises with each output of each image (a mean's $1/N$ is already in it).
#
# ```
#            features x         dy
# image 0    1    2    3        0.5   -1
# image 1    4    0   -1       -1      2
# ```
#
# Which slope has the weight that multiplies feature 2 for output 0?
#
# - In image 0 it multiplies a 3, so the output grows 3 times as fast as the weight, and the loss $3 \cdot 0.5 = 1.5$ times as fast.
# - In image 1 it multiplies a $-1$, and `dy` is $-1$, so the loss grows $(-1) \cdot (-1) = 1$ times as fast.
#
# Both images use the same weight, so its slope is $1.5 + 1 = 2.5$.
# The first picture shows this sum, the second one the slope of a feature: it goes into both outputs, so its sum runs over them.

# %% tags=["picture"]
from labkit_lessons.gpu.gradients import gradient_pictures

x = np.array([[1, 2, 3], [4, 0, -1]])  # [N, D]: 2 images, 3 features
dy = np.array([[0.5, -1], [-1, 2]])  # [N, K]: 2 images, 2 outputs
w = np.array([[0.5, -1, 2], [1, 0, 3]])  # [K, D]
gradient_pictures.weight_sum(dy, x, k=0, d=2)
gradient_pictures.input_sum(dy, w, n=0, d=2)

# %% [markdown]
# ### All of them at once
#
# Now with letters, for $N$ images, $D$ features and $K$ outputs.
# Output $k$ of image $n$ is $a_{nk}$, which is `one_output(x[n], w[k], b[k])`.
# Every image has a loss $\ell_n$, and $L$ is their mean:
#
# $$a_{nk} = b_k + \sum_d w_{kd}\, x_{nd} \qquad\qquad L = \frac1N \sum_n \ell_n \qquad\qquad
# \mathrm{dy}_{nk} = \frac{\partial L}{\partial a_{nk}} = \frac1N \frac{\partial \ell_n}{\partial a_{nk}}$$
#
# **The 1/N is inside `dy`, once and for all.**
# Then the sums of the two pictures, and a third one for the bias, are
#
# $$\mathrm{dw}_{kd} = \sum_n \mathrm{dy}_{nk}\, x_{nd} \qquad\qquad
# \mathrm{dx}_{nd} = \sum_k \mathrm{dy}_{nk}\, w_{kd} \qquad\qquad \mathrm{db}_k = \sum_n \mathrm{dy}_{nk}$$
#
# A sum over a letter that two matrices share is a matrix product, `@`.
# That letter has to stand in the middle, `[K, N] @ [N, D]`, and `.T` brings it there.
#
# **Exercise `gpu.linear_backward`**: the three gradients.
# From here on, return NumPy arrays, in the dtype of the inputs.
#
# `check` hands on your function if it is right, and ours as long as it is not, so every cell below runs.
# If a cell hangs, press the stop button.


# %% tags=["exercise:gpu.linear_backward"]
def linear_backward(dy, x, w):
    """dy [N, K], x [N, D], w [K, D]  ->  dx [N, D], dw [K, D], db [K], all float64"""
    # STUB:
    # dx = None
    # dw = None
    # db = None
    # BEGIN SOLUTION
    dx = dy @ w  # [N, K] @ [K, D]: the sum over k
    dw = dy.T @ x  # [K, N] @ [N, D]: the sum over n
    db = dy.sum(axis=0)  # [K]
    # END SOLUTION
    return dx, dw, db


linear_backward = check("gpu.linear_backward", linear_backward)

# %% [markdown]
# ### A test that needs no answer
#
# `check` compared you with our code, but who checks ours?
# A slope says how far the loss moves, so move it and look.
# For $x^4$ at 3 and a nudge of 0.01:
#
# $$\frac{3.01^4 - 2.99^4}{2 \cdot 0.01} = \frac{82.085412 - 79.925388}{0.02} = 108.0012$$
#
# The slope is 108, so the nudge is off by only 0.0012.
# `gradcheck(f, inputs, gradients, dy)` nudges every number of the inputs by a millionth both ways, and compares what the loss does with the gradients that it was given.
# As loss it takes the outputs times `dy`, added up.
# `None` in place of a gradient leaves it out.
#
# ### <a id="C02"></a>C02 on trial
#
# > dL/dW = 1/N * sum_i x_i * dl_i/da_i
#
# The course puts statements that many articles repeat on trial.
# In this one, i counts the images, and the shapes are left open.
# So we run it as it stands, with 5 images, 4 features and 3 outputs; `dl[n, k]` is $\partial \ell_n / \partial a_{nk}$, and `dy` is `dl / N`.
# Then we nudge three answers: the claim with an outer product (each output's slope times each feature), yours, and one that divides by $N$ twice.

# %%
from labkit.reference import gradcheck, linear

rng = np.random.default_rng(0)
N, D, K = 5, 4, 3
x, w, b = rng.normal(size=(N, D)), rng.normal(size=(K, D)), rng.normal(size=K)
dl = rng.normal(size=(N, K))
try:
    dw = 1 / N * sum(x[i] * dl[i] for i in range(N))
except ValueError as error:
    print("As printed:", error)

outer = 1 / N * sum(np.outer(dl[i], x[i]) for i in range(N))  # [K, D]
dx, dw, db = linear_backward(dl / N, x, w)
inputs = [x, w, b]
rows = [
    ["the claim, with an outer product", gradcheck(linear, inputs, [None, outer, None], dl / N).ok],
    ["yours", gradcheck(linear, inputs, [dx, dw, db], dl / N).ok],
    ["divided by N twice", gradcheck(linear, inputs, [None, dw / N, None], dl / N).ok],
]
figures.table(["gradient", "fits the nudges"], rows)

# %% [markdown]
# **Verdict on C02: holds if the product is an outer product.**
# <!-- holds: [row[1] for row in rows] == [True, True, False] -->
# Each $x_i$ and $\mathrm{d}\ell_i/\mathrm{d}a_i$ together give a whole matrix, `[K, D]`; an element-wise product of 4 features and 3 outputs does not even fit.
#
# ### A gate on the way back
#
# Between two such layers stands a ReLU, $y = \max(x, 0)$: a gate that is open where x is positive.
# Behind an open gate y moves exactly as x does, so `dx` is `dy`, whatever the sign of `dy`.
# Behind a closed one y is 0 and stays 0, so nothing comes back.
# If x is exactly 0, we take the gate as closed, as PyTorch does.
#
# ```
# x     -2     3     0     5
# y      0     3     0     5
# dy     0.5  -1     2     0.1
# dx     0    -1     0     0.1
# ```
#
# **Exercise `gpu.relu_backward`**: `dx`, from `dy` and `x` of the same shape.


# %% tags=["exercise:gpu.relu_backward"]
def relu_backward(dy, x):
    """dy [N, K], x [N, K]  ->  dx [N, K]"""
    # STUB:
    # dx = None
    # BEGIN SOLUTION
    dx = np.where(x > 0, dy, 0)
    # END SOLUTION
    return dx


relu_backward = check("gpu.relu_backward", relu_backward)

# %% [markdown]
# ## Check
#
# These two functions go backwards through the end of the real network.
# There, a layer `fc1` makes 128 numbers of 4,096 features, a ReLU follows, and a layer `fc2` makes ten **scores**, one for each kind of photograph.
# From the scores comes the loss, and its backward function makes the first `dy`, with the 1/N inside.
# Then each layer hands its `dx` to the layer before it, which takes it as `dy`.
#
# The weights were trained on other photographs of [CIFAR-10](https://www.cs.toronto.edu/~kriz/cifar.html) than these 64.

# %%
import torch

from labkit import convnet, datasets
from labkit.reference import relu, softmax_cross_entropy_backward

weights = convnet.load_weights()
photographs = datasets.cifar10("sample").test
images, labels = convnet.normalise(photographs.images[:64]), photographs.labels[:64]
features = convnet.activations(weights, images)["flat"]  # [64, 4096]
w1, b1, w2, b2 = [weights[name] for name in ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")]

a = linear(features, w1, b1)  # forwards: [64, 128]
h = relu(a)
scores = linear(h, w2, b2)  # [64, 10]

dscores = softmax_cross_entropy_backward(scores, labels)  # backwards
dh, dw2, db2 = linear_backward(dscores, h, w2)
da = relu_backward(dh, a)
_, dw1, db1 = linear_backward(da, features, w1)

# %% [markdown]
# Does PyTorch find the same slopes in these two layers?
# (The other 19,392 belong to the convolutions, lesson 2.)
# `loss.backward()` leaves them in `.grad`.

# %%
model = convnet.torch_model(weights).double()  # float64, as above
loss = torch.nn.functional.cross_entropy(model(torch.tensor(images).double()), torch.tensor(labels))
loss.backward()
rows = []
for name, yours in {"fc1.weight": dw1, "fc1.bias": db1, "fc2.weight": dw2, "fc2.bias": db2}.items():
    theirs = model.get_parameter(name).grad.numpy()
    rows.append([name, yours.size, np.abs(yours - theirs).max() < 1e-12])
figures.table(["gradient of", "slopes", "all within 1e-12 of PyTorch's"], rows)

# %% [markdown]
# All 525,706 slopes agree.
# <!-- holds: sum(row[1] for row in rows) == 525_706 and all(row[2] for row in rows) -->
#
# ## Measure
#
# Your second guess comes first.
# A nudge of 0.01 gave 108.0012, and $0.0012 / 108$ is about $10^{-5}$: five digits are right.
# The picture shows them for each nudge from 0.1 to $10^{-15}$.


# %% tags=["picture"]
def fourth_power(x):
    return x * x * x * x


nudges = [1 / 10**n for n in range(1, 16)]
slopes = [(fourth_power(3 + e) - fourth_power(3 - e)) / (2 * e) for e in nudges]
digits = [-np.log10(abs(slope - 108) / 108) for slope in slopes]
gradient_pictures.digits_by_nudge(nudges, digits)

# %% [markdown]
# And what does the chain rule cost?
# One addition, multiplication or comparison of two numbers is one **FLOP**, a floating-point operation.
# For a training step of 32 images, `layer_costs` counts them in every layer:
#
# - *forward*: the run;
# - *dW*: the gradients of weights and biases;
# - *dX*: what is handed to the layer before;
# - *update*: the weights move.
#
# Their sum is *the step*, and the last row is nudging; your guesses stand below.

# %% tags=["picture"]
from collections import Counter

from labkit.provenance import counted

flops = Counter()
for layer in convnet.layer_costs(batch=32):
    for operation in layer.operations:
        flops[operation.name] += operation.flops
flops["the step"] = sum(flops.values())
parameters = sum(weight.size for weight in weights.values())
flops["nudging"] = 2 * parameters * flops["forward"]
runs = {name: flops[name] / flops["forward"] for name in flops}
rows = [[name, counted(flops[name], "FLOP", "the layers' shapes"), runs[name]] for name in flops]
figures.table(["part", "arithmetic", "in runs of the network"], rows)
step = counted(runs["the step"], "runs", "the table")
best = counted(max(digits), "digits", "trying 15 nudges")
figures.guesses([("a step", step_guess, step), ("best nudge", digits_guess, best)])

# %% [markdown]
# ## Explain
#
# **A step takes 2.86 runs, not a million.**
# <!-- holds: round(runs["the step"], 2) == 2.86 -->
# Forwards, `x @ w.T` multiplies each weight once for every image; `dw` takes as many products, and so does `dx`.
# In convolutions, lesson 2's subject, it is the same.
# That makes three runs, and a little less: the first layer makes no `dx`, since nobody moves the photograph.
# <!-- holds: runs["dX"] < runs["dW"] < 1 < runs["the step"] < 3 -->
# Nudging needs 1,090,196 runs for the same slopes, about 380,000 times as many.
# <!-- holds: round(2 * parameters / runs["the step"], -4) == 380_000 -->
# <!-- holds: parameters - 525_706 == 19_392 -->
# So we nudge to test small sizes, and train by the chain rule.
#
# **A nudge has two errors, and they pull in opposite directions.**
# A large one leaves the straight line: for $x^4$ at 3, a nudge $\varepsilon$ is off by $12\, \varepsilon^2$.
# <!-- holds: abs(slopes[1] - 108 - 12 * 0.01**2) < 1e-9 -->
# A small one magnifies rounding: 81 is stored to about $10^{-14}$, and a nudge of $10^{-15}$ makes of that an error of $10^{-14} / (2 \cdot 10^{-15}) = 5$ in 108, one part in 20: one digit is left.
# <!-- holds: 1 < digits[14] < 1.5 -->
# The best of these nudges, $10^{-5}$, lies between, with 10.7 of 16 digits.
# <!-- holds: max(digits) == digits[4] and round(max(digits), 1) == 10.7 -->
#
# ## On trial
#
# ### <a id="C23"></a>C23 on trial
#
# > Automatic differentiation derives gradients by symbolic computation
#
# PyTorch found its slopes without a formula from us: did it derive one?
# We build such a machine: each operation writes a row on a **tape**: its value, and its slopes, how fast the value moves with each input.
# For $x \cdot x$ at 3, the value is 9, and it moves 3 times as fast as either factor.
#
# The loop multiplies by x until the *value* reaches 50, so there is no formula beforehand.

# %%
from typing import NamedTuple


class Row(NamedTuple):
    operation: str
    value: float
    slopes: list  # of each input: (its row, how fast the value moves with it)


def multiply(i, j):
    a, b = tape[i].value, tape[j].value
    tape.append(Row(f"v{i} * v{j}", a * b, [(i, b), (j, a)]))


tape = [Row("x", 3.0, [])]
while tape[-1].value < 50:
    multiply(len(tape) - 1, 0)

# %% [markdown]
# Then the tape is read backwards.
# Each row hands its gradient to its inputs, times their slopes; x was used several times, so its shares add up.

# %%
gradient = np.zeros(len(tape))  # how fast the last value moves with that of each row
gradient[-1] = 1
for place in reversed(range(len(tape))):
    for i, slope in tape[place].slopes:
        gradient[i] += gradient[place] * slope
gradient_pictures.table_of_tape(tape, gradient)

# %% [markdown]
# **Verdict on C23: holds if the framework writes a second program, the gradient's, before any number is there.**
# Our machine does not: its tape holds numbers, and the chain rule walks back along them; no formula is derived.
# Nor does PyTorch, which records operations as they run (its documentation: [*Autograd mechanics*](https://docs.pytorch.org/docs/stable/notes/autograd.html)).
# The gradient of x is 108, since the loop happened to compute $x^4$.
# <!-- holds: gradient[0] == 4 * 3**3 == 108 and tape[-1].value == 3**4 -->
#
# Other frameworks do: they trace the program first, and derive the second one from it.
# Theano called this *symbolic differentiation* (Theano 0.8, *Derivatives in Theano*). [`tf.gradients`](https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/gradients) of TensorFlow 1 "constructs symbolic derivatives"; JAX under `jit` traces as well.
#
# ### Outside
#
# In PyTorch, nudging is one call:
#
# ```
# linear = torch.nn.functional.linear
# torch.autograd.gradcheck(linear, (x, w, b))
# ```
#
# It wants float64 tensors with `requires_grad=True`, nudges by a millionth, and returns `True`, or raises an error that shows both slopes.
# We left out the memory of the tape, which keeps every `x`.
#
# ## Recap
#
# - Backwards, a layer hands on slopes, each **a sum over the letter that two arrays share**.
# - **Keep this rule: a training step costs about three runs of the network, one forwards and two backwards, however many weights it has.**
#   <!-- holds: abs(runs["the step"] - 3) < 0.2 -->
# - Test a gradient in float64, with a nudge of $10^{-5}$ or $10^{-6}$.
#   <!-- holds: min(digits[4], digits[5]) > 9.5 -->
#
# ## Quiz
#
# Put a letter, such as `"a"`, in place of each `None`.

# %%
# STUB:
# quiz("gpu.quiz_mean_loss", None)
# quiz("gpu.quiz_ten_times", None)
# quiz("gpu.quiz_closed_gate", None)
# BEGIN SOLUTION
quiz("gpu.quiz_mean_loss", "c")
quiz("gpu.quiz_ten_times", "a")
quiz("gpu.quiz_closed_gate", "b")
# END SOLUTION
