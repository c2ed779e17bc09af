#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cache_counters.py BENCH_CACHE: the part of its source that a repeated copy reads from memory.

Runs `bench_cache --profile` under ncu, without control of clocks and caches. Limits for a source of 8 MB:
after a large copy without priority at least 90 % must come from memory, or the counter is useless; after
an evict-first one at most 50 %; and at most 10 % if the L2 has room set aside for the evict-last source.
"""
import csv
import subprocess
import sys

METRIC = "dram__bytes_read.sum"


def counted(program):
    """Cases in order, and the bytes that each copy kernel read from memory."""
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               "-k", "regex:^copy_", "--metrics", METRIC, program, "--profile"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    rows = csv.DictReader(line for line in lines[start:] if line.startswith('"'))
    return ([line[5:] for line in lines if line.startswith("case ")],
            [float(row["Metric Value"].replace(",", "")) for row in rows if row["Metric Name"] == METRIC])


def main():
    cases, kernels = counted(sys.argv[1])
    good = True
    for case in cases:
        size, after = case.split(" MB again after ")
        again = kernels[:2 if after == "nothing" else 3][-1]
        del kernels[:2 if after == "nothing" else 3]
        share = again / (int(size) << 20)
        print(f"{case}: {again / 1e6:.2f} MB from memory, {share:.2f} of its source")
        if size == "8":
            good = good and {"normal": share >= 0.9, "evict_first": share <= 0.5,
                             "normal, itself evict_last, 32 MB set aside": share <= 0.1}.get(after, True)
    if kernels or not cases:
        sys.exit(f"{len(cases)} cases and {len(kernels)} kernels too many")
    print("as it must be" if good else "WRONG")
    return not good


if __name__ == "__main__":
    sys.exit(main())
