#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decode_check.py FILE: checks the bytes that a decode example wrote, by an independent computation.

Element i of an operand is ((7 i + seed) mod 17 - 8) / 8. Exit code 0 if every number is close enough: the library
accumulates in f32 in its own order, and rounds to bf16 after each product."""
import math
import pathlib
import struct
import sys

WORDS, HIDDEN, INNER, TOKENS, SLOTS = 32, 16, 48, (7, 18, 29, 7), (5, 0, 3, 6)


def operand(seed, rows, columns):
    return [[((7 * (i * columns + j) + seed) % 17 - 8) / 8 for j in range(columns)] for i in range(rows)]


def rounded(value):
    """Rounds to bf16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7FFF + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def gelu(x):
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))


def expected():
    """The rows of the cache, followed by those of the output."""
    table, (bias,) = operand(0, WORDS, HIDDEN), operand(5, 1, INNER)
    x = [table[token] for token in TOKENS]
    inner = [[rounded(gelu(value + add)) for value, add in zip(row, bias)]
             for row in product(x, operand(3, HIDDEN, INNER))]
    out = [[rounded(value + add) for value, add in zip(row, residual)]
           for row, residual in zip(product(inner, operand(11, INNER, HIDDEN)), x)]
    cache = [[0.0] * HIDDEN for _ in range(8)]
    for slot, row in zip(SLOTS, out):
        cache[slot] = row
    return cache + out


def main():
    data = pathlib.Path(sys.argv[1]).read_bytes()
    wanted = [value for row in expected() for value in row]
    if len(data) != 2 * len(wanted):
        sys.exit(f"{len(data)} bytes and not {2 * len(wanted)}")
    given = [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    wrong = [(i, *both) for i, both in enumerate(zip(given, wanted))
             if not abs(both[0] - both[1]) <= 2**-6 * abs(both[1]) + 2**-5 * (both[1] != 0)]
    if wrong:
        sys.exit("number %d is %g and not %g" % wrong[0] + f"; {len(wrong)} are wrong")
    print(f"{len(wanted)} numbers are right, the largest {max(map(abs, wanted)):g}")


if __name__ == "__main__":
    main()
