#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs nvcc on one part of a translation unit, and treats some remarks of ptxas as errors.

A spill, a stack frame, a serialized wgmma or an ignored setmaxnreg passes -Werror but can cost half
of the speed. --spills-allowed is for a build that looks for races.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# C7508: setmaxnreg ignored; the others: wgmma serialized. There are further numbers, so the words,
# which are the same in all versions, are matched too.
NOTES = re.compile(r"\bC75(08|10|11|14|15|17|19)\b|Potential Performance Loss|instructions are serialized")
USAGE = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def faults(report, spills_allowed):
    """The lines of nvcc's and ptxas's output that are errors."""
    found = [line for line in report.splitlines() if NOTES.search(line)]
    function = "?"
    for line in report.splitlines():
        if "Function properties for" in line:
            function = line.split()[-1]
        usage = USAGE.search(line)
        if usage and not spills_allowed and any(int(number) for number in usage.groups()):
            found.append(f"{function}: {usage.group(0)}")
    return found


def keep_ptx(command, ptx):
    """Runs nvcc with --keep, and moves the PTX that it keeps to `ptx`."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--keep", "--keep-dir", folder], capture_output=True, text=True)
        if done.returncode == 0:
            (found,) = pathlib.Path(folder).glob("*.ptx")
            shutil.move(found, ptx)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nvcc")
    parser.add_argument("--out", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("--spills-allowed", action="store_true")
    parser.add_argument("--ptx")
    options, rest = parser.parse_known_args()
    arguments = [a for a in rest if a != "--"]
    command = [options.nvcc, *arguments, "-o", options.out, "-MD", "-MF", options.depfile]
    if options.ptx:
        done = keep_ptx(command, options.ptx)
    else:
        done = subprocess.run(command, capture_output=True, text=True)
    report = done.stdout + done.stderr
    found = faults(report, options.spills_allowed)
    with open(options.out + ".log", "w") as log:
        log.write(report)
    if done.returncode or found:
        sys.stderr.write(report if done.returncode else "")
        sys.stderr.write("".join(f"error: {fault}\n" for fault in found))
        sys.exit(1)


if __name__ == "__main__":
    main()
