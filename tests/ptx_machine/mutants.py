#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation test of the PTX machine: leaves out one wait or fence of a device test's kernels at a time, and lists
those whose absence neither the machine nor the test notices.

    mutants.py BUILD [--only WORDS] [--kinds WORDS]          every family with small cases; prints README.md's table
    mutants.py PROGRAM [--only WORDS] [ARGUMENT...]          arguments are passed to the program, e.g. -tc=PATTERN

Each mutant runs twice, judged: once with asynchronous work done at once, once as late as possible in another
order of warps. --only selects waits and fences whose line of TW_PTX_WAITS has all the words, --kinds families
whose name contains the words. The exit status is 0 if all are noticed."""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

NEVER_ENDS = 60
ORDERS = ({"TW_PTX_LATE": "0"}, {"TW_PTX_LATE": "1", "TW_PTX_SEED": "1"})
# For each family of kernels a device test, and cases of it that take about a second.
FAMILIES = {
    "copy": ("copy", "*permutations*"), "copy, turned": ("copy_turn", "*in registers*"), "copies": ("copies", "*long rows*"),
    "copy window": ("copy_window", "*random tensors*"), "elementwise": ("elementwise", "*bytes and halves*"),
    "prefetch": ("prefetch", "*ranges and matrices*"), "ragged": ("ragged", "*random lengths*,*long rows*"),
    "rows": ("rows", "*gather4*"), "row sums": ("rows_sums", "*hang over*"), "row order": ("rows_values", "*"),
    "quantize": ("quantize", "*behind each other*,*every length*"), "route": ("route", "*several tokens a warp*"),
    "narrow": ("gemm_scaled", "*taken again*"), "grouped wgmma": ("grouped_wgmma", "*taken again*"),
    "grouped tiles": ("grouped_tiles", "*a few small*"), "grouped scaled": ("grouped_scaled", "*a few small*"),
}
GEMM = ("gemm_kernels", "*taken again*")
GEMM_NAMES = "*each kind*"  # a shorter case of the same kernels


def run(program, arguments, environment):
    """Returns the test's exit status, 1 for a timeout, and its error or the end of its output."""
    told = {**os.environ, "TW_TEST_DEVICE": "ptx", "TW_PTX_JUDGE": "1", "TW_PTX_MOST": "300000000", **environment}
    try:
        done = subprocess.run([program, "-aa=1", *arguments], env=told, capture_output=True, text=True, errors="replace",
                              timeout=NEVER_ENDS, check=False)
    except subprocess.TimeoutExpired:
        return 1, "no end"
    lines = [line.strip() for line in done.stdout.splitlines() if "device is lost" in line or "is NOT correct" in line]
    return done.returncode, lines[-1] if lines else done.stdout[-200:]


def listed(program, arguments, variable, environment, may_fail=False):
    """Returns the lines that the machine writes to the file named by an environment variable."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "lines"
        status, said = run(program, arguments, {**environment, variable: str(path)})
        if status != 0 and not may_fail:
            sys.exit(f"the test fails as it stands ({status}): {said}")
        return path.read_text().splitlines() if status == 0 and path.exists() else []


def noticed(program, arguments, place, environment):
    for order in ORDERS:
        status, said = run(program, arguments, {**environment, **order, "TW_PTX_LEAVE_OUT": place})
        if status != 0:
            return said
    return None


def sweep(name, program, arguments, only, environment=None):
    """Runs all mutants of a test. Returns ([kernel, instruction], noticed) for each."""
    environment = environment or {}
    out, alone = [], {}
    for line in listed(program, arguments, "TW_PTX_WAITS", environment):
        place, what = line.split(" ", 1)
        if not all(word in line for word in only.split()):
            continue
        # Cases that do not run the mutant's kernel are left out, if the test can do that.
        kernel = what.split(" ", 1)[0]
        chosen = {**environment, "TW_KERNELS": kernel}
        if kernel not in alone:
            alone[kernel] = listed(program, arguments, "TW_PTX_WAITS", chosen, may_fail=True)
        said = noticed(program, arguments, place, chosen if line in alone[kernel] else environment)
        out.append((what.split(" ", 1), said is not None))
        print(f"{name}: {'NOT NOTICED' if said is None else 'noticed'}: {line}{'' if said is None else ': ' + said[-160:]}", flush=True)
    return out


def gemm_kernels(program):
    """Returns one kernel for each schedule: the part of the name after tile and cluster, or before them (plain)."""
    kinds = {}
    for kernel in listed(program, [f"-tc={GEMM_NAMES}"], "TW_PTX_KERNELS", {}):
        plain = re.search(r"_(plain[a-z]*)_", kernel)
        kinds.setdefault(plain.group(1) if plain else re.sub(r"^.*_\d+x\d+(_\dx\d)?_?", "", kernel), kernel)
    return kinds.values()


def every_family(build, options):
    results = {}
    for family, (test, cases) in FAMILIES.items():
        if options.kinds in family:
            program = build / "tests" / "device" / f"{test}_device_test"
            results[family] = sweep(family, program, [f"-tc={cases}"], options.only)
    program, arguments = build / "tests" / "device" / f"{GEMM[0]}_device_test", [f"-tc={GEMM[1]}"]
    if options.kinds in "gemm":
        for kernel in gemm_kernels(program):
            results[kernel] = sweep(kernel, program, arguments, options.only, {"TW_KERNELS": kernel})
    kinds = collections.Counter(), collections.Counter()
    for found in results.values():
        for (_, what), good in found:
            kinds[0][what] += 1
            kinds[1][what] += good
    for what, count in sorted(kinds[0].items()):
        print(f"| `{what}` | {count} | {kinds[1][what]} |")
    return sum(not good for found in results.values() for _, good in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="")
    options, arguments = parser.parse_known_args()
    if options.program.is_dir():
        left = every_family(options.program, options)
    else:
        left = sum(not good for _, good in sweep(options.program.name, options.program, arguments, options.only))
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
