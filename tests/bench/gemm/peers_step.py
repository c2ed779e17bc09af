#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peers_step.py BENCH_GEMM_STEP [--turns=3]: bench_gemm_step's decode steps in torch, both in CUDA
graphs, the two programs in turns; bench/results keeps what they print.

torch's step uses index_select, linear, addmm for residuals, silu and gelu on their results, and
index_copy_. `products` is its six products only. Times are medians over the turns of medians over 15
replays of two steps; the L2 is flushed before each replay by reading 256 MB. The weights of a step exceed
the L2, or the step rotates over copies that do.
"""
import argparse
import json
import statistics
import subprocess

import torch
import torch.nn.functional as F

# The same as in bench_gemm_step.cpp: name, hidden, columns of products 0, 2 (gated) and 4, copies.
STEPS = [("4096 wide", 4096, 6144, 14336, 14336, 1),
         ("2048 wide", 2048, 3072, 5632, 8192, 1),
         ("1024 wide", 1024, 1536, 2816, 4096, 4)]
ROWS = (1, 16, 64)
WORDS, PLACES = 32000, 1024
ROUNDS, NODES = 15, 2


def random(*shape, scale=1.0):
    return torch.empty(*shape, device="cuda", dtype=torch.bfloat16).normal_(0, scale)


def weights(hidden, first, gated, inner):
    shapes = [(first, hidden), (hidden, hidden), (2 * gated, hidden), (hidden, gated), (inner, hidden), (hidden, inner)]
    return [random(*shape, scale=shape[1] ** -0.5) for shape in shapes]


def step(x, w, bias, hidden, gated):
    q = F.linear(x, w[0], bias[0])
    y = torch.addmm(x, q[:, :hidden], w[1].t())
    both = F.linear(y, w[2])
    z = torch.addmm(y, F.silu(both[:, :gated]) * both[:, gated:], w[3].t())
    u = F.gelu(F.linear(z, w[4], bias[4]), approximate="tanh")
    return F.linear(u, w[5], bias[5]) + z


def graph_of(run):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(NODES):
            run()
    return graph


def timed(graphs, flush):
    """Median time per step of each graph; the graphs are replayed in turn."""
    times = [[] for _ in graphs]
    for _ in range(ROUNDS):
        for graph, events in zip(graphs, times):
            flush.sum()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            events.append((begin, end))
    torch.cuda.synchronize()
    return [statistics.median(begin.elapsed_time(end) * 1e3 for begin, end in events) / NODES for events in times]


class Torch:
    def __init__(self, flush):
        self.flush = flush
        self.cases = {}
        self.kept = []  # graphs hold addresses, not tensors
        for name, hidden, first, gated, inner, copies in STEPS:
            table, places = random(WORDS, hidden), random(PLACES, hidden)
            layers = [weights(hidden, first, gated, inner) for _ in range(copies)]
            bias = {i: random(n) for i, n in ((0, first), (4, inner), (5, hidden))}
            for m in ROWS:
                token = torch.arange(m, device="cuda") * 487 % WORDS
                place = torch.arange(m, device="cuda") * 13 % PLACES
                inputs = [random(m, w.shape[1]) for w in layers[0]]

                def whole():
                    for layer in layers:
                        x = step(table.index_select(0, token), layer, bias, hidden, gated)
                        places.index_copy_(0, place, x)

                def products():
                    for layer in layers:
                        for x, w in zip(inputs, layer):
                            torch.mm(x, w.t())

                self.kept.append((table, places, layers, bias, token, place, inputs))
                self.cases[name, m] = (copies, [graph_of(whole), graph_of(products)])

    def measure(self):
        return {key: [us / copies for us in timed(graphs, self.flush)] for key, (copies, graphs) in self.cases.items()}


def ours(program):
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert all(line["right"] for line in found)
    return {(line["step"], line["m"]): line for line in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True  # its default
    peer = Torch(torch.randn(64 << 20, device="cuda"))
    mine, theirs = [], []
    for _ in range(options.turns):
        theirs.append(peer.measure())
        mine.append(ours(options.program))
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, {options.turns} turns")
    print("| step | m | plain | programmatic | known to the device | torch | ratio | programmatic's | its products | ours |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for key in mine[0]:
        us = {way: statistics.median(turn[key][way] for turn in mine)
              for way in ("plain", "programmatic", "device", "products")}
        whole, products = (statistics.median(turn[key][i] for turn in theirs) for i in range(2))
        print(f"| {key[0]} | {key[1]} | {us['plain']:.1f} | {us['programmatic']:.1f} | {us['device']:.1f} | {whole:.1f} | "
              f"{whole / us['plain']:.2f} | {whole / us['programmatic']:.2f} | {products:.1f} | {us['products']:.1f} |")


if __name__ == "__main__":
    main()
