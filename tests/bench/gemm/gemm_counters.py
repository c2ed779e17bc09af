#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm_counters.py [--json=FILE] BENCH_GEMM OPTION...: profiles the plan's and the peer's kernels.

Runs `bench_gemm --profile OPTION...` under ncu, without control of clocks and caches, and prints a table
row per kernel: its time; how busy the tensor cores, memory and L2 were; the L2's hit rate; megabytes
read and written; and the fraction of the kernel's time for which the average SM was busy. The rest of
that time is the last wave, the start and the end. gemm_table.py --counters=FILE puts these beside times.
"""
import csv
import json
import re
import subprocess
import sys

METRICS = {
    "us": "gpu__time_duration.sum",
    "tensor %": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram %": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "GB read": "dram__bytes_read.sum",
    "GB written": "dram__bytes_write.sum",
    "L2 %": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L2 hit %": "lts__t_sector_hit_rate.pct",
    "SM busy": "sm__cycles_active.avg",
    "SM all": "sm__cycles_elapsed.max",
    "blocks": "launch__grid_size",
}
# Leaves out the flush and the kernels that fill and compare.
KERNELS = "regex:^(?!bench_|check_)"


def profile(program):
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               "--replay-mode", "kernel", "-k", KERNELS, "--metrics", ",".join(METRICS.values()), *program]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    shapes = [line for line in lines[:start] if not line.startswith("==")]
    kernels = {}
    for row in csv.DictReader(lines[start:]):
        kernel = kernels.setdefault(int(row["ID"]), {"name": row["Kernel Name"]})
        kernel[row["Metric Name"]] = row["Metric Value"].replace(",", "")
    return shapes, [kernels[i] for i in sorted(kernels)]


def number(kernel, what, scale=1.0):
    try:
        return float(kernel.get(METRICS[what], "nan")) * scale
    except ValueError:
        return float("nan")


def figures(kernel):
    return {"name": kernel["name"][:60], "us": number(kernel, "us", 1e-3), "tensor": number(kernel, "tensor %"),
            "dram": number(kernel, "dram %"), "mb_read": number(kernel, "GB read", 1e-6),
            "mb_written": number(kernel, "GB written", 1e-6), "l2": number(kernel, "L2 %"),
            "l2_hit": number(kernel, "L2 hit %"), "busy": 100 * number(kernel, "SM busy") / number(kernel, "SM all"),
            "blocks": number(kernel, "blocks")}


def by_shape(shapes, kernels):
    """Groups kernels by shape. Each shape that launched anything has the plan's kernel, then the peer's."""
    groups = []
    for kernel in map(figures, kernels):
        if kernel["name"].startswith("gemm_"):
            groups.append([])
        groups[-1].append(kernel)
    launched = [m for m in (re.match(r"(\S+) (\d+)x(\d+)x(\d+) (\w\w) (\S+) *$", line) for line in shapes) if m]
    for match, group in zip(launched, groups):
        name, m, n, k, orders, out = match.groups()
        yield {"set": name, "m": int(m), "n": int(n), "k": int(k), "orders": orders, "out": out,
               "ours": group[0], "peer": group[1:]}


def main():
    arguments = sys.argv[1:]
    file = arguments.pop(0)[len("--json="):] if arguments[0].startswith("--json=") else None
    shapes, kernels = profile([arguments[0], "--profile", *arguments[1:]])
    groups = list(by_shape(shapes, kernels))
    if file:
        with open(file, "a") as out:
            out.writelines(json.dumps(group) + "\n" for group in groups)
    print("| m, n, k | kernel | us | tensor % | DRAM % | MB read | MB written | L2 % | L2 hit % | SMs busy % | blocks |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for group in groups:
        for k in [group["ours"], *group["peer"]]:
            print(f"| {group['m']}, {group['n']}, {group['k']} | {k['name']} | {k['us']:.1f} | {k['tensor']:.0f} | "
                  f"{k['dram']:.0f} | {k['mb_read']:.0f} | {k['mb_written']:.0f} | {k['l2']:.0f} | {k['l2_hit']:.0f} | "
                  f"{k['busy']:.0f} | {k['blocks']:.0f} |")


if __name__ == "__main__":
    main()
