#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Epilogues that cuBLASLt lacks against torch.mm and one kernel of torch.compile, in one process on one GPU.

    TILEWRIGHT_LIBRARY=libtilewright.so peers_epilogue.py BENCH_GEMM_EPILOGUE --seed=HEX [--count=20]
        [--classes=decode,prefill] [--epilogues=others] [--dtype=bf16] [--shape=MxNxK,...] [--rounds=15]
        [--seconds=N] [--json=FILE] [--kernels]

BENCH_GEMM_EPILOGUE draws the shapes. Launches of up to 400 us are timed as CUDA graphs of 20 to 200 on
operands that are not in the L2. The sides take turns, and the L2 is flushed by reading before each
replay. Longer launches run for half a second, one side after the other, in the order ABBA. JSON lines
are like those of bench_gemm. Exits with 1 if a result differs from torch's. --kernels prints the kernels
of torch's side and times nothing, because the profiler slows down what runs after it.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "grouped"), str(HERE.parents[2] / "examples" / "python")]
import bench_grouped
import tilewright as tw

ALONE_US, ALONE_SECONDS = 400, 0.5
COLD_BYTES = 384e6  # after so many other bytes, an operand is no longer in the L2
MOST_DISTANCE = 1e-4  # torch rounds the product before the epilogue
DTYPES = {"bf16": (torch.bfloat16, tw.DTYPE_BF16), "f16": (torch.float16, tw.DTYPE_F16)}
ACTIVATIONS = {tw.ACTIVATION_NONE: lambda x: x, tw.ACTIVATION_RELU: F.relu, tw.ACTIVATION_GELU: F.gelu,
               tw.ACTIVATION_GELU_TANH: lambda x: F.gelu(x, approximate="tanh"), tw.ACTIVATION_SILU: F.silu}


class Shape:
    """A line of the program's list."""

    def __init__(self, line):
        self.line = line
        self.m, self.n, self.k = line["m"], line["n"], line["k"]
        self.columns = self.n // 2 if line["gate"] else self.n
        c = self.m * self.n if line["beta"] else 0
        self.bytes = 2 * (self.m * self.k + self.k * self.n + self.m * self.columns + c)
        self.flops = 2 * self.m * self.n * self.k
        self.limit_us = max(self.bytes / 4.3e6, self.flops / 800e6)
        self.guess_us = max(self.flops / 700e6, self.bytes / 4e6, 3)  # as in gemm_race.cpp
        self.nodes = min(max(math.ceil(400 / self.guess_us), 20), 200)

    @property
    def is_alone(self):
        return self.guess_us >= ALONE_US

    @property
    def copies(self):
        return 1 if self.is_alone else min(self.nodes, 1 + math.ceil(COLD_BYTES / self.bytes))


class Operands:
    """Rotating matrices A, B, C, D, the peer's product and the peer's D, and vectors."""

    def __init__(self, shape):
        line = shape.line
        if (line["orders"], line.get("batch", 1)) != ("rc", 1) or line["bias"] not in (tw.PER_NONE, tw.PER_COLUMN):
            sys.exit(f"unknown here: {line}")
        self.shape, self.dtype = shape, DTYPES[line["dtype"]][0]
        m, n, k, columns = shape.m, shape.n, shape.k, shape.columns
        self.sets = [(self.random(m, k), self.random(n, k), self.random(m, n) if line["beta"] else None,
                      self.random(m, columns), self.random(m, n), self.random(m, columns)) for _ in range(shape.copies)]
        self.bias = self.random(n) if line["bias"] else None
        by_row = line["factor"] == tw.PER_ROW
        self.factor = torch.randn((m, 1) if by_row else columns, device="cuda") if line["factor"] else None
        # The runs use another stream.
        torch.cuda.synchronize()

    def random(self, *extents):
        return torch.empty(*extents, device="cuda", dtype=self.dtype).normal_()

    def of(self, i):
        return self.sets[i % len(self.sets)]


