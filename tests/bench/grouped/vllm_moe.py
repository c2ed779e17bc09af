# SPDX-License-Identifier: Apache-2.0
"""A mixture-of-experts layer as vLLM runs it: router top-k, alignment, the Triton kernel fused_moe with its
tuned configurations for an H200, a SiLU gate, the second product, the weighted sum.

The gate is written here. All else is loaded from the wheel vllm==0.20.2: _moe_C.abi3.so,
model_executor/layers/fused_moe/fused_moe.py and configs/.
"""
import ast
import importlib.util
import json
import pathlib
import tempfile

import torch
import triton

KERNELS = {"write_zeros_to_output", "fused_moe_kernel"}
GATE = '''
@triton.jit
def silu_mul(x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    gate = tl.load(x + row * 2 * N + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x + row * 2 * N + N + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * N + at, (gate / (1 + tl.exp(-gate)) * up).to(y.dtype.element_ty), mask=inside)
'''


def kernels_of(source):
    """A module with only the Triton kernels of the wheel's file, which itself imports most of vLLM."""
    lines, parts = source.splitlines(), ["import triton", "import triton.language as tl"]
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name in KERNELS:
            first = min(decorator.lineno for decorator in node.decorator_list)
            parts.append("\n".join(lines[first - 1:node.end_lineno]))
    path = pathlib.Path(tempfile.mkdtemp()) / "vllm_kernels.py"
    path.write_text("\n\n".join(parts) + "\n" + GATE)
    spec = importlib.util.spec_from_file_location("vllm_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Vllm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        torch.ops.load_library(str(self.folder / "_moe_C.abi3.so"))
        self.ops = torch.ops._moe_C
        self.kernels = kernels_of((self.folder / "model_executor/layers/fused_moe/fused_moe.py").read_text())

    def config(self, experts, inner, tokens):
        """The tuned configuration for the nearest number of tokens."""
        name = f"model_executor/layers/fused_moe/configs/E={experts},N={inner},device_name=NVIDIA_H200.json"
        known = {int(key): of for key, of in json.loads((self.folder / name).read_text()).items() if key.isdigit()}
        return dict(known[min(known, key=lambda count: abs(count - tokens))], SPLIT_K=1)

    def product(self, a, b, c, weights, align, weighted, top_k, config):
        order, experts, padded, pairs = align
        rows = order.numel()
        if a.size(0) < config["BLOCK_SIZE_M"]:
            rows = min(rows, a.size(0) * top_k * config["BLOCK_SIZE_M"])
        grid = (triton.cdiv(rows, config["BLOCK_SIZE_M"]) * triton.cdiv(b.size(1), config["BLOCK_SIZE_N"]),)
        self.kernels.fused_moe_kernel[grid](
            a, b, c, None, None, None, weights, order, experts, padded, b.size(1), b.size(2), rows, pairs,
            a.stride(0), a.stride(1), b.stride(0), b.stride(2), b.stride(1), c.stride(-2), c.stride(-1),
            0, 0, 0, 0, 0, 0, 0, 0, 0, MUL_ROUTED_WEIGHT=weighted, top_k=top_k, compute_type=triton.language.bfloat16,
            use_fp8_w8a8=False, use_int8_w8a8=False, use_int8_w8a16=False, per_channel_quant=False,
            naive_block_assignment=False, HAS_BIAS=False, **config)

    def align(self, ids, experts, block):
        room = ids.numel() + experts * (block - 1)
        if ids.numel() < experts:
            room = min(room, ids.numel() * block)
        room = triton.cdiv(room, block) * block
        order, blocks, padded = (torch.empty(count, device="cuda", dtype=torch.int32)
                                 for count in (room, triton.cdiv(room, block), 1))
        self.ops.moe_align_block_size(ids, experts, block, order, blocks, padded, None)
        return order, blocks, padded, ids.numel()

    def layer(self, x, logits, w1, w2, top_k, config):
        """Returns the layer's result, and the ids and weights of the chosen experts."""
        (tokens, hidden), (experts, double, _) = x.shape, w1.shape
        weights = torch.empty(tokens, top_k, device="cuda")
        ids, slots = (torch.empty(tokens, top_k, device="cuda", dtype=torch.int32) for _ in range(2))
        self.ops.topk_softmax(weights, ids, slots, logits, True, None)
        align = self.align(ids, experts, config["BLOCK_SIZE_M"])
        h = torch.empty(tokens, top_k, double, device="cuda", dtype=x.dtype)
        gated = torch.empty(tokens * top_k, double // 2, device="cuda", dtype=x.dtype)
        y = torch.empty(tokens, top_k, hidden, device="cuda", dtype=x.dtype)
        out = torch.empty_like(x)
        self.product(x, w1, h, weights, align, False, top_k, config)
        self.kernels.silu_mul[(tokens * top_k, triton.cdiv(double // 2, 1024))](h, gated, double // 2, 1024)
        self.product(gated, w2, y, weights, align, True, 1, config)
        self.ops.moe_sum(y, out)
        return out, ids, weights
