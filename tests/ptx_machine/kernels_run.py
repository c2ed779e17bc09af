#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which kernels of sm_90a a build's tests run on the PTX machine, and which they do not.

    kernels_run.py BUILD    the exit status is 1 where a kernel is not run that is not among KNOWN"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src" / "kernels"))
import units
from cases import machine_tests

# Kernels that no test runs there, and why.
KNOWN = {}


def main():
    build = sys.argv[1]
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernels"
        path.touch()
        for name, program, arguments in machine_tests(build):
            begin = time.monotonic()
            told = {**os.environ, "TW_TEST_DEVICE": "ptx", "TW_PTX_JUDGE": "1", "TW_PTX_SEED": "1", "TW_PTX_KERNELS": str(path)}
            done = subprocess.run([program, *arguments], env=told, capture_output=True, text=True, check=False)
            took = time.monotonic() - begin
            total += took
            print(f"{name}: status {done.returncode}, {took:.1f} s", flush=True)
        ran = set(path.read_text().split())
    has = {"tma", "mma", "wgmma"}  # of what the machine runs
    wanted = {entry.symbol for part in units.parts() for entry in part.entries if entry.feature in has}
    left = sorted(wanted - ran)
    print(f"{len(wanted & ran)} of {len(wanted)} kernels, {total:.0f} s")
    for kernel in left:
        print(f"not run: {kernel}{': ' + KNOWN[kernel] if kernel in KNOWN else ''}")
    sys.exit(1 if any(kernel not in KNOWN for kernel in left) else 0)


if __name__ == "__main__":
    main()
