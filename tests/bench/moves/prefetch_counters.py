#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prefetch_counters.py BENCH_MOVES: the bytes that a kernel still reads from memory after a prefetch.

Runs `bench_moves --profile` under ncu, without control of clocks and caches: a flush, then nothing, an
empty kernel or a prefetch, then a read. After the prefetch of 24 MB at most 10 % may come from memory,
and the read may take at most 0.7 of its time after nothing. After nothing and after the empty kernel at
least 95 % must come from memory, or the counter is useless.
"""
import csv
import subprocess
import sys

BYTES, TIME = "dram__bytes_read.sum", "gpu__time_duration.sum"
ALL = 24 << 20


def counted(program):
    """Cases in order, and bytes and ns of each reading kernel; every second one, from the first, is a flush."""
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               "-k", "regex:^bench_read", "--metrics", f"{BYTES},{TIME}", program, "--profile"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    kernels = {}
    for row in csv.DictReader(line for line in lines[start:] if line.startswith('"')):
        kernels.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return [line[5:] for line in lines if line.startswith("case ")], [kernels[i] for i in sorted(kernels)]


def main():
    cases, kernels = counted(sys.argv[1])
    if len(kernels) != 2 * len(cases) or cases[:3] != ["nothing", "an empty kernel", "prefetch of 24 MB"]:
        sys.exit(f"{len(kernels)} kernels that read, and cases {cases}")
    reads = kernels[1::2]
    for case, read in zip(cases, reads):
        print(f"after {case}: {read[BYTES] / 1e6:.2f} MB from memory, read in {read[TIME] / 1e3:.2f} us")
    nothing, empty, prefetch = reads[:3]
    good = (min(nothing[BYTES], empty[BYTES]) >= 0.95 * ALL and prefetch[BYTES] <= ALL / 10 and
            prefetch[TIME] <= 0.7 * nothing[TIME] < empty[TIME])
    print("as it must be" if good else "WRONG")
    return not good


if __name__ == "__main__":
    sys.exit(main())
