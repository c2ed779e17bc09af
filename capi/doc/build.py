#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the pages: build.py DOXYGEN ROOT OUTPUT VERSION [--self-test].

Two passes. The C header is held to everything, parameters included. The C++ header's one-line
members are held to what they do say. Every function of the C header must also say how threads may
call it, which Doxygen itself has no rule for.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def doxygen(tool, root, output, version, undocumented, inputs=None):
    """Exit status and warnings of a run."""
    text = (HERE / "Doxyfile.in").read_text()
    for name, value in (("VERSION", version), ("OUTPUT", output), ("ROOT", root),
                        ("UNDOCUMENTED", "YES" if undocumented else "NO")):
        text = text.replace(f"@{name}@", str(value))
    if inputs:
        text += "INPUT = " + " ".join(f'"{i}"' for i in inputs) + "\nUSE_MDFILE_AS_MAINPAGE =\n"
    pathlib.Path(output).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([tool, "-"], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def silent_functions(header):
    """Functions whose comment lacks @threadsafety or @since."""
    text = header.read_text()
    for match in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*TW_API\s[^;(]*?(tw_\w+)\(", text, re.DOTALL):
        for command in ("@threadsafety{", "@since"):
            if command not in match.group(1):
                yield f"{match.group(2)}: its comment has no {command.rstrip('{')}"
    commented = len(re.findall(r"\*/\s*TW_API\s", text))
    if commented != len(re.findall(r"^TW_API\s", text, re.MULTILINE)):
        yield "a function has no comment"


def self_test(tool, root, version):
    """A parameter without words, and a function without its thread-safety, are seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        header = folder / "planted.h"
        header.write_text("/** @file */\n/** Does it. @param a one. @since 0.1 */\n"
                          "TW_API int tw_f(int a, int b);\n")
        status, report = doxygen(tool, root, folder / "out", version, True, [header])
        assert status != 0 and "'b'" in report.replace('"', "'"), report
        assert list(silent_functions(header)) == ["tw_f: its comment has no @threadsafety"]


def main():
    tool, root, output, version, *rest = sys.argv[1:]
    root = pathlib.Path(root).resolve()
    if rest:
        self_test(tool, root, version)
    header = root / "capi" / "tilewright.h"
    faults = list(silent_functions(header))
    with tempfile.TemporaryDirectory() as name:
        status, report = doxygen(tool, root, name, version, True, [header])
    if status:
        faults.append(report)
    status, report = doxygen(tool, root, pathlib.Path(output).resolve(), version, False)
    if status:
        faults.append(report)
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
