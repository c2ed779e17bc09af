#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers of the copy and row benchmarks, by torch on the same GPU: one JSON object a line.

The L2 is flushed before each repetition by a pass that reads 256 MB. Cases have the names that
bench_copy and bench_rows print.
"""
import json

import torch

REPEATS = 30
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


def rows():
    for width in (64, 128, 256, 512, 1024, 2048, 8192, 14336):
        count = (512 << 20) // width
        table = torch.empty(8 * count, width // 4, device="cuda", dtype=torch.float32).normal_()
        index = torch.randperm(8 * count, device="cuda")[:count]
        packed = torch.empty(count, width // 4, device="cuda", dtype=torch.float32).normal_()
        moved = 2 * count * width
        report(f"gather {count} x {width} B random", "index_select", moved,
               lambda: torch.index_select(table, 0, index, out=packed))
        report(f"scatter {count} x {width} B random", "index_copy_", moved,
               lambda: table.index_copy_(0, index, packed))
        del table, index, packed
    table = torch.empty(65536, 7168, device="cuda", dtype=torch.bfloat16).normal_()
    index = torch.randint(65536, (256,), device="cuda")
    packed = torch.empty(256, 7168, device="cuda", dtype=torch.bfloat16)
    report("gather 256 x 14336 B random", "index_select", 2 * 256 * 14336,
           lambda: torch.index_select(table, 0, index, out=packed))


def copies():
    for dtype, name in ((torch.int64, "i64"), (torch.float32, "f32"), (torch.bfloat16, "bf16"),
                        (torch.uint8, "u8")):
        a = torch.empty(16384, 16384, device="cuda", dtype=dtype)
        b = torch.empty_like(a)
        report(f"transpose 16384^2 {name}", "copy_", 2 * a.numel() * a.element_size(),
               lambda: b.copy_(a.t()))
        del a, b
    cases = [("permute 102 bf16", (256, 1024, 1024), (1, 0, 2)),
             ("permute 021 bf16", (256, 1024, 1024), (0, 2, 1)),
             ("permute 201 bf16", (256, 1024, 1024), (2, 0, 1)),
             ("permute 120 bf16", (256, 1024, 1024), (1, 2, 0)),
             ("permute 210 bf16", (256, 1024, 1024), (2, 1, 0)),
             ("BSHD to BHSD bf16", (8, 4096, 32, 128), (0, 2, 1, 3)),
             ("NCHW to NHWC 64 bf16", (32, 64, 224 * 224), (0, 2, 1)),
             ("NHWC to NCHW 64 bf16", (32, 224 * 224, 64), (0, 2, 1)),
             ("NCHW to NHWC 3 bf16", (256, 3, 512 * 512), (0, 2, 1)),
             ("NHWC to NCHW 3 bf16", (256, 512 * 512, 3), (0, 2, 1))]
    for name, shape, order in cases:
        a = torch.empty(shape, device="cuda", dtype=torch.bfloat16).normal_()
        view = a.permute(order)
        b = torch.empty(view.shape, device="cuda", dtype=a.dtype)
        report(name, "copy_", 4 * a.numel(), lambda: b.copy_(view))
        del a, b, view
    a = torch.empty(512, 512, 512, device="cuda", dtype=torch.float32).normal_()
    b = torch.empty(256, 256, 256, device="cuda", dtype=torch.float32)
    report("256^3 f32 of 512^3", "copy_", 8 * b.numel(),
           lambda: b.copy_(a[7:263, 5:261, 8:264]))
    for width in (131072, 8192, 512, 128, 64):
        count = min((256 << 20) // width, 2 << 20)
        pitch = (width + 255) // 256 * 256 + 256
        a = torch.empty(count, pitch, device="cuda", dtype=torch.uint8).random_()
        b = torch.empty(count, pitch + 256, device="cuda", dtype=torch.uint8)
        report(f"pitched {width} B rows", "copy_", 2 * count * width,
               lambda: b[:, :width].copy_(a[:, :width]))
        del a, b


if __name__ == "__main__":
    copies()
    rows()
