#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times torch.mm on some of bench_gemm's shapes in the same way. A run of bench_gemm counts only if its
cuBLASLt is within 5 % of these times. bf16, A row-major, B column-major; the L2 is flushed by reading
256 MB; shapes below 100 us are graphs of launches that rotate over copies of the operands. The script
keeps the card as warm as bench_gemm does, because a cool card at its power limit is 10 % faster. Run it
right after bench_gemm."""
import statistics
import time

import torch

SHAPES = [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
          (512, 2112, 7168), (1024, 4096, 7168), (4096, 7168, 2048), (4096, 24576, 1536), (2048, 28672, 4096)]
ROUNDS = 15
WARM_FIRST, WARM_BETWEEN = 4.0, 0.7  # seconds


def timed(run, flush):
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(ROUNDS)]
    for begin, end in events:
        flush.sum()
        begin.record()
        run()
        end.record()
        run()  # bench_gemm launches two per round; this keeps the card as warm
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) * 1e3 for begin, end in events)


def warm(seconds):
    a, b = (torch.randn(8192, 8192, device="cuda").bfloat16() for _ in range(2))
    d = torch.empty_like(a)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(16):
            torch.mm(a, b.t(), out=d)
        torch.cuda.synchronize()


def main():
    flush = torch.randn(64 << 20, device="cuda")
    warm(WARM_FIRST)
    for m, n, k in SHAPES:
        guess = max(2 * m * n * k / 700e6, 2 * (m * k + k * n + m * n) / 4e6, 3)
        nodes = 1 if guess >= 100 else int(min(max(400 / guess, 20), 100))
        copies = min(nodes, 1 + int(384e6 / (2 * (m * k + k * n + m * n))) + 1)
        sets = [(torch.randn(m, k, device="cuda").bfloat16(), torch.randn(n, k, device="cuda").bfloat16().t(),
                 torch.empty(m, n, device="cuda", dtype=torch.bfloat16)) for _ in range(copies)]

        def launches():
            for i in range(nodes):
                a, b, d = sets[i % copies]
                torch.mm(a, b, out=d)

        launches()
        torch.cuda.synchronize()
        run = launches
        if nodes > 1:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                launches()
            run = graph.replay
        warm(WARM_BETWEEN)
        print(f"torch.mm {m}x{n}x{k} {timed(run, flush) / nodes:9.2f} us", flush=True)
        del sets
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
