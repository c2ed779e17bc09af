# SPDX-License-Identifier: Apache-2.0
"""Draws grouped products by seed: a layer of a model, a number of tokens, and their routing."""
import bisect
import itertools
import math
import random

# name: experts, experts per token, hidden size, intermediate size.
MODELS = {
    "Mixtral-8x7B": (8, 2, 4096, 14336), "Llama-4-Scout": (16, 1, 5120, 8192), "gpt-oss-20b": (32, 4, 2880, 2880),
    "gpt-oss-120b": (128, 4, 2880, 2880), "Qwen3-30B-A3B": (128, 8, 2048, 768), "Qwen3-235B": (128, 8, 4096, 1536),
    "GLM-4.5-Air": (128, 8, 4096, 1408), "DeepSeek-V3": (256, 8, 7168, 2048), "Kimi-K2": (384, 8, 7168, 2048),
    "Qwen3-Next": (512, 10, 2048, 512),
}
ROUTINGS = ("uniform", "zipf", "hot", "empty")
MOST_TOKENS = 16384


class Shape:
    """Group i has rows[i] rows and its own n x k weights."""

    def __init__(self, name, rows, n, k):
        self.name, self.rows, self.n, self.k = name, rows, n, k

    @property
    def total(self):
        return sum(self.rows)

    @property
    def used(self):
        return [rows for rows in self.rows if rows]

    @property
    def mean(self):
        return self.total / max(1, len(self.used))

    @property
    def weight_bytes(self):
        return len(self.used) * self.n * self.k * 2

    @property
    def bytes(self):
        """The fewest bytes that a 16-bit product moves."""
        return self.weight_bytes + 2 * self.total * (self.n + self.k)

    @property
    def flops(self):
        return 2 * self.total * self.n * self.k

    @property
    def size_class(self):
        if self.mean >= 128:
            return "128 to 1,024 rows" if self.mean <= 1024 else "more rows"
        return "few rows, 100 MB" if self.weight_bytes >= 100e6 else "few rows, less"


def routed(rng, experts, pairs, routing):
    """The number of rows of each expert, `pairs` in all."""
    order = list(range(experts))
    rng.shuffle(order)
    if routing == "zipf":
        weights = [1 / (1 + rank) for rank in range(experts)]
    elif routing == "hot":
        weights = [experts - 1.0 if rank == 0 else 1.0 for rank in range(experts)] if experts > 1 else [1.0]
    elif routing == "empty":
        weights = [1.0 if rank < max(1, experts // 8) else 0.0 for rank in range(experts)]
    else:
        weights = [1.0] * experts
    ends = list(itertools.accumulate(weights))
    rows = [0] * experts
    for _ in range(pairs):
        rows[order[min(bisect.bisect_right(ends, rng.random() * ends[-1]), experts - 1)]] += 1
    return rows


def draw(seed, count):
    rng = random.Random(seed)
    shapes = []
    while len(shapes) < count:
        model = rng.choice(list(MODELS))
        experts, top_k, hidden, inner = MODELS[model]
        tokens = round(math.exp(rng.uniform(0, math.log(MOST_TOKENS))))
        parallel = rng.choice([p for p in (1, 8, 32) if experts % p == 0])
        routing = rng.choice(ROUTINGS)
        up = rng.random() < 0.5
        rows = routed(rng, experts // parallel, tokens * top_k, routing)
        name = f"{model} T={tokens} 1/{parallel} {routing} {'up' if up else 'down'}"
        shapes.append(Shape(name, rows, *((2 * inner, hidden) if up else (hidden, inner))))
    return shapes
