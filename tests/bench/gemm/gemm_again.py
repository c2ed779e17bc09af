#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Races again, in two more processes, the shapes whose ratio was below the limit of their class.

  gemm_again.py --least 0.90 recorded.json -- build/tests/bench/bench_gemm --random=SEED --class=decode

The command is the one that recorded the file, without --json; the script adds --shape and --json. The
ratio of a shape becomes the median of the three processes. Then at most 1 shape in 60 may be below the
limit, and none below the limit minus 0.08. Exits with 1 otherwise.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

KEY = ("set", "m", "n", "k", "orders", "dtype", "out", "mode")
MARGIN = 0.08  # no shape may be this far below the limit


def ratios(text):
    """Maps (set, m, n, k, ...) to the peer's time over ours, for the plans in a recorded file."""
    lines = (json.loads(line) for line in text.splitlines() if line.startswith("{"))
    return {tuple(line[name] for name in KEY): line["peer_us"] / line["us"]
            for line in lines if line["kind"] == "plan" and line["peer_us"] > 0}


def raced(command, shapes):
    """The ratios of these shapes from a new process."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "again.json"
        subprocess.run([*command, "--shape=" + ",".join(shapes), f"--json={file}"], check=True)
        return ratios(file.read_text())


def verdict(first, others, least):
    """(medians of the shapes that were below the limit, whether the rule holds)."""
    medians = {}
    for key, ratio in first.items():
        if ratio < least:
            again = [other[key] for other in others if key in other]
            if len(again) < len(others):
                sys.exit(f"{key}: not raced again; is the command the one that recorded the file?")
            medians[key] = statistics.median([ratio, *again])
    under = [ratio for ratio in medians.values() if ratio < least]
    return medians, len(under) * 60 <= len(first) and all(ratio >= least - MARGIN for ratio in under)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=float, required=True, help="the worst ratio of the class")
    parser.add_argument("file")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    first = ratios(pathlib.Path(options.file).read_text())
    shapes = sorted({"x".join(map(str, key[1:4])) for key, ratio in first.items() if ratio < options.least})
    others = [raced(options.command, shapes) for _ in range(2)] if shapes else []
    medians, holds = verdict(first, others, options.least)
    for key, ratio in sorted(medians.items(), key=lambda item: item[1]):
        print(f"{key[0]} {'x'.join(map(str, key[1:4]))}: {first[key]:.3f}, median of three {ratio:.3f}")
    under = sum(ratio < options.least for ratio in medians.values())
    worst = min([*medians.values(), *(ratio for key, ratio in first.items() if key not in medians)], default=0)
    print(f"# {under} of {len(first)} remain under {options.least}, the worst is {worst:.3f}: "
          f"{'holds' if holds else 'MISSED'}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
