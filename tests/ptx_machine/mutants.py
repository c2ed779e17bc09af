#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves one wait or fence after the other out of the kernels that a device test runs, and tells which
of them the PTX machine and the test do not notice.

    mutants.py PROGRAM [--only WORDS] [ARGUMENT...]    arguments are the program's own, such as -tc=PATTERN

Each wait and fence that the test's kernels execute is left out in a run of its own, judged, with
asynchronous work done at once and then as late as may be. --only takes those whose line of
TW_PTX_WAITS has the words. The exit status is 0 where all are noticed."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

NEVER_ENDS = 120


def run(program, arguments, **environment):
    """The exit status of the test; a run without an end is noticed too."""
    told = {**os.environ, "TW_TEST_DEVICE": "ptx", "TW_PTX_JUDGE": "1", **environment}
    try:
        done = subprocess.run([program, "-aa=1", *arguments], env=told, capture_output=True, text=True, timeout=NEVER_ENDS)
    except subprocess.TimeoutExpired:
        return 1, "no end"
    lines = [line.strip() for line in done.stdout.splitlines() if "device is lost" in line or "is NOT correct" in line]
    return done.returncode, lines[-1] if lines else done.stdout[-200:]


def executed(program, arguments):
    """Waits and fences: file and line, and what stands there."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "waits"
        status, said = run(program, arguments, TW_PTX_WAITS=str(path))
        if status != 0:
            sys.exit(f"the test fails as it stands ({status}): {said}")
        found = dict(line.split(" ", 1) for line in path.read_text().splitlines())
    return found


def noticed(program, arguments, place):
    for late in ("0", "1"):
        status, said = run(program, arguments, TW_PTX_LEAVE_OUT=place, TW_PTX_LATE=late)
        if status != 0:
            return said
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    options, arguments = parser.parse_known_args()
    left = 0
    for place, what in executed(options.program, arguments).items():
        if not all(word in f"{place} {what}" for word in options.only.split()):
            continue
        said = noticed(options.program, arguments, place)
        left += said is None
        print(f"{'NOT NOTICED' if said is None else 'noticed'}: {place} {what}{'' if said is None else ': ' + said[-160:]}", flush=True)
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
