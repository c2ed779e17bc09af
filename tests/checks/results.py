#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages and the picture of tests/bench/results must match the JSON files."""
import json
import shutil
import sys

import common

RESULTS = common.ROOT / "tests" / "bench" / "results"
sys.path.insert(0, str(RESULTS))
import report


def check(options):
    return report.stale(RESULTS)


def planted(folder):
    copy = folder / "results"
    shutil.copytree(RESULTS, copy)
    file = next(copy.glob("*/copies_*.json"))
    data = json.loads(file.read_text())
    data["rows"][0][2] = -1
    file.write_text(json.dumps(data))
    page = file.stem.removeprefix("copies_") + ".md"
    assert any(line.startswith(page) for line in report.stale(copy)), "a changed figure is not noticed"


if __name__ == "__main__":
    common.run(check, planted)
