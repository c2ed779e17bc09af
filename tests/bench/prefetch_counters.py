#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prefetch_counters.py BENCH_MOVES: what of 24 MB a kernel still reads from memory after a prefetch.

Runs `bench_moves --profile` under ncu, clocks and caches left alone: a flush and the read, with
nothing, the prefetch and an empty kernel in between. After the prefetch a tenth may come from memory
at most; after nothing and after the empty kernel it must be more, or the counter shows nothing.
"""
import csv
import subprocess
import sys

METRIC = "dram__bytes_read.sum"
BYTES = 24 << 20
BETWEEN = ("nothing", "the prefetch", "an empty kernel")


def read_kernels(program):
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               "-k", "regex:^bench_read", "--metrics", METRIC, program, "--profile"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    return [float(row["Metric Value"].replace(",", "")) for row in csv.DictReader(lines[start:])
            if row["Metric Name"] == METRIC]


def main():
    kernels = read_kernels(sys.argv[1])
    if len(kernels) != 6:  # flush and read, thrice
        sys.exit(f"{len(kernels)} kernels that read, not 6")
    good = True
    for between, read in zip(BETWEEN, kernels[1::2]):
        few = read <= BYTES / 10
        good = good and few == (between == "the prefetch")
        print(f"after {between}: {read / 1e6:.2f} MB of {BYTES / 1e6:.2f} from memory")
    print("as it must be" if good else "WRONG")
    return not good


if __name__ == "__main__":
    sys.exit(main())
