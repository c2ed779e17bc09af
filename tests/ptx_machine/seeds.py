#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a build's tests on the PTX machine in many orders of events, judged, and fails on any report of
severity error. Odd seeds do asynchronous work as late as possible, even seeds at once.

    seeds.py BUILD [--seeds 20] [--only WORDS] [--quick]    --quick skips the suite "thorough" """
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from cases import machine_tests


def run(program, arguments, seed, reports):
    told = {**os.environ, "TW_TEST_DEVICE": "ptx", "TW_PTX_JUDGE": "1", "TW_PTX_SEED": str(seed),
            "TW_PTX_LATE": str(seed % 2), "TW_PTX_REPORTS": str(reports)}
    done = subprocess.run([program, *arguments], env=told, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def letter(line):
    """A report without its place, so that reports of several kernels are grouped."""
    return re.sub(r"\b(that|as) \S+ \(", r"\1 X (", line.split(": ", 2)[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    faults = 0
    letters = collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder) / "reports"
        for name, program, arguments in machine_tests(options.build, not options.quick):
            if options.only not in name:
                continue
            bad = 0
            for seed in range(1, options.seeds + 1):
                reports.write_text("")
                status, said = run(program, arguments, seed, reports)
                if status == 77:
                    print(f"{name}: skipped: {said.strip().splitlines()[-1:]}")
                    break
                for line in reports.read_text().splitlines():
                    if line.startswith("error: "):
                        print(f"{name}, seed {seed}: {line}")
                    else:
                        letters[letter(line)].add(re.search(r"kernel (\w+)", line).group(1))
                if status != 0:
                    print(f"{name}, seed {seed}: fails: {said[-300:]}")
                bad += status != 0
            faults += bad
            print(f"{name}: {options.seeds - bad} of {options.seeds} seeds without a report", flush=True)
    for text, kernels in sorted(letters.items()):
        print(f"letter (no error), {len(kernels)} kernels: {text}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
