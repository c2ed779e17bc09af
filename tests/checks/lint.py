#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the checks that need no build and take seconds, in parallel: `ninja -C build lint`, and the hooks of
.pre-commit-config.yaml, one check each.

    lint.py [CHECK...]    without names: all
"""
import concurrent.futures
import os
import subprocess
import sys

import common

FAST = ("layers", "folders", "tree", "tables", "format", "shell", "bindings", "results")


def run(name):
    done = subprocess.run([sys.executable, "-B", common.ROOT / "tests" / "checks" / f"{name}.py"],
                          capture_output=True, text=True)
    return name, done.returncode, done.stdout + done.stderr


def main():
    names = sys.argv[1:] or FAST
    unknown = sorted(set(names) - set(FAST))
    if unknown:
        sys.exit(f"no check of these: {' '.join(unknown)}; there are {' '.join(FAST)}")
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, said in pool.map(run, names):
            # A check without its tool is skipped here; tests/run.sh installs the tools.
            if status not in (0, common.SKIPPED):
                failed.append(name)
            print(f"{name}: {said.strip()}", flush=True)
    sys.exit(f"failed: {' '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