def ours(device, stream, o):
    shape, line = o.shape, o.shape.line
    kind = DTYPES[line["dtype"]][1]
    desc = tw.struct("gemm_desc", a_dtype=kind, d_dtype=kind, m=shape.m, min_m=shape.m, n=shape.n, k=shape.k,
                     b_order=tw.COLUMN_MAJOR, a_alignment=16, b_alignment=16, c_alignment=16, d_alignment=16,
                     bias=line["bias"], activation=line["activation"], gate=line["gate"], d_factor=line["factor"])
    plan = tw.Plan(device, "gemm", desc, o)
    info = plan.info()
    work = torch.empty(max(info.workspace_bytes, 1), device="cuda", dtype=torch.uint8)
    fields = {"alpha": line["alpha"], "beta": line["beta"]}
    if info.workspace_bytes:
        fields.update(workspace=work.data_ptr(), workspace_bytes=info.workspace_bytes)
    if o.bias is not None:
        fields["bias"] = o.bias.data_ptr()
    if o.factor is not None:
        fields["d_factor"] = o.factor.data_ptr()

    def run(i):
        a, b, c, d, _, _ = o.of(i)
        plan.run(stream, a=a.data_ptr(), b=b.data_ptr(), c=0 if c is None else c.data_ptr(), d=d.data_ptr(), **fields)
    run.keeps = (plan, work)
    run.kernel, run.grid, run.cluster = info.kernel.decode(), info.grid[0], info.cluster[0]
    return run


def epilogue(line):
    """What torch.compile makes one kernel of."""
    act, alpha, beta = ACTIVATIONS[line["activation"]], line["alpha"], line["beta"]
    halves = line["gate"] == tw.GATE_HALVES

    def apply(product, c, bias, factor, d):
        v = product.float() * alpha
        if c is not None:
            v = v + beta * c.float()
        if bias is not None:
            v = v + bias.float()
        if line["gate"]:
            gate, linear = v.chunk(2, dim=1) if halves else (v[:, 0::2], v[:, 1::2])
            v = act(gate) * linear
        else:
            v = act(v)
        if factor is not None:
            v = v * factor
        d.copy_(v)
    return apply


def torch_peer(o):
    # Otherwise torch would go over to uncompiled code after a few shapes, or to unknown extents.
    torch._dynamo.reset()
    compiled = torch.compile(epilogue(o.shape.line), dynamic=False)

    def run(i):
        a, b, c, _, product, d = o.of(i)
        torch.mm(a, b.t(), out=product)
        compiled(product, c, o.bias, o.factor, d)
    return run


def kernels_of(run):
    """Names of the kernels of a launch, by torch's profiler."""
    run(0)
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run(0)
        torch.cuda.synchronize()
    return [event.name for event in profile.events() if event.device_type == torch.profiler.DeviceType.CUDA]


def alone(race, runs, guess_us):
    """Microseconds per launch; each side runs alone twice, in the order ABBA."""
    launches = max(1, round(20e3 / guess_us))
    graphs = {name: race.graph(run, launches) for name, run in runs.items()}
    sums = dict.fromkeys(graphs, 0.0)
    for name in [*graphs, *reversed(graphs)]:
        chunk_us = race.once(graphs[name])
        for seconds in (ALONE_SECONDS / 5, ALONE_SECONDS):  # first until clock and power are steady
            replays = max(1, math.ceil(seconds * 1e6 / chunk_us))
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            with torch.cuda.stream(race.stream):
                start.record()
                for _ in range(replays):
                    graphs[name].replay()
                end.record()
            end.synchronize()
        sums[name] += start.elapsed_time(end) * 1e3 / (replays * launches) / 2
    return sums


def distance(x, y):
    """1 - 2 <x, y> / (<x, x> + <y, y>), in parts, because float64 copies of large results lack room."""
    xy = size = 0.0
    for part, other in zip(x.split(1024), y.split(1024)):
        part, other = part.double(), other.double()
        xy += float((part * other).sum())
        size += float((part * part).sum() + (other * other).sum())
    return 1 - 2 * xy / size if size else 0.0


