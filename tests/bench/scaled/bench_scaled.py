#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of 8-bit floats with scales against DeepGEMM and torch._scaled_mm, in one process on one GPU.

    TILEWRIGHT_LIBRARY=libtilewright.so bench_scaled.py --seed=HEX [--count=20] [--deepgemm=FOLDER]
        [--forms=block,tensor,fast] [--classes=decode,prefill] [--seconds=N] [--json=FILE] [--explain]

Forms: "block" has 1x128 scales of A and 128x128 scales of B, against DeepGEMM's fp8_gemm_nt; "tensor" has
one scale each, against torch._scaled_mm, which calls cuBLASLt; "fast" is "tensor" with fast accumulation
on both sides. Each side's launches are a CUDA graph of at least 400 us on rotating weights. The sides take
turns, and the L2 is flushed by reading before each replay. FOLDER holds deep_gemm (of the wheel
vllm==0.20.2, vllm/third_party), which compiles its kernels with nvcc at the first call.
"""
import argparse
import json
import math
import pathlib
import sys
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "grouped"), str(HERE.parents[2] / "examples" / "python")]
from bench_grouped import Race
import scaled_draw
import tilewright as tw

DEVICE = "cuda"
E4M3 = torch.float8_e4m3fn
FAST_ACCUMULATE = 1024


def least_us(shape):
    return max(shape.bytes / 4.3e6, shape.flops / 1.6e9, 2.0)


def blocks(extent):
    return math.ceil(extent / 128)


def quantized(x, rows):
    """x as e4m3 in blocks of `rows` x 128, and the blocks' scales. Both dimensions must be whole blocks."""
    lines, k = x.shape
    tiles = x.float().view(lines // rows, rows, k // 128, 128)
    scale = tiles.abs().amax(dim=(1, 3)).clamp(min=1e-4) / 448
    return (tiles / scale[:, None, :, None]).view(lines, k).to(E4M3), scale


class Operands:
    """A and rotating weights with their scales, and the product of the values before quantization."""

    def __init__(self, shape, form):
        sets = 1 if shape.n * shape.k > 150e6 else math.ceil(200e6 / (shape.n * shape.k)) + 1
        self.shape, self.form = shape, form
        a = torch.randn(shape.m, shape.k, device=DEVICE, dtype=torch.bfloat16)
        b = torch.randn(shape.n, shape.k, device=DEVICE, dtype=torch.bfloat16)
        self.wanted = a.float() @ b.float().t()
        if form == "block":
            self.a, scale = quantized(a, 1)
            # DeepGEMM requires M-major scales with lines of multiples of 16 bytes.
            room = (shape.m + 3) // 4 * 4
            self.a_storage = torch.zeros(blocks(shape.k), room, device=DEVICE)
            self.a_storage[:, :shape.m] = scale.t()
            self.a_scale = self.a_storage.t()[:shape.m]
            first, self.b_scale = quantized(b, 128)
        else:
            self.a_scale, self.b_scale = (x.abs().max().float() / 448 for x in (a, b))
            self.a, first = (a.float() / self.a_scale).to(E4M3), (b.float() / self.b_scale).to(E4M3)
        self.weights = [first] + [first.clone() for _ in range(sets - 1)]
        self.d = torch.zeros(shape.m, shape.n, device=DEVICE, dtype=torch.bfloat16)
        self.peer_d = torch.zeros_like(self.d)

    def weight(self, i):
        return self.weights[i % len(self.weights)]


def ours(device, stream, o, explain):
    shape, fields = o.shape, {}
    if o.form == "block":
        fields = {"a_scale": tw.SCALE_1X128, "b_scale": tw.SCALE_128X128,
                  "a_scale_order": tw.COLUMN_MAJOR, "a_scale_ld": o.a_storage.shape[1],
                  "b_scale_order": tw.COLUMN_MAJOR, "b_scale_ld": o.b_scale.shape[1]}
    else:
        fields = {"a_scale": tw.SCALE_TENSOR, "b_scale": tw.SCALE_TENSOR,
                  "flags": FAST_ACCUMULATE if o.form == "fast" else 0}
    desc = tw.struct("gemm_desc", a_dtype=tw.DTYPE_F8E4M3, b_dtype=tw.DTYPE_F8E4M3, d_dtype=tw.DTYPE_BF16,
                     m=shape.m, n=shape.n, k=shape.k, b_order=tw.COLUMN_MAJOR, a_alignment=16, b_alignment=16,
                     **fields)
    plan = tw.Plan(device, "gemm", desc, o)
    if explain:
        print(plan.explain(), file=sys.stderr)
    size = plan.info().workspace_bytes
    work = torch.empty(max(size, 1), device=DEVICE, dtype=torch.uint8)

    def run(i):
        plan.run(stream, a=o.a.data_ptr(), b=o.weight(i).data_ptr(), d=o.d.data_ptr(), a_scale=o.a_scale.data_ptr(),
                 b_scale=o.b_scale.data_ptr(), workspace=work.data_ptr() if size else 0, workspace_bytes=size)
    run.keeps = (plan, work)
    return run


def deepgemm_peer(deep_gemm, o):
    def run(i):
        deep_gemm.fp8_gemm_nt((o.a, o.a_scale), (o.weight(i), o.b_scale), o.peer_d)
    return run


def torch_peer(o):
    def run(i):
        o.peer_d = torch._scaled_mm(o.a, o.weight(i).t(), scale_a=o.a_scale, scale_b=o.b_scale,
                                    out_dtype=torch.bfloat16, use_fast_accum=o.form == "fast")
    return run


def calc_diff(x, y):
    """DeepGEMM's measure of difference, 1 - 2 <x, y> / (<x, x> + <y, y>)."""
    x, y = x.double(), y.double()
    size = (x * x + y * y).sum()
    return float(1 - 2 * (x * y).sum() / size) if size else 0.0


def measure(device, race, stream, deep_gemm, shape, form, explain):
    o = Operands(shape, form)
    runs = {"ours": ours(device, stream, o, explain)}
    # The runs use another stream, and could get memory that pending work here still reads.
    torch.cuda.synchronize()
    if form != "block":
        runs["torch"] = torch_peer(o)
    elif deep_gemm:
        runs["deepgemm"] = deepgemm_peer(deep_gemm, o)
    launches = max(1, math.ceil(400 / least_us(shape)))
    times = race.medians(runs, launches)
    best = min((us for name, us in times.items() if name != "ours"), default=times["ours"])
    told = {"form": form, "class": shape.size_class, "m": shape.m, "n": shape.n, "k": shape.k,
            **{name: round(us, 2) for name, us in times.items()}, "ratio": round(best / times["ours"], 4),
            "tflops": round(shape.flops / times["ours"] / 1e6, 1),
            "of_bytes": round(shape.bytes / 4.3e6 / times["ours"], 3), "diff": calc_diff(o.d, o.wanted)}
    if len(runs) > 1:
        told["peer_diff"] = calc_diff(o.peer_d, o.wanted)
    return told


def summary(rows):
    for form, name in sorted({(row["form"], row["class"]) for row in rows}):
        ratios = sorted(row["ratio"] for row in rows if (row["form"], row["class"]) == (form, name))
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        yield f"{form}, {name}: {mean:.3f} in the mean of {len(ratios)}, worst {ratios[0]:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True, type=lambda text: int(text, 16))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--forms", default="block,tensor,fast")
    parser.add_argument("--classes", default="decode,prefill")
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
    cases = [(shape, form) for form in options.forms.split(",") for kind in options.classes.split(",")
             for shape in scaled_draw.draw(options.seed, options.count, kind)]
    for shape, form in cases:
        if time.monotonic() - began > options.seconds:
            print(f"stopped after {len(rows)} of {len(cases)}, at {options.seconds} s", flush=True)
            break
        rows.append(measure(device, race, stream, deep_gemm, shape, form, options.explain))
        print(json.dumps(rows[-1]), flush=True)
        torch.cuda.empty_cache()
    print("\n".join(summary(rows)))
    if options.json:
        told = {"seed": f"{options.seed:x}", "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    wrong = [row for row in rows if not row["diff"] < 1e-3]
    if wrong:
        sys.exit(f"D is too far from the product of what was quantised: {wrong}")


if __name__ == "__main__":
    main()
