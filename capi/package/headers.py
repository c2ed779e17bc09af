#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public C headers are tilewright.h and the files beside it that it includes. Everything that
installs or reads them takes their list and their text from here.

headers.py HEADER prints the names, one a line, with the given header first."""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "(\w+\.h)"\n', re.MULTILINE)


def text(header, found=None):
    """The text of a header with that of each file beside it in the place of its first include."""
    found = [] if found is None else found
    found.append(header)

    def included(match):
        path = header.with_name(match[1])
        return "" if path in found else text(path, found)
    return INCLUDE.sub(included, header.read_text())


def paths(header):
    """The header and the files beside it that it includes, directly or not."""
    found = []
    text(header, found)
    return found


if __name__ == "__main__":
    print("\n".join(path.name for path in paths(pathlib.Path(sys.argv[1]))))
