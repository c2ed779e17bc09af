# SPDX-License-Identifier: Apache-2.0
"""Draws products of 8-bit floats by seed: (n, k) of a model's layer, and m of a class."""
import math
import random

FACTORS = (1, 1.25, 2.5, 3.5, 4, 7, 8)
ROWS = {"decode": (1, 256), "prefill": (257, 16384)}


class Shape:
    def __init__(self, kind, m, n, k):
        self.kind, self.m, self.n, self.k = kind, m, n, k

    @property
    def size_class(self):
        return "m <= 64" if self.m <= 64 else "m <= 256" if self.m <= 256 else "m > 256"

    @property
    def bytes(self):
        """The fewest bytes that a product with a 16-bit D moves."""
        return self.m * self.k + self.n * self.k + 2 * self.m * self.n

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k


def rounded(extent, step=128):
    return max(step, round(extent / step) * step)


def log_uniform(rng, low, high):
    return min(high, int(math.exp(rng.uniform(math.log(low), math.log(high + 1)))))


def draw(seed, count, kind):
    """`count` shapes of a class. n and k are multiples of 128, as block scales require."""
    rng = random.Random(f"{seed:x} {kind}")
    shapes = []
    while len(shapes) < count:
        hidden = rng.randrange(1024, 8193, 64)
        if rng.random() < 1 / 8:
            n, k = rng.randint(32000, 152064), hidden
        else:
            n, k = hidden, hidden * rng.choice(FACTORS)
            if rng.random() < 0.5:
                n, k = k, n
        shapes.append(Shape(kind, log_uniform(rng, *ROWS[kind]), rounded(n), rounded(k)))
    return shapes
