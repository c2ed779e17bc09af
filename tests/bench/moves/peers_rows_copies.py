#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch and Triton as peers of bench_copy, bench_rows and bench_moves on the same GPU: prints a JSON object
per line, with their case names. The L2 is flushed before each repetition by reading 256 MB.
"""
import json
import sys

import torch
import triton
import triton.language as tl

REPEATS = 30
flush_buffer = torch.empty(64 << 20, device="cuda", dtype=torch.int32).random_()


def median_us(call, repeats=REPEATS):
    call()
    times = []
    for _ in range(repeats):
        flush_buffer.sum()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return sorted(times)[len(times) // 2]


def graph_us(call, nodes=20):
    """Times launches too short to time singly as a graph of many with a warm L2, as bench_rows does."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(nodes):
            call()
    return median_us(graph.replay) / nodes


def report_graph(case, peer, moved, call):
    us = graph_us(call)
    print(json.dumps({"case": case, "peer": peer, "bytes": moved, "us": round(us, 2),
                      "gbs": round(moved / us * 1e-3)}), flush=True)


def report(case, peer, moved, call, repeats=REPEATS):
    us = median_us(call, repeats)
    print(json.dumps({"case": case, "peer": peer, "bytes": moved, "us": round(us, 2),
                      "gbs": round(moved / us * 1e-3)}), flush=True)


