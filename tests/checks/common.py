# SPDX-License-Identifier: Apache-2.0
"""Shared by the checks. A check is a script with two functions: check(options) yields a line for each fault
that it finds in the tree; planted(folder) makes faults in an empty folder and asserts that the same code finds
them. Both always run, so that a check that can no longer fail is itself a fault."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "capi" / "tilewright.h"
sys.path.insert(0, str(HEADER.parent / "package"))
import headers
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(check, planted, *arguments):
    """Runs a check as a program. `arguments` names the script's positional arguments."""
    parser = argparse.ArgumentParser()
    for name in arguments:
        parser.add_argument(name)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        planted(pathlib.Path(folder))
    faults = list(check(options))
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


def expect(faults, *words):
    """Asserts that there is one fault for each of `words`, in this order, which contains the word."""
    faults = list(faults)
    assert len(faults) == len(words), f"planted {len(words)} faults, found {faults}"
    for fault, word in zip(faults, words):
        assert word in fault, f'"{word}" is not in "{fault}"'


def output(*command, **keywords):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def tracked(root=ROOT):
    """The project's files: those that git tracks, or without git all that are not build output."""
    if shutil.which("git") and (root / ".git").exists():
        listed = subprocess.run(["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z"],
                                capture_output=True, text=True)
        if listed.returncode == 0:
            paths = [root / name for name in listed.stdout.split("\0") if name]
            return [path for path in paths if path.is_file()]
    hidden = re.compile(r"(^|/)(build[^/]*|\.git|target|__pycache__|\.scratch)(/|$)")
    return sorted(path for path in root.rglob("*")
                  if path.is_file() and not hidden.search(str(path.relative_to(root))))


def rows(path, macro):
    """Argument lists of a table's entries: `MACRO(a, b, c)`, one per line, with quotes and comments."""
    found = []
    for line in path.read_text().splitlines():
        match = re.match(rf"{macro}\((.*)\)\s*(//.*)?$", line)
        if match:
            found.append([re.sub(r"/\*.*?\*/", "", a).strip()
                          for a in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', match.group(1))])
    return found
