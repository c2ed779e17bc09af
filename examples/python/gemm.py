#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm.py [host|cuda]: multiplies two NumPy matrices on the host device, or two torch matrices on
the first GPU."""
import sys

import tilewright as tw


def operands(kind):
    if kind == "cuda":
        import torch
        a, b = (torch.randn(256, 256, device="cuda").bfloat16() for _ in range(2))
        d = torch.empty(256, 256, device="cuda")
        torch.cuda.synchronize()  # this program's stream does not wait for torch's
        return a, b, d, lambda: float((d - a.float() @ b.float()).abs().max())
    import numpy
    a, b = (numpy.random.rand(60, 60).astype(numpy.float16) for _ in range(2))
    d = numpy.empty((60, 60), numpy.float32)
    return a, b, d, lambda: float(abs(d - a.astype(d.dtype) @ b.astype(d.dtype)).max())


kind = sys.argv[1] if len(sys.argv) > 1 else "host"
device = tw.Device(kind)
a, b, d, error = operands(kind)
plan = device.gemm(a, b, out=d)
with device.stream() as stream:
    plan.run(stream)
    stream.synchronize()
print(plan.explain())
print("largest error:", error())
sys.exit(error() > 1e-2)
