#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm_measured.py FILE...: rows of src/ops/gemm_measured.inc from JSON lines of
bench_gemm --all-candidates, for the shapes whose fastest candidate beats the plan's choice.

--least=1.02 is how many times faster it must have been. Several measurements of one candidate
become their median. Hot measurements and shapes that add to D are left out.
"""
import argparse
import collections
import json
import pathlib
import statistics

ORDERS = {"r": "ROW", "c": "COLUMN"}
KEY = ("dtype", "out", "orders", "m", "n", "k")


def read(files):
    plans, candidates = collections.defaultdict(list), collections.defaultdict(dict)
    for file in files:
        for text in pathlib.Path(file).read_text().splitlines():
            line = json.loads(text)
            if line["kind"] not in ("plan", "candidate") or line["mode"] != "cold" or "+" in line["out"]:
                continue
            key = tuple(line[name] for name in KEY)
            if line["kind"] == "plan":
                plans[key].append(line["us"])
            else:
                candidates[key].setdefault(line["kernel"], []).append(line["us"])
    return plans, candidates


def rows(plans, candidates, least):
    for key in sorted(candidates):
        dtype, out, orders, m, n, k = key
        us, kernel = min((statistics.median(times), kernel) for kernel, times in candidates[key].items())
        if key not in plans or statistics.median(plans[key]) < us * least:
            continue
        symbol, _, split = kernel.partition("/")
        yield (f"TW_GEMM_MEASURED({dtype.upper()}, {out.upper()}, {ORDERS[orders[0]]}, {ORDERS[orders[1]]}, "
               f"{m}, {n}, {k}, {symbol}, {split or 1}, {us:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--least", type=float, default=1.02)
    options = parser.parse_args()
    for row in rows(*read(options.files), options.least):
        print(row)


if __name__ == "__main__":
    main()
