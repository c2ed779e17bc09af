#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole mixture-of-experts layer against vLLM's, each captured in a CUDA graph, in one process.

    TILEWRIGHT_LIBRARY=libtilewright.so bench_moe.py FOLDER [--seed=HEX] [--seconds=N] [--json=FILE]

FOLDER is `vllm` of the unpacked wheel vllm==0.20.2, see vllm_moe.py. Our layer is three calls: a routing, a
gated grouped product of gathered tokens, and a grouped product whose rows are added to the tokens in a
fixed order. Numbers of tokens are 1, 16, 256, 2048, and with a seed four drawn ones.
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
import grouped_draw
import tilewright as tw
import vllm_moe

MODELS = ("Mixtral-8x7B", "Qwen3-30B-A3B", "Qwen3-Next")
TOKENS = (1, 16, 256, 2048)
DEVICE = "cuda"


class Weights:
    def __init__(self, model):
        self.experts, self.top_k, self.hidden, self.inner = grouped_draw.MODELS[model]
        # Smaller models rotate over two layers, so that none stays in the L2.
        self.sets = 1 if self.experts * self.hidden * self.inner * 6 > 4e9 else 2
        self.up = [self.draw(2 * self.inner, self.hidden) for _ in range(self.sets)]
        self.down = [self.draw(self.hidden, self.inner) for _ in range(self.sets)]

    def draw(self, n, k):
        return torch.randn(self.experts, n, k, device=DEVICE, dtype=torch.bfloat16) * k ** -0.5


class Buffer:
    def __init__(self, *shape, dtype=torch.int32):
        self.tensor = torch.empty(*shape, device=DEVICE, dtype=dtype)
        self.address = self.tensor.data_ptr()


class Ours:
    """A layer of `tokens` tokens."""

    def __init__(self, device, stream, weights, tokens):
        self.stream, self.weights = stream, weights
        experts, top_k, hidden, inner = weights.experts, weights.top_k, weights.hidden, weights.inner
        pairs = tokens * top_k
        self.scores = Buffer(tokens, top_k, dtype=torch.float32)
        self.offsets, self.order, self.inverse = Buffer(experts + 1), Buffer(pairs), Buffer(pairs)
        self.h = Buffer(pairs, inner, dtype=torch.bfloat16)
        self.out = Buffer(tokens, hidden, dtype=torch.bfloat16)
        self.route = tw.Plan(device, "route", tw.struct(
            "route_desc", dtype=tw.DTYPE_F32, tokens=tokens, experts=experts, top_k=top_k,
            flags=tw.ROUTE_RENORMALIZE), None)
        common = dict(a_dtype=tw.DTYPE_BF16, b_order=tw.COLUMN_MAJOR, grouping=tw.GROUPING_OFFSETS, m=pairs,
                      group_count=experts, a_alignment=16, b_alignment=16)
        self.up = tw.Plan(device, "grouped", tw.struct(
            "grouped_desc", n=2 * inner, k=hidden, flags=tw.GROUPED_GATHER | tw.GROUPED_PROGRAMMATIC, a_count=tokens,
            a_divisor=top_k, gate=tw.GATE_HALVES, activation=tw.ACTIVATION_SILU, **common), None)
        self.down = tw.Plan(device, "grouped", tw.struct(
            "grouped_desc", n=hidden, k=inner, d_count=tokens, d_divisor=top_k, combine=tw.GROUPED_COMBINE_SUM,
            flags=tw.GROUPED_SCATTER | tw.GROUPED_INVERSE | tw.GROUPED_ROW_WEIGHT_BY_INDEX | tw.GROUPED_PROGRAMMATIC,
            **common), None)
        self.works = [self.workspace(plan) for plan in (self.route, self.up, self.down)]

    @staticmethod
    def workspace(plan):
        info = tw.struct("plan_info")
        tw.check(tw.lib.tw_plan_get_info(plan.handle, info))
        buffer = Buffer(max(1, info.workspace_bytes), dtype=torch.uint8)
        return buffer, {"workspace": buffer.address if info.workspace_bytes else 0, "workspace_bytes": info.workspace_bytes}

    def run(self, x, logits, i):
        route, up, down = (fields for _, fields in self.works)
        self.route.run(self.stream, logits=logits.data_ptr(), weights=self.scores.address, offsets=self.offsets.address,
                       order=self.order.address, inverse=self.inverse.address, **route)
        self.up.run(self.stream, a=x.data_ptr(), b=self.weights.up[i % self.weights.sets].data_ptr(), d=self.h.address,
                    groups=self.offsets.address, a_rows=self.order.address, **up)
        self.down.run(self.stream, a=self.h.address, b=self.weights.down[i % self.weights.sets].data_ptr(),
                      d=self.out.address, groups=self.offsets.address, d_rows=self.order.address,
                      row_weights=self.scores.address, inverse=self.inverse.address, **down)
        return self.out.tensor


def measure(device, stream, race, vllm, model, weights, tokens):
    launches = 4 if tokens <= 256 else 2
    inputs = [(torch.randn(tokens, weights.hidden, device=DEVICE, dtype=torch.bfloat16),
               torch.randn(tokens, weights.experts, device=DEVICE)) for _ in range(launches)]
    config = vllm.config(weights.experts, weights.inner, tokens)
    layer = Ours(device, stream, weights, tokens)

    def theirs(i):
        x, logits = inputs[i]
        return vllm.layer(x, logits, weights.up[i % weights.sets], weights.down[i % weights.sets], weights.top_k, config)[0]

    def ours(i):
        return layer.run(*inputs[i], i)
    with torch.cuda.stream(race.stream):
        wanted, got = theirs(0).float(), ours(0).float().clone()
    race.stream.synchronize()
    error = float((got - wanted).abs().max() / wanted.abs().max())
    times = race.medians({"ours": ours, "vllm": theirs}, launches)
    return {"model": model, "tokens": tokens, **{name: round(us, 1) for name, us in times.items()},
            "ratio": round(times["vllm"] / times["ours"], 4), "error": error}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=lambda text: int(text, 16))
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.manual_seed(0)
    counts = list(TOKENS)
    if options.seed is not None:
        rng = random.Random(options.seed)
        counts += [round(math.exp(rng.uniform(0, math.log(grouped_draw.MOST_TOKENS)))) for _ in range(4)]
    cuda_stream = torch.cuda.Stream()
    device = tw.Device("cuda", 0)
    stream = device.stream(cuda_stream.cuda_stream)
    race, vllm = bench_grouped.Race(cuda_stream), vllm_moe.Vllm(options.folder)
    began, rows = time.monotonic(), []
    for model in MODELS:
        weights = Weights(model)
        for tokens in counts:
            if time.monotonic() - began > options.seconds:
                break
            rows.append(measure(device, stream, race, vllm, model, weights, tokens))
            print(json.dumps(rows[-1]), flush=True)
        del weights
        torch.cuda.empty_cache()
    ratios = [row["ratio"] for row in rows]
    print(f"whole layer: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} in the mean of {len(ratios)}, "
          f"worst {min(ratios):.3f}")
    if options.json:
        told = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    wrong = [(row["model"], row["tokens"]) for row in rows if not row["error"] < 0.03]
    if wrong:
        sys.exit(f"the result is not vLLM's for {wrong}")


if __name__ == "__main__":
    main()
