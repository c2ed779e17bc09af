#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Grouped products of drawn shapes against torch.grouped_mm and DeepGEMM, in one process on one GPU.

    TILEWRIGHT_LIBRARY=libtilewright.so bench_grouped.py --seed=HEX [--count=20] [--deepgemm=FOLDER]
        [--seconds=N] [--json=FILE] [--explain]

Each side's launches are a CUDA graph of at least 400 us on rotating weights. The sides take turns, and the
L2 is flushed by reading before each replay. FOLDER holds deep_gemm (of the wheel vllm==0.20.2,
vllm/third_party), which compiles its kernels with nvcc at the first call. Preparing operands as a peer
requires, such as padding, is not timed.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "examples" / "python")]
import grouped_draw
import tilewright as tw

ROUNDS = 9
DEVICE = "cuda"
MOST_PEER_BYTES = 16e9  # limit of a peer's padded operands


def least_us(shape):
    """A lower bound of the shape's time on an H200, to choose the number of launches."""
    return max(shape.bytes / 4.3e6, shape.flops / 8e8, 2.0)


class Operands:
    def __init__(self, shape):
        groups = len(shape.rows)
        sets = 1 if shape.weight_bytes > 150e6 else math.ceil(200e6 / (groups * shape.n * shape.k * 2)) + 1
        self.shape = shape
        self.a = torch.randn(shape.total, shape.k, device=DEVICE, dtype=torch.bfloat16)
        self.weights = [torch.randn(groups, shape.n, shape.k, device=DEVICE, dtype=torch.bfloat16)
                        for _ in range(sets)]
        self.ends = torch.tensor(shape.rows, device=DEVICE).cumsum(0).to(torch.int32)
        self.d = torch.zeros(shape.total, shape.n, device=DEVICE, dtype=torch.bfloat16)

    def weight(self, i):
        return self.weights[i % len(self.weights)]


def ours(device, stream, o, explain, **fields):
    shape = o.shape
    desc = tw.struct("grouped_desc", a_dtype=tw.DTYPE_BF16, grouping=tw.GROUPING_ENDS, m=shape.total, n=shape.n,
                     k=shape.k, group_count=len(shape.rows), b_order=tw.COLUMN_MAJOR, **fields)
    plan = tw.Plan(device, "grouped", desc, o)
    if explain:
        print(plan.explain(), file=sys.stderr)
    info = tw.struct("plan_info")
    tw.check(tw.lib.tw_plan_get_info(plan.handle, info))
    work = torch.empty(max(info.workspace_bytes, 1), device=DEVICE, dtype=torch.uint8)

    def run(i):
        plan.run(stream, a=o.a.data_ptr(), b=o.weight(i).data_ptr(), d=o.d.data_ptr(), groups=o.ends.data_ptr(),
                 workspace=work.data_ptr() if info.workspace_bytes else 0, workspace_bytes=info.workspace_bytes)
    run.keeps = (plan, work)
    return run


def torch_peer(o):
    def run(i):
        o.torch_d = torch._grouped_mm(o.a, o.weight(i).transpose(1, 2), offs=o.ends)
    return run


def contiguous_peer(deep_gemm, o):
    """DeepGEMM's contiguous layout: groups padded to 128 rows."""
    shape = o.shape
    padded = [math.ceil(rows / 128) * 128 for rows in shape.rows]
    if sum(padded) * (shape.n + shape.k) * 2 > MOST_PEER_BYTES:
        return None
    a = torch.zeros(sum(padded), shape.k, device=DEVICE, dtype=torch.bfloat16)
    ids = torch.full((sum(padded),), -1, dtype=torch.int32)
    to = start = 0
    for group, (rows, room) in enumerate(zip(shape.rows, padded)):
        a[to:to + rows] = o.a[start:start + rows]
        ids[to:to + rows] = group
        to, start = to + room, start + rows
    ids = ids.to(DEVICE)
    d = torch.empty(sum(padded), shape.n, device=DEVICE, dtype=torch.bfloat16)

    def run(i):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a, o.weight(i), d, ids)
    return run


