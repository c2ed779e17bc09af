# SPDX-License-Identifier: Apache-2.0
"""Draws copies, gathers and scatters by seed. The figures are judged by these draws: they must not change.

A copy has 2 to 4 dimensions and 64 MB to 1 GB. In half of them the source's dimensions lie in another order than the
destination's; in half its lines have a pitch; in half the operands begin off a multiple of 16 bytes. A row operation
moves 64 to 512 MB in rows of 32 bytes to 16 KB out of a table with four times as many rows.
"""
import dataclasses
import math
import random

TYPES = {"uint8": 1, "bfloat16": 2, "float32": 4, "int64": 8}


@dataclasses.dataclass
class Copy:
    type: str
    shape: tuple      # of the destination, slowest first; it is packed
    order: tuple      # the destination's dimensions in the order in which the source has them, slowest first
    padding: int      # elements after each line of the source
    offsets: tuple    # elements before source and destination

    @property
    def name(self):
        return (f"copy {self.type} {'x'.join(map(str, self.shape))} order {''.join(map(str, self.order))} "
                f"padding {self.padding} offsets {self.offsets[0]},{self.offsets[1]}")

    @property
    def moved(self):
        return math.prod(self.shape) * TYPES[self.type]


@dataclasses.dataclass
class Rows:
    operation: str    # gather or scatter
    type: str
    columns: int
    count: int
    padding: int      # elements after each row of the table
    offsets: tuple    # elements before table and packed rows

    @property
    def name(self):
        return (f"{self.operation} {self.type} {self.count} rows of {self.columns} padding {self.padding} "
                f"offsets {self.offsets[0]},{self.offsets[1]}")

    @property
    def moved(self):
        return self.columns * self.count * TYPES[self.type]


def log_uniform(rng, least, most):
    return math.exp(rng.uniform(math.log(least), math.log(most)))


def offsets_of(rng):
    return tuple(rng.randrange(1, 16) for _ in range(2)) if rng.random() < 0.5 else (0, 0)


def draw_copy(rng):
    kind = rng.choice(list(TYPES))
    elements = log_uniform(rng, 64e6, 1e9) / TYPES[kind]
    rank = rng.randint(2, 4)
    cuts = sorted(rng.random() for _ in range(rank - 1))
    shares = [b - a for a, b in zip([0, *cuts], [*cuts, 1])]
    shape = [max(2, round(elements ** share)) for share in shares]
    longest = shape.index(max(shape))  # takes what rounding has left of the size
    rest = math.prod(shape) // shape[longest]
    shape[longest] = max(2, math.ceil(max(64e6 / TYPES[kind], elements) / rest))
    order = list(range(rank))
    if rng.random() < 0.5:
        rng.shuffle(order)
    padding = rng.randint(1, 64) if rng.random() < 0.5 else 0
    return Copy(kind, tuple(shape), tuple(order), padding, offsets_of(rng))


def draw_rows(rng):
    kind = rng.choice(list(TYPES))
    columns = max(1, round(log_uniform(rng, 32, 16384) / TYPES[kind]))
    if rng.random() < 0.5:  # whole 16 bytes
        columns = math.ceil(columns * TYPES[kind] / 16) * 16 // TYPES[kind]
    count = math.ceil(log_uniform(rng, 64e6, 512e6) / (columns * TYPES[kind]))
    padding = rng.randint(1, 64) if rng.random() < 0.5 else 0
    return Rows(rng.choice(["gather", "scatter"]), kind, columns, count, padding, offsets_of(rng))


def draw(seed, count):
    """`count` copies and `count` row operations."""
    rng = random.Random(seed)
    return [draw_copy(rng) for _ in range(count)] + [draw_rows(rng) for _ in range(count)]
