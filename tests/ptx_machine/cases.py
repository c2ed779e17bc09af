# SPDX-License-Identifier: Apache-2.0
"""Finds the tests of a build that run kernels on the PTX machine."""
import json
import pathlib


def machine_tests(build, thorough=True):
    """Returns (name, program, arguments) of each test that runs on the machine, from Meson's introspection."""
    tests = json.loads((pathlib.Path(build) / "meson-info" / "intro-tests.json").read_text())
    found = []
    for test in tests:
        suites = [suite.split(":")[-1] for suite in test["suite"]]
        if test["env"].get("TW_TEST_DEVICE") == "ptx" and (thorough or "thorough" not in suites):
            found.append((test["name"], test["cmd"][0], test["cmd"][1:]))
    return found
