#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gather and scatter fused into a product, against the product alone and against three launches.

    TILEWRIGHT_LIBRARY=libtilewright.so bench_inside.py --seed=HEX [--count=8] [--seconds=N] [--json=FILE]

There is one weight matrix of n columns of k elements. The m rows are read by a permutation, written by
one, or both. The product alone is tw_gemm; the three launches are tw_gather, tw_gemm and tw_scatter in
one graph. Each side's launches are a CUDA graph of at least 400 us on rotating weights. The sides take
turns, and the L2 is flushed by reading before each replay. The first shape is 4096 x 4096 x 4096; the
others are drawn: multiples of 8 from 1,024 to 16,384, log-uniform.
"""
import argparse
import json
import math
import pathlib
import random
import sys
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "examples" / "python")]
import bench_grouped
import tilewright as tw

DEVICE = "cuda"


def drawn(rng):
    return tuple(round(math.exp(rng.uniform(math.log(1024), math.log(16384))) / 8) * 8 for _ in range(3))


class Operands:
    def __init__(self, m, n, k):
        self.m, self.n, self.k = m, n, k
        sets = 1 if n * k * 2 > 150e6 else math.ceil(200e6 / (n * k * 2)) + 1
        self.a = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16)
        self.weights = [torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16) * k ** -0.5 for _ in range(sets)]
        self.from_rows = torch.randperm(m, device=DEVICE).to(torch.int32)
        self.to_rows = torch.randperm(m, device=DEVICE).to(torch.int32)

    def out(self):
        return torch.zeros(self.m, self.n, device=DEVICE, dtype=torch.bfloat16)

    def weight(self, i):
        return self.weights[i % len(self.weights)].data_ptr()


class Planned:
    """A plan with its workspace and D."""

    def __init__(self, device, operation, desc, d):
        self.plan, self.d = tw.Plan(device, operation, desc, None), d
        info = tw.struct("plan_info")
        tw.check(tw.lib.tw_plan_get_info(self.plan.handle, info))
        self.work = torch.empty(max(info.workspace_bytes, 1), device=DEVICE, dtype=torch.uint8)
        self.space = {"workspace": self.work.data_ptr(), "workspace_bytes": info.workspace_bytes} \
            if info.workspace_bytes else {}


def inside(device, stream, o, gather, scatter):
    flags = (tw.GROUPED_GATHER if gather else 0) | (tw.GROUPED_SCATTER if scatter else 0)
    fields = dict(a_count=o.m) if gather else {}
    fields.update(dict(d_count=o.m) if scatter else {})
    p = Planned(device, "grouped", tw.struct(
        "grouped_desc", a_dtype=tw.DTYPE_BF16, grouping=tw.GROUPING_ONE, m=o.m, n=o.n, k=o.k, weight_count=1,
        b_order=tw.COLUMN_MAJOR, a_alignment=16, b_alignment=16, d_alignment=16, flags=flags, **fields), o.out())
    rows = dict(a_rows=o.from_rows.data_ptr()) if gather else {}
    rows.update(dict(d_rows=o.to_rows.data_ptr()) if scatter else {})

    def run(i):
        p.plan.run(stream, a=o.a.data_ptr(), b=o.weight(i), d=p.d.data_ptr(), **rows, **p.space)
    run.keeps = p
    return run


def alone(device, stream, o, a=None):
    p = Planned(device, "gemm", tw.struct(
        "gemm_desc", a_dtype=tw.DTYPE_BF16, b_order=tw.COLUMN_MAJOR, m=o.m, n=o.n, k=o.k, a_alignment=16,
        b_alignment=16, d_alignment=16), o.out())
    source = (o.a if a is None else a).data_ptr()

    def run(i):
        p.plan.run(stream, a=source, b=o.weight(i), d=p.d.data_ptr(), **p.space)
    run.keeps = p
    return run


def three(device, stream, o):
    gathered, scattered = torch.empty_like(o.a), o.out()
    product = alone(device, stream, o, gathered)

    def rows(operation, columns, **fields):
        return tw.Plan(device, operation, tw.struct(
            "rows_desc", dtype=tw.DTYPE_BF16, index_dtype=tw.DTYPE_I32, table_rows=o.m, columns=columns, count=o.m,
            table_alignment=16, packed_alignment=16, **fields), None, "rows_args")
    take, put = rows("gather", o.k), rows("scatter", o.n)
    work = torch.empty(max(put.info().workspace_bytes, 1), device=DEVICE, dtype=torch.uint8)
    space = {"workspace": work.data_ptr(), "workspace_bytes": work.numel()} if put.info().workspace_bytes else {}

    def run(i):
        take.run(stream, table=o.a.data_ptr(), index=o.from_rows.data_ptr(), packed=gathered.data_ptr())
        product(i)
        put.run(stream, table=scattered.data_ptr(), index=o.to_rows.data_ptr(), packed=product.keeps.d.data_ptr(), **space)
    run.keeps = (take, put, product, gathered, scattered, work)
    return run


def measure(device, race, stream, m, n, k):
    o = Operands(m, n, k)
    runs = {"alone": alone(device, stream, o), "grouped": inside(device, stream, o, False, False),
            "gather": inside(device, stream, o, True, False), "scatter": inside(device, stream, o, False, True),
            "both": inside(device, stream, o, True, True)}
    try:
        runs["three"] = three(device, stream, o)
    except Exception as error:  # told, and the others are measured all the same
        print(f"three launches: {error}", file=sys.stderr)
    times = race.medians(runs, max(1, math.ceil(400 / max(2 * m * n * k / 8e8, 2.0))))
    weight = o.weights[0].t()
    wanted = o.a[o.from_rows.long()].float() @ weight.float()
    for name in ("both",):
        runs[name](0)
    race.stream.synchronize()
    torch.cuda.synchronize()
    got = runs["both"].keeps.d[o.to_rows.long()].float()
    row = {"m": m, "n": n, "k": k, **{name: round(us, 2) for name, us in times.items()},
           "tflops": round(2 * m * n * k / times["alone"] / 1e6), "error": float((got - wanted).abs().max())}
    for name in ("grouped", "gather", "scatter", "both"):
        row[name + "_ratio"] = round(times["alone"] / times[name], 4)
    if "three" in times:
        row["three_ratio"] = round(times["three"] / times["both"], 4)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True, type=lambda text: int(text, 16))
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.manual_seed(0)
    cuda_stream = torch.cuda.Stream()
    device = tw.Device("cuda", 0)
    stream = device.stream(cuda_stream.cuda_stream)
    race, rng = bench_grouped.Race(cuda_stream), random.Random(options.seed)
    began, rows = time.monotonic(), []
    for shape in [(4096, 4096, 4096)] + [drawn(rng) for _ in range(options.count)]:
        if time.monotonic() - began > options.seconds:
            break
        rows.append(measure(device, race, stream, *shape))
        print(json.dumps(rows[-1]), flush=True)
        torch.cuda.empty_cache()
    for name in ("gather_ratio", "scatter_ratio", "both_ratio", "three_ratio"):
        ratios = sorted(row[name] for row in rows if name in row)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{name}: {mean:.3f} in the mean of {len(ratios)}, worst {ratios[0]:.3f}, 4096^3 {rows[0].get(name)}")
    if options.json:
        told = {"seed": f"{options.seed:x}", "gpu": torch.cuda.get_device_name(), "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    wrong = [row for row in rows if not row["error"] < 0.2]
    if wrong:
        sys.exit(f"D is not torch's for {wrong}")


if __name__ == "__main__":
    main()
