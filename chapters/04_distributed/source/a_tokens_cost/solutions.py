"""The solutions of lesson 04_distributed/13_a_tokens_cost. Written by `labkit build` from

chapters/04_distributed/source/a_tokens_cost/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def step_flops(past, new, weights, layers, queries):
    """Tokens read before [N]; new ones in each; weights; layers; numbers in a query -> FLOPs [N]."""
    matrices = 2 * new * weights
    attention = 4 * new * (past + new) * queries * layers
    return matrices + attention


def softmax(scores):
    powers = np.exp(scores - scores.max())  # the largest is e^0, so nothing overflows
    return powers / powers.sum()


def attend_one(q, k, v, keys, values):
    """New q [H,W], k and v [K,W]; cached keys, values [P,K,W] -> [H,W], keys, values [P+1,K,W]."""
    # H query heads, K heads of keys, each W wide; P tokens are in the cache
    mixed = np.zeros_like(q)
    keys = np.concatenate([keys, k[None]])  # one more token, the last
    values = np.concatenate([values, v[None]])
    group = len(q) // len(k)  # so many query heads share one head of keys
    for h in range(len(q)):
        weights = softmax(keys[:, h // group] @ q[h] / np.sqrt(q.shape[1]))
        mixed[h] = weights @ values[:, h // group]
    return mixed, keys, values


def decode_seconds(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    """Tokens read before [N]; sizes; bytes of a number; FLOP/s; B/s -> seconds."""
    flops = step_flops(past, 1, weights, layers, heads * head_width).sum()
    token = 2 * layers * kv_heads * head_width * size  # bytes of its keys and values
    moved = weights * size + (past + 2).sum() * token
    return max(flops / peak, moved / bandwidth)


SOLUTIONS = {
    "distributed.step_flops": step_flops,
    "distributed.attend_one": attend_one,
    "distributed.decode_seconds": decode_seconds,
}