def measure(device, race, stream, shape):
    o = Operands(shape)
    runs = {"ours": ours(device, stream, o), "torch": torch_peer(o)}
    with torch.cuda.stream(race.stream):
        for run in runs.values():
            run(0)
    torch.cuda.synchronize()
    apart = distance(o.of(0)[3], o.of(0)[5])
    times = alone(race, runs, shape.guess_us) if shape.is_alone else race.medians(runs, shape.nodes)
    line, mine = shape.line, runs["ours"]
    return {"kind": "plan", "set": line["set"], "m": shape.m, "n": shape.n, "k": shape.k, "orders": line["orders"],
            "dtype": line["dtype"], "out": line["dtype"], "mode": "cold", "rounds": bench_grouped.ROUNDS,
            "kernel": mine.kernel, "grid": mine.grid, "cluster": mine.cluster, "us": round(times["ours"], 3),
            "peer_us": round(times["torch"], 3), "peer": "torch.mm, torch.compile", "limit_us": round(shape.limit_us, 3),
            "tflops": round(shape.flops / times["ours"] * 1e-6, 2), "gbs": round(shape.bytes / times["ours"] * 1e-3, 1),
            "distance": apart, "right": abs(apart) < MOST_DISTANCE, "classes": [],
            "epilogue": line["epilogue"]}


def drawn(options):
    """The shapes that the program lists."""
    command = [options.program, f"--random={options.seed:x}", f"--class={options.classes}", f"--count={options.count}",
               f"--epilogues={options.epilogues}", f"--dtype={options.dtype}", "--list"]
    if options.shape:
        command.append("--shape=" + options.shape)
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [Shape(json.loads(line)) for line in lines if line.startswith("{")]


def text_of(row):
    ratio = row["peer_us"] / row["us"]
    size = f"{row['m']}x{row['n']}x{row['k']} {row['epilogue']}"
    return (f"{row['set']} {size:<38} {row['us']:9.2f} {row['peer_us']:9.2f} {ratio:6.3f}  {row['kernel']}, {row['grid']}, "
            f"{row['cluster']}{'' if row['right'] else '  WRONG RESULT'}")


def summary(rows):
    for name in sorted({row["set"] for row in rows}):
        ratios = {(row["m"], row["n"], row["k"], row["epilogue"]): row["peer_us"] / row["us"]
                  for row in rows if row["set"] == name}
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        where = min(ratios, key=ratios.get)
        yield f"# {name} {len(ratios):3} shapes: geometric mean {mean:.3f}, least {ratios[where]:.3f} at {where}"


def append(file, line):
    with open(file, "a") as out:
        out.write(json.dumps(line) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="bench_gemm_epilogue")
    parser.add_argument("--seed", required=True, type=lambda text: int(text, 16))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--classes", default="decode,prefill")
    parser.add_argument("--epilogues", choices=("others", "cublaslt"), default="others")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bf16")
    parser.add_argument("--shape", help="only these, MxNxK with commas between")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json", help="file to append JSON lines to")
    parser.add_argument("--kernels", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    shapes = drawn(options)
    bench_grouped.ROUNDS = options.rounds
    torch.manual_seed(0)
    cuda_stream = torch.cuda.Stream()
    device = tw.Device("cuda", 0)
    stream = device.stream(cuda_stream.cuda_stream)
    race = bench_grouped.Race(cuda_stream)
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, medians of {options.rounds} rounds", flush=True)
    began, rows = time.monotonic(), []
    if options.json:
        append(options.json, {"kind": "card", "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
                              "seed": f"{options.seed:x}"})
    for shape in shapes:
        if time.monotonic() - began > options.seconds:
            print(f"# stopped after {len(rows)} of {len(shapes)} shapes, at {options.seconds} s", flush=True)
            break
        if options.kernels:
            print(f"{shape.line['set']} {shape.line['epilogue']}: {'; '.join(kernels_of(torch_peer(Operands(shape))))}")
            continue
        rows.append(measure(device, race, stream, shape))
        print(text_of(rows[-1]), flush=True)
        if options.json:
            append(options.json, rows[-1])
        torch.cuda.empty_cache()
    print("\n".join(summary(rows)))
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
