#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch as the peer of bench_elementwise on the same GPU: prints a JSON object per line, with
bench_elementwise's case names. The L2 is flushed before each repetition by reading 256 MB."""
import json
import sys

import torch

REPEATS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
SIDE = 16384
flush_buffer = torch.empty(64 << 20, device="cuda", dtype=torch.int32).random_()


def median_us(call):
    call()
    times = []
    for _ in range(REPEATS):
        flush_buffer.sum()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return sorted(times)[len(times) // 2]


def report(case, peer, moved, call):
    us = median_us(call)
    print(json.dumps({"case": case, "peer": peer, "bytes": moved, "us": round(us, 2),
                      "gbs": round(moved / us * 1e-3)}), flush=True)


def random(dtype, rows=SIDE, columns=SIDE):
    if dtype.is_floating_point:
        return torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16).normal_().to(dtype)
    return torch.randint(0, 100, (rows, columns), device="cuda", dtype=torch.uint8).to(dtype)


def conversions():
    e4m3, bf16, f32 = torch.float8_e4m3fn, torch.bfloat16, torch.float32
    for case, source, target in (("bf16 to f8e4m3", bf16, e4m3), ("f8e4m3 to bf16", e4m3, bf16),
                                 ("f32 to bf16", f32, bf16), ("bf16 to f32", bf16, f32)):
        a = random(source)
        b = torch.empty(SIDE, SIDE, device="cuda", dtype=target)
        report(case, "copy_", a.numel() * (source.itemsize + target.itemsize), lambda: b.copy_(a))


def sums():
    for name, dtype, rows in (("bf16", torch.bfloat16, SIDE), ("f32", torch.float32, SIDE),
                              ("u8", torch.uint8, 2 * SIDE), ("i64", torch.int64, SIDE // 2)):
        a, b = random(dtype, rows), random(dtype, rows)
        c = torch.empty_like(a)
        report("add " + name, "add", 3 * a.numel() * dtype.itemsize,
               lambda: torch.add(a, b, out=c))
    for name, dtype, rows, size in (("f32", torch.float32, SIDE, "1"), ("bf16", torch.bfloat16, 2 * SIDE, "1"),
                                    ("u8", torch.uint8, 2 * SIDE, "0.5")):
        a, b = random(dtype, rows), random(dtype, rows)
        report(f"add {name} into {size} GB", "add_", 3 * a.numel() * dtype.itemsize,
               lambda: b.add_(a))
    for columns, pitch in ((1000, 1024), (1001, 1003)):
        a, b, c = (random(torch.bfloat16, 8 * SIDE, pitch)[:, :columns] for _ in range(3))
        report(f"add bf16 rows of {columns} of {pitch}", "add", 6 * a.numel(),
               lambda: torch.add(a, b, out=c))


if __name__ == "__main__":
    conversions()
    sums()
