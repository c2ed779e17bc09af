#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules for every file of the tree: a license line, no trailing white space, no numbers in the caller's locale,
and only known names at the top."""
import re

import common

TEXTS = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc", ".py", ".sh", ".rs", ".go", ".toml",
         ".in", ".md", ".build", ".txt", ".cmake", ".map", ".html", ".css"}
CODE = TEXTS - {".md", ".txt", ".html"}
UNLICENSED = re.compile(r"^capi/snapshots/|go\.(mod|sum)$|Cargo\.lock$")
# printf writes these with the decimal point of the caller's locale; base/decimal.hpp does not.
DECIMAL = re.compile(r'"[^"]*%[-+ #0-9.*]*[aefgAEFG][^"]*"')
TOP = {"meson.build", "meson_options.txt", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "src", "include", "capi",
       "tests", "examples", "prebuilt"}


def faults_of(root, files):
    for file in files:
        path = file.relative_to(root).as_posix()
        top = path.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield f"{path}: {top} does not belong at the top"
        # A fuzzer's inputs are bytes, not text.
        if "_corpus/" in path or file.suffix not in TEXTS and file.name != "run":
            continue
        text = file.read_text(errors="replace")
        lines = text.splitlines()
        licensed = "SPDX-License-Identifier: Apache-2.0"
        if file.suffix in CODE and not UNLICENSED.search(path):
            if not any(licensed in line for line in lines[:2]):
                yield f"{path}: no SPDX line at its beginning"
        for number, line in enumerate(lines, 1):
            if re.match(r"(src|capi)/.*\.[ch]pp$", path) and DECIMAL.search(line):
                yield f"{path}:{number}: a number in the caller's locale: use base/decimal.hpp"
            if file.suffix in CODE and line != line.rstrip():
                yield f"{path}:{number}: white space at the end of the line"
        if text and not text.endswith("\n"):
            yield f"{path}: no newline at the end"


def check(_):
    yield from faults_of(common.ROOT, common.tracked())


def planted(folder):
    spdx = "// SPDX-License-Identifier: Apache-2.0\n"
    texts = {
        "notes/a.cpp": spdx,
        "src/bare.cpp": "int a;\n",
        "src/space.hpp": spdx + "int a; \n",
        "src/point.cpp": spdx + 'auto f = "%d of %.2f";\n// 100 % free\n',
        "tests/point.cpp": spdx + 'auto f = "%.2f";\n',
        "src/end.hpp": spdx + "int a;",
        "src/README.md": "fine\n",
        ".clang-format": "fine\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    common.expect(faults_of(folder, [folder / name for name in texts]),
                  "notes does not belong", "no SPDX", "src/space.hpp:2", "src/point.cpp:2", "src/end.hpp: no newline")


if __name__ == "__main__":
    common.run(check, planted)
