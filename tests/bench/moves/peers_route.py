#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vLLM's router kernels as the peer of bench_route on the same GPU: prints a JSON object per line.

    peers_route.py FOLDER

FOLDER is `vllm` of the unpacked wheel (pip download --no-deps vllm==0.20.2), of which only _moe_C.abi3.so
is used. Times topk_softmax and moe_align_block_size (blocks of 16 or 64 rows) as graphs of 20 runs, as
bench_route does.
"""
import json
import os
import sys

import torch

NODES, REPEATS = 20, 30
flush_buffer = torch.empty(64 << 20, device="cuda", dtype=torch.int32).random_()
torch.ops.load_library(os.path.join(sys.argv[1], "_moe_C.abi3.so"))
ops = torch.ops._moe_C


def graph_us(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(NODES):
            call()
    graph.replay()
    times = []
    for _ in range(REPEATS):
        flush_buffer.sum()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / NODES)
    return sorted(times)[len(times) // 2]


def routing(tokens, experts, top_k, block):
    logits = 8 * torch.rand(tokens, experts, device="cuda")
    weights = torch.empty(tokens, top_k, device="cuda")
    ids = torch.empty(tokens, top_k, device="cuda", dtype=torch.int32)
    token = torch.empty_like(ids)
    room = ids.numel() + experts * (block - 1)
    if ids.numel() < experts:
        room = min(room, ids.numel() * block)
    room = -(-room // block) * block
    order = torch.empty(room, device="cuda", dtype=torch.int32)
    blocks = torch.empty(room // block, device="cuda", dtype=torch.int32)
    padded = torch.empty(1, device="cuda", dtype=torch.int32)

    def call():
        ops.topk_softmax(weights, ids, token, logits, True, None)
        ops.moe_align_block_size(ids, experts, block, order, blocks, padded, None)
    return call


for model, experts, top_k in (("Mixtral-8x7B", 8, 2), ("Qwen3-30B-A3B", 128, 8), ("Qwen3-Next", 512, 10),
                              ("256 experts", 256, 8)):
    for tokens in (1, 16, 64, 256, 512, 2048, 8192):
        us = graph_us(routing(tokens, experts, top_k, 16 if tokens <= 256 else 64))
        print(json.dumps({"case": f"{model}, {tokens} tokens", "peer": "vllm", "us": round(us, 2)}), flush=True)
