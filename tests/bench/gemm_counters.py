#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm_counters.py BENCH_GEMM OPTION...: what the counters say of the plan's and the peer's kernels.

Runs `bench_gemm --profile OPTION...` under ncu, clocks and caches left alone, and prints a table
row a kernel: its time, how busy the tensor cores, the memory and the L2 were, the L2's hit rate,
gigabytes read, and how long the average SM was busy, of the kernel's whole time: what is missing
there is the last wave and the ends.
"""
import csv
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
# The flush and the kernels that fill and compare are not of interest.
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


def main():
    program = [sys.argv[1], "--profile", *sys.argv[2:]]
    shapes, kernels = profile(program)
    print("\n".join(shapes))
    print("| kernel | us | tensor % | DRAM % | MB read | MB written | L2 % | L2 hit % | SMs busy % | blocks |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for k in kernels:
        busy = 100 * number(k, "SM busy") / number(k, "SM all")
        print(f"| {k['name'][:60]} | {number(k, 'us', 1e-3):.1f} | {number(k, 'tensor %'):.0f} | "
              f"{number(k, 'dram %'):.0f} | {number(k, 'GB read', 1e-6):.0f} | {number(k, 'GB written', 1e-6):.0f} | "
              f"{number(k, 'L2 %'):.0f} | {number(k, 'L2 hit %'):.0f} | {busy:.0f} | {number(k, 'blocks'):.0f} |")


if __name__ == "__main__":
    main()
