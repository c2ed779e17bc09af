#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A decode step of an inference engine, in bf16: out = gelu(x up + bias) down + x, where x are the
embeddings of some tokens. Finally it stores the rows of out in slots of a cache.

    decode.py [cuda]

Writes the bytes of the cache and of out to stdout. Needs no other package on the CPU, and torch on
a GPU."""
import math
import struct
import sys
from array import array

import tilewright as tw

try:
    import torch
except ImportError:
    torch = None

WORDS, HIDDEN, INNER, TOKENS, SLOTS = 32, 16, 48, 4, 8
CUDA = sys.argv[1:] == ["cuda"]


def numbers(seed, *shape):
    """Multiples of 1/8 from -1 to 1, which are exact in bf16, the upper half of an f32."""
    return bf16([((7 * i + seed) % 17 - 8) / 8 for i in range(math.prod(shape))], shape)


def bf16(values, shape):
    if CUDA:
        return torch.tensor(values, device="cuda").bfloat16().view(shape)
    bits = array("H", (struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values))
    return tw.Typed(bits, tw.DTYPE_BF16, shape)


def indices(*values):
    if CUDA:
        return torch.tensor(values, device="cuda", dtype=torch.int32)
    return array("i", values)


def memory(matrix):
    if CUDA:
        return matrix.view(torch.int16).cpu().numpy().tobytes()
    return matrix.source.tobytes()


def decode(device):
    table, up, bias = numbers(0, WORDS, HIDDEN), numbers(3, HIDDEN, INNER), numbers(5, INNER)
    down = numbers(11, INNER, HIDDEN)
    tokens, slots = indices(7, 18, 29, 7), indices(5, 0, 3, 6)
    x, inner, out, cache = (bf16([0.0] * math.prod(shape), shape) for shape in
                            ((TOKENS, HIDDEN), (TOKENS, INNER), (TOKENS, HIDDEN), (SLOTS, HIDDEN)))
    if CUDA:
        torch.cuda.synchronize()  # this program's stream does not wait for torch's
    # Plans are made once; running them only launches kernels, in the order of the stream.
    plans = [device.gather(table, tokens, out=x),
             device.gemm(x, up, out=inner, bias=bias, activation=tw.ACTIVATION_GELU),
             device.gemm(inner, down, out=out, beta=1.0, c=x),
             device.scatter(out, slots, out=cache)]
    with device.stream() as stream:
        for plan in plans:
            plan.run(stream)
        stream.synchronize()
    return memory(cache) + memory(out)


if __name__ == "__main__":
    if CUDA and not torch:
        print("skipped: there is no torch", file=sys.stderr)
        sys.exit(77)
    sys.stdout.buffer.write(decode(tw.Device("cuda" if CUDA else "host")))
