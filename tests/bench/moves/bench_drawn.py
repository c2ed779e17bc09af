#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Races drawn copies, gathers and scatters against torch, in one process.

    TILEWRIGHT_LIBRARY=libtilewright.so bench_drawn.py --seed=HEX [--count=20] [--seconds=N] [--json=FILE]

The cases are those of moves_draw.py. torch's side is copy_, index_select or index_copy_ on the same tensors. The
limit is torch's copy_ of as many contiguous bytes, which is the driver's copy. Each result is compared with torch's
before it is timed. The sides take turns, and the L2 is flushed by reading before each launch.
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
import bench_grouped
import moves_draw
import tilewright as tw

DEVICE = "cuda"


def filled(elements, kind):
    """Random bytes as elements of a type."""
    bytes_ = torch.randint(0, 256, (elements * moves_draw.TYPES[kind],), device=DEVICE, dtype=torch.uint8)
    return bytes_.view(getattr(torch, kind))


def lines(rows, columns, padding, offset, kind):
    """A matrix of so many rows whose pitch is `columns` + `padding` elements, `offset` elements into its memory."""
    pitch = columns + padding
    return filled(offset + rows * pitch, kind)[offset:].view(rows, pitch)[:, :columns]


def copy_sides(device, stream, case):
    shape = [case.shape[d] for d in case.order]
    source = lines(math.prod(shape[:-1]), shape[-1], case.padding, case.offsets[0], case.type)
    strides = [0] * len(shape)
    step = source.stride(0)
    for i in range(len(shape) - 2, -1, -1):
        strides[i], step = step, step * shape[i]
    strides[-1] = 1
    source = source.as_strided(shape, strides)
    source = source.permute([case.order.index(d) for d in range(len(shape))])
    made = [filled(case.offsets[1] + math.prod(case.shape), case.type)[case.offsets[1]:].view(case.shape) for _ in range(2)]
    plan = device.copy(source, made[0])
    return (lambda i: plan.run(stream)), (lambda i: made[1].copy_(source)), made, plan


def rows_sides(device, stream, case):
    table = lines(4 * case.count, case.columns, case.padding, case.offsets[0], case.type)
    packed = [filled(case.offsets[1] + case.count * case.columns, case.type)[case.offsets[1]:].view(case.count, case.columns)
              for _ in range(2)]
    index = torch.randperm(4 * case.count, device=DEVICE)[:case.count].to(torch.int32)
    wide = index.long()
    if case.operation == "gather":
        plan = device.gather(table, index, packed[0])
        return (lambda i: plan.run(stream)), (lambda i: torch.index_select(table, 0, wide, out=packed[1])), packed, plan
    other = table.clone(memory_format=torch.preserve_format)
    plan = device.scatter(packed[0], index, table)
    return (lambda i: plan.run(stream)), (lambda i: other.index_copy_(0, wide, packed[0])), (table, other), plan


def measure(device, race, stream, case):
    sides = copy_sides if isinstance(case, moves_draw.Copy) else rows_sides
    ours, torchs, results, plan = sides(device, stream, case)
    torch.cuda.synchronize()  # the operands are made on another stream
    with torch.cuda.stream(race.stream):
        ours(0)
        torchs(0)
    race.stream.synchronize()
    same = bool(torch.equal(*(r.contiguous().view(torch.uint8) for r in results)))
    plain = [torch.empty(case.moved, device=DEVICE, dtype=torch.uint8) for _ in range(2)]
    times = race.medians({"ours": ours, "torch": torchs, "contiguous": lambda i: plain[0].copy_(plain[1])}, 1)
    return {"case": case.name, "operation": case.name.split()[0], "bytes": case.moved, "same": same,
            **{f"{name}_us": round(us, 2) for name, us in times.items()},
            "of_contiguous": round(times["contiguous"] / times["ours"], 4),
            "torch_ratio": round(times["torch"] / times["ours"], 4), "method": plan.info().kernel.decode()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True, type=lambda text: int(text, 16))
    parser.add_argument("--count", type=int, default=20, help="copies, and as many row operations")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.manual_seed(0)
    cuda_stream = torch.cuda.Stream()
    device = tw.Device("cuda", 0)
    stream = device.stream(cuda_stream.cuda_stream)
    race, began, rows = bench_grouped.Race(cuda_stream), time.monotonic(), []
    for case in moves_draw.draw(options.seed, options.count):
        if time.monotonic() - began > options.seconds:
            break
        rows.append(measure(device, race, stream, case))
        print(json.dumps(rows[-1]), flush=True)
        torch.cuda.empty_cache()
    for operation in ("copy", "gather", "scatter"):
        for figure in ("of_contiguous", "torch_ratio"):
            values = sorted(row[figure] for row in rows if row["operation"] == operation)
            if values:
                mean = math.exp(sum(map(math.log, values)) / len(values))
                print(f"{operation}: {figure} {mean:.3f} in the mean of {len(values)}, least {values[0]:.3f}")
    if options.json:
        told = {"kind": "drawn_moves", "seed": f"{options.seed:x}", "gpu": torch.cuda.get_device_name(),
                "torch": torch.__version__, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")
    wrong = [row["case"] for row in rows if not row["same"]]
    if wrong:
        sys.exit(f"results differ from torch's: {wrong}")


if __name__ == "__main__":
    main()