@triton.jit
def gather_kernel(table, index, packed, columns, count, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    named = tl.load(index + row, row < count, 0)
    for first in range(0, columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        mask = (row < count)[:, None] & (column < columns)[None, :]
        values = tl.load(table + named[:, None] * columns + column[None, :], mask)
        tl.store(packed + row.to(tl.int64)[:, None] * columns + column[None, :], values, mask)


@triton.jit
def scatter_kernel(table, index, packed, columns, count, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    named = tl.load(index + row, row < count, 0)
    for first in range(0, columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        mask = (row < count)[:, None] & (column < columns)[None, :]
        values = tl.load(packed + row.to(tl.int64)[:, None] * columns + column[None, :], mask)
        tl.store(table + named[:, None] * columns + column[None, :], values, mask)


def by_triton(kernel, table, index, packed):
    count, columns = packed.shape
    width = min(triton.next_power_of_2(columns), 1024)
    rows = max(1, 2048 // width)
    kernel[(triton.cdiv(count, rows),)](table, index, packed, columns, count, rows, width)


def rows():
    for width in (64, 128, 256, 512, 1024, 2048, 8192, 14336):
        count = (512 << 20) // width
        table = torch.empty(8 * count, width // 4, device="cuda", dtype=torch.float32).normal_()
        index = torch.randperm(8 * count, device="cuda")[:count]
        packed = torch.empty(count, width // 4, device="cuda", dtype=torch.float32).normal_()
        moved = 2 * count * width
        report(f"gather {count} x {width} B random", "index_select", moved,
               lambda: torch.index_select(table, 0, index, out=packed))
        report(f"gather {count} x {width} B random", "triton", moved,
               lambda: by_triton(gather_kernel, table, index, packed))
        assert torch.equal(packed, table[index])
        report(f"scatter {count} x {width} B random", "index_copy_", moved,
               lambda: table.index_copy_(0, index, packed))
        report(f"scatter {count} x {width} B random", "triton", moved,
               lambda: by_triton(scatter_kernel, table, index, packed))
        assert torch.equal(packed, table[index])
        del table, index, packed
    table = torch.empty(65536, 7168, device="cuda", dtype=torch.bfloat16).normal_()
    index = torch.randint(65536, (256,), device="cuda")
    packed = torch.empty(256, 7168, device="cuda", dtype=torch.bfloat16)
    report_graph("gather 256 x 14336 B random", "index_select", 2 * 256 * 14336,
                 lambda: torch.index_select(table, 0, index, out=packed))
    del table, index, packed


def sums():
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float32, "f32")):
        for width in (256, 512, 1024, 2048, 14336):
            count = (256 << 20) // width
            columns = width // dtype.itemsize
            table = torch.empty(8 * count, columns, device="cuda", dtype=dtype).normal_()
            packed = torch.empty(count, columns, device="cuda", dtype=dtype).normal_()
            index = torch.randperm(8 * count, device="cuda")[:count]
            hot = torch.where(torch.arange(count, device="cuda") % 2 == 0, 12345, index)
            case = f"add {name} scatter {count} x {width} B random"
            moved = 3 * count * width
            report(case, "index_add_", moved, lambda: table.index_add_(0, index, packed))
            report(case + " half of them one row", "index_add_", moved,
                   lambda: table.index_add_(0, hot, packed), 8)
            del table, packed, index, hot
    table = torch.empty(1 << 21, 256, device="cuda", dtype=torch.float32).normal_()
    index = torch.randperm(1 << 21, device="cuda")[:1 << 19]
    weights = torch.rand(1 << 19, device="cuda")
    report(f"weighted f32 gather {1 << 19} x 1024 B random", "index_select and multiply", 1 << 30,
           lambda: table.index_select(0, index).mul_(weights[:, None]))
    del table, index, weights


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
             ("NHWC to NCHW 3 bf16", (256, 512 * 512, 3), (0, 2, 1)),
             ("NCHW to NHWC 12 bf16", (64, 12, 512 * 512), (0, 2, 1)),
             ("transpose 4097x4099 bf16", (4097, 4099), (1, 0))]
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
    for width, count, src_pitch, dst_pitch in ((4097, 65536, 4352, 4608), (100, 1 << 21, 112, 128)):
        a = torch.empty(count, src_pitch, device="cuda", dtype=torch.uint8).random_()
        b = torch.empty(count, dst_pitch, device="cuda", dtype=torch.uint8)
        report(f"rows of {width} B, aligned pitches", "copy_", 2 * count * width,
               lambda: b[:, :width].copy_(a[:, :width]))
        del a, b


def moves():
    # Sequences of 1 to 512 tokens, as in bench_moves, but drawn by torch's generator.
    torch.manual_seed(7)
    lengths = torch.randint(1, 513, (4096,), device="cuda")
    offsets = torch.zeros(4097, device="cuda", dtype=torch.int64)
    offsets[1:] = lengths.cumsum(0)
    total = int(offsets[-1])
    rows = torch.arange(total, device="cuda")
    sequence = torch.searchsorted(offsets, rows, right=True) - 1
    place = sequence * 512 + rows - offsets[sequence]
    for columns in (4096, 128, 100):
        case = f"4096 of 1 to 512 x {columns} bf16"
        packed = torch.empty(total, columns, device="cuda", dtype=torch.bfloat16).normal_()
        moved = 2 * columns * (total + 4096 * 512)
        pad = torch.ops.aten._jagged_to_padded_dense_forward
        unpad = torch.ops.aten._padded_dense_to_jagged_forward
        padded = torch.empty(4096, 512, columns, device="cuda", dtype=torch.bfloat16)
        flat = padded.view(-1, columns)
        report("pad " + case, "zero_ and index_copy_", moved,
               lambda: padded.zero_() is flat.index_copy_(0, place, packed), 7)
        back = torch.empty_like(packed)
        if padded.numel() < 2**31:  # the limit of these two operators
            report("pad " + case, "_jagged_to_padded_dense", moved,
                   lambda: pad(packed, [offsets], [512], 0.0), 7)
            report("unpad " + case, "_padded_dense_to_jagged", 4 * columns * total,
                   lambda: unpad(padded, [offsets], total), 7)
        moved = 4 * columns * total
        report("unpad " + case, "index_select", moved,
               lambda: torch.index_select(flat, 0, place, out=back), 7)
        assert torch.equal(packed, back)
        del packed, padded, flat, back


if __name__ == "__main__":
    # Arguments name the parts to run; without any, all run.
    for part in sys.argv[1:] or ["copies", "rows", "sums", "moves"]:
        {"copies": copies, "rows": rows, "sums": sums, "moves": moves}[part]()
