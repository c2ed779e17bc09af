#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the sm_90a kernels that the build's tests do not run on the PTX machine.

    kernels_run.py BUILD    exits with 1 if such a kernel is not in KNOWN"""
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

# Kernels that no test runs on the machine: name to reason.
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
    has = {"tma", "mma", "wgmma"}  # features of the machine
    wanted = {entry.symbol for part in units.parts() for entry in part.entries if entry.feature in has}
    left = sorted(wanted - ran)
    print(f"{len(wanted & ran)} of {len(wanted)} kernels, {total:.0f} s")
    for kernel in left:
        print(f"not run: {kernel}{': ' + KNOWN[kernel] if kernel in KNOWN else ''}")
    sys.exit(1 if any(kernel not in KNOWN for kernel in left) else 0)


if __name__ == "__main__":
    main()
