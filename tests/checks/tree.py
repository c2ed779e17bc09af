#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that every file of the tree keeps: size, licence line, whitespace, words that do not
belong in a finished work, and nothing at the top but what is meant to be there."""
import re

import common

LIMIT = 500
TEXTS = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc", ".py", ".sh", ".rs", ".go", ".toml",
         ".in", ".md", ".build", ".txt", ".cmake", ".map", ".html", ".css"}
CODE = TEXTS - {".md", ".txt", ".html"}
# A table is as long as what it lists, and the public headers are long by choice.
LONG = re.compile(r"\.inc$|^capi/tilewright(_layout)?\.h$|^capi/snapshots/|^tests/golden/"
                  # Half and all of these is what examples/bindings.py makes of the header.
                  r"|^examples/python/tilewright\.py$|/tilewright-sys/src/bindings\.rs$")
UNLICENSED = re.compile(r"^capi/snapshots/|go\.(mod|sum)$|Cargo\.lock$")
# Written in two halves, so that this file passes its own check.
WORDS = re.compile("|".join([r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bXX" r"X\b", r"/wo" r"rk/",
                             r"(?i:cla" r"ude|anthro" r"pic|chat" r"gpt|copi" r"lot\b)",
                             r"(?i:\bAI[- ]assist)", r"(?i:language mod" r"el)",
                             r"(?i:\bissue #?\d)"]))
# printf writes these with the point of the caller's locale; base/decimal.hpp does not.
DECIMAL = re.compile(r'"[^"]*%[-+ #0-9.*]*[aefgAEFG][^"]*"')
TOP = {"meson.build", "meson_options.txt", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "src", "include", "capi",
       "tests", "examples", "prebuilt"}


def faults_of(root, files):
    for file in files:
        path = file.relative_to(root).as_posix()
        top = path.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield f"{path}: {top} does not belong at the top"
        # A fuzzer's inputs are bytes, not texts.
        if "_corpus/" in path or file.suffix not in TEXTS and file.name != "run":
            continue
        text = file.read_text(errors="replace")
        lines = text.splitlines()
        if len(lines) > LIMIT and file.suffix in CODE and not LONG.search(path):
            yield f"{path}: {len(lines)} lines, at most {LIMIT}"
        licensed = "SPDX-License-Identifier: Apache-2.0"
        if file.suffix in CODE and not UNLICENSED.search(path):
            if not any(licensed in line for line in lines[:2]):
                yield f"{path}: no SPDX line at its beginning"
        for number, line in enumerate(lines, 1):
            if re.match(r"(src|capi)/.*\.[ch]pp$", path) and DECIMAL.search(line):
                yield f"{path}:{number}: a number in the caller's locale: use base/decimal.hpp"
            word = WORDS.search(line)
            if word:
                yield f'{path}:{number}: "{word.group(0)}"'
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
        "src/long.cpp": spdx + "\n" * LIMIT,
        "src/table.inc": spdx + "\n" * LIMIT,
        "src/bare.cpp": "int a;\n",
        "src/word.cpp": spdx + "// TO" "DO later\n",
        "src/path.py": "#" + spdx + "open('/wo" "rk/x')\n",
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
                  "notes does not belong", "501 lines", "no SPDX", "src/word.cpp:2", "src/path.py:2",
                  "src/space.hpp:2", "src/point.cpp:2", "src/end.hpp: no newline")


if __name__ == "__main__":
    common.run(check, planted)