def masked_peer(deep_gemm, o):
    """DeepGEMM's masked layout: each group has room for the rows of the largest one."""
    shape = o.shape
    room = math.ceil(max(shape.rows) / 128) * 128
    groups = len(shape.rows)
    if groups * room * (shape.n + shape.k) * 2 > MOST_PEER_BYTES:
        return None
    a = torch.zeros(groups, room, shape.k, device=DEVICE, dtype=torch.bfloat16)
    start = 0
    for group, rows in enumerate(shape.rows):
        a[group, :rows] = o.a[start:start + rows]
        start += rows
    d = torch.empty(groups, room, shape.n, device=DEVICE, dtype=torch.bfloat16)
    rows = torch.tensor(shape.rows, device=DEVICE, dtype=torch.int32)
    expected = max(1, round(shape.mean))

    def run(i):
        deep_gemm.m_grouped_bf16_gemm_nt_masked(a, o.weight(i), d, rows, expected)
    return run


class Race:
    def __init__(self, stream):
        self.stream = stream
        self.flush = torch.empty(64 << 20, dtype=torch.float32, device=DEVICE)
        self.sink = torch.empty(1, device=DEVICE)

    def graph(self, run, launches):
        with torch.cuda.stream(self.stream):
            run(0)
        self.stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            for i in range(launches):
                run(i)
        return graph

    def once(self, graph):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(self.stream):
            torch.sum(self.flush, dim=0, keepdim=True, out=self.sink)
            start.record()
            graph.replay()
            end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3

    def medians(self, runs, launches):
        """Median microseconds per launch of each side; the sides take turns."""
        graphs = {name: self.graph(run, launches) for name, run in runs.items()}
        times = {name: [] for name in graphs}
        for turn in range(ROUNDS + 1):
            for name, graph in graphs.items():
                us = self.once(graph) / launches
                if turn:
                    times[name].append(us)
        return {name: statistics.median(of) for name, of in times.items()}


def differs(o):
    """Largest difference from torch's product, relative to its largest element."""
    most = float(o.torch_d.abs().max())
    return float((o.d.float() - o.torch_d.float()).abs().max()) / max(most, 1e-30)


def measure(device, race, stream, deep_gemm, shape, explain):
    o = Operands(shape)
    runs = {"ours": ours(device, stream, o, explain), "torch": torch_peer(o)}
    if deep_gemm:
        peer = (contiguous_peer if shape.mean >= 128 else masked_peer)(deep_gemm, o)
        if peer:
            runs["deepgemm"] = peer
    launches = max(1, math.ceil(400 / least_us(shape)))
    times = race.medians(runs, launches)
    best = min(us for name, us in times.items() if name != "ours")
    return {"shape": shape.name, "class": shape.size_class, "n": shape.n, "k": shape.k, "rows": shape.total,
            "groups": len(shape.rows), "used": len(shape.used), "mean": round(shape.mean, 1),
            **{name: round(us, 2) for name, us in times.items()}, "ratio": round(best / times["ours"], 4),
            "of_limit": round(max(shape.bytes / 4.3e6, shape.flops / 8e8) / times["ours"], 3),
            "error": differs(o)}


def summary(rows):
    for name in sorted({row["class"] for row in rows}):
        ratios = sorted(row["ratio"] for row in rows if row["class"] == name)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield f"{name}: {mean:.3f} in the mean of {len(ratios)}, worst {ratios[0]:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True, type=lambda text: int(text, 16))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--deepgemm")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json")
    parser.add_argument("--explain", action="store_true")
    options = parser.parse_args()
    deep_gemm = None
    if options.deepgemm:
        sys.path.insert(0, options.deepgemm)
        import deep_gemm
    torch.manual_seed(0)
    cuda_stream = torch.cuda.Stream()
    device = tw.Device("cuda", 0)
    stream = device.stream(cuda_stream.cuda_stream)
    race = Race(cuda_stream)
    began, rows = time.monotonic(), []
    for shape in grouped_draw.draw(options.seed, options.count):
        if time.monotonic() - began > options.seconds:
            print(f"stopped after {len(rows)} of {options.count} shapes, at {options.seconds} s", flush=True)
            break
        row = measure(device, race, stream, deep_gemm, shape, options.explain)
        rows.append(row)
        print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()
    print("\n".join(summary(rows)))
    if options.json:
        told = {"seed": f"{options.seed:x}", "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    wrong = [row["shape"] for row in rows if row["error"] > 0.01]
    if wrong:
        sys.exit(f"D is not torch's for {wrong}")


if __name__ == "__main__":
    main()
