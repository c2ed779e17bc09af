#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sources must be formatted by clang-format 14, whose output depends on its version. --fix reformats them:
`ninja -C build format`."""
import re
import shutil
import subprocess
import sys

import common

VERSION = "14"
FOLDERS = ("src/", "capi/", "include/", "tests/", "examples/")
# Tables (.inc) keep one entry per line, whatever its length.
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}


def find():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        if shutil.which(name):
            found = common.output(name, "--version")
            if re.search(rf"version {VERSION}\.", found):
                return name
    return None


def faults_of(tool, files, *options):
    """Checks all files in one call: starting the tool takes five times as long as formatting one file."""
    done = subprocess.run([tool, "--dry-run", "-Werror", *options, *map(str, files)],
                          capture_output=True, text=True)
    told = {}
    for file, line in re.findall(r"^(.+?):(\d+):\d+: ", done.stderr, re.MULTILINE):
        told.setdefault(file, line)
    if done.returncode and not told:
        yield f"{tool}: {done.stderr.strip()[-300:]}"
    for file, line in told.items():
        yield f"{file}:{line}: not formatted as by clang-format {VERSION} (run format.py --fix)"


def c_style():
    """The tree's style in one line, with the asterisk next to the name as in C."""
    lines = (common.ROOT / ".clang-format").read_text().split("\n")
    style = ", ".join(line for line in lines if line).replace("Alignment: Left", "Alignment: Right")
    return "--style={" + style + "}"


def styles():
    """(files, options of their style) for all files to format."""
    headers = common.headers.paths(common.HEADER)
    files = [f for f in common.tracked() if f.suffix in SUFFIXES and f not in headers and
             "capi/snapshots/" not in str(f) and
             f.relative_to(common.ROOT).as_posix().startswith(FOLDERS)]
    return [(files, []), (headers, [c_style()])]


def check(_):
    for files, options in styles():
        yield from faults_of(find(), files, *options)


def rewrite(tool, files, *options):
    """Reformats the files; returns those that changed."""
    before = {file: file.read_bytes() for file in files}
    common.output(tool, "-i", *options, *files)
    return [file for file in files if file.read_bytes() != before[file]]


def fix():
    tool = find()
    if not tool:
        sys.exit(f"there is no clang-format {VERSION}")
    changed = [file for files, options in styles() for file in rewrite(tool, files, *options)]
    for file in changed:
        print(file.relative_to(common.ROOT).as_posix())
    print(f"{len(changed)} files rewritten")


def planted(folder):
    tool = find()
    if not tool:
        common.skip(f"there is no clang-format {VERSION}")
    (folder / ".clang-format").write_text((common.ROOT / ".clang-format").read_text())
    (folder / "good.cpp").write_text("int a;\n")
    for name in ("bad", "worse"):
        (folder / f"{name}.cpp").write_text("int a;\nint   b ;\nint  c ;\n")
    common.expect(faults_of(tool, [folder / f"{name}.cpp" for name in ("bad", "good", "worse")]),
                  "bad.cpp:2", "worse.cpp:2")
    common.expect(faults_of(tool, [folder / "absent.cpp"]), "No such file")
    names = [folder / f"{name}.cpp" for name in ("bad", "good", "worse")]
    assert rewrite(tool, names) == [names[0], names[2]]
    common.expect(faults_of(tool, names))


if __name__ == "__main__":
    if sys.argv[1:] == ["--fix"]:
        fix()
    else:
        common.run(check, planted)
