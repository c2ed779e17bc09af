#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm_measured.py FILE...: rows of src/ops/gemm/select/gemm_measured.inc from JSON lines of
bench_gemm --all-candidates, for the shapes whose fastest candidate beats the plan's choice; of
gemm_measured_programmatic.inc with --mode=programmatic, from those of --programmatic.

--least=1.02 is how many times faster it must have been. Several measurements of one candidate
become their median. Shapes that differ in m within one step (gemm_rung) get one row, by the
geometric mean. Hot measurements and shapes that add to D are left out.
"""
import argparse
import collections
import json
import math
import pathlib
import statistics

ORDERS = {"r": "ROW", "c": "COLUMN"}
KEY = ("dtype", "out", "orders", "m", "n", "k")


def read(files, mode):
    plans, candidates = collections.defaultdict(list), collections.defaultdict(dict)
    for file in files:
        for text in pathlib.Path(file).read_text().splitlines():
            line = json.loads(text)
            if line["kind"] not in ("plan", "candidate") or line["mode"] != mode or "+" in line["out"]:
                continue
            key = tuple(line[name] for name in KEY)
            if line["kind"] == "plan":
                plans[key].append(line["us"])
            else:
                candidates[key].setdefault(line["kernel"], []).append(line["us"])
    return plans, candidates


def rung(m):
    """As gemm_rung() of src/ops/gemm/select/gemm_rank.cpp."""
    step = 8 if m <= 512 else 64 if m <= 8192 else 256
    if m > 65536:
        step = 4096
        while step * 32 < m:
            step *= 2
    return -(-m // step) * step


def rows(plans, candidates, least):
    steps = collections.defaultdict(list)
    for key in candidates:
        dtype, out, orders, m, n, k = key
        if key in plans:
            steps[dtype, out, orders, rung(m), n, k].append(key)
    for step, keys in sorted(steps.items()):
        dtype, out, orders, _, n, k = step
        gains = {}
        for kernel in set.intersection(*(set(candidates[key]) for key in keys)):
            gains[kernel] = math.exp(statistics.fmean(
                math.log(statistics.median(plans[key]) / statistics.median(candidates[key][kernel]))
                for key in keys))
        if not gains:
            continue
        kernel = max(gains, key=gains.get)
        if gains[kernel] < least:
            continue
        last = max(keys, key=lambda key: key[3])
        us = statistics.median(candidates[last][kernel])
        symbol, _, split = kernel.partition("/")
        yield (f"TW_GEMM_MEASURED({dtype.upper()}, {out.upper()}, {ORDERS[orders[0]]}, {ORDERS[orders[1]]}, "
               f"{last[3]}, {n}, {k}, {symbol}, {split or 1}, {us:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--least", type=float, default=1.02)
    parser.add_argument("--mode", choices=("cold", "programmatic"), default="cold")
    options = parser.parse_args()
    for row in rows(*read(options.files, options.mode), options.least):
        print(row)


if __name__ == "__main__":
    main()
